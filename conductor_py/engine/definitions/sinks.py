"""Sinks of events that a definition names and this server cannot publish to."""

from __future__ import annotations

from collections.abc import Iterator

from conductor_py.decider.need import Refusal
from conductor_py.decider.publishing import changes_told, event_named, of_changes
from conductor_py.errors import Violation
from conductor_py.model.definitions import WorkflowDef, inline_definitions, tasks_of
from conductor_py.model.event_handlers import CONDUCTOR, provider_of


def unusable_sinks(definition: WorkflowDef, providers: frozenset[str]) -> Iterator[Violation]:
    """List the sinks that nothing can be published to as this server is set up: an EVENT fails
    there, and a change of state is told to nobody.
    """
    for root, each in inline_definitions(definition):
        for path, sink in _sinks(each, root):
            event = event_named(each.name, sink, "")
            if isinstance(event, Refusal):
                yield Violation(path=path, message=event.reason, invalid_value=sink)
            elif (provider := provider_of(event)) not in providers | {CONDUCTOR}:
                yield Violation(path=path, message=unknown_provider(provider, providers))


def unknown_provider(name: str, providers: frozenset[str]) -> str:
    """Say which providers of events there are, and that ``name`` is none."""
    known = ", ".join((CONDUCTOR, *sorted(providers)))
    return f"No provider of events is called '{name}' on this server; known: {known}"


def _sinks(definition: WorkflowDef, root: str) -> Iterator[tuple[str, str]]:
    own = definition.workflow_status_listener_sink
    if own and definition.workflow_status_listener_enabled:
        yield f"{root}.workflowStatusListenerSink", of_changes(own)
    for path, task in tasks_of(definition, root):
        if task.type == "EVENT" and task.sink and not _is_open(task.sink):
            yield f"{path}.sink", task.sink
        for name, at, sink, _ in changes_told(task):
            yield f"{path}.onStateChange['{name}'][{at}].type", of_changes(sink)


def _is_open(sink: str) -> bool:
    """Whether the provider is known only when the task is reached."""
    return "${" in sink.partition(":")[0]
