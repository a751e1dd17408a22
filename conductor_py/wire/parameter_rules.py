"""What parameters may be called, hold and read; and that what reads one can find it.

A parameter that nothing gives is found when the definition is saved. Only one that a start has to
give can be missing later: it stands in ``inputParameters`` (or ``inputTemplate``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from graphlib import CycleError, TopologicalSorter
from typing import Final

from conductor_py.model.business_time import has_placeholders
from conductor_py.model.definitions import WorkflowDef, WorkflowTask, children_of
from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.model.parameters import BUILT_IN, MOST_NESTED, NAME, PARAM, ROOTS, SYSTEM
from conductor_py.model.upstream import leading_to
from conductor_py.records import dataclass
from conductor_py.wire.fields import texts_in
from conductor_py.wire.task_rules import Finding

_EXPRESSION = re.compile(r"(?<!\$)\$\{\s{0,9}([^.\[\]{}$\s]{1,200}+)([^{}]{0,1000})(?=\}|\$\{)")
_HANDED_OUT = re.compile(r"(?<!\$)\$\{\s*workflow\.(?:secrets|env)\.")
_QUOTED = re.compile(r"\[['\"](\w+)['\"]\]", re.ASCII)
_STEP = re.compile(r"\.([A-Za-z_][\w-]*)|\['([^']+)'\]|\[\"([^\"]+)\"\]", re.ASCII)
_DYNAMIC = frozenset({"FORK_JOIN_DYNAMIC", "DYNAMIC"})
_OF_TASKS = "task."
_HOW = "name one parameter: ${param.NAME}"
_MOST_HANDED_ON: Final = 10_000
"""Names that all tasks of a definition may hand on, each counted once."""


@dataclass(frozen=True, slots=True)
class _Use:
    """A place that reads a parameter; ``below`` is the path in it."""

    path: str
    name: str
    below: str
    text: str


@dataclass(frozen=True, slots=True)
class _Known:
    """The parameters that are found at some place: by name, and as bits those that are handed on
    to it; ``places`` says which bit is whose. So that ten thousand tasks that hand on as many names
    cost no more than their relations.
    """

    names: AbstractSet[str]
    places: Mapping[str, int]
    handed: int = 0

    def __contains__(self, name: str) -> bool:
        place = self.places.get(name)
        return name in self.names or (place is not None and bool(self.handed >> place & 1))


def parameter_findings(
    definition: WorkflowDef, given: AbstractSet[str] = frozenset()
) -> Iterator[Finding]:
    """List all that is wrong with the parameters of a definition and its tasks; ``given`` are those
    that its start is known to give.
    """
    tasks = dict(_tasks(definition))
    taken = next((path for path, task in tasks.items() if _ref(task) == PARAM), None)
    if taken is not None:
        if definition.parameters or any(_has_any(task) for task in tasks.values()):
            message = f"must not be {PARAM} in a workflow with parameters"
            yield f"{taken}.taskReferenceName", message, PARAM
        return
    yield from _values(definition.parameters, ".parameters")
    for path, task in tasks.items():
        yield from _values(task.parameters, f"{path}.parameters")
        yield from _out(task, path)
    crowded = _crowded(tasks)
    if crowded is not None:
        yield crowded
        return
    given = {*given, *definition.input_parameters, *definition.input_template, SYSTEM}
    opened = any(task.type in _DYNAMIC for task in tasks.values())
    if not definition.parameters and not any(_has_any(task) for task in tasks.values()) and opened:
        return  # it may be a task that is brought
    yield from _shared(definition, given)
    places, handed = _handed_on(definition, tasks)
    everywhere = given | definition.parameters.keys()
    for path, task in tasks.items():
        known = _Known(everywhere, places, handed[_ref(task)])
        yield from _of_task(task, path, known)


def _ref(task: WorkflowTask) -> str:
    return task.task_reference_name


def _has_any(task: WorkflowTask) -> bool:
    return bool(task.parameters or task.out_parameters)


def _tasks(definition: WorkflowDef) -> Iterator[tuple[str, WorkflowTask]]:
    pending = [(f".tasks[{n}]", task) for n, task in enumerate(definition.tasks)]
    for path, task in pending:
        yield path, task
        for inner, body in children_of(task):
            pending += [(f"{path}{inner}[{n}]", each) for n, each in enumerate(body)]


def _values(parameters: JsonObject, root: str) -> Iterator[Finding]:
    for name, value in parameters.items():
        if not NAME.fullmatch(name) or name == SYSTEM:
            message = (
                f"must begin with a letter and hold letters, digits, _ and - only; {SYSTEM} is"
                " taken"
            )
            yield f"{root}['{name[:200]}']", message, name[:200]
            continue
        for path, text in texts_in(value, f"{root}.{name}"):
            if _HANDED_OUT.search(text):
                message = (
                    "must not read secrets or the environment: these are replaced where"
                    " inputParameters name them, and nowhere else"
                )
                yield path, message, text[:200]
            try:
                has_placeholders(text)
            except ValueError as wrong:
                yield path, str(wrong), text[:200]


def _out(task: WorkflowTask, path: str) -> Iterator[Finding]:
    before: set[str] = set()
    for index, name in enumerate(task.out_parameters):
        if not NAME.fullmatch(name) or name == SYSTEM or name in before:
            message = "must be the name of a parameter, there once"
            yield f"{path}.outParameters[{index}]", message, name[:200]
        before.add(name)


def _crowded(tasks: Mapping[str, WorkflowTask]) -> Finding | None:
    """Where the tasks of a definition begin to hand on more names than they may."""
    names: set[str] = set()
    for path, task in tasks.items():
        names.update(task.out_parameters)
        if len(names) > _MOST_HANDED_ON:
            message = f"must be {_MOST_HANDED_ON:,} different names at most, with those before"
            return f"{path}.outParameters", message, None
    return None


# -- who reads what --------------------------------------------------------------------------------


def _shared(definition: WorkflowDef, given: AbstractSet[str]) -> Iterator[Finding]:
    """The parameters of the workflow, and its output: they stand at no task."""
    shared = definition.parameters
    yield from _defined(shared, ".parameters", _Known(given, {}), at_task=False)
    for name, value in definition.parameters.items():
        for path, text in texts_in(value, f".parameters.{name}"):
            yield from _no_task(path, text)
    known = _Known(given | definition.parameters.keys(), {})
    values: tuple[tuple[str, JsonValue], ...] = (
        (".outputParameters", definition.output_parameters),
        (".rateLimitConfig", definition.rate_limit_config),
        (".failureWorkflow", definition.failure_workflow),
    )
    for where, value in values:
        for path, text in texts_in(value, where):
            for use in _uses(path, text):
                yield from _looked_for(use, known, at_task=False)


def _no_task(path: str, text: str) -> Iterator[Finding]:
    for root, _ in _EXPRESSION.findall(text) if "${" in text else ():
        if root not in ROOTS:
            message = (
                f"refers to '{root}': a parameter of the workflow is there before any task; "
                "give it to the task that reads it"
            )
            yield path, message, text[:200]


def _of_task(task: WorkflowTask, path: str, known: _Known) -> Iterator[Finding]:
    for use in _used(task, path):
        if use.name not in task.parameters:
            yield from _looked_for(use, known)
    yield from _defined(task.parameters, f"{path}.parameters", known)


def _defined(
    parameters: JsonObject, root: str, known: _Known, *, at_task: bool = True
) -> Iterator[Finding]:
    """Parameters that read parameters: others beside them, and what is known without these."""
    needs: dict[str, set[str]] = {name: set() for name in parameters}
    for name, value in parameters.items():
        for path, text in texts_in(value, f"{root}.{name}"):
            for use in _uses(path, text):
                if use.name in needs and use.name != name:
                    needs[name].add(use.name)
                else:
                    yield from _looked_for(use, known, at_task=at_task)
    deep: dict[str, int] = {}
    try:
        for name in TopologicalSorter(needs).static_order():
            deep[name] = 1 + max((deep[each] for each in needs[name]), default=0)
    except CycleError as found:
        names = list(reversed(found.args[1]))
        message = f"must not form a cycle: {' → '.join(names[:10])}"
        yield f"{root}.{names[0]}", message, None
    # One level is left for the workflow's parameters that those of a task may read.
    most = MOST_NESTED // 2 - 1
    deepest = next((name for name, depth in deep.items() if depth > most), None)
    if deepest is not None:
        yield f"{root}.{deepest}", f"must not read more than {most} others one within another", None


def _used(task: WorkflowTask, path: str) -> Iterator[_Use]:
    """What a task reads outside its own parameters. Scripts are no texts with expressions."""
    values = {"inputParameters": task.input_parameters, **task.read_beside_input}
    for name, value in values.items():
        for here, text in texts_in(value, f"{path}.{name}"):
            yield from _uses(here, text)


def _uses(path: str, text: str) -> Iterator[_Use]:
    for root, rest in _EXPRESSION.findall(text) if "${" in text else ():
        if root == PARAM:
            step = _STEP.match(rest)
            name = next((each for each in step.groups() if each), "") if step else ""
            yield _Use(path, name, rest[step.end() :].strip() if step else "", text[:200])


def _looked_for(use: _Use, known: _Known, *, at_task: bool = True) -> Iterator[Finding]:
    if not use.name:
        yield use.path, f"must {_HOW}", use.text
    elif use.name not in known:
        message = (
            f"reads the parameter '{use.name}', which nothing gives: neither inputParameters nor"
            " parameters of the workflow, nor parameters of the task, nor outParameters of a task"
            " before it"
        )
        yield use.path, message, use.text
    elif use.name == SYSTEM:
        below = _QUOTED.sub(r".\1", use.below).removeprefix(".")
        there = [name for name in sorted(BUILT_IN) if at_task or not name.startswith(_OF_TASKS)]
        if below in there:
            return
        names = ", ".join(there)
        yield use.path, f"must read one of these of {SYSTEM}: {names}", use.text


def _handed_on(
    definition: WorkflowDef, tasks: Mapping[str, WorkflowTask]
) -> tuple[dict[str, int], dict[str, int]]:
    """A place for each name that a task hands on; and by reference, as bits at these places, those
    of the tasks before it.
    """
    names = dict.fromkeys(name for task in tasks.values() for name in task.out_parameters)
    places = {name: place for place, name in enumerate(names)}
    before = leading_to(definition) if places else {}
    own = {_ref(task): _bits(places, task) for task in tasks.values()}
    handed = dict.fromkeys((*own, *before), 0)
    try:
        for ref in TopologicalSorter(before).static_order():
            for each in before.get(ref, ()):
                handed[ref] |= handed[each] | own.get(each, 0)
    except CycleError:  # which is another finding
        return places, dict.fromkeys(handed, (1 << len(places)) - 1)
    return places, handed


def _bits(places: Mapping[str, int], task: WorkflowTask) -> int:
    found = 0
    for name in task.out_parameters:
        found |= 1 << places[name]
    return found
