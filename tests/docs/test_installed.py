"""A page is followed with what it has installed, though the tests have all extras."""

import os
import subprocess
import sys

from tests.docs.installed import with_extras


def _found(*modules: str, extras: frozenset[str], packages: tuple[str, ...] = ()) -> list[bool]:
    asked = f"from importlib.util import find_spec; print([bool(find_spec(m)) for m in {modules}])"
    done = subprocess.run(
        [sys.executable, "-c", asked],
        env=with_extras(dict(os.environ), extras, *packages),
        capture_output=True,
        text=True,
        check=True,
    )
    return [word == "True" for word in done.stdout.strip("[]\n").split(", ")]


def test_packages_of_an_extra_are_there_if_it_is_installed() -> None:
    modules = ("redis", "kazoo", "pyspark", "pyarrow", "pytest")
    assert _found(*modules, extras=frozenset()) == [True, False, False, False, False]
    assert _found(*modules, extras=frozenset({"spark"})) == [True, False, True, True, False]


def test_a_package_that_a_page_tells_to_install_is_there_without_the_plugins_of_the_tests() -> None:
    modules = ("pytest", "pluggy", "xdist", "pyspark")
    found = _found(*modules, extras=frozenset(), packages=("pytest",))
    assert found == [True, True, False, False]
