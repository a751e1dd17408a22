"""What is compared of an execution: what a client reads, without what is drawn, a time, or one of
the differences that docs/reference/compatibility.md tells of.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from tests.beside_java.driving import Tree
from tests.beside_java.server import Json

_TIME: Final = re.compile(r"\b1[67]\d{11}\b")
_ATTEMPT_OF_CHILD: Final = re.compile(r"#\d+\.child\b")
#: In the input of a SUB_WORKFLOW: of what its child is started with, Conductor repeats the
#: definition.
_OF_CHILD: Final = {"idempotencyKey", "idempotencyStrategy", "priority", "subWorkflowVersion"}
#: Times of its own; and the child of a child, where that has given it as its output.
_UNLIKE: Final = {"_systemMetadata", "subWorkflowId"}
_NOTHING: Final = "∅"


def facts(tree: Tree) -> Json:
    """Status, output and variables of it and its children, and their tasks."""
    found: Json = _cleaned(_facts(tree), _names(tree, "top"))
    return found


def _facts(tree: Tree) -> Json:
    root = tree.root
    return {
        "status": root["status"],
        "output": root.get("output"),
        "stated": bool(root["workflowDefinition"].get("outputParameters")),
        "variables": root.get("variables"),
        "tasks": {
            f"{each['referenceTaskName']}#{each['retryCount']}": _task(each, tree)
            for each in root["tasks"]
        },
    }


def _task(task: Json, tree: Tree) -> Json:
    given = dict(task.get("inputData") or {})
    if task["taskType"] == "SUB_WORKFLOW":
        given = {name: given[name] for name in given if name not in _OF_CHILD}
        given.pop("subWorkflowDefinition", None)
    if "forkedTaskDefs" in given:
        given["forkedTaskDefs"] = [each["taskReferenceName"] for each in given["forkedTaskDefs"]]
    found = {
        "type": task["taskType"],
        "status": task["status"],
        "input": given,
        "output": task.get("outputData"),
        "iteration": task.get("iteration", 0),
        "optional": bool(task["workflowTask"].get("optional")),
        "reason": bool(task.get("reasonForIncompletion")),
    }
    if task["taskId"] in tree.children:
        found["child"] = _facts(tree.children[task["taskId"]])
    return found


def _names(tree: Tree, name: str) -> dict[str, str]:
    found = {tree.root["workflowId"]: f"<{name}>"}
    for task in tree.root["tasks"]:
        mine = f"{name}.{task['referenceTaskName']}#{task['retryCount']}"
        found[task["taskId"]] = f"<{mine}>"
        if task["taskId"] in tree.children:
            # One that was resumed is the child of two attempts here, and has the name of the first.
            found = _names(tree.children[task["taskId"]], f"{mine}.child") | found
    return found


def _cleaned(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {
            _cleaned(key, names): "<words>" if _in_words(key, inner) else _cleaned(inner, names)
            for key, inner in value.items()
            if key not in _UNLIKE
        }
    if isinstance(value, list):
        return [_cleaned(inner, names) for inner in value]
    if isinstance(value, str):
        for drawn, name in names.items():
            value = value.replace(drawn, name)
        return _TIME.sub("<time>", value)
    if isinstance(value, int) and not isinstance(value, bool) and 10**12 < value < 2 * 10**12:
        return "<time>"
    return value


def _in_words(key: str, value: Any) -> bool:
    """What a script or a query says of its failure."""
    return key == "error" and isinstance(value, str)


def newest(found: Json) -> Json:
    """The facts of an execution that was taken up again, with the newest attempt of each task.

    What a SUB_WORKFLOW is given is not among them: Conductor keeps it, and we read it anew. Nor is
    whose child it was first: where both may go on in one, Conductor may start another.
    """
    anonymous: Json = json.loads(_ATTEMPT_OF_CHILD.sub(".child", json.dumps(found)))
    return _newest(anonymous)


def _newest(found: Json) -> Json:
    tasks: dict[str, tuple[int, Json]] = {}
    for name, task in found["tasks"].items():
        ref, _, number = name.rpartition("#")
        if int(number) >= tasks.get(ref, (0,))[0]:
            tasks[ref] = int(number), task
    return found | {"tasks": {ref: _newest_of(task) for ref, (_, task) in tasks.items()}}


def _newest_of(task: Json) -> Json:
    if task["type"] != "SUB_WORKFLOW":
        return task
    below = {"child": _newest(task["child"])} if "child" in task else {}
    return task | {"input": {}} | below


def forgetful(found: Json) -> Json:
    """The facts of an execution of Conductor's that was taken up again, without the reasons for
    which its loops and JOINs had not completed before: there they keep them when they do.
    """
    return found | {"tasks": {ref: _forgetful(task) for ref, task in found["tasks"].items()}}


def _forgetful(task: Json) -> Json:
    below = {"child": forgetful(task["child"])} if "child" in task else {}
    healed = task["type"] in {"DO_WHILE", "JOIN"} and task["status"] == "COMPLETED"
    return task | below | ({"reason": False} if healed else {})


def differences(one: Json, other: Json) -> list[tuple[str, Any, Any]]:
    """Where an execution of Conductor's differs from ours, and what stands there in either.

    One that was cut off is compared by the tasks that have ended alike in both: how far what stood
    beside a failure had come is a matter of a moment. One whose loop failed for what is optional is
    not: Conductor's DO_WHILE had looked before that was passed over.
    """
    return [] if _fails_for_the_optional(one) else list(_executions("", one, other))


def _fails_for_the_optional(execution: Json) -> bool:
    tasks = execution["tasks"].values()
    failed = any(task["type"] == "DO_WHILE" and _midway(task) for task in tasks) and any(
        task["optional"] and task["iteration"] and task["status"] == "FAILED" for task in tasks
    )
    return failed or any(
        _fails_for_the_optional(task["child"]) for task in tasks if "child" in task
    )


def _executions(place: str, one: Json, other: Json) -> Iterator[tuple[str, Any, Any]]:
    if one["status"] != other["status"]:
        yield f"{place}/status", one["status"], other["status"]
        return
    mine, theirs = one["tasks"], other["tasks"]
    refs = sorted({*mine, *theirs} - _kept_by_chance(mine, theirs))
    if _cut(one):
        alike = all(_status(mine, ref) == _status(theirs, ref) != "CANCELED" for ref in refs)
        refs = [ref for ref in refs if _status(mine, ref) == _status(theirs, ref) != "CANCELED"]
    else:
        alike = True
        refs = [ref for ref in refs if not _left_behind(mine.get(ref))]
    if alike:
        for name in ("output", "variables") if _telling(one) else ("variables",):
            yield from _values(f"{place}/{name}", one[name], other[name])
    for ref in refs:
        yield from _tasks(f"{place}/{ref}", mine.get(ref), theirs.get(ref))


def _cut(execution: Json) -> bool:
    """Whether it may have ended while something was open."""
    ended = any(task["type"] == "TERMINATE" for task in execution["tasks"].values())
    return ended or execution["status"] != "COMPLETED"


def _telling(execution: Json) -> bool:
    """Whether its output is one that it states, or that of its last task, where one is the last.

    What a child gives that failed is what its branches have come to, and so is what is read of it.
    """
    beside = any(task["type"] == "FORK" for task in execution["tasks"].values())
    nested = any("child" in task for task in execution["tasks"].values())
    cut = _cut(execution)
    return not (nested and cut) if execution["stated"] else not (beside or nested or cut)


def _kept_by_chance(mine: Json, theirs: Json) -> set[str]:
    """Of an iteration that is forgotten, Conductor may write a task again."""
    if not any("keepLastN" in task["input"] for task in mine.values()):
        return set()
    return {ref for ref, task in mine.items() if task["iteration"] and ref not in theirs}


def _left_behind(task: Json | None) -> bool:
    """Conductor's JOIN looks now and then: an execution may complete before it has looked."""
    return task is not None and (task["type"], task["status"]) == ("JOIN", "CANCELED")


def _status(tasks: Json, ref: str) -> Any:
    return tasks[ref]["status"] if ref in tasks else None


def _passed_over(task: Json) -> Any:
    """Of an optional task that failed as the last of all, Conductor keeps the failure, and of one
    whose child was terminated that it is CANCELED.
    """
    failed = ("FAILED", "FAILED_WITH_TERMINAL_ERROR", "CANCELED")
    return "COMPLETED_WITH_ERRORS" if task["status"] in failed else task["status"]


def _midway(task: Json) -> bool:
    """A loop that ended in the midst of an iteration: how far that had come is of the moment. So it
    is of a JOIN that failed, which looks no further there.
    """
    return task["type"] in {"DO_WHILE", "JOIN"} and task["status"] == "FAILED"


def _tasks(place: str, one: Json | None, other: Json | None) -> Iterator[tuple[str, Any, Any]]:
    if one is None or other is None:
        yield place, one, other
        return
    if _passed_over(one) != _passed_over(other):
        yield f"{place}/status", one["status"], other["status"]
    names = ["type", "input", "output", "iteration", "reason"]
    if "child" in one and "child" in other:
        yield from _executions(place, one["child"], other["child"])
    if ("child" in one and not _telling(one["child"])) or _midway(one):
        names.remove("output")
    for name in names:
        yield from _values(f"{place}/{name}", one[name], other[name])


def _values(place: str, one: Any, other: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted({*one, *other}):
            found = one.get(key, _NOTHING), other.get(key, _NOTHING)
            yield from _values(f"{place}/{key}", *found)
    elif type(one) is not type(other) or one != other:
        yield place, one, other
