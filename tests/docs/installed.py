"""What a reader has installed who follows a page: conductor-py, and the extras that it names."""

import re
from collections.abc import Iterable
from importlib.metadata import (
    PackageNotFoundError,
    distribution,
    distributions,
    packages_distributions,
)
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.docs.pages import Page

_NAMED = re.compile(r"(?:\.|conductor-py)\[([\w,-]+)\]")
_WITHOUT = Path(__file__).parent / "without"
_ALWAYS = frozenset({"conductor-py", "pip", "setuptools"})


def extras_of(page: Page) -> frozenset[str]:
    """The extras that a page tells to install."""
    return frozenset(name for named in _NAMED.findall(page.text) for name in named.split(","))


def with_extras(
    environment: dict[str, str], extras: Iterable[str], *packages: str
) -> dict[str, str]:
    """An environment in which only the packages of these extras are there beside our own, and
    ``packages`` with what they need.
    """
    there = _ALWAYS | _needed(
        ("conductor-py", tuple(sorted(extras))), *((name, ()) for name in packages)
    )
    absent = sorted(
        module
        for module, names in packages_distributions().items()
        if not there & {canonicalize_name(name) for name in names}
    )
    names = {found.metadata["Name"] for found in distributions()}
    path = ":".join(filter(None, (str(_WITHOUT), environment.get("PYTHONPATH", ""))))
    return environment | {
        "PYTHONPATH": path,
        "DOCS_ABSENT_MODULES": ",".join(absent),
        "DOCS_ABSENT_PACKAGES": ",".join(
            sorted(name for name in names if canonicalize_name(name) not in there)
        ),
    }


def _needed(*wanted: tuple[str, tuple[str, ...]]) -> frozenset[str]:
    """The distributions that these need with their extras, and those that they need."""
    found: set[str] = set()
    waiting = list(wanted)
    seen = set(waiting)
    while waiting:
        name, extras = waiting.pop()
        found.add(canonicalize_name(name))
        for need in _requirements(name):
            given = [{"extra": extra} for extra in extras or ("",)]
            if need.marker is None or any(need.marker.evaluate(each) for each in given):
                further = (need.name, tuple(sorted(need.extras)))
                if further not in seen:
                    seen.add(further)
                    waiting.append(further)
    return frozenset(found)


def _requirements(name: str) -> tuple[Requirement, ...]:
    try:
        return tuple(Requirement(text) for text in distribution(name).requires or ())
    except PackageNotFoundError:  # of another platform
        return ()
