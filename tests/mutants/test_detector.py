"""What counts as a catch, and what does not, in a copy of the tree that is left as it was."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.mutants.catalogue import ALL
from tests.mutants.detector import Kind, run_tests
from tests.mutants.mutant import Edit
from tests.mutants.tree import Copy, Unsound, mutated

_PROBES = {
    "green": "def test_it():\n    pass\n",
    "caught": "def test_it():\n    assert 1 + 1 == 3\n",
    "broken": "import conductor_py.no_such_module\n\ndef test_it():\n    pass\n",
    "hung": (
        "import pytest\nimport time\n\n@pytest.mark.timeout(0.5)\n"
        "def test_it():\n    time.sleep(60)\n"
    ),
    "absent": "import pytest\n\n@pytest.mark.skip\ndef test_it():\n    pass\n",
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    return Copy(tmp_path_factory.mktemp("tree"))


def test_mutant_whose_text_is_gone_is_unsound(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    stale = replace(ALL[0], edits=(Edit("a.py", "x = 2", "x = 3"),))
    with pytest.raises(Unsound, match=r"stands 0 times in a\.py"):
        mutated(tmp_path, stale)


def test_copy_is_as_before_when_the_mutant_is_taken_back(copy: Copy) -> None:
    mutant = ALL[0]
    files = [copy.folder / file for file in mutant.files]
    before = [(file.read_bytes(), file.stat().st_mtime_ns) for file in files]
    with copy.planted(mutant):
        assert all(file.read_bytes() != text for file, (text, _) in zip(files, before, strict=True))
    assert [(file.read_bytes(), file.stat().st_mtime_ns) for file in files] == before


@pytest.mark.parametrize("kind", _PROBES)
def test_only_a_test_that_ran_and_failed_is_a_catch(copy: Copy, kind: str) -> None:
    path = copy.folder / f"tests/test_probe_{kind}.py"
    path.write_text(_PROBES[kind])
    try:
        assert run_tests(copy, [f"tests/{path.name}"]).kind is Kind(kind)
    finally:
        path.unlink()
