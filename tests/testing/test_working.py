"""Workers of a test: functions and mocks on the memory engine, by its clock."""

from dataclasses import dataclass
from itertools import pairwise

import pytest

from conductor_py.errors import ConfigurationError, DefinitionError
from conductor_py.sdk import (
    NonRetryableError,
    Task,
    TaskInProgress,
    TaskResult,
    task_context,
    worker_task,
)
from conductor_py.testing import MemoryEngine, NotEnded
from conductor_py.testing.definitions import (
    fork,
    join,
    simple,
    sub_workflow,
    switch,
    times,
    typed,
    wait,
    workflow,
)

_HOUR_S = 3_600


@worker_task("price")
def price(items: list[str]) -> dict[str, int]:
    return {"total": 2 * len(items)}


@worker_task("charge")
def charge(total: int, task: Task) -> dict[str, str]:
    if task.retry_count < 2:
        raise ConnectionError("the bank is away")
    return {"receipt": f"paid {total}"}


@pytest.fixture
def engine(engine) -> MemoryEngine:
    made = engine
    made.register_tasks(
        {"name": "charge", "retryCount": 3, "retryDelaySeconds": 60, "retryLogic": "FIXED"}
    )
    made.register(
        workflow(
            "orders",
            simple("price", inputParameters={"items": "${workflow.input.items}"}),
            {
                "name": "charge",
                "taskReferenceName": "charge",
                "inputParameters": {"total": "${price.output.total}"},
            },
            outputParameters={"receipt": "${charge.output.receipt}"},
        )
    )
    return made


def test_functions_run_until_nothing_is_ready_and_delays_pass_by_the_clock(engine) -> None:
    order = engine.start("orders", input={"items": ["tea", "milk"]})
    assert engine.work(price, charge) == 2
    assert engine.workflow(order)["status"] == "RUNNING"
    assert engine.work(price, charge) == 0
    engine.advance(seconds=59)
    assert engine.work(price, charge) == 0
    engine.advance(seconds=1)
    assert engine.work(price, charge) == 1
    engine.advance(seconds=60)
    assert engine.work(price, charge) == 1
    found = engine.workflow(order)
    assert (found["status"], found["output"]) == ("COMPLETED", {"receipt": "paid 4"})
    assert [task["status"] for task in found["tasks"]] == [
        "COMPLETED",
        *["FAILED"] * 2,
        "COMPLETED",
    ]


def test_run_to_end_lets_exactly_the_time_pass_that_something_waits_for(engine) -> None:
    before = engine.clock.now_ms
    order = engine.start("orders", input={"items": ["tea"]})
    assert engine.run_to_end(order, price, charge)["output"] == {"receipt": "paid 2"}
    assert engine.clock.now_ms - before == 120_000
    assert engine.path(order) == ["price", "charge"]


def test_a_failure_has_its_reason_and_its_traceback_in_the_log(engine) -> None:
    order = engine.start("orders", input={"items": []})
    engine.work(price, charge)
    failed = engine.workflow(order)["tasks"][1]
    assert failed["reasonForIncompletion"] == "ConnectionError: the bank is away"
    (line,) = engine.engine.tasks.logs(failed["taskId"])
    assert "Traceback" in str(line["log"])


def test_a_wrong_input_fails_the_task_and_the_function_is_not_called(engine) -> None:
    order = engine.start("orders", input={"items": 7})
    engine.work(price)
    assert engine.statuses(order) == {"price": "FAILED_WITH_TERMINAL_ERROR"}


def test_a_large_input_comes_from_payload_storage(engine) -> None:
    items = ["x" * 100] * 10_000
    order = engine.start("orders", input={"items": items})
    engine.work(price)
    assert engine.workflow(order)["tasks"][0]["outputData"] == {"total": 20_000}


@pytest.mark.parametrize(
    ("returned", "status"),
    [
        (TaskResult.completed({"total": 1}), "COMPLETED"),
        (TaskResult.failed("no", terminal=True), "FAILED_WITH_TERMINAL_ERROR"),
        (TaskInProgress(callback_after_s=30, output={"half": True}), "SCHEDULED"),
        (None, "COMPLETED"),
        (object(), "FAILED_WITH_TERMINAL_ERROR"),
    ],
)
def test_what_a_function_returns_is_obeyed(engine, returned, status) -> None:
    @worker_task("price")
    def odd() -> object:
        return returned

    order = engine.start("orders", input={"items": []})
    assert engine.work(odd) == 1
    assert engine.statuses(order)["price"] == status


def test_a_task_that_was_put_off_is_offered_again_after_its_delay(engine) -> None:
    seen: list[int] = []

    @worker_task("price")
    def slow(task: Task) -> object:
        seen.append(task.poll_count)
        return TaskInProgress(callback_after_s=30) if len(seen) == 1 else {"total": 3}

    order = engine.start("orders", input={"items": []})
    engine.work(slow)
    engine.advance(seconds=29)
    assert engine.work(slow) == 0
    engine.advance(seconds=1)
    assert engine.work(slow) == 1
    assert engine.statuses(order)["price"] == "COMPLETED"
    assert len(seen) == 2


def test_a_function_that_sleeps_lets_the_clock_go_on(engine) -> None:
    @worker_task("price")
    def napping() -> dict[str, int]:
        task_context().sleep(90)
        task_context().log("slept")
        return {"total": 1}

    before = engine.clock.now_ms
    engine.start("orders", input={"items": []})
    engine.work(napping)
    assert engine.clock.now_ms - before == 90_000


def test_a_result_that_nobody_wants_any_more_is_dropped(engine) -> None:
    @worker_task("price")
    def ended() -> None:
        engine.engine.executions.terminate(order, reason="enough")

    order = engine.start("orders", input={"items": []})
    assert engine.work(ended) == 1
    assert engine.workflow(order)["status"] == "TERMINATED"


def test_an_asynchronous_function_and_a_dataclass_work_as_in_a_worker(engine) -> None:
    @dataclass
    class Priced:
        total: int

    @worker_task("price")
    async def price_async(items: list[str]) -> Priced:
        return Priced(len(items))

    order = engine.start("orders", input={"items": ["tea"]})
    engine.work(price_async)
    assert engine.workflow(order)["tasks"][0]["outputData"] == {"total": 1}


def test_a_mock_counts_by_reference_then_by_name_then_by_type(engine) -> None:
    request = {"uri": "http://a", "method": "GET"}
    tasks = [
        {"name": "charge", "taskReferenceName": "first"},
        {"name": "charge", "taskReferenceName": "second"},
        typed("HTTP", "ask", inputParameters={"http_request": request}),
    ]
    engine.register(workflow("three", *tasks, outputParameters={"said": "${ask.output.said}"}))
    engine.mock("charge", {"by": "name"})
    engine.mock("second", {"by": "reference"})
    asked = engine.mock("HTTP", lambda given: {"said": given["http_request"]["uri"]})
    found = engine.run_to_end(engine.start("three"))
    outputs = {task["referenceTaskName"]: task["outputData"] for task in found["tasks"]}
    assert outputs["first"] == {"by": "name"}
    assert outputs["second"] == {"by": "reference"}
    assert found["output"] == {"said": "http://a"}
    assert len(asked.calls) == 1


def test_a_mock_by_reference_leaves_others_of_its_type_to_their_function(engine) -> None:
    branches = [[{"name": "price", "taskReferenceName": ref}] for ref in ("a", "b", "c")]
    engine.register(workflow("forked", fork("f", *branches), join("j", "a", "b", "c")))
    engine.mock("b", {"mocked": True})
    forked = engine.start("forked")
    assert engine.work() == 1
    assert engine.statuses(forked) == {
        "f": "COMPLETED",
        "j": "IN_PROGRESS",
        "a": "SCHEDULED",
        "b": "COMPLETED",
        "c": "SCHEDULED",
    }
    plain = worker_task("price")(lambda: {"mocked": False})
    assert engine.work(plain) == 2
    assert engine.workflow(forked)["status"] == "COMPLETED"


def test_a_mock_fails_so_often_then_completes_and_keeps_its_calls(engine) -> None:
    engine.mock("price", {"total": 5})
    bank = engine.mock("charge", {"receipt": "r"}, fails=2, reason="away")
    found = engine.run_to_end(engine.start("orders", input={"items": []}))
    assert found["output"] == {"receipt": "r"}
    assert bank.calls == [{"total": 5}] * 3
    reasons = [task.get("reasonForIncompletion") for task in found["tasks"][1:]]
    assert reasons == ["away", "away", None]


def test_a_terminal_failure_of_a_mock_ends_the_execution(engine) -> None:
    engine.mock("price", {"total": 5})
    engine.mock("charge", fails=1, terminal=True)
    found = engine.run_to_end(engine.start("orders", input={"items": []}))
    assert found["status"] == "FAILED"
    assert found["reasonForIncompletion"] == "Task charge (charge) failed: mocked failure"


def test_a_mock_in_a_loop_counts_for_every_round(engine) -> None:
    engine.register(workflow("loops", times("l", 3, simple("inside"))))
    inside = engine.mock("inside", {"ok": True})
    found = engine.run_to_end(engine.start("loops"))
    assert found["status"] == "COMPLETED"
    assert len(inside.calls) == 3


def test_a_mock_by_reference_counts_in_loops_within_loops(engine) -> None:
    inside = {"name": "price", "taskReferenceName": "inside"}
    engine.register(workflow("loops", times("outer", 2, times("inner", 3, inside))))
    mocked = engine.mock("inside")
    assert engine.run_to_end(engine.start("loops"))["status"] == "COMPLETED"
    assert len(mocked.calls) == 6


@pytest.mark.parametrize(
    ("type_", "inputs"),
    [
        ("HUMAN", {"who": "Ada"}),
        ("WAIT", {}),
        ("WAIT", {"duration": "2h"}),
        ("WAIT", {"until": "2020-01-01"}),
        ("PULL_WORKFLOW_MESSAGES", {"batchSize": 3}),
    ],
)
@pytest.mark.parametrize("name", ["ask", "ask_name", "type"])
def test_a_mock_ends_what_waits_for_somebody_as_soon_as_it_is_open(
    engine, type_, inputs, name
) -> None:
    ask = {"name": "ask_name", "taskReferenceName": "ask", "type": type_}
    engine.register(workflow("asks", simple("price"), ask | {"inputParameters": inputs}))
    engine.mock("price")
    asked = engine.mock(type_ if name == "type" else name, lambda given: {"said": given})
    before = engine.clock.now_ms
    found = engine.run_to_end(engine.start("asks"))
    assert found["status"] == "COMPLETED"
    assert found["tasks"][1]["outputData"] == {"said": inputs}
    assert asked.calls == [inputs]
    assert engine.clock.now_ms == before


def test_a_mock_of_who_waits_fails_is_tried_again_and_ends_for_good(engine) -> None:
    retried = {"retryCount": 3, "retryDelaySeconds": 60, "retryLogic": "FIXED"}
    engine.register_tasks({"name": "approve", **retried})
    engine.register(workflow("asks", typed("HUMAN", "approve")))
    asked = engine.mock("approve", {"yes": True}, fails=2, reason="away")
    before = engine.clock.now_ms
    found = engine.run_to_end(engine.start("asks"))
    assert [task["status"] for task in found["tasks"]] == ["FAILED", "FAILED", "COMPLETED"]
    assert [task.get("reasonForIncompletion") for task in found["tasks"]] == ["away", "away", None]
    assert (len(asked.calls), engine.clock.now_ms - before) == (3, 120_000)

    engine.mock("approve", fails=1, reason="never", terminal=True)
    found = engine.run_to_end(engine.start("asks"))
    assert found["status"] == "FAILED"
    assert "never" in found["reasonForIncompletion"]


def test_a_mock_of_who_waits_counts_in_loops_forks_and_children_and_for_no_other(engine) -> None:
    branches = [[times("l", 3, typed("HUMAN", "often"))], [sub_workflow("below", "child")]]
    engine.register(workflow("child", wait("nap", duration="2h")))
    engine.register(workflow("wide", fork("f", *branches), join("j", "l", "below")))
    often = engine.mock("often")
    nap = engine.mock("nap")
    engine.register(workflow("other", typed("HUMAN", "approve")))
    other = engine.start("other")
    assert engine.run_to_end(engine.start("wide"))["status"] == "COMPLETED"
    assert (len(often.calls), len(nap.calls)) == (3, 1)
    assert engine.statuses(other) == {"approve": "IN_PROGRESS"}


@pytest.mark.parametrize(
    "type_", ["EVENT", "INLINE", "SWITCH", "SUB_WORKFLOW", "JOIN", "FORK_JOIN"]
)
def test_a_mock_of_a_type_that_the_engine_carries_out_is_refused(engine, type_) -> None:
    with pytest.raises(ConfigurationError, match=f"the engine carries {type_} tasks out by itself"):
        engine.mock(type_)


@pytest.mark.parametrize("name", ["own", "own_name"])
@pytest.mark.parametrize(
    "task",
    [
        {"type": "SET_VARIABLE", "inputParameters": {"a": 1}},
        {"type": "EVENT", "sink": "conductor"},
        {"type": "SWITCH", "evaluatorType": "value-param", "expression": "x"}
        | {"inputParameters": {"x": "1"}, "decisionCases": {"2": [simple("second")]}},
        {"type": "SUB_WORKFLOW", "subWorkflowParam": {"name": "orders"}},
    ],
    ids=lambda task: task["type"],
)
def test_a_mock_for_a_task_that_the_engine_carries_out_is_refused_when_it_is_seen(
    engine, task, name
) -> None:
    own = {"name": "own_name", "taskReferenceName": "own", **task}
    engine.register(workflow("mine", simple("first"), times("l", 1, own)))
    for each in ("first", name):
        engine.mock(each)
    refused = f"mock of {name}: task own is of type {task['type']}, and the engine"
    with pytest.raises(ConfigurationError, match=refused):
        engine.run_to_end(engine.start("mine", input={"items": []}))


@pytest.mark.parametrize("wrong", [{"task": ""}, {"task": "a", "fails": -1}])
def test_a_mock_that_means_nothing_is_refused(engine, wrong) -> None:
    with pytest.raises(ConfigurationError):
        engine.mock(**wrong)


def test_a_mock_whose_output_is_no_json_raises_in_the_test(engine) -> None:
    engine.mock("price", {"total": object()})
    engine.start("orders", input={"items": []})
    with pytest.raises(Exception, match=r"JSON"):
        engine.work()


def test_two_functions_for_one_type_are_refused(engine) -> None:
    with pytest.raises(ConfigurationError, match="two functions are given for task price"):
        engine.work(price, price)


def test_a_domain_has_its_own_queue(engine) -> None:
    here = worker_task("price", domain="here")(lambda: {"total": 1})
    order = engine.start("orders", input={"items": []}, task_to_domain={"price": "here"})
    assert engine.work(price) == 0
    assert engine.work(here) == 1
    assert engine.statuses(order)["price"] == "COMPLETED"
    again = engine.start("orders", input={"items": []}, task_to_domain={"price": "here"})
    engine.mock("price", {"total": 9})
    engine.work()
    assert engine.statuses(again)["price"] == "COMPLETED"


def test_children_timers_and_choices_run_in_virtual_time(engine) -> None:
    child = workflow("child", wait("nap", duration="2h"), simple("inner"))
    choice = switch("how", "${workflow.input.how}", {"fast": [simple("bike")]}, [simple("truck")])
    engine.register(child, workflow("parent", sub_workflow("below", "child"), choice))
    for task in ("inner", "bike", "truck"):
        engine.mock(task)
    before = engine.clock.now_ms
    parent = engine.start("parent", input={"how": "fast"})
    assert engine.run_to_end(parent)["status"] == "COMPLETED"
    assert engine.path(parent) == ["below", "how", "bike"]
    assert engine.clock.now_ms - before == 2 * _HOUR_S * 1_000


def test_a_worker_that_says_nothing_times_out(engine) -> None:
    engine.register_tasks(
        {"name": "price", "responseTimeoutSeconds": 30, "timeoutSeconds": 0, "retryCount": 1}
        | {"retryDelaySeconds": 0}
    )
    engine.register(workflow("one", {"name": "price", "taskReferenceName": "price"}))
    one = engine.start("one")
    engine.poll("price")
    engine.advance(seconds=30)
    assert [task["status"] for task in engine.workflow(one)["tasks"]] == ["TIMED_OUT", "SCHEDULED"]


def test_a_schedule_fires_at_each_of_its_instants(engine) -> None:
    request = {"name": "orders", "input": {"items": ["tea"]}}
    engine.schedule(
        {"name": "hourly", "cronExpression": "0 0 * * * *", "startWorkflowRequest": request}
    )
    engine.advance(seconds=3 * _HOUR_S)
    engine.mock("charge", {"receipt": "r"})
    assert engine.work(price) == 6
    started = engine.started("orders")
    assert [engine.workflow(one)["status"] for one in started] == ["COMPLETED"] * 3
    planned = [engine.workflow(one)["input"]["_scheduledTime"] for one in started]
    assert [later - earlier for earlier, later in pairwise(planned)] == [_HOUR_S * 1_000] * 2


def test_who_waits_for_somebody_does_not_end_and_is_told_of(engine) -> None:
    engine.register(workflow("asks", typed("HUMAN", "approve")))
    with pytest.raises(NotEnded, match=r"asks .*'approve': 'IN_PROGRESS'.*Mock HUMAN tasks"):
        engine.run_to_end(engine.start("asks"))
    order = engine.start("orders", input={"items": []})
    with pytest.raises(
        NotEnded, match=r"'price': 'SCHEDULED'.*functions of the worker tasks, mock"
    ):
        engine.run_to_end(order)


def test_who_waits_for_a_child_is_told_of_the_child_and_not_to_mock_what_cannot_be(engine) -> None:
    engine.register(workflow("child", simple("inner")))
    engine.register(workflow("parent", sub_workflow("below", "child")))
    with pytest.raises(NotEnded) as told:
        engine.run_to_end(engine.start("parent"))
    (child,) = engine.started("child")
    assert f"below waits for its child {child}" in str(told.value)
    assert "mock" not in str(told.value).lower()
    assert "within_s" not in str(told.value)


def test_who_takes_longer_than_is_allowed_does_not_end_either(engine) -> None:
    engine.register(workflow("sleeps", wait("nap", duration="3h")))
    sleeps = engine.start("sleeps")
    with pytest.raises(NotEnded, match="within 60 s of the clock"):
        engine.run_to_end(sleeps, within_s=60)
    assert engine.run_to_end(sleeps)["status"] == "COMPLETED"


def test_definitions_are_held_to_the_rules_of_the_server(engine) -> None:
    with pytest.raises(DefinitionError, match="taskReferenceName"):
        engine.register(workflow("twice", simple("a"), simple("a")))


def test_a_task_that_must_not_be_tried_again_is_not(engine) -> None:
    @worker_task("price")
    def refused() -> None:
        raise NonRetryableError("no such item")

    order = engine.start("orders", input={"items": []})
    found = engine.run_to_end(order, refused)
    assert found["status"] == "FAILED"
    assert found["reasonForIncompletion"] == "Task price (price) failed: no such item"
