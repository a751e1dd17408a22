"""What the chaos program starts: kinds of executions, and what must come of each.

Whatever is expected of an execution follows from its workflow's name and its input alone, so that
also those can be judged whose start was never answered, and those that other executions started.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

WORK = "chaos_work"
LIMITED = "chaos_limited"
TICK = "chaos_tick"
"""Started by the schedule."""
TICK_EVERY_S = 2
LIMIT = 3
"""Tasks of LIMITED at a time."""

_TASK: Json = {"retryCount": 30, "retryDelaySeconds": 0, "retryLogic": "FIXED"}
_TASK |= {"timeoutSeconds": 0, "responseTimeoutSeconds": 600}


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """How an execution ends.

    ``done`` are the references that complete exactly once. ``failed`` says of some how many
    attempts fail before; ``late`` are those of which at least one attempt times out; ``broken``
    may fail for good until somebody retries. ``cut`` may be there, CANCELED. ``again`` are those
    that a rerun runs: once more for each rerun that was sent again, as nobody had answered.
    """

    status: str = "COMPLETED"
    output: Mapping[str, Any] = field(default_factory=dict)
    done: frozenset[str] = frozenset()
    failed: Mapping[str, int] = field(default_factory=dict)
    late: frozenset[str] = frozenset()
    broken: frozenset[str] = frozenset()
    again: frozenset[str] = frozenset()
    cut: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A workflow: its definition, how its input is drawn, and what is expected of an input.

    ``weight`` says how often it is started, 0: by others only. ``operation`` is what a client does
    with it after the start. ``waits`` says that it stands still on purpose.
    """

    name: str
    definition: Json
    expect: Callable[[Json], Expected]
    draw: Callable[[random.Random], Json] = lambda _: {}
    weight: int = 0
    operation: str = ""
    waits: bool = False


def _number(given: Json) -> int:
    return int(given["number"])


# -- tasks -----------------------------------------------------------------------------------------


def _task(ref: str, kind: str, **members: Any) -> Json:
    return {"name": ref, "taskReferenceName": ref, "type": kind, **members}


def _work(ref: str, to: object, *, definition: Json | None = None, **inputs: Any) -> Json:
    """A task of a worker: adds one to ``to``."""
    own = {**_TASK, **(definition or {}), "name": WORK}
    return {
        "name": WORK,
        "taskReferenceName": ref,
        "type": "SIMPLE",
        "inputParameters": {"to": to, "number": "${workflow.input.number}", **inputs},
        "taskDefinition": own,
    }


def _jq(ref: str, program: str, **inputs: Any) -> Json:
    parameters = {"queryExpression": program, **inputs}
    return _task(ref, "JSON_JQ_TRANSFORM", inputParameters=parameters)


def _script(ref: str, expression: str, **inputs: Any) -> Json:
    parameters = {"evaluatorType": "javascript", "expression": expression, **inputs}
    return _task(ref, "INLINE", inputParameters=parameters)


def _fork(ref: str, *branches: list[Json], join_on: list[str]) -> list[Json]:
    fork = _task(ref, "FORK_JOIN", forkTasks=list(branches))
    return [fork, _task(f"{ref}_join", "JOIN", joinOn=join_on)]


def _workflow(name: str, *tasks: Json, output: Json | None = None, **members: Any) -> Json:
    return {
        "name": name,
        "version": 1,
        "schemaVersion": 2,
        "tasks": list(tasks),
        "outputParameters": output or {},
        **members,
    }


_NUMBER = "${workflow.input.number}"


def _value(ref: str) -> str:
    return f"${{{ref}.output.value}}"


def _result(ref: str) -> str:
    return f"${{{ref}.output.result}}"


# -- kinds -----------------------------------------------------------------------------------------

_STEPS = Kind(
    name="chaos_steps",
    weight=14,
    definition=_workflow(
        "chaos_steps",
        _work("a", _NUMBER),
        _work("b", _value("a")),
        _work("c", _value("b")),
        output={"value": _value("c")},
    ),
    expect=lambda given: Expected(
        output={"value": _number(given) + 3}, done=frozenset({"a", "b", "c"})
    ),
)

_FORK = Kind(
    name="chaos_fork",
    weight=14,
    definition=_workflow(
        "chaos_fork",
        *_fork(
            "fork",
            [_work("a1", _NUMBER), _work("a2", _value("a1"))],
            [_work("b1", _NUMBER, fails=1)],
            [_script("c1", "$.n * 2", n=_NUMBER), _work("c2", _result("c1"))],
            join_on=["a2", "b1", "c2"],
        ),
        _jq("total", ".a + .b + .c", a=_value("a2"), b=_value("b1"), c=_value("c2")),
        output={"value": _result("total")},
    ),
    expect=lambda given: Expected(
        output={"value": 4 * _number(given) + 4},
        done=frozenset({"fork", "a1", "a2", "b1", "c1", "c2", "fork_join", "total"}),
        failed={"b1": 1},
    ),
)


def _dynamic_done(given: Json) -> frozenset[str]:
    branches = {f"_fork_{WORK}_{number}" for number in range(len(given["items"]))}
    return frozenset({"fork", "fork_join", "total"} | branches)


_DYNAMIC = Kind(
    name="chaos_dynamic",
    weight=8,
    definition=_workflow(
        "chaos_dynamic",
        _task(
            "fork",
            "FORK_JOIN_DYNAMIC",
            inputParameters={"forkTaskName": WORK, "forkTaskInputs": "${workflow.input.items}"},
        ),
        _task("fork_join", "JOIN"),
        _jq("total", "[.joined[].value] | add", joined="${fork_join.output}"),
        output={"value": _result("total")},
    ),
    draw=lambda chance: {"items": [{"to": to} for to in range(chance.randrange(1, 9))]},
    expect=lambda given: Expected(
        output={"value": sum(item["to"] + 1 for item in given["items"])}, done=_dynamic_done(given)
    ),
)

_LOOP = Kind(
    name="chaos_loop",
    weight=10,
    definition=_workflow(
        "chaos_loop",
        _task(
            "loop",
            "DO_WHILE",
            inputParameters={"rounds": "${workflow.input.rounds}"},
            loopCondition="$.loop['iteration'] < $.rounds",
            loopOver=[_work("body", _NUMBER), _jq("twice", ".v * 2", v=_value("body"))],
        ),
        output={"rounds": "${loop.output.iteration}", "value": _result("twice")},
    ),
    draw=lambda chance: {"rounds": chance.randrange(1, 5)},
    expect=lambda given: Expected(
        output={"rounds": given["rounds"], "value": 2 * (_number(given) + 1)},
        done=frozenset(
            {"loop"}
            | {f"{ref}__{n + 1}" for ref in ("body", "twice") for n in range(given["rounds"])}
        ),
    ),
)


def _child(ref: str, name: str, number: str) -> Json:
    return _task(
        ref,
        "SUB_WORKFLOW",
        subWorkflowParam={"name": name, "version": 1},
        inputParameters={"number": number},
    )


_INNER = Kind(
    name="chaos_inner",
    definition=_workflow(
        "chaos_inner",
        _work("deep", _NUMBER, fails=1),
        output={"value": _value("deep")},
    ),
    expect=lambda given: Expected(
        output={"value": _number(given) + 1}, done=frozenset({"deep"}), failed={"deep": 1}
    ),
)

_MIDDLE = Kind(
    name="chaos_middle",
    definition=_workflow(
        "chaos_middle",
        *_fork(
            "fork",
            [_child("left", "chaos_inner", _NUMBER)],
            [_child("right", "chaos_inner", _NUMBER)],
            join_on=["left", "right"],
        ),
        _jq("total", ".a + .b", a=_value("left"), b=_value("right")),
        output={"value": _result("total")},
    ),
    expect=lambda given: Expected(
        output={"value": 2 * (_number(given) + 1)},
        done=frozenset({"fork", "left", "right", "fork_join", "total"}),
    ),
)

_NESTED = Kind(
    name="chaos_nested",
    weight=6,
    definition=_workflow(
        "chaos_nested",
        _work("first", _NUMBER),
        _child("middle", "chaos_middle", _value("first")),
        output={"value": _value("middle")},
    ),
    expect=lambda given: Expected(
        output={"value": 2 * (_number(given) + 2)}, done=frozenset({"first", "middle"})
    ),
)

_RETRIES = Kind(
    name="chaos_retries",
    weight=8,
    definition=_workflow(
        "chaos_retries",
        _work(
            "tried",
            _NUMBER,
            fails="${workflow.input.fails}",
            definition={"retryDelaySeconds": 1},
        ),
        output={"value": _value("tried")},
    ),
    draw=lambda chance: {"fails": chance.randrange(1, 4)},
    expect=lambda given: Expected(
        output={"value": _number(given) + 1},
        done=frozenset({"tried"}),
        failed={"tried": given["fails"]},
    ),
    waits=True,
)

_WAITS = Kind(
    name="chaos_waits",
    weight=6,
    definition=_workflow(
        "chaos_waits",
        _work("before", _NUMBER),
        _task("pause", "WAIT", inputParameters={"duration": "${workflow.input.pause}"}),
        _work("after", _value("before")),
        output={"value": _value("after")},
    ),
    draw=lambda chance: {"pause": chance.choice(["1 s", "2 s", "4 s"])},
    expect=lambda given: Expected(
        output={"value": _number(given) + 2}, done=frozenset({"before", "pause", "after"})
    ),
    waits=True,
)

_CHOICE = Kind(
    name="chaos_choice",
    weight=8,
    definition=_workflow(
        "chaos_choice",
        _task(
            "choose",
            "SWITCH",
            evaluatorType="value-param",
            expression="way",
            inputParameters={"way": "${workflow.input.way}"},
            decisionCases={
                "work": [_work("hand", _NUMBER)],
                "script": [
                    _script("machine", "$.n + 1", n=_NUMBER),
                    _task("kept", "SET_VARIABLE", inputParameters={"value": _result("machine")}),
                ],
            },
            defaultCase=[_task("nothing", "NOOP")],
        ),
        _work("last", _NUMBER),
        output={"value": _value("last"), "kept": "${workflow.variables.value}"},
    ),
    draw=lambda chance: {"way": chance.choice(["work", "script", "other"])},
    expect=lambda given: Expected(
        output={
            "value": _number(given) + 1,
            "kept": _number(given) + 1 if given["way"] == "script" else None,
        },
        done=frozenset({"choose", "last"} | _WAYS[given["way"]]),
    ),
)
_WAYS: Mapping[str, set[str]] = {
    "work": {"hand"},
    "script": {"machine", "kept"},
    "other": {"nothing"},
}


def _end(status: str) -> Json:
    parameters = {"terminationStatus": status, "workflowOutput": {"value": _value("first")}}
    return _task(f"end_{status}", "TERMINATE", inputParameters=parameters)


_STOPS = Kind(
    name="chaos_stops",
    weight=4,
    definition=_workflow(
        "chaos_stops",
        *_fork(
            "fork",
            [
                _work("first", _NUMBER),
                _task(
                    "how",
                    "SWITCH",
                    evaluatorType="value-param",
                    expression="as",
                    inputParameters={"as": "${workflow.input.as}"},
                    decisionCases={each: [_end(each)] for each in ("COMPLETED", "FAILED")},
                ),
            ],
            [_task("never", "WAIT")],
            join_on=["how", "never"],
        ),
    ),
    draw=lambda chance: {"as": chance.choice(["COMPLETED", "FAILED"])},
    expect=lambda given: Expected(
        status=given["as"],
        output={"value": _number(given) + 1},
        done=frozenset({"fork", "first", "how", f"end_{given['as']}"}),
        cut=frozenset({"never", "fork_join"}),
    ),
)

_LATE = Kind(
    name="chaos_late",
    weight=2,
    definition=_workflow(
        "chaos_late",
        _work(
            "slow",
            _NUMBER,
            hangs=True,
            definition={"timeoutSeconds": 2, "timeoutPolicy": "RETRY"},
        ),
        output={"value": _value("slow")},
    ),
    expect=lambda given: Expected(
        output={"value": _number(given) + 1}, done=frozenset({"slow"}), late=frozenset({"slow"})
    ),
    waits=True,
)

_LONG = Kind(
    name="chaos_long",
    weight=2,
    definition=_workflow(
        "chaos_long",
        _work("long", _NUMBER, takes_ms=4_000),
        output={"value": _value("long")},
    ),
    expect=lambda given: Expected(output={"value": _number(given) + 1}, done=frozenset({"long"})),
    waits=True,
)

_LIMITED = Kind(
    name="chaos_limits",
    weight=4,
    definition=_workflow(
        "chaos_limits",
        {**_work("scarce", _NUMBER), "name": LIMITED, "taskDefinition": None},
        output={"value": _value("scarce")},
        rateLimitConfig={
            "rateLimitKey": "all",
            "concurrentExecLimit": 6,
            "policy": "QUEUE",
        },
    ),
    expect=lambda given: Expected(output={"value": _number(given) + 1}, done=frozenset({"scarce"})),
    waits=True,
)

_CALLS = Kind(
    name="chaos_calls",
    weight=4,
    definition=_workflow(
        "chaos_calls",
        _task(
            "call",
            "HTTP",
            inputParameters={
                "http_request": {
                    "uri": "${workflow.input.site}/${workflow.input.number}",
                    "method": "GET",
                }
            },
            taskDefinition={**_TASK, "name": "call"},
        ),
        output={"value": "${call.output.response.body.value}"},
    ),
    expect=lambda given: Expected(output={"value": _number(given) + 1}, done=frozenset({"call"})),
)

_HANDLED = Kind(
    name="chaos_handled",
    definition=_workflow(
        "chaos_handled", _work("noted", _NUMBER), output={"value": _value("noted")}
    ),
    expect=lambda given: Expected(output={"value": _number(given) + 1}, done=frozenset({"noted"})),
)

_EVENTS = Kind(
    name="chaos_events",
    weight=4,
    definition=_workflow(
        "chaos_events",
        _task("told", "EVENT", sink="conductor:told", inputParameters={"number": _NUMBER}),
    ),
    expect=lambda given: Expected(done=frozenset({"told"})),
)

HANDLER: Json = {
    "name": "chaos_told",
    "event": "conductor:chaos_events:told",
    "active": True,
    "actions": [
        {
            "action": "start_workflow",
            "start_workflow": {
                "name": "chaos_handled",
                "version": 1,
                "input": {"number": "${number}", "by": "${workflowInstanceId}"},
            },
        }
    ],
}
"""What the message of CAUSES' events starts."""

_POSTS = Kind(
    name="chaos_posts",
    weight=3,
    definition=_workflow(
        "chaos_posts",
        _task(
            "post",
            "START_WORKFLOW",
            inputParameters={
                "startWorkflow": {
                    "name": "chaos_handled",
                    "version": 1,
                    "input": {"number": _NUMBER, "by": "${workflow.workflowId}"},
                    "idempotencyKey": "${workflow.workflowId}",
                    "idempotencyStrategy": "RETURN_EXISTING",
                }
            },
        ),
    ),
    expect=lambda given: Expected(done=frozenset({"post"})),
)

CAUSES = ("chaos_events", "chaos_posts")
"""Each of these causes exactly one `chaos_handled`, whose input says by whom."""

_PAUSED = Kind(
    name="chaos_paused",
    weight=3,
    operation="pause",
    definition=_workflow(
        "chaos_paused",
        *_fork(
            "fork",
            [_work("a1", _NUMBER), _work("a2", _value("a1"))],
            [_work("b1", _NUMBER), _work("b2", _value("b1"))],
            join_on=["a2", "b2"],
        ),
        output={"value": _value("b2")},
    ),
    expect=lambda given: Expected(
        output={"value": _number(given) + 2},
        done=frozenset({"fork", "a1", "a2", "b1", "b2", "fork_join"}),
    ),
    waits=True,
)

_TERMINATED = Kind(
    name="chaos_terminated",
    weight=3,
    operation="terminate",
    definition=_workflow(
        "chaos_terminated",
        *_fork(
            "fork",
            [_task("never", "WAIT")],
            [_work("open", _NUMBER, takes_ms=2_000), _task("ever", "HUMAN")],
            join_on=["never", "ever"],
        ),
    ),
    expect=lambda _: Expected(
        status="TERMINATED",
        done=frozenset({"fork"}),
        cut=frozenset({"never", "open", "ever", "fork_join"}),
    ),
    waits=True,
)

_BROKEN = Kind(
    name="chaos_broken",
    weight=4,
    operation="recover",
    definition=_workflow(
        "chaos_broken",
        _work("before", _NUMBER),
        _work("breaks", _value("before"), breaks=True),
        _work("after", _value("breaks")),
        output={"value": _value("after")},
    ),
    draw=lambda chance: {"by": chance.choice(["retry", "restart", "rerun"])},
    expect=lambda given: Expected(
        output={"value": _number(given) + 3},
        done=frozenset({"before", "breaks", "after"}),
        broken=frozenset({"breaks"}),
        again=frozenset({"breaks", "after"} if given["by"] == "rerun" else ()),
    ),
    waits=True,
)

_ASKED = Kind(
    name="chaos_asked",
    weight=3,
    operation="answer",
    definition=_workflow(
        "chaos_asked",
        _task("one", "HUMAN"),
        _work("between", "${one.output.answer}"),
        _task("two", "WAIT"),
        output={"value": "${two.output.answer}", "between": _value("between")},
    ),
    expect=lambda given: Expected(
        output={"value": _number(given), "between": _number(given) + 1},
        done=frozenset({"one", "between", "two"}),
    ),
    waits=True,
)

_TICK = Kind(
    name=TICK,
    definition=_workflow(TICK, _work("tock", 1), output={"value": _value("tock")}),
    expect=lambda _: Expected(output={"value": 2}, done=frozenset({"tock"})),
)

SCHEDULE: Json = {
    "name": "chaos_tick",
    "cronExpression": f"*/{TICK_EVERY_S} * * * * *",
    "zoneId": "UTC",
    "runCatchupScheduleInstances": True,
    "startWorkflowRequest": {"name": TICK, "version": 1, "input": {"number": 1}},
}

KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        *(_STEPS, _FORK, _DYNAMIC, _LOOP, _NESTED, _MIDDLE, _INNER, _RETRIES, _WAITS, _CHOICE),
        *(_STOPS, _LATE, _LONG, _LIMITED, _CALLS, _EVENTS, _HANDLED, _POSTS, _PAUSED),
        *(_TERMINATED, _BROKEN, _ASKED, _TICK),
    )
}

TASK_DEFINITIONS: list[Json] = [
    {**_TASK, "name": WORK},
    {**_TASK, "name": LIMITED, "concurrentExecLimit": LIMIT},
]


def draw(chance: random.Random) -> tuple[Kind, Json]:
    """Choose what to start, and its input but for its number."""
    started = [kind for kind in KINDS.values() if kind.weight]
    (kind,) = chance.choices(started, weights=[kind.weight for kind in started])
    return kind, kind.draw(chance)
