"""Children and their parents when one of them is taken up again."""

import pytest

from conductor_py.adapters.memory.store import MemoryExecutionStore
from conductor_py.codec.event import dump_event
from conductor_py.decider.generations import generations
from conductor_py.decider.workspace import Workspace
from conductor_py.errors import Conflict, NotFound
from conductor_py.model.event import Operation
from conductor_py.model.execution import Walk
from conductor_py.model.ids import ExecutionId
from conductor_py.model.requests import RerunRequest
from conductor_py.ports.store import Commit, CommitReply, Outcome
from conductor_py.testing import MemoryEngine
from tests.builders import (
    Json,
    dag,
    fork,
    join,
    pass_time,
    run_failing,
    simple,
    status_of,
    sub_workflow,
    task_of,
    tasks_of,
    times,
    workflow,
)


def _family(engine: MemoryEngine, *, ref: str = "x", **more: bool) -> tuple[str, str, str]:
    """A workflow, its child and its grandchild, whose only task failed."""
    leaf = workflow("leaf", simple("w1"), simple(ref))
    middle = workflow("middle", sub_workflow("n", leaf, **more))
    root = engine.start(workflow("w", sub_workflow("s", middle), simple("z")))
    engine.settle()
    engine.run("w1")
    run_failing(engine, ref)
    engine.settle()
    child = task_of(engine, root, "s")["subWorkflowId"]
    return root, child, task_of(engine, child, "n")["subWorkflowId"]


def _retry(engine: MemoryEngine, started: str, *, resume: bool = False) -> None:
    engine.engine.recovery.retry(started, resume_subworkflows=resume)
    engine.settle()


def test_retry_of_the_parent_starts_another_child(engine: MemoryEngine) -> None:
    root, child, _ = _family(engine)
    _retry(engine, root)
    old, new = tasks_of(engine, root, "s")
    assert old["subWorkflowId"] == child
    assert new["subWorkflowId"] not in {None, child}
    assert status_of(engine, child) == "FAILED"
    engine.run("w1")
    engine.settle()
    engine.run("x")
    engine.settle()
    engine.run("z")
    assert status_of(engine, root) == "COMPLETED"


@pytest.mark.anomaly("A-44")
def test_retry_with_sub_workflows_goes_to_the_deepest_that_failed(engine: MemoryEngine) -> None:
    root, child, grandchild = _family(engine)
    _retry(engine, root, resume=True)
    for each in (root, child, grandchild):
        assert status_of(engine, each) == "RUNNING"
    assert task_of(engine, root, "s")["subWorkflowId"] == child
    assert task_of(engine, child, "n")["subWorkflowId"] == grandchild
    assert not engine.poll("w1")
    engine.run("x")
    engine.settle()
    engine.run("z")
    assert [status_of(engine, each) for each in (root, child, grandchild)] == ["COMPLETED"] * 3
    retried = task_of(engine, root, "s")
    assert retried["retryCount"] == 1
    assert len(tasks_of(engine, grandchild, "x")) == 2


@pytest.mark.parametrize("verb", ["retry", "restart"])
def test_child_taken_up_again_revives_what_is_above(engine: MemoryEngine, verb: str) -> None:
    root, child, grandchild = _family(engine)
    getattr(engine.engine.recovery, verb)(grandchild)
    engine.settle()
    for each in (root, child, grandchild):
        assert status_of(engine, each) == "RUNNING"
    if verb == "restart":
        engine.run("w1")
    engine.run("x")
    engine.settle()
    engine.run("z")
    assert status_of(engine, root) == "COMPLETED"


def test_completed_parent_runs_again_until_its_restarted_child_has_ended(
    engine: MemoryEngine,
) -> None:
    started = engine.start(
        workflow("w", sub_workflow("s", workflow("c", simple("x"))), simple("z"))
    )
    engine.run("x")
    engine.settle()
    engine.run("z")
    child = task_of(engine, started, "s")["subWorkflowId"]
    engine.engine.recovery.restart(child)
    engine.settle()
    assert status_of(engine, started) == "RUNNING"
    engine.run("x")
    engine.settle()
    assert status_of(engine, started) == "RUNNING"
    engine.run("z")
    assert status_of(engine, started) == "COMPLETED"


def test_running_parent_waits_again_for_a_restarted_child(engine: MemoryEngine) -> None:
    started = engine.start(
        workflow("w", sub_workflow("s", workflow("c", simple("x"))), simple("z"))
    )
    engine.run("x", {"n": 1})
    engine.settle()
    child = task_of(engine, started, "s")["subWorkflowId"]
    engine.engine.recovery.restart(child)
    engine.settle()
    assert task_of(engine, started, "s")["status"] == "IN_PROGRESS"
    assert not engine.poll("z")
    engine.run("x", {"n": 2})
    engine.settle()
    engine.run("z")
    assert status_of(engine, started) == "COMPLETED"
    assert task_of(engine, started, "s")["outputData"]["n"] == 2
    assert [task["status"] for task in tasks_of(engine, started, "z")] == ["CANCELED", "COMPLETED"]


def test_optional_child_does_not_revive_its_parent(engine: MemoryEngine) -> None:
    child = sub_workflow("s", workflow("c", simple("x")), optional=True)
    started = engine.start(workflow("w", child))
    run_failing(engine, "x")
    engine.settle()
    assert status_of(engine, started) == "COMPLETED"
    engine.engine.recovery.retry(task_of(engine, started, "s")["subWorkflowId"])
    engine.settle()
    assert status_of(engine, started) == "COMPLETED"


def _through(engine: MemoryEngine, root: str, task: Json) -> None:
    engine.engine.recovery.rerun(root, RerunRequest(from_task=task["taskId"]))
    engine.settle()


def _dag_above(engine: MemoryEngine) -> tuple[str, Json]:
    """A DAG whose sub-workflow has completed, with one more that has not; the inner task."""
    middle = dag("m", [sub_workflow("s", workflow("c", simple("x"))), simple("y")], "s > y")
    root = engine.start(workflow("w", sub_workflow("m", middle), simple("z")))
    engine.run("x", {"n": 1})
    engine.settle()
    child = task_of(engine, task_of(engine, root, "m")["subWorkflowId"], "s")["subWorkflowId"]
    return root, task_of(engine, child, "x")


def test_rerun_in_a_child_of_a_dag_through_what_is_above_takes_up_the_dag(
    engine: MemoryEngine,
) -> None:
    root, inner = _dag_above(engine)
    engine.run("y")
    engine.run("z")
    assert status_of(engine, root) == "COMPLETED"
    _through(engine, root, inner)
    middle = task_of(engine, root, "m")["subWorkflowId"]
    assert status_of(engine, root) == status_of(engine, middle) == "RUNNING"
    assert not engine.poll("y")
    engine.run("x", {"n": 2})
    engine.settle()
    assert task_of(engine, middle, "s")["outputData"]["n"] == 2
    engine.run("y")
    engine.run("z")
    assert status_of(engine, root) == "COMPLETED"
    assert [len(tasks_of(engine, *at)) for at in ((middle, "y"), (root, "z"))] == [2, 2]


def test_rerun_in_a_child_of_a_dag_that_has_gone_on_is_refused(engine: MemoryEngine) -> None:
    root, inner = _dag_above(engine)
    with pytest.raises(Conflict, match="its DAG has gone on behind task s and has not ended yet"):
        _through(engine, root, inner)
    assert status_of(engine, inner["workflowInstanceId"]) == "COMPLETED"


def test_preview_of_a_rerun_is_refused_where_what_is_above_would_not_wait(
    engine: MemoryEngine,
) -> None:
    inner = dag("i", [simple("x")])
    root = engine.start(dag("w", [sub_workflow("s", inner), simple("y")], "s > y"))
    engine.run("x")
    engine.settle()
    task = task_of(engine, task_of(engine, root, "s")["subWorkflowId"], "x")["taskId"]
    with pytest.raises(Conflict, match="has gone on behind task s"):
        engine.engine.recovery.preview_rerun(root, RerunRequest(from_task=task))
    engine.run("y")
    found = engine.engine.recovery.preview_rerun(root, RerunRequest(from_task=task))
    assert found.runs_again == ("x",)


def test_rerun_by_the_id_of_the_child_leaves_a_dag_as_it_is(engine: MemoryEngine) -> None:
    root, inner = _dag_above(engine)
    engine.run("y")
    engine.run("z")
    _through(engine, inner["workflowInstanceId"], inner)
    assert status_of(engine, inner["workflowInstanceId"]) == "RUNNING"
    assert status_of(engine, root) == "COMPLETED"


def test_rerun_leaves_a_dag_above_the_execution_it_names_as_it_is(engine: MemoryEngine) -> None:
    child = sub_workflow("s", workflow("c", simple("x")))
    middle = workflow("m", child, simple("y"))
    root = engine.start(dag("w", [sub_workflow("m", middle), simple("z")], "m > z"))
    for ref in ("x", "y", "z"):
        engine.run(ref)
        engine.settle()
    named = task_of(engine, root, "m")["subWorkflowId"]
    inner = task_of(engine, task_of(engine, named, "s")["subWorkflowId"], "x")
    _through(engine, named, inner)
    assert [status_of(engine, each) for each in (named, root)] == ["RUNNING", "COMPLETED"]
    engine.run("x")
    engine.settle()
    engine.run("y")
    assert status_of(engine, named) == "COMPLETED"
    _through(engine, root, inner)
    assert status_of(engine, root) == "RUNNING"


_BODY = ("a", "x", "z")


def _looping(engine: MemoryEngine, done: int, *, nested: bool = False, **more: Json) -> str:
    """A loop of three iterations with a child in the midst of each, so many tasks of it done; each
    task tells its number.
    """
    child = sub_workflow(
        "s", workflow("c", simple("x")) | {"outputParameters": {"v": "${x.output.n}"}}
    )
    z = simple("z") | {"inputParameters": {"s": "${s.output.v}", "a": "${a.output.n}"}}
    inner = times("m", 1, child) if nested else child
    loop = times("l", 3, simple("a"), inner, z) | more
    e = simple("e") | {"inputParameters": {"z": "${z.output.n}"}}
    root = engine.start(workflow("w", loop, e))
    for number, ref in enumerate([*_BODY * 3, "e"][:done], 1):
        engine.run(ref, {"n": number})
        engine.settle()
    return root


def _go_through(engine: MemoryEngine, refs: list[str]) -> list[Json]:
    """Do these tasks, and nothing else; the inputs of those that read something."""
    inputs = []
    for number, ref in enumerate(refs, 101):
        (task,) = (task for each in ("a", "x", "z", "e") for task in engine.poll(each))
        assert task["taskType"] == ref
        if task["inputData"]:
            inputs.append(task["inputData"])
        engine.complete(task, output={"n": number})
        engine.settle()
    return inputs


def _first_child(engine: MemoryEngine, root: str) -> str:
    tasks = engine.workflow(root)["tasks"]
    return str(next(task["subWorkflowId"] for task in tasks if task["taskType"] == "SUB_WORKFLOW"))


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize(
    ("done", "through"), [(10, True), (10, False), (9, False), (8, False), (7, False), (5, False)]
)
def test_rerun_in_a_child_of_an_earlier_iteration_runs_what_follows_it_again(
    engine: MemoryEngine, done: int, *, through: bool, nested: bool
) -> None:
    root = _looping(engine, done, nested=nested)
    first = _first_child(engine, root)
    (task,) = engine.workflow(first)["tasks"]
    _through(engine, root if through else first, task)
    assert status_of(engine, root) == "RUNNING"
    inputs = _go_through(engine, ["x", "z", "a", "x", "z", "a", "x", "z", "e"])
    assert status_of(engine, root) == "COMPLETED"
    assert inputs == [
        {"s": 101, "a": 1},
        {"s": 104, "a": 103},
        {"s": 107, "a": 106},
        {"z": 108},
    ]
    assert task_of(engine, root, "l")["outputData"]["iteration"] == 3


def test_iterations_that_a_loop_has_forgotten_are_not_run_again_for_a_child(
    engine: MemoryEngine,
) -> None:
    root = _looping(engine, 2, inputParameters={"keepLastN": 1})
    first = _first_child(engine, root)
    _go_through(engine, ["z", "a", "x", "z", "a"])
    before = engine.workflow(root)
    _through(engine, first, engine.workflow(first)["tasks"][0])
    assert [status_of(engine, each) for each in (root, first)] == ["RUNNING", "RUNNING"]
    assert engine.workflow(root)["tasks"] == before["tasks"]


def test_rerun_in_an_optional_child_is_refused_through_the_parent(engine: MemoryEngine) -> None:
    child = sub_workflow("s", workflow("c", simple("x")), optional=True)
    root = engine.start(workflow("w", child))
    failed = run_failing(engine, "x")
    engine.settle()
    with pytest.raises(Conflict, match="task s is optional"):
        _through(engine, root, failed)
    _through(engine, failed["workflowInstanceId"], failed)
    assert status_of(engine, failed["workflowInstanceId"]) == "RUNNING"


def test_rerun_in_a_child_that_another_has_replaced_is_refused_through_the_parent(
    engine: MemoryEngine,
) -> None:
    root = engine.start(workflow("w", sub_workflow("s", workflow("c", simple("x")))))
    failed = run_failing(engine, "x")
    engine.settle()
    _retry(engine, root)
    engine.run("x")
    engine.settle()
    assert status_of(engine, root) == "COMPLETED"
    with pytest.raises(Conflict, match="has run again since"):
        _through(engine, root, failed)


@pytest.mark.anomaly("A-12")
def test_siblings_that_were_canceled_resume_their_children(engine: MemoryEngine) -> None:
    def branch(name: str) -> list[Json]:
        return [
            sub_workflow(f"s{name}", workflow(f"c{name}", simple(f"x{name}"), simple(f"y{name}")))
        ]

    started = engine.start(
        workflow("w", fork("f", branch("1"), branch("2")), join("j", "s1", "s2"))
    )
    engine.run("x2")
    run_failing(engine, "x1")
    engine.settle()
    children = [task_of(engine, started, ref)["subWorkflowId"] for ref in ("s1", "s2")]
    assert [status_of(engine, child) for child in children] == ["FAILED", "TERMINATED"]
    _retry(engine, started, resume=True)
    pass_time(engine, seconds=2)
    assert [task_of(engine, started, r)["subWorkflowId"] for r in ("s1", "s2")] == children
    engine.run("x1")
    engine.run("y1")
    engine.run("y2")
    pass_time(engine, seconds=2)
    assert status_of(engine, started) == "COMPLETED"


def test_child_that_can_no_longer_be_retried_ends_its_task_again(engine: MemoryEngine) -> None:
    ending = {
        "name": "e",
        "taskReferenceName": "e",
        "type": "TERMINATE",
        "inputParameters": {"terminationStatus": "FAILED", "terminationReason": "over"},
    }
    started = engine.start(workflow("w", sub_workflow("s", workflow("c", ending))))
    engine.settle()
    assert status_of(engine, started) == "FAILED"
    _retry(engine, started, resume=True)
    pass_time(engine, seconds=2)
    assert status_of(engine, started) == "FAILED"
    assert len(tasks_of(engine, started, "s")) == 2


def test_execution_that_was_terminated_and_retried_at_once(engine: MemoryEngine) -> None:
    """The child may still have its termination in the inbox."""
    started = engine.start(workflow("w", sub_workflow("s", workflow("c", simple("x")))))
    engine.settle()
    engine.engine.executions.terminate(started, reason="enough")
    engine.engine.recovery.retry(started, resume_subworkflows=True)
    for _ in range(4):
        pass_time(engine, seconds=2)
    child = task_of(engine, started, "s")["subWorkflowId"]
    assert (status_of(engine, started), status_of(engine, child)) == ("RUNNING", "RUNNING")
    engine.run("x")
    pass_time(engine, seconds=2)
    assert status_of(engine, started) == "COMPLETED"


def test_word_of_a_parent_that_a_later_one_has_overtaken_is_void(engine: MemoryEngine) -> None:
    started = engine.start(workflow("c", simple("x")))
    say = engine.engine.steering._operations.carry_out
    with pytest.raises(NotFound, match="only one that has ended"):
        say(started, "retry", {"resume": True, "word": 4})
    say(started, "terminate", {"reason": "late", "word": 3})
    assert status_of(engine, started) == "RUNNING"
    say(started, "terminate", {"reason": "in time", "word": 5})
    assert status_of(engine, started) == "TERMINATED"
    say(started, "retry", {"resume": True, "word": 4})
    assert status_of(engine, started) == "TERMINATED"
    say(started, "retry", {"resume": True, "word": 6})
    assert status_of(engine, started) == "RUNNING"


def _leaves_before(
    engine: MemoryEngine,
    monkeypatch: pytest.MonkeyPatch,
    gone: str,
    told_by: str,
    *,
    archived: bool,
) -> list[Outcome]:
    """Have an execution leave the store before a commit that has a message for it; how that is
    answered.
    """
    store = type(engine.ports.store)
    commit = store.commit
    outcomes: list[Outcome] = []

    def remove_first(self: MemoryExecutionStore, order: Commit) -> CommitReply:
        to = {message.execution for message in order.changes.messages}
        if outcomes or order.execution != told_by or gone not in to:
            return commit(self, order)
        engine.engine.steering.remove(ExecutionId(gone), archive=archived)
        reply = commit(self, order)
        outcomes.append(reply.outcome)
        return reply

    monkeypatch.setattr(store, "commit", remove_first)
    return outcomes


@pytest.mark.parametrize("archived", [True, False])
def test_child_that_leaves_between_its_parents_look_and_commit_is_looked_for_again(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch, *, archived: bool
) -> None:
    """Its retry would reach nobody: the commit is refused (RECEIVER_GONE)."""
    root, child, _ = _family(engine)
    outcomes = _leaves_before(engine, monkeypatch, child, root, archived=archived)
    _retry(engine, root, resume=True)
    assert outcomes == [Outcome.RECEIVER_GONE]
    newest = tasks_of(engine, root, "s")[-1]["subWorkflowId"]
    assert (newest == child) is archived
    assert status_of(engine, newest) == "RUNNING"
    if not archived:
        engine.run("w1")
        engine.settle()
    engine.run("x")
    engine.settle()
    engine.run("z")
    assert status_of(engine, root) == "COMPLETED"


@pytest.mark.parametrize("leaving", ["middle", "root"])
def test_parent_that_leaves_before_it_hears_of_its_revived_child_is_brought_back(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch, leaving: str
) -> None:
    root, child, leaf = _family(engine)
    gone, told_by = (child, leaf) if leaving == "middle" else (root, child)
    outcomes = _leaves_before(engine, monkeypatch, gone, told_by, archived=True)
    _retry(engine, leaf)
    assert outcomes == [Outcome.RECEIVER_GONE]
    assert {status_of(engine, each) for each in (root, child, leaf)} == {"RUNNING"}
    engine.run("x")
    engine.settle()
    engine.run("z")
    assert {status_of(engine, each) for each in (root, child, leaf)} == {"COMPLETED"}


def test_child_whose_parent_was_deleted_meanwhile_goes_on_without_it(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, child, leaf = _family(engine)
    outcomes = _leaves_before(engine, monkeypatch, child, leaf, archived=False)
    _retry(engine, leaf)
    assert outcomes == [Outcome.RECEIVER_GONE]
    engine.run("x")
    assert status_of(engine, leaf) == "COMPLETED"


@pytest.mark.parametrize("looked", [True, False])
def test_retry_does_not_wait_for_a_child_that_is_being_deleted(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch, *, looked: bool
) -> None:
    """The deletion is decided, and its effect not carried out yet: before the parent's look the
    child counts as gone, after it the child says that it has ended.
    """
    root = engine.start(workflow("w", sub_workflow("s", workflow("c", simple("x")))))
    engine.settle()
    run_failing(engine, "x")
    engine.settle()
    child = task_of(engine, root, "s")["subWorkflowId"]
    store, event = engine.ports.store, Operation(id="d", name="remove", arguments={})
    commit = type(store).commit

    def delete() -> None:
        loaded = store.send(ExecutionId(child), "d", dump_event(event), "d", 3_000).loaded
        engine.engine.executor.drive(loaded, "d")

    def delete_first(self: MemoryExecutionStore, order: Commit) -> CommitReply:
        if any(m.execution == child for m in order.changes.messages):
            monkeypatch.undo()
            delete()
        return commit(self, order)

    if looked:
        monkeypatch.setattr(type(store), "commit", delete_first)
    else:
        delete()
    _retry(engine, root, resume=True)
    if looked:
        assert status_of(engine, root) == "FAILED"
    else:
        assert task_of(engine, root, "s")["subWorkflowId"] != child
        engine.run("x")
        engine.settle()
        assert status_of(engine, root) == "COMPLETED"


def test_retry_that_a_child_cannot_decide_ends_the_task_that_waits_for_it(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = engine.start(workflow("w", sub_workflow("s", workflow("c", simple("x")))))
    engine.settle()
    run_failing(engine, "x")
    engine.settle()
    child, begin = task_of(engine, root, "s")["subWorkflowId"], generations.begin

    def broken(ws: Workspace, walk: Walk, **more: str) -> None:
        if ws.id == child:
            raise RuntimeError("a defect")
        begin(ws, walk, **more)

    monkeypatch.setattr(generations, "begin", broken)
    _retry(engine, root, resume=True)
    assert [task["status"] for task in tasks_of(engine, root, "s")] == ["FAILED", "FAILED"]
    assert status_of(engine, root) == "FAILED"
