"""Commands that write files and pages, and the copies of them in the tree."""

from importlib.metadata import version
from pathlib import Path

import pytest

from conductor_py.config import example
from tests.architecture.tree import ROOT
from tests.cli.conftest import Run


def test_config_example_prints_the_file(run: Run) -> None:
    assert run("config", "example").out == example()


def test_the_page_of_settings_is_up_to_date(run: Run) -> None:
    page = ROOT / "docs/reference/configuration.md"

    # After a change of a setting: conductor-py config reference > docs/reference/configuration.md
    assert run("config", "reference").out == page.read_text(encoding="utf-8")


def test_schemas_are_written(run: Run, tmp_path: Path) -> None:
    outcome = run("schemas", "write", str(tmp_path / "schemas"))

    assert outcome.code == 0
    assert (tmp_path / "schemas/openapi.json").stat().st_size > 1000


def test_schemas_where_nothing_can_be_written_are_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    outcome = run("schemas", "write", str(tmp_path / "file/below"))

    assert outcome.code == 2
    assert "cannot be written" in outcome.err


def test_version_is_that_of_the_package(run: Run) -> None:
    assert run("version").out == f"{version('conductor-py')}\n"


@pytest.mark.parametrize("arguments", [("nonsense",), ("workflow", "nonsense"), ("server", "-x")])
def test_an_unknown_command_or_flag_is_2(run: Run, arguments: tuple[str, ...]) -> None:
    outcome = run(*arguments)

    assert (outcome.code, outcome.out) == (2, "")
    assert "No such" in outcome.err
