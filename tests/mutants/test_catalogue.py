"""The list of mutants fits the tree: otherwise it would rot unseen."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from tests.mutants.catalogue import ALL
from tests.mutants.mutant import DECIDER, ENGINE, INVARIANT, LUA, NAME, Mutant
from tests.mutants.tree import ROOT, mutated

_AT_LEAST = 40
_WITH_SCRIPTS = 25


@pytest.mark.parametrize("mutant", ALL, ids=lambda mutant: mutant.id)
def test_mutant_changes_texts_that_stand_once_in_the_tree(mutant: Mutant) -> None:
    for file, text in mutated(ROOT, mutant).items():
        assert text != (ROOT / file).read_text(encoding="utf-8")
        if file.endswith(".py"):
            ast.parse(text)


@pytest.mark.parametrize("mutant", ALL, ids=lambda mutant: mutant.id)
def test_mutant_says_what_it_breaks_and_what_ought_to_notice(mutant: Mutant) -> None:
    assert NAME.match(mutant.id)
    assert mutant.bug.endswith(".")
    assert mutant.breaks
    assert all(INVARIANT.match(name) for name in mutant.breaks)
    assert mutant.caught_by
    for selection in mutant.caught_by:
        path = selection.partition(" ")[0].partition("::")[0]
        assert Path(ROOT, path).is_file(), path


def test_ids_are_unique() -> None:
    assert [name for name, n in Counter(mutant.id for mutant in ALL).items() if n > 1] == []


def test_there_are_mutants_of_every_part() -> None:
    touched = Counter(
        part
        for mutant in ALL
        for part in (LUA, ENGINE, DECIDER)
        if any(file.startswith(part) for file in mutant.files)
    )
    assert len(ALL) >= _AT_LEAST
    assert touched[LUA] >= _WITH_SCRIPTS
    assert min(touched[ENGINE], touched[DECIDER]) >= 10
