"""Documents that a user hands to a command: what is said about one that cannot be read."""

from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.sdk.stub import StubServer


def test_a_file_without_its_at_sign_is_told_of(run: Run, stub: StubServer, tmp_path: Path) -> None:
    file = tmp_path / "input.json"
    file.write_text("{}")

    outcome = run("workflow", "start", "orders", "--input", str(file))

    assert outcome.code == 2
    assert f"{file} is a file: write @{file}" in outcome.err
    assert stub.requests == []


@pytest.mark.parametrize("sign", ["@", ""])
def test_json_that_cannot_be_read_is_told_with_its_file(
    run: Run, stub: StubServer, tmp_path: Path, sign: str
) -> None:
    file = tmp_path / "orders.json"
    file.write_text('{"name": ')
    arguments = ("schedule", "save") if sign else ("definition", "register")

    outcome = run(*arguments, f"{sign}{file}")

    assert outcome.code == 2
    assert f"{file} is not JSON" in outcome.err
    assert stub.requests == []


@pytest.mark.parametrize("member", ["version", "outputParameters", "schemaVersion"])
def test_a_workflow_with_misspelt_tasks_is_not_registered_as_a_task(
    run: Run, stub: StubServer, tmp_path: Path, member: str
) -> None:
    file = tmp_path / "orders.json"
    file.write_text(f'{{"name": "orders", "taks": [], "{member}": 1}}')

    outcome = run("definition", "register", str(file))

    assert outcome.code == 2
    assert f"orders has '{member}' as a workflow has, but no 'tasks'" in outcome.err
    assert stub.requests == []


@pytest.mark.parametrize(
    ("written", "said"),
    [("NaN", "NaN"), ("Infinity", "Infinity"), ("-Infinity", "-Infinity"), ("1e999", "Infinity")],
)
@pytest.mark.parametrize(
    "command",
    [("workflow", "start", "orders", "--input"), ("definition", "register"), ("dag", "save")],
)
def test_a_number_that_json_has_not_is_told_with_its_path_and_nothing_is_sent(  # noqa: PLR0917 - cases
    run: Run, stub: StubServer, tmp_path: Path, command: tuple[str, ...], written: str, said: str
) -> None:
    file = tmp_path / "orders.json"
    file.write_text(f'{{"name": "orders", "tasks": [{{"n": {written}}}]}}')
    sign = "@" if command[-1] == "--input" else ""

    outcome = run(*command, f"{sign}{file}")

    assert outcome.code == 2
    assert f"{file} is not JSON: $.tasks[0].n is {said}, which JSON has not" in outcome.err
    assert stub.requests == []
