"""What is installed is locked: each package in one version, each file by its hash."""

import configparser
import re

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.architecture.tree import ROOT

LOCKS = {
    "server": (
        *("hiredis", "kafka", "mysql", "postgresql", "s3"),
        *("search", "simulation", "spark", "zookeeper"),
    ),
    "development": ("dev", "hiredis", "s3", "search", "spark", "tutorial"),
}
_PIN = re.compile(r"([a-z0-9][a-z0-9._-]*)==([^\s;]+)")


def _text(lock: str) -> str:
    return (ROOT / "locks" / f"{lock}.txt").read_text()


def _entries(lock: str) -> list[str]:
    """Each package with its hashes on one line."""
    lines = [line for line in _text(lock).splitlines() if not line.startswith("#")]
    return [each for each in "\n".join(lines).replace("\\\n", " ").splitlines() if each.strip()]


def _pins(lock: str) -> dict[str, str]:
    found = [_PIN.match(entry) for entry in _entries(lock)]
    return {canonicalize_name(pin[1]): pin[2] for pin in found if pin}


def _wanted(extras: tuple[str, ...]) -> list[Requirement]:
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg")
    lists = [parser["options"]["install_requires"]]
    lists += [parser["options.extras_require"][extra] for extra in extras]
    lines = [line.strip() for text in lists for line in text.splitlines()]
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize("lock", LOCKS)
def test_every_package_is_one_version_with_hashes(lock):
    assert len(_entries(lock)) > 50
    for entry in _entries(lock):
        assert _PIN.match(entry), entry
        assert " --hash=sha256:" in entry, entry


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_meets_what_the_project_asks_for(lock):
    pins = _pins(lock)
    for wanted in _wanted(LOCKS[lock]):
        assert wanted.specifier.contains(pins[canonicalize_name(wanted.name)]), wanted


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_names_no_index_and_no_folder(lock):
    assert not re.search(r"://|index-url|find-links|(?m:^\s*#.*/)", _text(lock))


def test_both_locks_agree():
    ours, theirs = _pins("server"), _pins("development")
    assert {name: ours[name] for name in ours.keys() & theirs} == {
        name: theirs[name] for name in ours.keys() & theirs
    }


def test_install_takes_nothing_without_a_hash():
    recipe = (ROOT / "Makefile").read_text().split("$(INSTALLED): ", 1)[1].split("\n\n", 1)[0]
    assert "--require-hashes" in recipe
    for call in recipe.replace("\\\n", " ").split("pip install")[1:]:
        line = call.splitlines()[0]
        assert "--require-hashes" in line or ("--no-deps" in line and "isolation" in line), line
