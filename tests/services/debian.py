"""Packages of Debian, unpacked into a folder of their own: nothing is installed."""

import os
import platform
import shutil
from pathlib import Path

from tests.services.cache import Unobtainable, run, tool


def unpack(folder: Path, packages: tuple[str, ...]) -> None:
    """Fetch packages as the machine's Debian has them, and unpack them into the folder."""
    apt, dpkg = tool("apt-get"), tool("dpkg-deb")
    place = folder / "packages"
    place.mkdir(parents=True)
    try:
        run(apt, "download", *packages, cwd=place)
    except Unobtainable:
        run(apt, "update", cwd=place)  # a fresh machine has no package lists
        run(apt, "download", *packages, cwd=place)
    for package in sorted(place.glob("*.deb")):
        run(dpkg, "-x", str(package), str(folder), cwd=folder)
    shutil.rmtree(place)


def library_path(root: Path) -> dict[str, str]:
    """What lets a program find the libraries that are unpacked below a folder."""
    folders = [root / "usr/lib", root / "lib"]
    inner = [folder / f"{platform.machine()}-linux-gnu" for folder in folders]
    return {"LD_LIBRARY_PATH": os.pathsep.join(map(str, inner))}
