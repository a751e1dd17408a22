"""Workers of system tasks in the simulation, and a deployment that has one of everything."""

from __future__ import annotations

from dataclasses import replace

from conductor_py.testing.definitions import Json, simple, sub_workflow, switch, typed, workflow
from conductor_py.testing.simulation.drawing import draw_scenario
from conductor_py.testing.simulation.faults import Fault, Kind
from conductor_py.testing.simulation.runner import simulate
from tests.simulation.scenes import scene, task

_CALL = {"http_request": {"uri": "http://example.com", "method": "GET"}}
_DEPTH = 50


def _called(**policy: object) -> Json:
    definition = {"name": "call", "retryCount": 0, "responseTimeoutSeconds": 3_600, **policy}
    return typed("HTTP", "call", inputParameters=_CALL, taskDefinition=definition)


def test_one_seed_in_twenty_is_one_of_system_tasks() -> None:
    calls = 0
    for seed in range(109, 209, 20):
        scenario = draw_scenario(seed)
        run = simulate(scenario)
        assert run.violations == [], (seed, run.violations)
        assert bool(scenario.deployment.systems) != scenario.faithful, seed
        calls += run.counts["calls of system tasks"]
    assert calls > 5
    assert draw_scenario(110).deployment.systems == 0


def test_a_call_whose_worker_dies_is_made_again_and_no_retry_is_used_up() -> None:
    kill = Fault(kind=Kind.CRASH_BEFORE, process="system-1", call="store.report", number=1)
    called = workflow("w0", _called())
    run = simulate(scene(kill, definition=called, starts=1, systems=1, span_ms=20_000))
    assert run.violations == []
    assert run.faults[Kind.CRASH_BEFORE] == 1
    (found,) = run.outcomes.values()
    assert found["status"] == "COMPLETED"
    assert [each["retryCount"] for each in found["tasks"]] == [0, 0]
    assert [each["status"] for each in found["tasks"]] == ["CANCELED", "COMPLETED"]


def test_a_worker_that_is_cut_off_while_it_calls_keeps_no_claim_and_loses_no_result() -> None:
    away = (
        Fault(kind=Kind.CUT_OFF, process="system-1", at_ms=at_ms, ms=9_000)
        for at_ms in (30, 60, 200)
    )
    two = workflow("w0", _called(), task("a"))
    run = simulate(scene(*away, definition=two, starts=2, systems=2, span_ms=20_000))
    assert run.violations == []
    assert {found["status"] for found in run.outcomes.values()} == {"COMPLETED"}


def test_nested_workflows_end_where_there_is_one_of_everything() -> None:
    """Each does one thing at a time: a circle of waits would stand still for ever.

    A server, a sweeper, a worker of effects, one of system tasks, and one that needs its turn at
    each level, on the way down and back.
    """
    given = {"left": "${workflow.input.left}"}
    less = typed("INLINE", "less", inputParameters={"expression": "$.left - 1", **given})
    deeper = sub_workflow("deeper", "w0", inputParameters={"left": "${less.output.result}"})
    back = [simple("up", name="worker"), typed("EVENT", "told", sink="conductor")]
    choice = switch("c", "${workflow.input.left}", {"0": [_called()]}, [less, deeper, *back])
    nested = workflow("w0", task("down"), choice)
    one = scene(
        definition=nested,
        starts=1,
        apis=1,
        sweepers=1,
        effects=1,
        workers=1,
        systems=1,
        latency_us=20,
    )
    run = simulate(replace(one, input={"left": _DEPTH}))
    assert run.violations == []
    assert run.counts["calls of system tasks"] == 1
    assert len(run.outcomes) == _DEPTH + 1
    assert {found["status"] for found in run.outcomes.values()} == {"COMPLETED"}
