"""Copies of the tree, in which bugs are planted; the tree itself is never touched."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.mutants.mutant import Mutant

ROOT: Final = Path(__file__).parents[2]
_NEEDED: Final = ("conductor_py", "tests", "workers", "schemas", "setup.cfg", "setup.py")
_LEFT: Final = shutil.ignore_patterns("*.egg-info", ".*", "*.pyc.*")


class Unsound(Exception):
    """A mutant does not fit the tree any more; the sentence says which text, and where."""


class Copy:
    """One copy of what the tests need."""

    def __init__(self, folder: Path) -> None:
        """Copy into an empty folder."""
        self.folder = folder
        self._planted = False
        for name in _NEEDED:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, folder / name, ignore=_LEFT)
            else:
                shutil.copy2(ROOT / name, folder / name)

    @contextmanager
    def planted(self, mutant: Mutant) -> Iterator[None]:
        """Have a mutant in here."""
        before = {file: (self.folder / file).stat() for file in mutant.files}
        originals = {file: (self.folder / file).read_bytes() for file in mutant.files}
        try:
            for file, text in mutated(self.folder, mutant).items():
                (self.folder / file).write_text(text, encoding="utf-8")
            self._planted = True
            yield
        finally:
            self._planted = False
            for file, original in originals.items():
                (self.folder / file).write_bytes(original)
                # What was compiled from the original is good again.
                stat = before[file]
                os.utime(self.folder / file, ns=(stat.st_atime_ns, stat.st_mtime_ns))

    def environment(self) -> dict[str, str]:
        """What makes a process import this copy, and leave no compiled mutant behind."""
        path = os.pathsep.join((str(self.folder), str(self.folder / "workers")))
        compiled = {"PYTHONDONTWRITEBYTECODE": "1"} if self._planted else {}
        return {**os.environ, "PYTHONPATH": path, **compiled}


def mutated(root: Path, mutant: Mutant) -> dict[str, str]:
    """The files of a mutant as it has them. Raises ``Unsound``."""
    texts = {file: (root / file).read_text(encoding="utf-8") for file in mutant.files}
    for edit in mutant.edits:
        found = texts[edit.file].count(edit.old)
        if found != 1:
            raise Unsound(
                f"{mutant.id}: what it changes stands {found} times in {edit.file}: {edit.old!r}"
            )
        texts[edit.file] = texts[edit.file].replace(edit.old, edit.new)
    return texts
