"""``conductor-py pipeline``: jobs checked and drawn without a server."""

import json

import pytest

from conductor_py.cli import main
from tests.builders import Json
from tests.pipelines.jobs import EXAMPLE, example


def _run(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main(["pipeline", *map(str, arguments)])
    said = capsys.readouterr()
    return ended.value.code, said.out, said.err


def test_valid_job_is_told_with_its_number_of_pipelines(capsys):
    assert _run(capsys, "validate", EXAMPLE) == (
        0,
        "orders-lake-nightly is valid: 3 pipelines\n",
        "",
    )


def test_wrong_job_is_told_by_path_with_exit_code_1(capsys, tmp_path):
    job = example()
    job["sinks"][1]["require"] = "exactly_once"
    file = tmp_path / "job.json"
    file.write_text(json.dumps(job))
    code, out, err = _run(capsys, "plan", file)
    assert (code, out) == (1, "")
    assert "$.sinks[1].require: is more than this sink gives: idempotent" in err


def test_plan_draws_pipelines_stages_and_exchanges(capsys):
    code, out, _ = _run(capsys, "plan", EXAMPLE)
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert code == 0
    assert [line for line in lines if line.startswith(("stage", "⇒"))] == [
        "stage 0",
        "⇒ exchange daily/i takes orders",
        "stage 1",
    ]
    assert "dedup transform dedup ← i: clean keyed" in lines
    assert "daily transform aggregate ← i: exchange of enrich blocking" in lines
    assert "daily_db sink jdbc ← input: daily exactly_once" in lines


def test_explain_says_why(capsys):
    _, out, _ = _run(capsys, "explain", EXAMPLE)
    assert "orders_es: idempotent, because a document's id comes from its row" in out
    assert "must see all of its input" in out
    assert "rounds: no transform needs event time" in out


def test_json_is_the_whole_description(capsys):
    _, out, _ = _run(capsys, "explain", EXAMPLE, "--json")
    described = json.loads(out)
    assert [len(each["stages"]) for each in described["pipelines"]] == [2, 1, 1]


def test_job_is_found_in_a_workflow_and_its_path_is_that_of_the_workflow(capsys, tmp_path):
    inner: list[Json] = [
        {"taskReferenceName": name, "type": "SPARK_PIPELINE", "inputParameters": {"job": example()}}
        for name in ("one", "other")
    ]
    fork = {
        "taskReferenceName": "fork",
        "type": "FORK_JOIN",
        "forkTasks": [[each] for each in inner],
    }
    file = tmp_path / "workflow.json"
    file.write_text(json.dumps({"name": "w", "tasks": [fork]}))
    code, _, err = _run(capsys, "validate", file)
    assert (code, "there are one, other" in err) == (1, True)
    assert _run(capsys, "validate", file, "--task", "other")[0] == 0
    inner[1]["inputParameters"]["job"]["name"] = 7
    file.write_text(json.dumps({"name": "w", "tasks": [fork]}))
    _, _, err = _run(capsys, "validate", file, "--task", "other")
    assert "$.tasks[0].forkTasks[1][0].inputParameters.job.name: must be a string" in err


def test_file_that_holds_no_job_is_refused(capsys, tmp_path):
    file = tmp_path / "job.json"
    file.write_text('{"name": "w", "tasks": []}')
    code, _, err = _run(capsys, "validate", file)
    assert (code, err) == (1, "Error: The workflow has no SPARK_PIPELINE task.\n")
