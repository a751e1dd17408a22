"""Secrets and environment: handed to whoever works on a task, and kept nowhere."""

import json
import time
from base64 import b64encode
from typing import Any
from unittest.mock import Mock
from urllib.parse import quote, quote_plus

import pytest

from conductor_py.decider.expressions.expressions import named_value
from conductor_py.engine.tasks.hand_out import HandOut
from conductor_py.model.ids import ExecutionId
from conductor_py.model.requests import TaskLog
from conductor_py.ports.payloads import PayloadKind
from conductor_py.testing import MemoryEngine, memory_engine
from tests.builders import (
    extend,
    fork_inputs,
    inline,
    join,
    policy,
    run_failing,
    simple,
    sub_workflow,
    task_of,
    typed,
    workflow,
)
from tests.steps import lines_of

_VALUES = {
    "SECRET_TOKEN": "s3cr3t-token",
    "SECRET_DB": '{"user": "u", "ports": [1, 2]}',
    "ENV_REGION": "eu-1",
    "PATH": "/bin",
}
_TOKEN = "${workflow.secrets.TOKEN}"


@pytest.fixture
def engine() -> MemoryEngine:
    return memory_engine(values=_VALUES)


def _handed(engine: MemoryEngine, parameters: dict[str, Any], **start: Any) -> dict[str, Any]:
    engine.start(workflow("w", simple("a", inputParameters=parameters)), **start)
    (task,) = engine.poll("a")
    handed: dict[str, Any] = task["inputData"]
    return handed


def test_worker_is_handed_the_value_in_a_text_and_by_itself(engine: MemoryEngine) -> None:
    handed = _handed(
        engine,
        {
            "whole": _TOKEN,
            "inside": {"header": [f"Bearer {_TOKEN}"]},
            "region": "in ${workflow.env.REGION}",
            "part": "${workflow.secrets.DB.ports[1]}",
            "absent": "${workflow.secrets.NONE}",
            "absent_inside": "<${workflow.secrets.NONE}>",
        },
    )
    assert handed == {
        "whole": "s3cr3t-token",
        "inside": {"header": ["Bearer s3cr3t-token"]},
        "region": "in eu-1",
        "part": 2,
        "absent": None,
        "absent_inside": "<>",
    }


def _reason(engine: MemoryEngine, execution: str) -> str:
    reason: str = task_of(engine, execution, "a")["reasonForIncompletion"]
    return reason


def test_a_failure_names_the_secrets_that_nobody_has(engine: MemoryEngine) -> None:
    given = {"a": _TOKEN, "b": ["x ${workflow.secrets.NONE}"], "c": "${workflow.env.ZONE.part}"}
    execution = engine.start(workflow("w", simple("a", inputParameters=given)))
    run_failing(engine, "a", "no such host")
    assert _reason(engine, execution) == (
        "no such host (this server has no workflow.env.ZONE.part, workflow.secrets.NONE)"
    )


def test_a_long_reason_leaves_room_for_what_is_missing(engine: MemoryEngine) -> None:
    given = {"b": "${workflow.secrets.NONE}"}
    execution = engine.start(workflow("w", simple("a", inputParameters=given)))
    run_failing(engine, "a", "x" * 600)
    assert _reason(engine, execution).endswith("xxx (this server has no workflow.secrets.NONE)")
    assert len(_reason(engine, execution)) == 500


@pytest.mark.parametrize("text", [_TOKEN, "$${workflow.secrets.NONE}", "plain"])
def test_a_failure_with_all_that_it_names_has_its_own_reason(
    engine: MemoryEngine, text: str
) -> None:
    execution = engine.start(workflow("w", simple("a", inputParameters={"b": text})))
    run_failing(engine, "a", "no such host")
    assert _reason(engine, execution) == "no such host"


def test_value_is_stored_nowhere(engine: MemoryEngine) -> None:
    task = simple("a", inputParameters={"t": _TOKEN})
    execution = engine.start(workflow("w", task, outputParameters={"t": "${a.input.t}"}))
    (handed,) = engine.poll("a")
    assert handed["inputData"] == {"t": "s3cr3t-token"}
    assert task_of(engine, execution, "a")["inputData"] == {"t": _TOKEN}
    engine.complete(handed)
    engine.settle()
    assert engine.workflow(execution)["output"] == {"t": _TOKEN}
    snapshot = engine.ports.reader.snapshot(ExecutionId(execution))
    assert snapshot is not None
    assert not any(b"s3cr3t" in value for value in snapshot[1].values())
    archived = engine.ports.search.archived(execution)
    assert archived is not None
    assert b"s3cr3t" not in archived.document


def test_each_reference_in_a_list_takes_as_many_steps_however_many_there_are(
    engine: MemoryEngine,
) -> None:
    used = []
    for size in (100, 400):
        references = ["${workflow.env.REGION}", "x"] * size
        engine.start(workflow("w", simple("a", inputParameters={"l": references, "n": 1})))
        used.append(lines_of(lambda: engine.poll("a")))
    assert used[1] < 4 * used[0]


@pytest.mark.thorough(target="timing")
def test_list_of_thousands_of_references_is_handed_out_in_linear_time(
    engine: MemoryEngine,
) -> None:
    used = []
    for size in (5_000, 20_000):
        references = ["${workflow.env.REGION}", "x"] * (size // 2)
        tries = []
        for _ in range(5):  # the least of them is nobody else's
            engine.start(workflow("w", simple("a", inputParameters={"l": references, "n": 1})))
            began = time.process_time()
            (task,) = engine.poll("a")
            tries.append(time.process_time() - began)
            assert task["inputData"] == {"l": ["eu-1", "x"] * (size // 2), "n": 1}
        used.append(min(tries))
    assert used[1] < 9 * used[0] + 0.1


def test_value_that_thousands_of_references_name_is_read_once(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = Mock(wraps=named_value)
    monkeypatch.setattr("conductor_py.engine.tasks.hand_out.named_value", read)
    part = "${workflow.secrets.DB.user}"
    handed = _handed(engine, {"l": [part] * 500, "t": f"<{part}{_TOKEN}>" * 500})
    assert handed == {"l": ["u"] * 500, "t": "<us3cr3t-token>" * 500}
    assert read.call_count == 2


@pytest.mark.anomaly("A-51")
def test_text_in_the_data_of_a_caller_is_not_replaced(engine: MemoryEngine) -> None:
    handed = _handed(
        engine,
        {"mine": "${workflow.input.x}", "both": "${workflow.input.y}:${workflow.env.REGION}"},
        input={"x": _TOKEN, "y": _TOKEN},
    )
    assert handed == {"mine": _TOKEN, "both": f"{_TOKEN}:eu-1"}


@pytest.mark.anomaly("A-51")
def test_tasks_that_come_as_data_are_handed_no_secrets(engine: MemoryEngine) -> None:
    inputs = [{"t": _TOKEN}]
    tasks = [fork_inputs("f", inputs, forkTaskName="a"), join("j")]
    engine.start(workflow("w", *tasks))
    assert [task["inputData"]["t"] for task in engine.poll("a", 5)] == [_TOKEN]


@pytest.mark.anomaly("A-51")
def test_sub_workflow_is_not_handed_the_value_as_input(engine: MemoryEngine) -> None:
    child = workflow("c", simple("a", inputParameters={"t": "${workflow.input.t}"}))
    engine.start(workflow("w", sub_workflow("s", child, inputParameters={"t": _TOKEN})))
    engine.settle()
    (task,) = engine.poll("a")
    assert task["inputData"]["t"] == _TOKEN


@pytest.mark.oracle(8)
@pytest.mark.anomaly("A-51")
@pytest.mark.parametrize("text", ["${PATH}", "${SECRET_TOKEN}", "${workflow.env.PATH}"])
def test_nothing_else_of_the_environment_can_be_read(engine: MemoryEngine, text: str) -> None:
    assert _handed(engine, {"x": text}) == {"x": None}


def test_escaped_reference_stays_a_text(engine: MemoryEngine) -> None:
    assert _handed(engine, {"x": f"${_TOKEN}"}) == {"x": _TOKEN}


def test_scripts_see_the_reference_only(engine: MemoryEngine) -> None:
    execution = engine.start(workflow("w", inline("i", "$.t", t=_TOKEN)))
    assert task_of(engine, execution, "i")["outputData"]["result"] == _TOKEN


@pytest.mark.anomaly("A-51")
def test_event_does_not_copy_the_value_into_its_output(engine: MemoryEngine) -> None:
    task = typed("EVENT", "e", sink="conductor", inputParameters={"t": _TOKEN})
    execution = engine.start(workflow("w", task))
    engine.settle()
    assert "s3cr3t" not in str(engine.workflow(execution))


def test_secrets_that_come_back_are_masked(engine: MemoryEngine) -> None:
    execution = engine.start(workflow("w", policy("a", retryCount=0)))
    (task,) = engine.poll("a")
    engine.complete(
        task,
        {"said": "it was s3cr3t-token!", "s3cr3t-token": ["s3cr3t-token", 1]},
        status="FAILED",
        reason="bad s3cr3t-token",
        logs=(TaskLog(line="used s3cr3t-token"),),
    )
    shown = task_of(engine, execution, "a")
    assert shown["outputData"] == {"said": "it was ***!", "***": ["***", 1]}
    assert shown["reasonForIncompletion"] == "bad ***"
    assert [line["log"] for line in engine.engine.tasks.logs(task["taskId"])] == ["used ***"]


_ENCODED = {
    "base64": b64encode(b"s3cr3t-token").decode(),
    "basic": b64encode(b"user:s3cr3t-token").decode(),
    "aligned": b64encode(b"me:s3cr3t-token").decode(),
    "hexadecimal": b"s3cr3t-token".hex(),
    "query": f"https://h/?t={quote_plus('s3/cr&3t t')}",
    "path": f"https://h/{quote('s3/cr&3t t')}",
    "json": json.dumps('say "s3cr3t"'),
    "json in json": json.dumps(json.dumps('say "s3cr3t"')),
}
_SECRETS = {
    "SECRET_TOKEN": "s3cr3t-token",
    "SECRET_URL": "s3/cr&3t t",
    "SECRET_WORDS": 'say "s3cr3t"',
    "SECRET_DB": '{"user": "me", "password": "hunter2-hunter2"}',
    "SECRET_KEY": "-----BEGIN KEY-----\nMIIEvQIBADANBg\n-----END KEY-----\n",
}
_HIDDEN = ("3cr3", "hunter2", "MIIEv", "Njcjc", "M2NyM3", "czNjcj", "c2NyM3", "733363723374")


@pytest.fixture
def hiding() -> MemoryEngine:
    return memory_engine(values=_SECRETS)


@pytest.mark.parametrize("form", _ENCODED)
def test_secrets_that_come_back_encoded_are_masked(hiding: MemoryEngine, form: str) -> None:
    execution = hiding.start(workflow("w", policy("a", retryCount=0)))
    (task,) = hiding.poll("a")
    said = _ENCODED[form]
    hiding.engine.tasks.log(task["taskId"], said)
    hiding.complete(task, {"x": [said], said: 1}, status="FAILED", reason=said)
    read = str(hiding.workflow(execution)) + str(hiding.engine.tasks.logs(task["taskId"]))
    assert read.count("***") >= 4
    assert not [hidden for hidden in (said, *_HIDDEN) if hidden in read]


def test_parts_of_a_secret_that_come_back_are_masked(hiding: MemoryEngine) -> None:
    hiding.start(workflow("w", simple("a")))
    (task,) = hiding.poll("a")
    for line in ("with hunter2-hunter2", "key MIIEvQIBADANBg", "as user me"):
        hiding.engine.tasks.log(task["taskId"], line)
    logs = [line["log"] for line in hiding.engine.tasks.logs(task["taskId"])]
    assert logs == ["with ***", "key ***", "as user me"]


def test_secrets_in_the_progress_of_a_task_are_masked(hiding: MemoryEngine) -> None:
    execution = hiding.start(workflow("w", simple("a")))
    (task,) = hiding.poll("a")
    extend(hiding, task, lease_s=60, progress={"at": "s3cr3t-token", "n": 1, **_ENCODED})
    progress = task_of(hiding, execution, "a")["progress"]
    assert (progress["at"], progress["n"]) == ("***", 1)
    assert not [hidden for hidden in _HIDDEN if hidden in str(progress)]
    stored = hiding.ports.store.load(ExecutionId(execution), ["p:1"])
    assert stored is not None
    assert b"s3cr3t" not in (stored[1]["p:1"] or b"s3cr3t")


def _uploaded(engine: MemoryEngine, document: bytes) -> str:
    execution = engine.start(workflow("w", simple("a"), simple("b")))
    (task,) = engine.poll("a")
    path = engine.ports.payloads.put(PayloadKind.TASK_OUTPUT, document)
    engine.complete(task, external_output=path)
    found: str = task_of(engine, execution, "a")["externalOutputPayloadStoragePath"]
    assert engine.poll("b")
    return found if found != path else "as it was"


@pytest.mark.parametrize(
    "document",
    [
        b'{"x": ["s3cr3t-token", 1], "y": {"deep": "a s3cr3t-token"}}',
        b'{"x": "\\u00733cr3t-token"}',
        json.dumps(_ENCODED).encode(),
        b'["s3cr3t-token"]',
        b"s3cr3t-token that is no JSON",
        b'{"x": "s3cr3t-token", "deep": ' + b"[" * 900 + b"]" * 900 + b"}",
    ],
    ids=["plain", "escaped", "encoded", "list", "no JSON", "too deep"],
)
def test_secrets_in_an_uploaded_output_are_masked_in_what_stands_for_it(
    hiding: MemoryEngine, document: bytes
) -> None:
    stored = hiding.ports.payloads.get(_uploaded(hiding, document))
    assert b"***" in stored
    assert not [hidden for hidden in _HIDDEN if hidden.encode() in stored]


def test_an_uploaded_output_without_secrets_stays_what_it_is(
    hiding: MemoryEngine, engine: MemoryEngine
) -> None:
    assert _uploaded(hiding, b'{ "x": ["nothing", 1] }') == "as it was"
    assert _uploaded(hiding, b"no JSON \xff") == "as it was"


def test_an_upload_is_not_read_where_there_are_no_secrets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = memory_engine()
    monkeypatch.setattr(HandOut, "masked_upload", lambda *_: pytest.fail("it is read"))
    assert _uploaded(engine, b'{"x": "s3cr3t-token"}') == "as it was"


def test_runtime_metadata_is_attached_to_what_is_handed_out_only(engine: MemoryEngine) -> None:
    names = ["TOKEN", "REGION", "NONE"]
    execution = engine.start(workflow("w", policy("a", runtimeMetadata=names)))
    (task,) = engine.poll("a")
    assert task["runtimeMetadata"] == {"TOKEN": "s3cr3t-token", "REGION": "eu-1"}
    assert "runtimeMetadata" not in task_of(engine, execution, "a")
