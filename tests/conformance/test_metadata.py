"""What `MetadataStore` and `PlanStore` promise, on every store."""

from collections.abc import Callable

import pytest

from tests.conformance.stores import Store, an_id, running

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
