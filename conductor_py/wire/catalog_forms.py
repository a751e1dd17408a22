"""The forms of the catalog, for the published schemas; nothing here is on the way of a request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from conductor_py.model.catalog_diff import Change
from conductor_py.wire.definitions import RELATION, WorkflowDefForm, WorkflowTaskForm
from conductor_py.wire.fields import (
    Choice,
    Flag,
    Many,
    One,
    Text,
    Whole,
    Wholes,
    WireField,
    WireSchema,
)


class Anything(WireField):
    """Any JSON value."""

    form: ClassVar[Mapping[str, Any]] = {}

    def load(self, value: Any) -> Any:  # noqa: ANN401
        return value


class CatalogHeadForm(WireSchema):
    """What can be changed of a workflow or task that has versions."""

    code = Text(required=True)
    name = Text(required=True)
    etag = Whole(required=True)
    version = Whole(required=True)
    latest_version = Whole(required=True)
    create_time = Whole(required=True)
    update_time = Whole(required=True)
    owner_code = Text()
    published_version = Whole()
    startable_versions = Wholes()
    deleted = Flag()


class CatalogVersionForm(WireSchema):
    """A row of the list of versions."""

    version = Whole(required=True)
    save_time = Whole(required=True)
    tasks = Whole(required=True)
    digest = Text(required=True)
    published = Flag(required=True)
    startable = Flag(required=True)
    current = Flag(required=True)


class PinnedTaskForm(WireSchema):
    """Which version of which task stands at a place of a workflow."""

    task_reference_name = Text(required=True)
    task_code = Text(required=True)
    task_version = Whole(required=True)
    shared = Flag(required=True)


class PinnedRelationForm(WireSchema):
    """A relation between two versions of tasks; a root comes after code 0, version 0."""

    pre_task_code = Text(required=True)
    pre_task_version = Whole(required=True)
    post_task_code = Text(required=True)
    post_task_version = Whole(required=True)
    label = Text()
    case = Text()


class SplitWorkflowForm(WireSchema):
    """A version of a workflow as it is stored: no tasks, but their codes and versions."""

    code = Text(required=True)
    version = Whole(required=True)
    tasks = Many(lambda: _PINNED_TASK)
    relations = Many(lambda: _PINNED_RELATION)


class TaskUseForm(WireSchema):
    """A workflow that has a task, and the versions of it that do so."""

    workflow = One(lambda: _HEAD)
    versions = Wholes()


class UsedTaskForm(WireSchema):
    """A version of a task that a workflow uses."""

    code = Text(required=True)
    version = Whole(required=True)


class CatalogTaskForm(WorkflowTaskForm):
    """A task of a workflow that has versions: its own, or how it differs from the one it uses."""

    model = None

    name = Text()
    task_reference_name = Text()
    code = Text()
    uses = One(lambda: _USED_TASK)


class CatalogWorkflowForm(WorkflowDefForm):
    """A workflow that has versions, as a whole."""

    model = None

    tasks = Many(lambda: _CATALOG_TASK)


class DifferenceForm(WireSchema):
    """A value that differs; null in the place of one that is not there."""

    path = Text(required=True)
    before = Anything()
    after = Anything()


class TaskChangeForm(WireSchema):
    """A task that differs."""

    change = Choice(Change, required=True)
    task_reference_name = Text(required=True)
    task_code = Text(required=True)
    from_version = Whole()
    to_version = Whole()
    members = Many(lambda: _DIFFERENCE)


class RelationChangeForm(WireSchema):
    """A relation that came or went."""

    change = Choice(Change, required=True)
    relation = One(lambda: RELATION)


class WorkflowDiffForm(WireSchema):
    """What differs between two versions of a workflow."""

    from_version = Whole(required=True)
    to_version = Whole(required=True)
    workflow = Many(lambda: _DIFFERENCE)
    tasks = Many(lambda: _TASK_CHANGE)
    relations = Many(lambda: _RELATION_CHANGE)


_DIFFERENCE: WireSchema = DifferenceForm()
_TASK_CHANGE: WireSchema = TaskChangeForm()
_RELATION_CHANGE: WireSchema = RelationChangeForm()
_HEAD: WireSchema = CatalogHeadForm()
_USED_TASK: WireSchema = UsedTaskForm()
_CATALOG_TASK: WireSchema = CatalogTaskForm()
_PINNED_TASK: WireSchema = PinnedTaskForm()
_PINNED_RELATION: WireSchema = PinnedRelationForm()

FORMS: tuple[WireSchema, ...] = (
    _HEAD,
    _USED_TASK,
    _CATALOG_TASK,
    CatalogWorkflowForm(),
    CatalogVersionForm(),
    _PINNED_TASK,
    _PINNED_RELATION,
    SplitWorkflowForm(),
    TaskUseForm(),
    _DIFFERENCE,
    _TASK_CHANGE,
    _RELATION_CHANGE,
    WorkflowDiffForm(),
)
