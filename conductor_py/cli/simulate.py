"""``conductor-py simulate``: a workflow of one's own, run in a simulated deployment with faults."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from conductor_py.cli.connection import file_document
from conductor_py.cli.printing import print_table, say
from conductor_py.errors import InvalidInput, MissingExtra

if TYPE_CHECKING:
    from conductor_py.testing.simulation.runs import Run

_FILE: Final = click.Path(allow_dash=True, dir_okay=False, path_type=Path)


@click.command()
@click.argument("files", nargs=-1, required=True, type=_FILE)
@click.option("--seed", default=0, show_default=True, help="The first seed; it decides everything.")
@click.option("--seeds", default=20, show_default=True, help="How many seeds to run.")
@click.option("--tasks", type=_FILE, help="JSON: what workers do, by task reference or name.")
@click.option("--input", "input_file", type=_FILE, help="JSON: the input of each execution.")
@click.option("--executions", default=2, show_default=True, help="Executions in each run.")
@click.option("--trace", is_flag=True, help="Print what happens in each run, in words.")
def simulate(
    files: tuple[Path, ...],
    *,
    seed: int,
    seeds: int,
    tasks: Path | None,
    input_file: Path | None,
    executions: int,
    trace: bool,
) -> int:
    """Run the first workflow in FILES in a simulated deployment, seed after seed.

    Processes crash, messages are lost, doubled and late, clocks step; the workers are simulated,
    too. FILES hold definitions, workflows and tasks, one or a list each. The exit code is 1 when an
    execution does not end, or an invariant of the engine does not hold.
    """
    try:
        from conductor_py.testing.simulation.own import behave_as, own_scenario, read_behaviours
        from conductor_py.testing.simulation.world import World
    except ModuleNotFoundError as missing:
        if missing.name != "greenlet":
            raise
        raise MissingExtra("The simulator needs greenlet", extra="simulation") from missing
    found = [each for file in files for each in _listed(file_document(file))]
    workflows = [_workflow(each) for each in found if "tasks" in each]
    definitions = [_task_definition(each) for each in found if "tasks" not in each]
    if not workflows:
        raise InvalidInput("There is no workflow definition in these files: it has 'tasks'.")
    behaviours = read_behaviours(file_document(tasks)) if tasks is not None else {}
    given_input: Any = file_document(input_file) if input_file is not None else {}
    rows, failed = [], 0
    for number in range(seed, seed + seeds):
        scenario = own_scenario(
            workflows,
            number,
            tasks=definitions,
            given_input=given_input,
            executions=executions,
        )
        run = World(scenario, keeps_words=trace, behave=behave_as(behaviours, number)).run()
        if trace:
            for entry in run.journal.entries:
                say(entry)
        rows.append(_row(run, scenario.weather))
        for violation in run.violations[:1]:
            failed += 1
            say(f"seed {number}: {violation.invariant}: {violation.sentence}", err=True)
    print_table(("seed", "weather", "executions", "faults", "virtual s", "verdict"), rows)
    if failed:
        say(f"{failed} of {seeds} seeds failed; see one with --seed N --seeds 1 --trace", err=True)
    return 1 if failed else 0


def _row(run: Run, weather: str) -> tuple[object, ...]:
    statuses = Counter(str(document["status"]) for document in run.outcomes.values())
    ended = ", ".join(f"{count} {status}" for status, count in sorted(statuses.items()))
    verdict = run.violations[0].invariant if run.violations else "ok"
    faults = run.faults.total()
    return run.seed, weather, ended or "none", faults, f"{run.virtual_ms / 1000:.1f}", verdict


def _listed(document: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - any JSON value
    listed = document if isinstance(document, list) else [document]
    for each in listed:
        if not isinstance(each, dict):
            raise InvalidInput("A file holds one definition or a list of them.")
    return listed


def _workflow(given: dict[str, Any]) -> dict[str, Any]:
    """Hold a definition to the rules of registration."""
    from conductor_py.codec.definitions import workflow_to_json
    from conductor_py.wire.definition_reader import DefinitionReader

    return workflow_to_json(DefinitionReader().workflow(given))


def _task_definition(given: dict[str, Any]) -> dict[str, Any]:
    from conductor_py.codec.definitions import task_def_to_json
    from conductor_py.wire.definition_reader import DefinitionReader

    return task_def_to_json(DefinitionReader().task_def(given))
