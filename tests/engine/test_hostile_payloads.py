"""Payloads that somebody makes large, or swaps, after the engine has looked at them."""

from __future__ import annotations

import urllib.request
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from conductor_py.adapters.files.payloads import FilePayloads
from conductor_py.adapters.memory.payloads import MemoryPayloads
from conductor_py.adapters.quickjs import QuickJsScripts
from conductor_py.adapters.s3.payloads import S3Payloads, S3Settings
from conductor_py.decider.need import Need, PayloadWanted
from conductor_py.engine.decisions.encoding import PayloadLimits
from conductor_py.engine.decisions.needs import Fetcher
from conductor_py.engine.definitions.snapshots import snapshots_of
from conductor_py.engine.payloads.reading import PayloadReader
from conductor_py.errors import Conflict, LimitExceeded, PayloadTooLarge, StoreUnavailable
from conductor_py.model.ids import ExecutionId
from conductor_py.model.json_bounds import HEAVY_VALUES
from conductor_py.ports.payloads import CONTENT_TYPE, MOST_BYTES, Location, PayloadKind
from conductor_py.ports.scripts import Evaluation, Value
from conductor_py.testing import MemoryEngine, memory_engine
from conductor_py.wire.outside import HeavyPlace, OutsideJson
from tests.builders import (
    inline,
    policy,
    report,
    set_variable,
    simple,
    status_of,
    task_of,
    typed,
    workflow,
)
from tests.heavy import another_has
from tests.services.buckets import S3Bucket
from tests.waiting import PATIENCE_S

Store = FilePayloads | MemoryPayloads | S3Payloads

_MILLION_LISTS = b"[" + b"[]," * 1_100_000 + b"[]]"
_TOO_MANY = "more than 2000000 JSON values, the limit (conductor.limits.jsonValues)"
_SCHEMA = {"name": "s", "version": 1, "type": "JSON", "data": {"type": "object"}}


@pytest.fixture(params=["memory", "files", pytest.param("s3", marks=pytest.mark.service)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    match request.param:
        case "memory":
            return MemoryPayloads(now_ms=lambda: 1_000)
        case "files":
            return FilePayloads(tmp_path, base_url="http://here", now_ms=lambda: 1_000)
        case _:
            bucket: S3Bucket = request.getfixturevalue("s3_bucket")
            return S3Payloads(
                S3Settings(
                    bucket=bucket.name,
                    region=bucket.region,
                    endpoint=bucket.endpoint,
                    access_key=bucket.access_key,
                    secret_key=bucket.secret_key,
                )
            )


def _send(store: Store, location: Location, document: bytes) -> None:
    if isinstance(store, S3Payloads):
        request = urllib.request.Request(location.uri, data=document, method="PUT")
        request.add_header("Content-Type", CONTENT_TYPE)
        with urllib.request.urlopen(request, timeout=PATIENCE_S):
            return
    with store.open_upload(location.uri.rsplit("/", 1)[1]) as upload:
        upload.write(document)


def _sent(store: Store, kind: PayloadKind, document: bytes) -> Location:
    location = store.write_location(kind)
    _send(store, location, document)
    return location


def _swap(store: Store, location: Location, document: bytes) -> None:
    with suppress(Conflict):
        _send(store, location, document)


# -- swapped after it was accepted -----------------------------------------------------------------


def test_output_that_is_swapped_after_it_was_accepted_is_read_as_it_was(store: Store) -> None:
    engine = memory_engine(payloads=store)
    after = simple("c", inputParameters={"seen": "${a.output.y}"})
    engine.start(workflow("w", simple("a"), simple("b"), after))
    (task,) = engine.poll("a")
    location = _sent(store, PayloadKind.TASK_OUTPUT, b'{"y":5}')
    report(engine, task, external_output=location.path)
    _swap(store, location, b'{"y":' + b"[[]]," * 10 + b"6}")
    engine.run("b")
    (polled,) = engine.poll("c")
    assert polled["inputData"] == {"seen": 5}


def test_output_that_is_swapped_after_it_was_searched_for_secrets_does_not_reveal_them(
    store: Store,
) -> None:
    engine = memory_engine(payloads=store, values={"SECRET_TOKEN": "s3cr3t-token"})
    execution = engine.start(workflow("w", simple("a"), simple("b")))
    (task,) = engine.poll("a")
    location = _sent(store, PayloadKind.TASK_OUTPUT, b'{"y":5}')
    report(engine, task, external_output=location.path)
    _swap(store, location, b'{"y":"s3cr3t-token"}')
    stored = task_of(engine, execution, "a")["externalOutputPayloadStoragePath"]
    assert store.get(stored) == b'{"y":5}'


def test_input_that_is_swapped_after_it_satisfied_its_schema_is_read_as_it_was(
    store: Store,
) -> None:
    engine = memory_engine(payloads=store)
    number = {"type": "object", "properties": {"n": {"type": "integer"}}}
    task = simple("b", inputParameters={"seen": "${workflow.input.n}"})
    definition = workflow("w", simple("a"), task, inputSchema={**_SCHEMA, "data": number})
    location = _sent(store, PayloadKind.WORKFLOW_INPUT, b'{"n":1}')
    engine.start(definition, external_input=location.path)
    _swap(store, location, b'{"n":"one"}')
    engine.run("a")
    (polled,) = engine.poll("b")
    assert polled["inputData"] == {"seen": 1}


# -- of too many values ----------------------------------------------------------------------------


@pytest.mark.parametrize("values", [{}, {"SECRET_TOKEN": "s3cr3t-token"}], ids=["", "secrets"])
def test_output_of_too_many_values_fails_the_task_that_sent_it(
    store: Store, values: dict[str, str]
) -> None:
    engine = memory_engine(payloads=store, values=values)
    after = simple("b", inputParameters={"seen": "${a.output.y}"})
    started = engine.start(workflow("w", simple("a"), after))
    (task,) = engine.poll("a")
    location = _sent(store, PayloadKind.TASK_OUTPUT, b'{"y":' + _MILLION_LISTS + b"}")
    report(engine, task, external_output=location.path)
    failed = task_of(engine, started, "a")
    assert failed["status"] == "FAILED_WITH_TERMINAL_ERROR"
    assert f"Task output has {_TOO_MANY}" in failed["reasonForIncompletion"]
    assert "externalOutputPayloadStoragePath" not in failed


@pytest.mark.parametrize("more", [{}, {"inputSchema": _SCHEMA}], ids=["", "schema"])
def test_start_with_an_input_of_too_many_values_is_refused(
    store: Store, more: dict[str, Any]
) -> None:
    engine = memory_engine(payloads=store)
    location = _sent(store, PayloadKind.WORKFLOW_INPUT, b'{"y":' + _MILLION_LISTS + b"}")
    with pytest.raises(PayloadTooLarge) as refused:
        engine.start(workflow("w", simple("a"), **more), external_input=location.path)
    assert f"Workflow input has {_TOO_MANY}" in refused.value.message


@pytest.mark.parametrize(
    ("document", "wrong"),
    [(b'{"y":' + _MILLION_LISTS + b"}", _TOO_MANY), (b" " * (MOST_BYTES + 1), "larger than")],
    ids=["values", "bytes"],
)
def test_document_that_was_exchanged_in_the_store_itself_is_not_parsed(
    tmp_path: Path, document: bytes, wrong: str
) -> None:
    store = FilePayloads(tmp_path, base_url="http://here", now_ms=lambda: 1_000)
    engine = memory_engine(payloads=store)
    after = simple("c", inputParameters={"seen": "${a.output.y}"})
    started = engine.start(workflow("w", simple("a"), simple("b"), after))
    (task,) = engine.poll("a")
    report(engine, task, external_output=_sent(store, PayloadKind.TASK_OUTPUT, b"{}").path)
    (file,) = tmp_path.rglob("*.json")
    file.write_bytes(document)
    engine.run("b")
    assert status_of(engine, started) == "FAILED"
    assert wrong in engine.workflow(started)["reasonForIncompletion"]


def test_result_of_a_script_of_too_many_values_fails_its_task(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", inline("t", "Array(1100000).fill([])")))
    task = task_of(engine, started, "t")
    assert task["status"] == "FAILED_WITH_TERMINAL_ERROR"
    assert _TOO_MANY in task["reasonForIncompletion"]


_FEW = PayloadLimits(values=3_000)
_MANY: list[list[Any]] = [[]] * 1_000


def test_input_that_is_made_of_several_outputs_has_no_more_values_than_one() -> None:
    engine = memory_engine(payload_limits=_FEW)
    both = {"x": "${a.output.x}", "y": "${b.output.x}"}
    tasks = [simple("a"), simple("b"), simple("c", inputParameters=both)]
    started = engine.start(workflow("w", *tasks))
    for name in ("a", "b"):
        engine.run(name, {"x": _MANY})
    task = task_of(engine, started, "c")
    assert task["status"] == "FAILED_WITH_TERMINAL_ERROR"
    assert "Task input has more than 3000 JSON values" in task["reasonForIncompletion"]


def test_variables_do_not_grow_by_values_without_end() -> None:
    engine = memory_engine(payload_limits=_FEW)
    more = {"a": "${workflow.input.x}", "b": "${workflow.input.x}"}
    started = engine.start(workflow("w", set_variable("s", **more)), input={"x": _MANY})
    assert status_of(engine, started) == "FAILED"


def test_output_that_brings_too_many_values_fails_its_task() -> None:
    engine = memory_engine(payload_limits=_FEW)
    started = engine.start(workflow("w", policy("a", retryCount=3)))
    engine.run("a", {"x": [[]] * 2_000})
    task = task_of(engine, started, "a")
    assert (task["status"], task["outputData"]) == ("FAILED_WITH_TERMINAL_ERROR", {})
    assert "Task output has more than 3000 JSON values" in task["reasonForIncompletion"]
    assert status_of(engine, started) == "FAILED"


# -- one heavy document at a time ------------------------------------------------------------------


def test_heavy_payload_waits_outside_of_the_engine_while_another_is_dealt_with(
    engine: MemoryEngine,
) -> None:
    ports, place = engine.ports, HeavyPlace()
    outside = OutsideJson(place=place, wait_s=0)
    fetcher = Fetcher(
        ports.store,
        snapshots_of(ports),
        PayloadReader(ports.payloads, outside=outside),
        ports.scripts,
        lambda _, __: "",
        ports.cache,
    )
    heavy = b'{"x":[' + b"[]," * HEAVY_VALUES + b"[]]}"
    path = ports.payloads.put(PayloadKind.TASK_OUTPUT, heavy)
    wanted = Need({"payload": PayloadWanted(path)})
    execution = ExecutionId(engine.start(workflow("w", simple("a"))))
    known: dict[str, object] = {}
    with another_has(place), pytest.raises(StoreUnavailable):
        fetcher.fulfil(execution, wanted, known, None)
    assert known == {}
    assert fetcher.fulfil(execution, wanted, known, None)
    assert isinstance(known["payload"], dict)
    assert not place.is_own


def test_heavy_result_of_a_script_is_a_script_that_found_no_process() -> None:
    place = HeavyPlace()
    scripts = QuickJsScripts(workers=1, outside=OutsideJson(place=place, wait_s=0))
    heavy = Evaluation(evaluator="javascript", expression="Array(60000).fill([])", input={})
    with closing(scripts):
        with another_has(place), pytest.raises(LimitExceeded):
            scripts.evaluate([heavy])
        (result,) = scripts.evaluate([heavy])
    assert isinstance(result, Value)


# -- where a path stands in somebody's data --------------------------------------------------------


def test_start_task_that_names_an_input_of_too_many_values_fails_and_says_why(
    engine: MemoryEngine,
) -> None:
    document = b'{"y":' + _MILLION_LISTS + b"}"
    path = engine.ports.payloads.put(PayloadKind.WORKFLOW_INPUT, document)
    request = {"name": "w", "externalInputPayloadStoragePath": path}
    start = typed("START_WORKFLOW", "s", inputParameters={"startWorkflow": request})
    started = engine.start(workflow("w", start))
    task = task_of(engine, started, "s")
    assert task["status"] == "FAILED"
    assert _TOO_MANY in task["reasonForIncompletion"]
