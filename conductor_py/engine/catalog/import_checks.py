"""What a bundle is held to before anything is done about it: all of it, and every finding told.

A bundle stands by itself: what its workflows use is in it, so it is good or bad wherever it comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from conductor_py.codec.catalog import dump_content
from conductor_py.engine.catalog.weight import check_weight
from conductor_py.engine.definitions.composing import used_content
from conductor_py.errors import InvalidInput, Violation
from conductor_py.model.bundle import Bundle, BundledTask, BundledWorkflow
from conductor_py.model.catalog import Entry
from conductor_py.model.definitions import WorkflowDef, WorkflowTask
from conductor_py.model.json import JsonObject
from conductor_py.wire.catalog import read_draft, read_header, read_task
from conductor_py.wire.definition_reader import moved

Contents = Mapping[tuple[int, int], JsonObject]


def check_bundle(bundle: Bundle, check: Callable[[WorkflowDef], None]) -> None:
    """``InvalidInput`` with everything that is wrong, by its path in the document; ``check`` holds
    a whole definition to the rules.
    """
    contents = {(task.code, task.version): task.definition for task in bundle.tasks}
    stored = {key: dump_content(content) for key, content in contents.items()}
    drafts = (read_draft(workflow.definition) for workflow in bundle.workflows)
    # Of all workflows together: each of them is put together, one after the other.
    check_weight((entry for draft in drafts for entry in draft.entries), stored, "$.workflows")
    found = list(_relations(bundle))
    for at, task in enumerate(bundle.tasks):
        found += _task(task, f"$.tasks[{at}].definition")
    for at, workflow in enumerate(bundle.workflows):
        found += moved(tuple(_workflow(workflow, contents, check)), f"$.workflows[{at}].definition")
    if found:
        raise InvalidInput(violations=tuple(found))


def _relations(bundle: Bundle) -> Iterator[Violation]:
    """What is wrong between entries."""
    edited: set[int] = set()
    names: dict[str, int] = {}
    tasks = {task.code for task in bundle.tasks}
    for at, each in enumerate(bundle.workflows):
        path = f"$.workflows[{at}]"
        if each.code in tasks:
            yield Violation(path=f"{path}.code", message="must not be that of a task, too")
        if each.edited and each.code in edited:
            message = "must not be true: another version of this workflow is the edited one"
            yield Violation(path=f"{path}.edited", message=message)
        if each.edited:
            edited.add(each.code)
    for at, each in enumerate(bundle.workflows):
        is_named = each.edited or each.code not in edited
        if is_named and names.setdefault(each.name, each.code) != each.code:
            message = "must not be the name of two workflows"
            yield Violation(path=f"$.workflows[{at}].definition.name", message=message)


def _task(task: BundledTask, path: str) -> tuple[Violation, ...]:
    content = task.definition
    try:
        read = read_task({"taskReferenceName": content.get("name"), **content}, path)
    except InvalidInput as error:
        return error.violations
    if not read.name.strip():
        return (Violation(path=f"{path}.name", message="must not be empty"),)
    return ()


def _workflow(
    workflow: BundledWorkflow, contents: Contents, check: Callable[[WorkflowDef], None]
) -> Iterator[Violation]:
    """What is wrong with a whole workflow, from its own root."""
    draft = read_draft(workflow.definition)
    header, tasks = None, []
    found: list[Violation] = []
    try:
        header = read_header(draft.header)
    except InvalidInput as error:
        found += error.violations
    for at, entry in enumerate(draft.entries):
        try:
            tasks.append(_placed(entry, contents, f"$.tasks[{at}]"))
        except InvalidInput as error:
            found += error.violations
    found += _codes(draft.entries)
    if header is not None and not found:
        try:
            check(replace(header, version=workflow.version, tasks=tuple(tasks)))
        except InvalidInput as error:
            found += error.violations
    yield from found


def _placed(entry: Entry, contents: Contents, path: str) -> WorkflowTask:
    if not entry.is_use:
        return read_task(entry.content, path)
    content = contents.get((entry.code, entry.version))
    if content is None:
        message = "must name a code and a version of $.tasks of this document"
        raise InvalidInput(violations=(Violation(path=f"{path}.uses", message=message),))
    return read_task(used_content(content, entry.content), path)


def _codes(entries: tuple[Entry, ...]) -> Iterator[Violation]:
    seen: set[int] = set()
    for at, entry in enumerate(entries):
        if entry.is_use or not entry.code:
            continue
        if entry.code in seen:
            message = "must be there once: it is the code of another task here"
            yield Violation(path=f"$.tasks[{at}].code", message=message)
        seen.add(entry.code)
