"""What `MetadataStore` and `PlanStore` promise, on every store."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from conductor_py.model.ids import ExecutionId
from conductor_py.ports.store import Changes, Child, Outcome
from tests.conformance.stores import LEASE_MS, Store, an_id, completed, header, running

DAY_MS = 24 * 3_600_000


def test_newest_version_is_the_numerically_largest(store: Store) -> None:
    for version in (2, 10, 9):
        assert store.metadata.put_workflow("wf", version, b"v%d" % version, create=True)
    assert store.metadata.workflow("wf", None) == b"v10"
    assert store.metadata.workflow("wf", 9) == b"v9"
    assert store.metadata.workflow("wf", 3) is None
    assert store.metadata.workflow("other", None) is None


def test_created_version_is_not_overwritten_by_another_create(store: Store) -> None:
    store.metadata.put_workflow("wf", 1, b"first", create=True)
    assert not store.metadata.put_workflow("wf", 1, b"second", create=True)
    assert store.metadata.workflow("wf", 1) == b"first"
    assert store.metadata.put_workflow("wf", 1, b"third", create=False)
    assert store.metadata.workflow("wf", 1) == b"third"


def test_every_version_is_listed_by_name_and_number(store: Store) -> None:
    for name, version in (("b", 1), ("a", 10), ("a", 2)):
        store.metadata.put_workflow(name, version, b"%d" % version, create=True)
    assert store.metadata.workflows() == (("a", 2, b"2"), ("a", 10, b"10"), ("b", 1, b"1"))


def test_deleted_version_is_gone(store: Store) -> None:
    store.metadata.put_workflow("wf", 1, b"1", create=True)
    assert store.metadata.delete_workflow("wf", 1)
    assert not store.metadata.delete_workflow("wf", 1)
    assert store.metadata.workflow("wf", None) is None
    assert store.metadata.workflows() == ()


def test_task_definitions_are_put_read_and_deleted(store: Store) -> None:
    assert not store.metadata.put_task("t", b"0", must_exist=True)
    assert store.metadata.tasks(None) == {}
    assert store.metadata.put_task("t", b"1", must_exist=False)
    assert store.metadata.put_task("t", b"2", must_exist=True)
    store.metadata.put_task("a", b"3", must_exist=False)
    assert list(store.metadata.tasks(None).items()) == [("a", b"3"), ("t", b"2")]
    assert store.metadata.tasks(("t", "unknown")) == {"t": b"2"}
    assert store.metadata.tasks(()) == {}
    assert store.metadata.delete_task("t")
    assert not store.metadata.delete_task("t")


@pytest.mark.parametrize(
    "change",
    [
        lambda store: store.metadata.put_workflow("wf", 2, b"", create=True),
        lambda store: store.metadata.put_workflow("wf", 1, b"", create=False),
        lambda store: store.metadata.delete_workflow("wf", 1),
        lambda store: store.metadata.put_task("t", b"", must_exist=True),
        lambda store: store.metadata.delete_task("t"),
    ],
)
def test_revision_grows_in_every_partition_with_each_change(
    store: Store, change: Callable[[Store], bool]
) -> None:
    store.metadata.put_workflow("wf", 1, b"", create=True)
    store.metadata.put_task("t", b"", must_exist=False)
    before = [store.metadata.revision(partition) for partition in (0, 1)]
    assert change(store)
    after = [store.metadata.revision(partition) for partition in (0, 1)]
    assert all(new > old for old, new in zip(before, after, strict=True))


def test_revision_stays_when_nothing_changed(store: Store) -> None:
    store.metadata.put_workflow("wf", 1, b"", create=True)
    before = store.metadata.revision(1)
    store.metadata.put_workflow("wf", 1, b"", create=True)
    store.metadata.delete_task("t")
    store.metadata.put_task("t", b"", must_exist=True)
    assert store.metadata.revision(1) == before


def test_plan_is_stored_in_its_partition_once(store: Store) -> None:
    store.plans.put(1, "p1", b"blob", {"t1": b"[]"})
    store.plans.put(1, "p1", b"blob", {"t1": b"[]"})
    assert store.plans.get(1, "p1") == b"blob"
    assert store.plans.get(0, "p1") is None
    assert (store.plans.count(0), store.plans.count(1)) == (0, 1)


def test_plan_of_a_thousand_references_is_stored(store: Store) -> None:
    store.plans.put(0, "p1", b"blob", {f"t{n}": b"[]" for n in range(10_000)})
    assert store.plans.get(0, "p1") == b"blob"


def test_plan_that_a_start_or_commit_named_lately_is_not_collected(store: Store) -> None:
    store.plans.put(0, "old", b"1", {})
    store.plans.put(0, "used", b"2", {})
    store.start(an_id(1), running())
    store.clock.advance(DAY_MS)
    store.commit(store.sent(an_id(1)), running(plans=("used",)))
    assert store.plans.collect(0, ("old", "used", "unknown"), DAY_MS) == 1
    assert store.plans.get(0, "old") is None
    assert store.plans.get(0, "used") == b"2"
    assert store.plans.count(0) == 1


def born(plan: str, **more: Any) -> Changes:
    """Changes of an execution of a plan, which has to be stored."""
    return running(**{"fields": {"h": header(plan=plan)}, "plans": (plan,), **more})


def ended(store: Store, execution: ExecutionId, plan: str) -> int:
    """End an execution; the version that may be removed."""
    loaded = store.executions.acquire(execution, "d", LEASE_MS) or store.sent(execution)
    return store.commit(loaded, completed_with(plan)).version


def completed_with(plan: str) -> Changes:
    """Changes that end an execution of a plan."""
    return replace(completed(), fields={"h": header(plan=plan)})


def sweep(store: Store, limit: int = 10) -> int:
    """Let a day pass, and drop what nothing uses; returns how many went."""
    store.clock.advance(DAY_MS)
    return store.plans.collect_unused(0, DAY_MS, limit)[1]


def test_plan_that_nothing_uses_goes_after_a_day_untouched(store: Store) -> None:
    store.plans.put(0, "p1", b"1", {})
    store.clock.advance(DAY_MS - 1)
    assert store.plans.collect_unused(0, DAY_MS, 10) == (0, 0)
    store.clock.advance(1)
    assert store.plans.collect_unused(0, DAY_MS, 10) == (1, 1)
    assert (store.plans.get(0, "p1"), store.plans.count(0)) == (None, 0)
    assert store.plans.collect_unused(0, DAY_MS, 10) == (0, 0)


def test_plan_put_again_before_its_start_comes_is_kept_for_another_day(store: Store) -> None:
    store.plans.put(0, "p1", b"1", {})
    store.clock.advance(DAY_MS - 1)
    store.plans.put(0, "p1", b"1", {})
    store.clock.advance(1)
    assert store.plans.collect_unused(0, DAY_MS, 10) == (1, 0)
    store.clock.advance(DAY_MS - 2)
    assert store.plans.collect_unused(0, DAY_MS, 10) == (0, 0)
    store.clock.advance(1)
    assert store.plans.collect_unused(0, DAY_MS, 10) == (1, 1)


def test_plan_stays_while_one_of_its_executions_is_present(store: Store) -> None:
    store.plans.put(0, "p1", b"1", {})
    store.start(an_id(1), born("p1"))
    store.start(an_id(2), born("p1"))
    assert sweep(store) == 0
    first = ended(store, an_id(1), "p1")
    assert store.reader.remove(an_id(1), first) is Outcome.OK
    assert store.reader.remove(an_id(1), first) is Outcome.GONE
    assert sweep(store) == 0
    second = ended(store, an_id(2), "p1")
    assert store.reader.remove(an_id(2), second - 1) is Outcome.STALE
    assert sweep(store) == 0
    assert store.reader.remove(an_id(2), second) is Outcome.OK
    assert sweep(store) == 1
    assert store.plans.get(0, "p1") is None


def test_refused_or_repeated_start_is_not_counted(store: Store) -> None:
    store.plans.put(0, "p1", b"1", {})
    store.start(an_id(1), born("p1"), operation="a", idempotency_key="k")
    replies = (
        store.start(an_id(1), born("p1"), operation="a"),
        store.start(an_id(1), born("p1"), operation="b"),
        store.start(an_id(2), born("p1"), idempotency_key="k"),
        store.start(an_id(2), born("p1"), now_ms=0),
        store.start(an_id(2), born("p1"), meta_revision=99),
        store.start(an_id(2), born("p1", plans=("p1", "missing"))),
    )
    assert [reply.outcome for reply in replies] == [
        Outcome.OK,
        Outcome.EXISTS,
        Outcome.EXISTS,
        Outcome.CLOCK,
        Outcome.META_MOVED,
        Outcome.NEED_PLAN,
    ]
    store.reader.remove(an_id(1), ended(store, an_id(1), "p1"))
    assert sweep(store) == 1


def test_child_counts_for_its_plan_from_its_creation_on_and_once(store: Store) -> None:
    store.plans.put(0, "p1", b"1", {})
    store.plans.put(0, "p2", b"2", {})
    fields = {"meta": b"h", "h": header(plan="p2")}
    child = Child(
        home="s0", execution=an_id(9), name="sub", generation=1, fields=fields, event=b"s"
    )
    store.start(an_id(1), born("p1", children=(child,)))
    loaded = store.sent(an_id(1))
    for _ in range(2):
        reply = store.commit(loaded, born("p1", children=(child,)), operation="repeated")
        assert reply.outcome is Outcome.OK
    assert sweep(store) == 0
    store.reader.remove(an_id(1), ended(store, an_id(1), "p1"))
    assert sweep(store) == 1
    assert store.plans.get(0, "p2") == b"2"
    store.reader.remove(an_id(9), ended(store, an_id(9), "p2"))
    assert sweep(store) == 1


def test_header_that_names_another_plan_uses_that_one_from_then_on(store: Store) -> None:
    store.plans.put(0, "p1", b"1", {})
    store.plans.put(0, "p2", b"2", {})
    store.start(an_id(1), born("p1"))
    store.commit(store.sent(an_id(1)), running(fields={}))
    store.commit(store.sent(an_id(1)), born("p2"))
    assert sweep(store) == 1
    assert store.plans.get(0, "p2") == b"2"
    store.reader.remove(an_id(1), ended(store, an_id(1), "p2"))
    assert sweep(store) == 1


def test_fragment_stays_while_its_owner_is_present(store: Store) -> None:
    store.start(an_id(1), running())
    store.plans.put(0, "f1", b"1", {}, an_id(1))
    store.plans.put(0, "f2", b"2", {}, an_id(2))
    store.commit(store.sent(an_id(1)), running(plans=("f1",)))
    assert sweep(store) == 1
    assert (store.plans.get(0, "f1"), store.plans.get(0, "f2")) == (b"1", None)
    store.reader.remove(an_id(1), ended(store, an_id(1), "p1"))
    assert sweep(store) == 1
    assert store.plans.count(0) == 0


def test_start_and_commit_ask_again_for_a_plan_that_was_dropped(store: Store) -> None:
    store.plans.put(0, "p1", b"1", {})
    assert sweep(store) == 1
    assert store.start(an_id(1), born("p1")).outcome is Outcome.NEED_PLAN
    assert store.reader.snapshot(an_id(1)) is None
    store.plans.put(0, "p1", b"1", {})
    store.plans.put(0, "p2", b"2", {})
    assert store.start(an_id(1), born("p1")).outcome is Outcome.OK
    assert sweep(store) == 1
    loaded = store.sent(an_id(1))
    assert store.commit(loaded, born("p1", plans=("p2",))).outcome is Outcome.NEED_PLAN
    assert store.commit(loaded, born("p1")).outcome is Outcome.OK


def test_bounded_walks_get_through_all_plans_behind_those_in_use(store: Store) -> None:
    for number in range(1, 8):
        store.plans.put(0, f"p{number}", b"", {})
    for number in range(1, 5):
        store.start(an_id(number), born(f"p{number}"))
    store.clock.advance(DAY_MS)
    walks = [store.plans.collect_unused(0, DAY_MS, 3) for _ in range(4)]
    assert walks == [(3, 0), (3, 2), (1, 1), (0, 0)]
    assert store.plans.count(0) == 4


def test_plans_of_another_partition_are_left_alone(store: Store) -> None:
    store.plans.put(1, "p1", b"1", {})
    assert sweep(store) == 0
    assert store.plans.collect_unused(1, DAY_MS, 10) == (1, 1)


def test_schemas_have_versions_and_raise_the_revision(store: Store) -> None:
    metadata, seen = store.metadata, store.metadata.revision(0)
    metadata.put_schema("a b", 2, b"two")
    metadata.put_schema("a b", 10, b"ten")
    metadata.put_schema("c", 1, b"one")
    assert metadata.revision(0) > seen
    assert metadata.schemas() == (("a b", 2, b"two"), ("a b", 10, b"ten"), ("c", 1, b"one"))
    assert (metadata.schema("a b", None), metadata.schema("a b", 2)) == (b"ten", b"two")
    assert (metadata.schema("a b", 3), metadata.schema("x", None)) == (None, None)
    assert metadata.delete_schema("a b", 10)
    assert not metadata.delete_schema("a b", 10)
    assert metadata.schema("a b", None) == b"two"


def test_tags_change_only_if_they_are_still_those_that_were_seen(store: Store) -> None:
    metadata = store.metadata
    assert metadata.put_tags("task", "t", None, b"[1]")
    assert not metadata.put_tags("task", "t", None, b"[2]")
    assert metadata.put_tags("task", "t", b"[1]", b"[2]")
    assert metadata.put_tags("workflow", "t", None, b"[3]")
    assert (metadata.tags("task"), metadata.tags("workflow")) == ({"t": b"[2]"}, {"t": b"[3]"})
    assert (metadata.tags("task", "t"), metadata.tags("task", "u")) == ({"t": b"[2]"}, {})
    assert metadata.put_tags("task", "t", b"[2]", None)
    assert metadata.tags("task") == {}
