"""Shells that people type into: the machine's own, or Debian's."""

import shutil
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.services.cache import fetched
from tests.services.debian import library_path, unpack


@dataclass(frozen=True, slots=True)
class Shell:
    """How one is started without anybody's settings, and what it is told before it is typed into.

    `setting_up` are lines of its own language; `{script}` is the file of the completion.
    """

    command: tuple[str, ...]
    env: dict[str, str]
    setting_up: str


def shell(name: str) -> Shell:
    """bash, zsh or fish; Unobtainable when it cannot be had."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[name]()


def _bash() -> Shell:
    return Shell(("bash", "--norc", "-i"), {}, "source {script}")


def _zsh() -> Shell:
    setting_up = "autoload -U compinit; compinit -u -D; source {script}"
    installed = shutil.which("zsh")
    if installed is not None:
        return Shell((installed, "-f", "-i"), {}, setting_up)
    root = fetched("zsh-debian", partial(unpack, packages=("zsh", "zsh-common")))
    (modules,) = {each.parent.parent for each in root.glob("usr/lib/*/zsh/*/zsh/zle.so")}
    functions = sorted({str(each.parent) for each in root.glob("usr/share/zsh/functions/**/*")})
    setting_up = f"module_path=({modules}); fpath=({' '.join(functions)}); {setting_up}"
    return Shell((_program(root, "zsh"), "-f", "-i"), library_path(root), setting_up)


def _fish() -> Shell:
    more = ("--no-config", "--private", "--interactive")
    installed = shutil.which("fish")
    if installed is not None:
        return Shell((installed, *more), {}, "source {script}")
    packages = ("fish", "fish-common", "libpcre2-32-0")
    root = fetched("fish-debian", partial(unpack, packages=packages))
    return Shell((_program(root, "fish"), *more), library_path(root), "source {script}")


def _program(root: Path, name: str) -> str:
    """Its file; some versions are in ``/bin``, others in ``/usr/bin``."""
    found = [root / place / name for place in ("usr/bin", "bin")]
    return str(next(each for each in found if each.is_file()))
