"""The plans that a process remembers: bounded, whatever data brings."""

from __future__ import annotations

from conductor_py.decider.compile import compile_plan
from conductor_py.engine.definitions.plan_cache import Compiled, PlanCache
from conductor_py.model.definitions import WorkflowDef
from conductor_py.model.ids import ExecutionId


def _compiled(name: str, *, size: int = 10, owner: str = "") -> Compiled:
    plan = compile_plan(WorkflowDef(name=name), name)
    return Compiled(plan, b"x" * size, ExecutionId(owner) if owner else None)


def _known(cache: PlanCache, *names: str) -> str:
    return "".join(name for name in names if cache.get(name))


def test_what_is_used_least_goes_first() -> None:
    cache = PlanCache(plans=2)
    cache.put(_compiled("a"))
    cache.put(_compiled("b"))
    assert cache.get("a")
    cache.put(_compiled("c"))

    assert _known(cache, "a", "b", "c") == "ac"


def test_any_number_of_fragments_leaves_the_plans_of_definitions_alone() -> None:
    cache = PlanCache(plans=2, fragments=3)
    cache.put(_compiled("a"))
    for name in "vwxyz":
        cache.put(_compiled(name, owner="e"))

    assert _known(cache, "a", *"vwxyz") == "axyz"


def test_large_plans_take_the_room_of_many_small_ones() -> None:
    cache = PlanCache(fragments=100, size=100)
    for name in "abc":
        cache.put(_compiled(name, owner="e"))
    cache.put(_compiled("L", size=85, owner="e"))

    assert _known(cache, *"abcL") == "cL"


def test_the_newest_plan_is_kept_however_large() -> None:
    cache = PlanCache(size=100)
    cache.put(_compiled("a"))
    cache.put(_compiled("L", size=1_000))
    assert _known(cache, "a", "L") == "L"

    cache.put(_compiled("b"))
    assert _known(cache, "L", "b") == "b"


def test_a_plan_that_is_put_again_counts_once() -> None:
    cache = PlanCache(size=100)
    for _ in range(50):
        cache.put(_compiled("a", size=40))
    cache.put(_compiled("b", size=40))

    assert _known(cache, "a", "b") == "ab"
    cache.clear()
    assert _known(cache, "a", "b") == ""
