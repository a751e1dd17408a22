"""The tutorials of data pipelines do what they say for a reader who follows them, on a real Spark,
and so does the page on their jobs.

Nothing is set before. In one command a reader writes the address of a database of theirs.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.docs.pages import page
from tests.docs.reader import follow, steps_of
from tests.docs.theirs import with_theirs

pytestmark = [pytest.mark.spark, pytest.mark.thorough(target="docs"), pytest.mark.timeout(1_000)]

_LONGEST_S = 900

_DATABASE = "postgresql://me:password@127.0.0.1/tutorial"


def test_flights_are_loaded_once_although_the_worker_is_killed(
    postgresql_server: str, tmp_path: Path
) -> None:
    _follow("pipeline", tmp_path, database=postgresql_server)


def test_a_watched_folder_is_left_with_a_savepoint_and_gone_on_with(tmp_path: Path) -> None:
    _follow("watched-folder", tmp_path)


def test_a_pipeline_is_looked_at_changed_and_taken_back(tmp_path: Path) -> None:
    found = page("docs/reference/pipelines.md")
    follow(found, with_theirs(found), tmp_path, longest_s=_LONGEST_S)


def _follow(name: str, folder: Path, *, database: str = "") -> None:
    found = page(f"docs/tutorials/{name}.md")
    steps = steps_of(found)
    if database:
        assert sum(step.text.count(_DATABASE) for step in steps) == 1
        steps = tuple(replace(each, text=each.text.replace(_DATABASE, database)) for each in steps)
    place = "work place"  # a path may have a space
    followed = follow(found, steps, folder, network=not database, place=place, longest_s=_LONGEST_S)
    for step, printed in zip(followed.steps, followed.printed, strict=True):
        if step.prints is not None:
            assert printed.strip() == step.prints.strip()
