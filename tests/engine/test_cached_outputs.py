"""cacheConfig: a task whose output is known already is not done again."""

from typing import Any

from conductor_py.testing import MemoryEngine
from tests.builders import fork, join, policy, set_variable, simple, status_of, task_of, workflow

_BIG = "x" * 300_000


def _definition(name: str = "w", ref: str = "a", **more: Any) -> dict[str, Any]:
    config = {"key": "${who}-${workflow.input.day}", "ttlInSecond": 60}
    inputs = {"who": "${workflow.input.who}", "run": "${workflow.workflowId}"}
    return workflow(name, simple(ref, inputParameters=inputs, cacheConfig=config, **more))


def _start(engine: MemoryEngine, who: str = "Ada", day: int = 1, **more: Any) -> str:
    return engine.start(_definition(**more), input={"who": who, "day": day})


def test_known_output_completes_the_task_without_a_worker(engine: MemoryEngine) -> None:
    _start(engine)
    engine.run("a", {"sum": 3})
    second = _start(engine)
    assert not engine.poll("a")
    shown = task_of(engine, second, "a")
    assert (shown["status"], shown["outputData"]) == ("COMPLETED", {"sum": 3})
    assert shown["inputData"]["run"] == second
    assert status_of(engine, second) == "COMPLETED"


def test_other_keys_workflows_and_references_share_nothing(engine: MemoryEngine) -> None:
    _start(engine)
    engine.run("a", {"sum": 3})
    _start(engine, who="Bob")
    _start(engine, day=2)
    _start(engine, name="v")
    assert len(engine.poll("a", 5)) == 3
    _start(engine, ref="b")
    assert engine.poll("b")


def test_output_is_forgotten_when_its_time_is_over(engine: MemoryEngine) -> None:
    _start(engine)
    engine.run("a")
    engine.clock.advance(seconds=61)
    _start(engine)
    assert engine.poll("a")


def test_only_what_completed_is_kept(engine: MemoryEngine) -> None:
    _start(engine)
    engine.run("a", {"sum": 3}, status="FAILED")
    _start(engine)
    assert engine.poll("a")


def test_output_that_is_too_large_is_made_anew(engine: MemoryEngine) -> None:
    _start(engine)
    engine.run("a", {"text": _BIG})
    _start(engine)
    assert engine.poll("a")


def test_retry_that_completes_is_kept(engine: MemoryEngine) -> None:
    task = policy("a", retryCount=1)
    task["cacheConfig"] = {"key": "k", "ttlInSecond": 60}
    engine.start(workflow("w", task))
    engine.run("a", status="FAILED")
    engine.settle()
    engine.run("a", {"sum": 3})
    again = engine.start(workflow("w", task))
    assert task_of(engine, again, "a")["outputData"] == {"sum": 3}


def _by_variable(value: str, **more: Any) -> dict[str, Any]:
    """A task that is cached by a variable, beside one that changes that."""
    task = policy("c", retryCount=1) | {"inputParameters": {"v": "${workflow.variables.v}"}}
    task["cacheConfig"] = {"key": "${v}", "ttlInSecond": 60}
    branches = fork("f", [task], [simple("gate"), set_variable("s", v="TWO")])
    return workflow("w", branches, join("j", "c", "s"), variables={"v": value})


def test_a_retry_is_kept_under_the_key_of_its_own_input(engine: MemoryEngine) -> None:
    first = engine.start(_by_variable("ONE"))
    engine.run("gate")
    engine.run("c", status="FAILED")
    engine.settle()
    engine.run("c", {"made": "of two"})
    assert task_of(engine, first, "c")["inputData"] == {"v": "TWO"}
    one = engine.start(_by_variable("ONE"))
    assert task_of(engine, one, "c")["status"] == "SCHEDULED"
    two = engine.start(_by_variable("TWO"))
    assert task_of(engine, two, "c")["outputData"] == {"made": "of two"}


def test_tasks_that_a_dynamic_task_chooses_share_no_outputs(engine: MemoryEngine) -> None:
    task = {
        "name": "d",
        "taskReferenceName": "d",
        "type": "DYNAMIC",
        "dynamicTaskNameParam": "which",
        "inputParameters": {"which": "${workflow.input.which}", "id": 7},
        "cacheConfig": {"key": "${id}", "ttlInSecond": 60},
    }
    engine.start(workflow("w", task), input={"which": "alpha"})
    engine.run("alpha", {"of": "alpha"})
    engine.start(workflow("w", task), input={"which": "beta"})
    assert engine.poll("beta")


def test_rule_without_life_or_key_caches_nothing(engine: MemoryEngine) -> None:
    for config in ({"key": "k"}, {"ttlInSecond": 60}, {"key": "", "ttlInSecond": 60}):
        for _ in range(2):
            engine.start(workflow("w", simple("a", cacheConfig=config)))
            engine.run("a")


def test_key_that_takes_one_large_value_again_and_again_caches_nothing(
    engine: MemoryEngine,
) -> None:
    task = simple("a", cacheConfig={"key": "${workflow.input.x}" * 250, "ttlInSecond": 60})
    for _ in range(2):
        engine.start(workflow("w", task), input={"x": "x" * 1_000_000})
        engine.run("a", {"sum": 3})
