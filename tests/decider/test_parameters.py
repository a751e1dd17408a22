"""Parameters: which of those with one name a task finds, and what it becomes."""

from datetime import UTC, datetime
from typing import Any

import pytest

from conductor_py.errors import InvalidInput
from conductor_py.model.definition_form import workflow_from_json
from conductor_py.model.parameters import BUILT_IN
from conductor_py.model.requests import RerunRequest
from conductor_py.testing import FakeClock, MemoryEngine, memory_engine
from tests.builders import (
    Json,
    conditions,
    dag,
    dynamic_fork,
    fail,
    fork,
    join,
    pass_time,
    policy,
    run_failing,
    set_variable,
    simple,
    status_of,
    sub_workflow,
    switch,
    task_of,
    times,
    typed,
    workflow,
)

_FRIDAY = int(datetime(2022, 8, 26, 22, 5, tzinfo=UTC).timestamp() * 1000)


def _reading(ref: str, text: str = "${param.x}", **more: Any) -> Json:
    return simple(ref, inputParameters={"found": text}, **more)


def _giving(ref: str, *names: str, **more: Any) -> Json:
    return simple(ref, outParameters=list(names or ["x"]), **more)


def _found(engine: MemoryEngine, task_type: str) -> Any:
    (task,) = engine.poll(task_type)
    return task["inputData"]["found"]


# -- which one -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("present", "found"),
    [
        ({"start", "own", "before", "workflow"}, "start"),
        ({"own", "before", "workflow"}, "own"),
        ({"before", "workflow"}, "before"),
        ({"workflow"}, "workflow"),
    ],
)
def test_the_strongest_is_found(engine: MemoryEngine, present: set[str], found: str) -> None:
    own: Json = {"parameters": {"x": "own"}} if "own" in present else {}
    shared = {"parameters": {"x": "workflow"}} if "workflow" in present else {}
    definition = dag("w", [_giving("a"), _reading("b", **own)], "a > b", **shared)
    engine.start(definition, input={"x": "start"} if "start" in present else {"x": None})
    engine.run("a", {"x": "before"} if "before" in present else {"x": ""})
    assert _found(engine, "b") == found


def test_a_parameter_keeps_its_type_and_what_it_brings_is_never_read_again(
    engine: MemoryEngine,
) -> None:
    value: Json = {"n": 1, "text": "${workflow.input.secret} $[yyyyMMdd]"}
    tasks = [_giving("a"), _reading("b"), _reading("c", "${param.x.n} of ${param.x.text}")]
    engine.start(dag("w", tasks, "a > b", "a > c"), input={"secret": "s"})
    engine.run("a", {"x": value})
    assert _found(engine, "b") == value
    assert _found(engine, "c") == "1 of ${workflow.input.secret} $[yyyyMMdd]"


def test_parameters_read_parameters_and_their_own_name_finds_the_next_one(
    engine: MemoryEngine,
) -> None:
    own = {"x": "${param.x}/c", "y": ["${param.x}", "${param.root}"]}
    shared = {"root": "s3://${workflow.input.bucket}", "x": "${param.root}/b"}
    engine.start(
        workflow("w", _reading("t", "${param.y}", parameters=own), parameters=shared),
        input={"bucket": "lake"},
    )
    assert _found(engine, "t") == ["s3://lake/b/c", "s3://lake"]


def test_a_parameter_of_a_task_may_read_other_tasks(engine: MemoryEngine) -> None:
    own = {"x": "${a.output.n} rows"}
    engine.start(workflow("w", simple("a"), _reading("b", parameters=own)))
    engine.run("a", {"n": 5})
    assert _found(engine, "b") == "5 rows"


# -- what tasks before it hand on ------------------------------------------------------------------


def test_only_what_leads_to_a_task_counts(engine: MemoryEngine) -> None:
    """However much sooner the other one was done."""
    engine.start(
        dag("w", [_giving("a"), _giving("beside"), _reading("b")], "a > b", parameters={"x": "w"})
    )
    engine.run("beside", {"x": "beside"})
    engine.run("a", {"y": 1})
    assert _found(engine, "b") == "w"


def test_the_nearest_that_is_not_empty_counts(engine: MemoryEngine) -> None:
    tasks = [_giving(ref) for ref in "abc"] + [_reading("d")]
    engine.start(dag("w", tasks, "a > b", "b > c", "c > d"))
    engine.run("a", {"x": "far"})
    engine.run("b", {"x": "near"})
    engine.run("c", {"x": None})
    assert _found(engine, "d") == "near"


@pytest.mark.parametrize("first", ["a", "b"])
def test_of_equally_near_ones_the_one_that_ended_first_counts(
    engine: MemoryEngine, first: str
) -> None:
    engine.start(dag("w", [_giving("a"), _giving("b"), _reading("c")], "a > c", "b > c"))
    for ref in (first, "a" if first == "b" else "b"):
        engine.run(ref, {"x": ref})
        engine.clock.advance(seconds=1)
    assert _found(engine, "c") == first


def test_what_failed_or_was_passed_over_hands_on_nothing(engine: MemoryEngine) -> None:
    tasks = [
        _giving("a"),
        policy("b", retryCount=0) | {"outParameters": ["x"]},
        conditions("c"),
        simple("good"),
        _reading("bad"),
    ]
    edges = ("a > b", "b -test> c", "c -success> good", "c -failure> bad")
    engine.start(dag("w", tasks, *edges))
    engine.run("a", {"x": "a"})
    (task,) = engine.poll("b")
    engine.complete(task, {"x": "half"}, status="FAILED")
    assert _found(engine, "bad") == "a"


def test_in_a_list_what_stands_before_counts_in_forks_and_cases_too(engine: MemoryEngine) -> None:
    chosen = switch("s", "${workflow.input.case}", {"one": [_giving("one")], "two": [simple("t")]})
    branches = [[_giving("a", "y")], [_giving("b", "y"), _reading("inside", "${param.y}")]]
    last = _reading("z", "${param.y} ${param.x}")
    definition = workflow("w", fork("f", *branches), join("j", "a", "inside"), chosen, last)
    engine.start(definition, input={"case": "one"})
    engine.run("a", {"y": "a"})
    engine.run("b", {"y": "b"})
    inside = engine.run("inside")
    assert inside["inputData"]["found"] == "b"
    engine.run("one", {"x": "one"})
    assert _found(engine, "z") == "a one"


@pytest.mark.parametrize(
    "edges",
    [
        ("a > b", "b > c", "a > c"),
        ("a > b", "b > m", "m > c", "a > c"),
        ("a > b", "b > c", "a -always> c"),
    ],
)
def test_what_a_later_task_has_replaced_on_its_way_does_not_count(
    engine: MemoryEngine, edges: tuple[str, ...]
) -> None:
    """However short the other way is, and however early the first one ended."""
    engine.start(dag("w", [_giving("a"), _giving("b"), simple("m"), _reading("c")], *edges))
    engine.run("a", {"x": "old"})
    engine.clock.advance(seconds=1)
    engine.run("b", {"x": "new"})
    if "b > m" in edges:
        engine.run("m")
    assert _found(engine, "c") == "new"


def test_a_case_a_branch_and_a_loop_replace_what_was_before_them(engine: MemoryEngine) -> None:
    inner = [_giving("g"), simple("m"), simple("n")]
    chosen = switch("s", "one", {"one": inner})
    forked = fork("f", inner, [simple("o")])
    for around in ([chosen], [forked, join("j", "n", "o")], [times("l", 1, *inner)]):
        engine.start(workflow("w", _giving("before"), *around, _reading("z")))
        engine.run("before", {"x": "old"})
        engine.run("g", {"x": "new"})
        for ref in ("m", "n", *(["o"] if len(around) > 1 else [])):
            engine.run(ref)
        assert engine.run("z")["inputData"]["found"] == "new"


def test_an_earlier_iteration_hands_on_nothing_to_the_next_one(engine: MemoryEngine) -> None:
    chosen = switch("s", "${first.output.case}", {"one": [_giving("one")], "two": [simple("two")]})
    loop = times("l", 2, simple("first"), chosen, _reading("r"))
    engine.start(workflow("w", loop, parameters={"x": "default"}))
    for case, given, found in (("one", {"x": 1}, 1), ("two", {}, "default")):
        engine.run("first", {"case": case})
        engine.run(case, given)
        assert engine.run("r")["inputData"]["found"] == found


def test_a_failed_optional_task_hands_on_nothing(engine: MemoryEngine) -> None:
    tolerated = policy("b", retryCount=0) | {"optional": True, "outParameters": ["x"]}
    engine.start(dag("w", [tolerated, _reading("c")], "b > c", parameters={"x": "w"}))
    (task,) = engine.poll("b")
    engine.complete(task, {"x": "half"}, status="FAILED")
    assert _found(engine, "c") == "w"


def test_a_chain_of_empty_ones_is_read_at_once(engine: MemoryEngine) -> None:
    """And not task by task, round by round."""
    many = 120
    tasks = [_reading(f"t{n}", outParameters=["x"]) for n in range(many)]
    edges = [f"t{n} > t{n + 1}" for n in range(many - 1)]
    engine.start(dag("w", tasks, *edges, parameters={"x": "w"}))
    for n in range(many):
        assert engine.run(f"t{n}", {"x": ""})["inputData"]["found"] == "w"


def test_in_a_loop_the_present_iteration_counts(engine: MemoryEngine) -> None:
    engine.start(workflow("w", times("l", 2, _giving("a"), _reading("b"))))
    for number in (1, 2):
        engine.run("a", {"x": number})
        assert engine.run("b")["inputData"]["found"] == number


def test_what_a_dynamic_fork_brings_finds_what_leads_to_the_fork(engine: MemoryEngine) -> None:
    brought = [_giving("p"), _reading("q")]
    forked = dynamic_fork("f")
    engine.start(
        workflow("w", _giving("a"), forked, join("j"), _reading("z", "${param.x}")),
        input={"branches": brought, "inputs": {}},
    )
    engine.run("a", {"x": "a"})
    engine.run("p", {"x": "p"})
    assert engine.run("q")["inputData"]["found"] == "a"
    assert _found(engine, "z") == "a"


def test_a_rerun_reads_what_the_tasks_before_it_say_now(engine: MemoryEngine) -> None:
    started = engine.start(dag("w", [_giving("a"), _reading("b")], "a > b"))
    engine.run("a", {"x": 1})
    assert engine.run("b")["inputData"]["found"] == 1
    engine.engine.recovery.rerun(started, RerunRequest(from_ref="a"))
    engine.run("a", {"x": 2})
    assert engine.run("b")["inputData"]["found"] == 2


def test_a_retry_keeps_the_input_that_was_made_of_parameters(engine: MemoryEngine) -> None:
    again = policy("b", retryCount=1, retryDelaySeconds=0)
    again |= {"inputParameters": {"found": "${param.y} ${param.v}"}}
    branches = [[set_variable("one", a=1), again], [simple("hold"), set_variable("two", a=2)]]
    shared = {"y": "$[HHmmss]", "v": "${workflow.variables.a}"}
    engine.start(workflow("w", fork("f", *branches), join("j", "b", "two"), parameters=shared))
    (first,) = engine.poll("b")
    engine.run("hold")
    fail(engine, first)
    pass_time(engine, seconds=3601)
    (second,) = engine.poll("b")
    assert first["inputData"] == second["inputData"]
    assert first["inputData"]["found"].endswith(" 1")


def test_a_retry_reads_the_same_again(engine: MemoryEngine) -> None:
    again = policy("b", retryCount=1, retryDelaySeconds=0)
    again |= {"inputParameters": {"found": "${param.x} ${param.y}"}}
    engine.start(dag("w", [_giving("a"), again], "a > b", parameters={"y": "$[HHmmss]"}))
    engine.run("a", {"x": 1})
    (first,) = engine.poll("b")
    fail(engine, first)
    pass_time(engine, seconds=3601)
    (second,) = engine.poll("b")
    assert first["inputData"] == second["inputData"]


# -- what cannot be had ----------------------------------------------------------------------------


def test_a_task_that_reads_what_nobody_gave_fails_with_the_reason(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", _reading("a"), inputParameters=["x"]))
    task = task_of(engine, started, "a")
    assert (task["status"], status_of(engine, started)) == ("FAILED_WITH_TERMINAL_ERROR", "FAILED")
    assert task["reasonForIncompletion"].startswith("There is no parameter 'x'")
    assert task["inputData"] == {"found": None}


def test_nor_does_one_that_reads_it_by_another_parameter(engine: MemoryEngine) -> None:
    shared = {"path": "s3://lake/${param.region}"}
    task = _reading("a", "${param.path}")
    started = engine.start(workflow("w", task, inputParameters=["region"], parameters=shared))
    reason = task_of(engine, started, "a")["reasonForIncompletion"]
    assert reason.startswith("There is no parameter 'region'")
    assert status_of(engine, started) == "FAILED"


def test_null_is_not_given_whoever_says_so(engine: MemoryEngine) -> None:
    own = {"x": "${workflow.input.nothing}"}
    engine.start(workflow("w", _reading("a", parameters=own), parameters={"x": "w"}))
    assert _found(engine, "a") == "w"
    started = engine.start(workflow("w", _reading("a"), parameters={"x": None}))
    assert task_of(engine, started, "a")["status"] == "FAILED_WITH_TERMINAL_ERROR"


def _told(**params: Any) -> Json:
    task = sub_workflow("a", "child")
    return {**task, "subWorkflowParam": task["subWorkflowParam"] | params}


@pytest.mark.parametrize(
    "task",
    [
        _told(idempotencyKey="${param.x}"),
        _told(version="${param.x}"),
        _told(name="${param.x}"),
        _told(priority="${param.x}"),
        _told(taskToDomain={"*": "${param.x}"}),
        typed("DO_WHILE", "a", items="${param.x}", loopOver=[simple("b")]),
    ],
)
def test_what_a_task_is_told_beside_its_input_is_not_null_either(
    engine: MemoryEngine, task: Json
) -> None:
    child = workflow_from_json(workflow("child", simple("c")))
    engine.engine.definitions.register(child, overwrite=True)
    started = engine.start(workflow("w", task, inputParameters=["x"]))
    engine.settle()
    reason = task_of(engine, started, "a")["reasonForIncompletion"]
    assert reason.startswith("There is no parameter 'x'")
    assert engine.engine.executions.running("child") == ()


def test_parameters_too_deep_round_or_large_fail_the_task(engine: MemoryEngine) -> None:
    """Only tasks that data brought can have such: a definition is refused."""
    deep = {f"x{n}": f"${{param.x{n + 1}}}" for n in range(300)} | {"x300": 1}
    wide = {f"x{n}": [f"${{param.x{n + 1}}}"] * 2 for n in range(30)} | {"x30": "y" * 9}
    long = {f"x{n}": f"${{param.x{n + 1}}}" * 2 for n in range(40)} | {"x40": ""}
    loop = {"x0": "${param.x1}", "x1": "${param.x0}"}
    for own, wrong in (
        (deep, "one within another"),
        (wide, "larger"),
        (loop, "reads itself"),
        (long, ""),
    ):
        started = engine.start(workflow("w", _reading("a", "${param.x0}", parameters=own)))
        task = task_of(engine, started, "a")
        assert (wrong in str(task.get("reasonForIncompletion"))) is True, wrong


@pytest.mark.parametrize(
    "task",
    [
        typed("INLINE", "a", evaluatorType="javascript", expression="1"),
        typed("HTTP", "a"),
        typed("WAIT", "a"),
        typed("HUMAN", "a"),
        typed("SET_VARIABLE", "a"),
        typed("TERMINATE", "a"),
        typed("JSON_JQ_TRANSFORM", "a", queryExpression="."),
        typed("START_WORKFLOW", "a"),
        typed("EVENT", "a", sink="conductor"),
        typed("LAMBDA", "a", scriptExpression="1"),
        sub_workflow("a", workflow("child", simple("c"))),
        switch("a", "${param.x}", {"one": [simple("one")]}),
    ],
)
def test_no_kind_of_task_begins_without_it(engine: MemoryEngine, task: Json) -> None:
    """Nothing goes on as if a null had been meant."""
    inputs = {**task["inputParameters"], "found": "${param.x}", "terminationStatus": "COMPLETED"}
    definition = workflow("w", {**task, "inputParameters": inputs}, inputParameters=["x"])
    started = engine.start(definition)
    engine.settle()
    found = task_of(engine, started, "a")
    assert found["status"] == "FAILED_WITH_TERMINAL_ERROR"
    assert found["reasonForIncompletion"].startswith("There is no parameter 'x'")
    assert status_of(engine, started) == "FAILED"


def test_a_date_beyond_the_calendar_fails_the_task(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", _reading("a", parameters={"x": "$[yyyy+999999*99]"})))
    reason = task_of(engine, started, "a")["reasonForIncompletion"]
    assert reason.startswith("Parameter 'x' has no value")


def test_where_a_task_is_named_so_the_root_is_the_task(engine: MemoryEngine) -> None:
    engine.start(workflow("w", simple("param"), _reading("b", "${param.output.x}")))
    engine.run("param", {"x": 7})
    assert _found(engine, "b") == 7


def test_a_task_named_so_that_was_brought_is_meant_too(engine: MemoryEngine) -> None:
    engine.start(
        workflow("w", dynamic_fork("f"), join("j"), _reading("z", "${param.output.x}")),
        input={"branches": [simple("param")], "inputs": {}},
    )
    engine.run("param", {"x": 7})
    assert _found(engine, "z") == 7


def test_a_task_that_a_name_resolves_to_has_the_parameters_of_its_place(
    engine: MemoryEngine,
) -> None:
    place = typed(
        "DYNAMIC",
        "d",
        dynamicTaskNameParam="n",
        inputParameters={"n": "work", "found": "${param.own}"},
        parameters={"own": "mine"},
        outParameters=["x"],
    )
    engine.start(workflow("w", place, _reading("z")))
    assert engine.run("work", {"x": 3})["inputData"]["found"] == "mine"
    assert _found(engine, "z") == 3


def test_a_part_that_lacks_what_gives_a_parameter_is_refused_unless_it_is_given(
    engine: MemoryEngine,
) -> None:
    definition = dag("w", [_giving("a"), _reading("b")], "a > b")
    with pytest.raises(InvalidInput) as refused:
        engine.start(definition, start_nodes=("b",))
    (wrong,) = refused.value.violations
    assert (wrong.path, "reads the parameter 'x'" in wrong.message) == ("$.startNodes", True)
    engine.start(definition, start_nodes=("b",), input={"x": "given"})
    assert _found(engine, "b") == "given"


# -- business time ---------------------------------------------------------------------------------


@pytest.fixture
def friday() -> MemoryEngine:
    return memory_engine(clock=FakeClock(_FRIDAY))


_DATES = {
    "day": "$[yyyyMMdd-1]",
    "hour": "$[yyyy-MM-dd HH]",
    "list": [{"m": "$[add_months(yyyyMM,-1)]"}],
}


def _dates(engine: MemoryEngine, **request: Any) -> Any:
    reading = _reading("a", "${param.day} ${param.hour} ${param.list[0].m}")
    engine.start(workflow("w", reading, parameters=_DATES), **request)
    return _found(engine, "a")


def test_dates_go_by_the_start_when_no_business_time_is_named(friday: MemoryEngine) -> None:
    assert _dates(friday) == "20220825 2022-08-26 22 202207"


def test_dates_go_by_the_calendar_of_the_zone(friday: MemoryEngine) -> None:
    assert _dates(friday, zone="Asia/Shanghai") == "20220826 2022-08-27 06 202207"


def test_dates_go_by_the_business_time_whenever_it_runs(friday: MemoryEngine) -> None:
    at = int(datetime(2020, 3, 1, 0, 30, tzinfo=UTC).timestamp() * 1000)
    assert _dates(friday, business_at=at) == "20200229 2020-03-01 00 202002"


def test_what_is_built_in(friday: MemoryEngine) -> None:
    text = (
        "${param.system.biz.date} ${param.system.biz.curdate} ${param.system.datetime}"
        " ${param.system.workflow.definition.name} ${param.system.workflow.definition.version}"
        " ${param.system.task.definition.name}"
    )
    ids = {"w": "${param.system.workflow.instance.id}", "t": "${param.system.task.instance.id}"}
    task = simple("a", inputParameters={"found": text, **ids})
    started = friday.start(workflow("w", task, version=3))
    (polled,) = friday.poll("a")
    assert polled["inputData"] == {
        "found": "20220825 20220826 20220826220500 w 3 a",
        "w": started,
        "t": polled["taskId"],
    }


def test_outside_parameters_a_bracket_is_text(friday: MemoryEngine) -> None:
    friday.start(workflow("w", _reading("a", "$[yyyyMMdd]")))
    assert _found(friday, "a") == "$[yyyyMMdd]"


def test_a_sub_workflow_is_about_the_same_instant(friday: MemoryEngine) -> None:
    child = workflow("child", _reading("a", "${param.d}"), parameters={"d": "$[yyyyMMddHHmm]"})
    friday.start(workflow("w", simple("first"), sub_workflow("s", child)), zone="Asia/Shanghai")
    friday.clock.advance(seconds=3 * 3600)
    friday.run("first")
    assert _found(friday, "a") == "202208270605"


def _about(at: Any, **more: Any) -> Json:
    """A sub-workflow that is about another instant."""
    child = workflow("child", _reading("a", "${param.d}"), parameters={"d": "$[yyyyMMdd HH]"})
    task = sub_workflow("s", child)
    task["subWorkflowParam"] |= {"businessTime": at, **more}
    return task


def test_a_sub_workflow_may_be_about_another_instant(friday: MemoryEngine) -> None:
    started = friday.start(
        workflow("w", _about("${workflow.input.day}", zoneId="${workflow.input.zone}")),
        input={"day": "2026-03-01", "zone": "Asia/Tokyo"},
    )
    assert _found(friday, "a") == "20260301 00"
    child = friday.workflow(task_of(friday, started, "s")["subWorkflowId"])
    assert (child["businessTime"], child["zoneId"]) == (1_772_290_800_000, "Asia/Tokyo")


def test_one_with_a_key_may_be_too(friday: MemoryEngine) -> None:
    friday.start(workflow("w", _about("2026-03-01T05:00", idempotencyKey="k")))
    friday.settle()
    assert _found(friday, "a") == "20260301 05"


def test_one_that_says_only_where_keeps_the_instant(friday: MemoryEngine) -> None:
    task = _about(None, zoneId="Asia/Shanghai")
    friday.start(workflow("w", task))
    assert _found(friday, "a") == "20220827 06"


@pytest.mark.parametrize(
    ("day", "zone", "words"),
    [
        ("soon", "UTC", "subWorkflowParam.businessTime must be epoch"),
        (None, "UTC", "subWorkflowParam.businessTime does not yield a value"),
        ("2026-03-01", 5, "subWorkflowParam.zoneId does not yield a value"),
        ("2026-03-01", "Mars", "subWorkflowParam.zoneId is wrong"),
    ],
)
def test_one_that_is_about_no_time_fails(
    friday: MemoryEngine, day: Any, zone: Any, words: str
) -> None:
    task = _about("${workflow.input.day}", zoneId="${workflow.input.zone}")
    started = friday.start(workflow("w", task), input={"day": day, "zone": zone})
    found = task_of(friday, started, "s")
    assert found["status"] == "FAILED_WITH_TERMINAL_ERROR"
    assert found["reasonForIncompletion"].startswith(words)


def test_a_retry_of_the_execution_is_about_the_same_instant(friday: MemoryEngine) -> None:
    again = policy("a", retryCount=0) | {"inputParameters": {"found": "${param.d}"}}
    started = friday.start(workflow("w", again, parameters={"d": "$[yyyyMMddHHmm]"}))
    run_failing(friday, "a")
    friday.clock.advance(seconds=86400)
    friday.engine.recovery.retry(started)
    assert _found(friday, "a") == "202208262205"


def test_a_restart_is_about_the_same_instant(friday: MemoryEngine) -> None:
    again = policy("a", retryCount=0) | {"inputParameters": {"found": "${param.d}"}}
    started = friday.start(workflow("w", again, parameters={"d": "$[yyyyMMddHHmm]"}))
    run_failing(friday, "a")
    friday.clock.advance(seconds=3 * 86400)
    friday.engine.recovery.restart(started)
    assert _found(friday, "a") == "202208262205"


def test_what_is_built_in_is_hidden_by_no_input(friday: MemoryEngine) -> None:
    task = _reading("a", "${param.system.biz.date}")
    friday.start(workflow("w", task), input={"system": "SAP"})
    assert _found(friday, "a") == "20220825"


def test_all_that_is_listed_is_built_in(friday: MemoryEngine) -> None:
    reads = {name: f"${{param.system.{name}}}" for name in BUILT_IN}
    friday.start(workflow("w", simple("a", inputParameters=reads)))
    (task,) = friday.poll("a")
    assert None not in task["inputData"].values()


def test_start_workflow_names_its_own(friday: MemoryEngine) -> None:
    child = workflow("child", _reading("a", "${param.d}"), parameters={"d": "$[yyyyMMdd HH]"})
    friday.engine.definitions.register(workflow_from_json(child), overwrite=True)
    request = {"name": "child", "businessTime": "${workflow.input.at}"}
    task = typed("START_WORKFLOW", "s", inputParameters={"startWorkflow": request})
    friday.start(workflow("w", task), input={"at": "2020-01-02"}, zone="Asia/Shanghai")
    assert _found(friday, "a") == "20200102 00"


def test_start_workflow_refuses_a_wrong_one(friday: MemoryEngine) -> None:
    request = {"name": "child", "businessTime": "soon"}
    task = typed("START_WORKFLOW", "s", inputParameters={"startWorkflow": request})
    started = friday.start(workflow("w", task))
    reason = task_of(friday, started, "s")["reasonForIncompletion"]
    assert reason.startswith("startWorkflow.businessTime must be epoch ms")


def test_an_execution_shows_what_it_is_about(friday: MemoryEngine) -> None:
    shown = friday.workflow(
        friday.start(workflow("w", simple("a")), business_at=_FRIDAY - 5, zone="Europe/Berlin")
    )
    assert (shown["businessTime"], shown["zoneId"]) == (_FRIDAY - 5, "Europe/Berlin")
    plain = friday.workflow(friday.start(workflow("w", simple("a"))))
    assert {"businessTime", "zoneId"}.isdisjoint(plain)


def test_the_output_of_a_workflow_reads_parameters(friday: MemoryEngine) -> None:
    outputs = {
        "day": "${param.day}",
        "at": "${workflow.businessTime}",
        "zone": "${workflow.zoneId}",
    }
    definition = workflow("w", set_variable("v"), parameters=_DATES, outputParameters=outputs)
    found = friday.workflow(friday.start(definition))["output"]
    assert found == {"day": "20220825", "at": _FRIDAY, "zone": "UTC"}


def test_start_workflow_with_a_key_is_about_what_it_names(friday: MemoryEngine) -> None:
    child = workflow("child", _reading("a", "${param.d}"), parameters={"d": "$[yyyyMMdd]"})
    friday.engine.definitions.register(workflow_from_json(child), overwrite=True)
    request = {"name": "child", "businessTime": "2020-01-02", "idempotencyKey": "k"}
    task = typed("START_WORKFLOW", "s", inputParameters={"startWorkflow": request})
    friday.start(workflow("w", task))
    friday.settle()
    assert _found(friday, "a") == "20200102"


def test_a_failure_workflow_is_about_what_failed(friday: MemoryEngine) -> None:
    rescue = workflow("rescue", _reading("r", "${param.d}"), parameters={"d": "$[yyyyMMdd]"})
    friday.engine.definitions.register(workflow_from_json(rescue), overwrite=True)
    friday.start(workflow("w", policy("a", retryCount=0), failureWorkflow="rescue"))
    friday.clock.advance(seconds=86400)
    run_failing(friday, "a")
    friday.settle()
    assert _found(friday, "r") == "20220826"


def test_the_zone_of_the_deployment_holds_where_a_start_names_none() -> None:
    engine = memory_engine(clock=FakeClock(_FRIDAY), zone="Asia/Shanghai")
    assert _dates(engine) == "20220826 2022-08-27 06 202207"
    assert _dates(engine, zone="UTC") == "20220825 2022-08-26 22 202207"


def test_a_value_that_looks_like_a_secret_is_handed_out_as_a_text() -> None:
    engine = memory_engine(values={"PASSWORD": "hush"})
    text = "${workflow.secrets.PASSWORD}"
    engine.start(workflow("w", _reading("a"), inputParameters=["x"]), input={"x": text})
    assert _found(engine, "a") == text
