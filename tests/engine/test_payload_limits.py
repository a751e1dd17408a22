"""Large payloads: what moves to payload storage, what is read back, what is refused and where."""

import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from conductor_py.decider.workspace import Limits
from conductor_py.engine.decisions.encoding import Encoder, PayloadLimits
from conductor_py.errors import PayloadTooLarge
from conductor_py.model.execution import Document
from conductor_py.ports.payloads import PayloadKind
from conductor_py.testing import MemoryEngine, memory_engine
from tests.builders import (
    for_each,
    fork,
    inline,
    join,
    policy,
    report,
    run_failing,
    set_variable,
    simple,
    status_of,
    sub_workflow,
    switch,
    task_of,
    tasks_of,
    terminate,
    typed,
    wait,
    workflow,
)

_SMALL = PayloadLimits(
    workflow_input_soft=3_000,
    workflow_input_hard=20_000,
    workflow_output_soft=3_000,
    workflow_output_hard=6_000,
    task_input_soft=3_000,
    task_input_hard=6_000,
    task_output_soft=3_000,
    task_output_hard=6_000,
)
_MEDIUM, _LARGE = "m" * 4_000, "l" * 10_000


@pytest.fixture
def engine() -> MemoryEngine:
    return memory_engine(payload_limits=_SMALL)


def _reads(engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every path that is fetched from payload storage from now on."""
    read: list[str] = []
    get = engine.ports.payloads.get

    def noted(_: Any, path: str, **bounds: int) -> bytes:
        read.append(path)
        return get(path, **bounds)

    monkeypatch.setattr(type(engine.ports.payloads), "get", noted)
    return read


# -- offload and lazy loading ----------------------------------------------------------------------


def test_large_output_moves_to_payload_storage(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a"), simple("b")))
    engine.run("a", {"x": _MEDIUM})
    task = task_of(engine, started, "a")
    assert task["outputData"] == {}
    assert _MEDIUM in engine.ports.payloads.get(task["externalOutputPayloadStoragePath"]).decode()


@pytest.mark.anomaly("A-63")
def test_payload_is_read_only_where_an_expression_needs_it(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = _reads(engine, monkeypatch)
    last = simple("c", inputParameters={"seen": "${a.output.y}"})
    engine.start(workflow("w", simple("a"), simple("b"), last), input={"z": _MEDIUM})
    engine.run("a", {"x": _MEDIUM, "y": 7})
    assert reads == []
    engine.run("b")
    assert len(reads) == 1
    (task,) = engine.poll("c")
    assert task["inputData"] == {"seen": 7}


def test_output_of_work_in_progress_above_the_limit_is_refused_and_the_task_goes_on(
    engine: MemoryEngine,
) -> None:
    started = engine.start(workflow("w", simple("a")))
    (task,) = engine.poll("a")
    engine.complete(task, {"so": "far"}, status="IN_PROGRESS")
    (task,) = engine.poll("a")
    with pytest.raises(PayloadTooLarge, match="goes on without this report"):
        engine.complete(task, {"x": _LARGE}, status="IN_PROGRESS")
    shown = task_of(engine, started, "a")
    assert (shown["status"], shown["outputData"]) == ("IN_PROGRESS", {"so": "far"})
    engine.complete(task, {"x": _LARGE})
    assert task_of(engine, started, "a")["status"] == "FAILED_WITH_TERMINAL_ERROR"


def test_large_input_moves_to_payload_storage_and_feeds_expressions(engine: MemoryEngine) -> None:
    task = simple("a", inputParameters={"seen": "${workflow.input.y}"})
    started = engine.start(workflow("w", task), input={"x": _MEDIUM, "y": 1})
    assert "externalInputPayloadStoragePath" in engine.workflow(started)
    (polled,) = engine.poll("a")
    assert polled["inputData"] == {"seen": 1}


def test_large_task_input_moves_to_payload_storage(engine: MemoryEngine) -> None:
    task = simple("a", inputParameters={"x": "${workflow.input.x}"})
    engine.start(workflow("w", task), input={"x": _MEDIUM})
    (polled,) = engine.poll("a")
    assert polled["inputData"] == {}
    assert "externalInputPayloadStoragePath" in polled


def test_output_that_a_worker_uploaded_feeds_expressions(engine: MemoryEngine) -> None:
    after = simple("b", inputParameters={"seen": "${a.output.y}"})
    engine.start(workflow("w", simple("a"), after))
    (task,) = engine.poll("a")
    path = engine.ports.payloads.put(PayloadKind.TASK_OUTPUT, b'{"y":5}')
    report(engine, task, external_output=path)
    (polled,) = engine.poll("b")
    assert polled["inputData"] == {"seen": 5}


def test_large_workflow_output_moves_to_payload_storage(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", set_variable("s", a=1), simple("a")))
    engine.run("a", {"x": _MEDIUM})
    found = engine.workflow(started)
    assert found["status"] == "COMPLETED"
    assert "externalOutputPayloadStoragePath" in found


def test_join_over_uploaded_outputs_is_whole(engine: MemoryEngine) -> None:
    definition = workflow("w", fork("f", [simple("a")], [simple("b")]), join("j", "a", "b"))
    started = engine.start(definition)
    engine.run("a", {"x": "p" * 3_500})
    engine.run("b", {"y": 1})
    joined = task_of(engine, started, "j")
    stored = engine.ports.payloads.get(joined["externalOutputPayloadStoragePath"])
    assert b'"b":{"y":1}' in stored
    assert b"ppp" in stored


@pytest.mark.anomaly("A-63")
def test_child_takes_over_an_uploaded_output(engine: MemoryEngine) -> None:
    child = workflow("c", simple("a"))
    after = simple("z", inputParameters={"seen": "${s.output.y}"})
    engine.start(workflow("w", sub_workflow("s", child), after))
    engine.run("a", {"x": _MEDIUM, "y": 3})
    engine.settle()
    (task,) = engine.poll("z")
    assert task["inputData"] == {"seen": 3}


# -- refusals --------------------------------------------------------------------------------------


def test_start_with_an_oversize_input_is_refused(engine: MemoryEngine) -> None:
    with pytest.raises(PayloadTooLarge):
        engine.start(workflow("w", simple("a")), input={"x": "i" * 30_000})
    assert not engine.poll("a")


def test_start_with_an_oversize_uploaded_input_is_refused(engine: MemoryEngine) -> None:
    path = engine.ports.payloads.put(PayloadKind.WORKFLOW_INPUT, b'{"x":"' + b"i" * 30_000 + b'"}')
    with pytest.raises(PayloadTooLarge):
        engine.start(workflow("w", simple("a")), external_input=path)


@pytest.mark.oracle(48)
def test_oversize_output_fails_its_task_and_keeps_nothing_of_it(engine: MemoryEngine) -> None:
    """Oracle row 48."""
    started = engine.start(workflow("w", policy("a", retryCount=3)))
    engine.run("a", {"x": _LARGE})
    task = task_of(engine, started, "a")
    assert (task["status"], task["outputData"]) == ("FAILED_WITH_TERMINAL_ERROR", {})
    assert "6000 bytes" in task["reasonForIncompletion"]
    assert status_of(engine, started) == "FAILED"


def test_oversize_output_of_an_optional_task_fails_only_that(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a", optional=True), simple("b")))
    engine.run("a", {"x": _LARGE})
    assert engine.statuses(started) == {"a": "COMPLETED_WITH_ERRORS", "b": "SCHEDULED"}


_GROWN = {"x": "${workflow.input.x}"}


@pytest.mark.parametrize(
    "task",
    [
        pytest.param(simple("t", inputParameters=_GROWN), id="SIMPLE"),
        pytest.param(inline("t", "1", **_GROWN), id="INLINE"),
        pytest.param(wait("t", **_GROWN), id="WAIT"),
        pytest.param(set_variable("t", **_GROWN), id="SET_VARIABLE"),
        pytest.param(terminate("t", **_GROWN), id="TERMINATE"),
        pytest.param(switch("t", "${workflow.input.x}", {}, [simple("p")]), id="SWITCH"),
        pytest.param(for_each("t", ["${workflow.input.x}"], simple("p")), id="DO_WHILE"),
        pytest.param(
            sub_workflow("t", workflow("c", simple("p")), inputParameters=_GROWN), id="SUB_WORKFLOW"
        ),
        pytest.param(
            {
                **typed("DYNAMIC", "t", dynamicTaskNameParam="n"),
                "inputParameters": {"n": "p", **_GROWN},
            },
            id="DYNAMIC",
        ),
        pytest.param({**fork("t", [simple("p")]), "inputParameters": _GROWN}, id="FORK_JOIN"),
        pytest.param(
            typed(
                "FORK_JOIN_DYNAMIC",
                "t",
                inputParameters={"forkTaskInputs": ["${workflow.input.x}"], "forkTaskName": "p"},
            ),
            id="FORK_JOIN_DYNAMIC",
        ),
    ],
)
def test_oversize_input_fails_its_task(engine: MemoryEngine, task: dict[str, Any]) -> None:
    definition = workflow("w", simple("a"), task, join("j"))
    started = engine.start(definition, input={"x": _LARGE})
    engine.run("a")
    engine.settle()
    found = engine.workflow(started)
    assert found["status"] == "FAILED"
    failed = task_of(engine, started, "t")
    assert (failed["status"], failed["inputData"]) == ("FAILED_WITH_TERMINAL_ERROR", {})
    assert "6000 bytes" in found["reasonForIncompletion"]
    assert not engine.poll("p")


def test_oversize_input_in_the_first_decision_fails_its_task(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", inline("t", "1", **_GROWN)), input={"x": _LARGE})
    assert status_of(engine, started) == "FAILED"


def test_oversize_input_of_an_optional_task_fails_only_that(engine: MemoryEngine) -> None:
    large = {**inline("t", "1", **_GROWN), "optional": True}
    started = engine.start(workflow("w", large, simple("z")), input={"x": _LARGE})
    assert engine.statuses(started) == {"t": "COMPLETED_WITH_ERRORS", "z": "SCHEDULED"}


def test_input_that_is_too_large_for_a_retry_fails_the_task(engine: MemoryEngine) -> None:
    late = policy("a", retryCount=3)
    late["inputParameters"] = {"p": "${workflow.variables.p}", "q": "${workflow.variables.q}"}
    grow = [simple("b"), set_variable("r", p="p" * 3_500), set_variable("s", q="q" * 3_500)]
    branches = [late], grow
    started = engine.start(workflow("w", fork("f", *branches), join("j", "a", "s")))
    engine.run("b")
    run_failing(engine, "a")
    engine.settle()
    attempts = tasks_of(engine, started, "a")
    assert [t["status"] for t in attempts] == ["FAILED", "FAILED_WITH_TERMINAL_ERROR"]
    assert status_of(engine, started) == "FAILED"
    assert not engine.poll("a")


def test_oversize_result_of_a_script_fails_its_task(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", inline("t", "'x'.repeat(9000)")))
    task = task_of(engine, started, "t")
    assert (task["status"], task["outputData"]) == ("FAILED_WITH_TERMINAL_ERROR", {})


def test_oversize_output_of_a_join_fails_the_join(engine: MemoryEngine) -> None:
    definition = workflow("w", fork("f", [simple("a")], [simple("b")]), join("j", "a", "b"))
    started = engine.start(definition)
    engine.run("a", {"x": _MEDIUM})
    engine.run("b", {"x": _MEDIUM})
    assert engine.statuses(started)["j"] == "FAILED_WITH_TERMINAL_ERROR"
    assert status_of(engine, started) == "FAILED"


def test_oversize_item_of_a_loop_fails_the_loop(engine: MemoryEngine) -> None:
    items = ["i" * 3_500, "k" * 9_000]
    loop = typed("DO_WHILE", "l", loopOver=[simple("p")], items="${workflow.input.items}")
    started = engine.start(workflow("w", loop), input={"items": items})
    engine.run("p")
    engine.settle()
    assert engine.statuses(started)["l"] == "FAILED_WITH_TERMINAL_ERROR"
    assert status_of(engine, started) == "FAILED"


@pytest.mark.anomaly("A-29")
def test_oversize_workflow_output_fails_the_execution(engine: MemoryEngine) -> None:
    outputs = {"p": "${a.output.x}", "q": "${a.output.x}"}
    started = engine.start(workflow("w", simple("a"), outputParameters=outputs))
    engine.run("a", {"x": _MEDIUM})
    found = engine.workflow(started)
    assert (found["status"], found["output"]) == ("FAILED", {})
    assert "Workflow output" in found["reasonForIncompletion"]
    assert engine.statuses(started) == {"a": "COMPLETED"}


def test_oversize_input_of_a_child_fails_its_task() -> None:
    """The child's input has a limit of its own, smaller than a task's here."""
    limits = PayloadLimits(workflow_input_soft=1_500, workflow_input_hard=2_000)
    engine = memory_engine(payload_limits=limits)
    grown = simple("g")
    child = sub_workflow("s", workflow("c", simple("p")), inputParameters={"x": "${g.output.x}"})
    started = engine.start(workflow("w", grown, child))
    engine.run("g", {"x": _MEDIUM})
    engine.settle()
    assert engine.statuses(started)["s"] == "FAILED_WITH_TERMINAL_ERROR"
    assert status_of(engine, started) == "FAILED"
    assert not engine.poll("p")


def test_lost_payload_reads_as_empty(engine: MemoryEngine) -> None:
    after = simple("b", inputParameters={"seen": "${a.output.y}"})
    started = engine.start(workflow("w", simple("a"), simple("between"), after))
    engine.run("a", {"x": _MEDIUM, "y": 1})
    engine.ports.payloads.delete(task_of(engine, started, "a")["externalOutputPayloadStoragePath"])
    engine.run("between")
    (task,) = engine.poll("b")
    assert task["inputData"] == {"seen": None}


# -- one large value that expressions bring in again and again -------------------------------------


_BROUGHT = {f"k{n}": "${workflow.input.x}" for n in range(250)}
_TOO_MUCH = "of more than 10485760 bytes is larger than the limit of 10485760 bytes"


def _peak(story: Callable[[], object]) -> int:
    """The most memory that a story takes, in bytes, beyond what was taken before."""
    tracemalloc.start()
    try:
        story()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _deep(text: str) -> Any:
    value: Any = text
    for _ in range(100):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("given", "value"),
    [
        pytest.param(_BROUGHT, "x" * 1_000_000, id="members"),
        pytest.param({"l": ["${workflow.input.x}"] * 250}, "x" * 1_000_000, id="elements"),
        pytest.param({"l": [[{"m": "${workflow.input.x}"}]] * 250}, ["ab"] * 200_000, id="deep"),
        pytest.param({"t": "${workflow.input.x}" * 250}, "x" * 1_000_000, id="text"),
        pytest.param({"t": "<${workflow.input..*}>"}, _deep("x" * 1_000_000), id="text of all"),
        pytest.param({"all": "${workflow.input..*}"}, _deep("x" * 1_000_000), id="all below"),
        pytest.param(
            {"t": f"${{workflow.input.x.concat({', '.join(['$.workflow.input.x'] * 20)})}}"},
            "x" * 1_000_000,
            id="concat",
        ),
        pytest.param(
            {f"k{n}": "${workflow.input['${workflow.input.n}']}" for n in range(250)},
            "x" * 1_000_000,
            id="computed",
        ),
    ],
)
def test_one_large_value_that_is_brought_in_again_and_again_is_refused_before_it_is_written(
    given: dict[str, Any], value: Any
) -> None:
    engine = memory_engine()
    definition = workflow("w", simple("t", inputParameters=given))
    started: list[str] = []
    document = {"x": value, "n": "x"}
    peak = _peak(lambda: started.append(engine.start(definition, input=document)))
    failed = task_of(engine, started[0], "t")
    assert (failed["status"], failed["inputData"]) == ("FAILED_WITH_TERMINAL_ERROR", {})
    assert failed["reasonForIncompletion"] == f"Task input {_TOO_MUCH}"
    assert peak < 60_000_000


@pytest.mark.parametrize(
    "task",
    [
        pytest.param(inline("t", "1", **_BROUGHT), id="INLINE"),
        pytest.param(wait("t", **_BROUGHT), id="WAIT"),
        pytest.param(set_variable("t", **_BROUGHT), id="SET_VARIABLE"),
        pytest.param(terminate("t", **_BROUGHT), id="TERMINATE"),
        pytest.param(
            {**switch("t", "a", {}, [simple("p")]), "inputParameters": _BROUGHT}, id="SWITCH"
        ),
        pytest.param(for_each("t", ["${workflow.input.x}"] * 250, simple("p")), id="DO_WHILE"),
        pytest.param(
            sub_workflow("t", workflow("c", simple("p")), inputParameters=_BROUGHT),
            id="SUB_WORKFLOW",
        ),
        pytest.param(typed("EVENT", "t", sink="conductor", inputParameters=_BROUGHT), id="EVENT"),
        pytest.param(
            typed(
                "START_WORKFLOW",
                "t",
                inputParameters={"startWorkflow": {"name": "w", "input": _BROUGHT}},
            ),
            id="START_WORKFLOW",
        ),
        pytest.param(
            {
                **typed("DYNAMIC", "t", dynamicTaskNameParam="n"),
                "inputParameters": {"n": "p", **_BROUGHT},
            },
            id="DYNAMIC",
        ),
        pytest.param({**fork("t", [simple("p")]), "inputParameters": _BROUGHT}, id="FORK_JOIN"),
        pytest.param(
            typed(
                "FORK_JOIN_DYNAMIC",
                "t",
                inputParameters={
                    "forkTaskInputs": ["${workflow.input.x}"] * 250,
                    "forkTaskName": "p",
                },
            ),
            id="FORK_JOIN_DYNAMIC",
        ),
        pytest.param(
            typed("JSON_JQ_TRANSFORM", "t", inputParameters={"queryExpression": ".", **_BROUGHT}),
            id="JSON_JQ_TRANSFORM",
        ),
    ],
)
def test_no_type_of_task_writes_one_large_value_again_and_again(task: dict[str, Any]) -> None:
    engine = memory_engine()
    started = engine.start(workflow("w", task, join("j")), input={"x": "x" * 1_000_000})
    engine.settle()
    found = engine.workflow(started)
    assert found["status"] == "FAILED"
    failed = task_of(engine, started, "t")
    assert failed["status"] == "FAILED_WITH_TERMINAL_ERROR"
    assert len(str(failed["inputData"])) < 100
    assert f"Task input {_TOO_MUCH}" in found["reasonForIncompletion"]
    assert not engine.poll("p")


def test_an_output_of_one_large_value_again_and_again_fails_the_execution() -> None:
    engine = memory_engine()
    definition = workflow("w", simple("a"), outputParameters=_BROUGHT)
    started = engine.start(definition, input={"x": "x" * 1_000_000})
    assert _peak(lambda: engine.run("a")) < 60_000_000
    found = engine.workflow(started)
    assert (found["status"], found["output"]) == ("FAILED", {})
    assert found["reasonForIncompletion"] == f"Workflow output {_TOO_MUCH}"


def test_a_retry_of_one_large_value_again_and_again_fails_the_task() -> None:
    engine = memory_engine(payload_limits=PayloadLimits(variables_hard=2_000_000))
    late = policy("a", retryCount=3)
    late["inputParameters"] = {f"k{n}": "${workflow.variables.p}" for n in range(250)}
    grow = [simple("b"), set_variable("s", p="p" * 1_000_000)]
    started = engine.start(workflow("w", fork("f", [late], grow), join("j", "a", "s")))
    engine.run("b")
    run_failing(engine, "a")
    engine.settle()
    attempts = tasks_of(engine, started, "a")
    assert [t["status"] for t in attempts] == ["FAILED", "FAILED_WITH_TERMINAL_ERROR"]
    assert attempts[1]["reasonForIncompletion"] == f"Task input {_TOO_MUCH}"
    assert not engine.poll("a")


def test_a_loop_does_not_ask_its_condition_about_less_than_it_was_given() -> None:
    engine = memory_engine(payload_limits=PayloadLimits(variables_hard=2_000_000))
    loop = typed(
        "DO_WHILE",
        "loop",
        loopCondition="$.k0 == null",
        loopOver=[set_variable("s", p="p" * 1_000_000)],
        inputParameters={f"k{n}": "${workflow.variables.p}" for n in range(250)},
    )
    started = engine.start(workflow("w", loop))
    engine.settle()
    found = engine.workflow(started)
    assert found["status"] == "FAILED"
    assert f"Task input {_TOO_MUCH}" in found["reasonForIncompletion"]


def test_ordinary_expressions_bring_in_as_much_as_a_document_may_hold() -> None:
    engine = memory_engine()
    given = {f"k{n}": "${workflow.input.x}" for n in range(10)}
    started = engine.start(
        workflow("w", simple("t", inputParameters=given)), input={"x": "x" * 1_000_000}
    )
    assert engine.statuses(started) == {"t": "SCHEDULED"}


@pytest.mark.parametrize("tasks", [8, 64])
def test_large_inputs_of_many_tasks_are_written_a_few_times_each(
    monkeypatch: pytest.MonkeyPatch, tasks: int
) -> None:
    engine = memory_engine(limits=Limits(bytes=10_000))
    document, inputs = Encoder.document, []

    def counted(self: Encoder, name: str, value: Document) -> bytes | str:
        inputs.extend([name] if name.startswith("i:") else [])
        return document(self, name, value)

    monkeypatch.setattr(Encoder, "document", counted)
    copies = (set_variable(f"s{at}", x="${workflow.input.x}") for at in range(tasks))
    started = engine.start(workflow("w", *copies), input={"x": "x" * 9_000})
    engine.settle()
    assert status_of(engine, started) == "COMPLETED"
    assert len(engine.workflow(started)["tasks"]) == tasks
    assert len(inputs) <= 6 * tasks
