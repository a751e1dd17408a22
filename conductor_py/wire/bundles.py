"""Bundles of the catalog as users see them: one JSON document of a format that has a number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeVar

from conductor_py.errors import InvalidInput, Violation
from conductor_py.model.bundle import (
    MOST_ENTRIES,
    Action,
    Bundle,
    BundledTask,
    BundledWorkflow,
    Imported,
    ImportReport,
    OnExisting,
)
from conductor_py.model.catalog import Kind
from conductor_py.model.json import JsonObject
from conductor_py.records import dataclass
from conductor_py.wire.catalog import read_content, read_draft
from conductor_py.wire.catalog_forms import CatalogTaskForm, CatalogWorkflowForm
from conductor_py.wire.codes import read_code
from conductor_py.wire.definition_reader import moved
from conductor_py.wire.fields import Choice, Flag, Many, One, Text, Whole, WireSchema

FORMAT: Final = 1
_LARGEST_VERSION: Final = 1_000_000

_Entry = TypeVar("_Entry", BundledWorkflow, BundledTask)


class BundledWorkflowForm(WireSchema):
    """A version of a workflow; those of one code are versions of one workflow."""

    code = Text(required=True)
    name = Text()
    version = Whole(required=True, least=1, most=_LARGEST_VERSION)
    published = Flag()
    edited = Flag()
    definition = One(CatalogWorkflowForm, required=True)


class BundledTaskForm(WireSchema):
    """A version of a task that workflows use."""

    code = Text(required=True)
    name = Text()
    version = Whole(required=True, least=1, most=_LARGEST_VERSION)
    definition = One(CatalogTaskForm, required=True)


class BundleForm(WireSchema):
    """Workflows of a catalog, and the shared tasks that they use."""

    format = Whole(required=True, least=FORMAT, most=FORMAT)
    workflows = Many(lambda: _WORKFLOW)
    tasks = Many(lambda: _TASK)


class MovedVersionForm(WireSchema):
    """The number of a version in a bundle, and the one that it has here."""

    source = Whole(data_key="from", required=True)
    target = Whole(data_key="to", required=True)


class ImportedForm(WireSchema):
    """What became of a definition of a bundle; without a code it gets one when it is stored."""

    name = Text(required=True)
    action = Choice(Action, required=True)
    from_code = Text(required=True)
    code = Text()
    versions = Many(lambda: _MOVED, required=True)
    message = Text()


class ImportReportForm(WireSchema):
    """What an import did, or would do; refused: nothing, as there are conflicts."""

    dry_run = Flag(required=True)
    on_existing = Choice(OnExisting, required=True)
    refused = Flag(required=True)
    workflows = Many(lambda: _IMPORTED, required=True)
    tasks = Many(lambda: _IMPORTED, required=True)


_WORKFLOW: WireSchema = BundledWorkflowForm()
_TASK: WireSchema = BundledTaskForm()
_MOVED: WireSchema = MovedVersionForm()
_IMPORTED: WireSchema = ImportedForm()

FORMS: tuple[WireSchema, ...] = (
    _WORKFLOW,
    _TASK,
    BundleForm(),
    _MOVED,
    _IMPORTED,
    ImportReportForm(),
)
"""The forms of this module, for the published schemas."""


# -- out -------------------------------------------------------------------------------------------


def bundle_body(bundle: Bundle) -> JsonObject:
    """Write a bundle."""
    return {
        "format": FORMAT,
        "workflows": [
            {
                "code": str(each.code),
                "name": each.name,
                "version": each.version,
                "published": each.published,
                "edited": each.edited,
                "definition": each.definition,
            }
            for each in bundle.workflows
        ],
        "tasks": [
            {
                "code": str(each.code),
                "name": each.name,
                "version": each.version,
                "definition": each.definition,
            }
            for each in bundle.tasks
        ],
    }


def report_body(report: ImportReport) -> JsonObject:
    """Write what an import did."""
    return {
        "dryRun": report.dry_run,
        "onExisting": report.on_existing,
        "refused": bool(report.conflicts),
        "workflows": [_imported(one) for one in report.outcomes if one.kind is Kind.WORKFLOW],
        "tasks": [_imported(one) for one in report.outcomes if one.kind is Kind.TASK],
    }


def _imported(one: Imported) -> JsonObject:
    body: dict[str, Any] = {
        "name": one.name,
        "action": one.action,
        "fromCode": str(one.from_code),
        "versions": [{"from": source, "to": target} for source, target in one.versions],
    }
    if one.code:
        body["code"] = str(one.code)
    if one.told:
        body["message"] = one.told
    return body


# -- in --------------------------------------------------------------------------------------------


def read_bundle(body: JsonObject) -> Bundle:
    """Read a bundle as far as definitions are taken apart; ``InvalidInput`` lists everything that
    is wrong. What they hold is for the engine to judge.
    """
    if body.get("format") != FORMAT or isinstance(body.get("format"), bool):
        message = f"must be {FORMAT}: no other format is known here"
        raise InvalidInput(violations=(Violation(path="$.format", message=message),))
    found: list[Violation] = []
    workflows = _entries(body, "workflows", _workflow, found)
    tasks = _entries(body, "tasks", _task, found)
    if not found and not workflows and not tasks:
        found.append(Violation(path="$.workflows", message="must hold something to import"))
    if found:
        raise InvalidInput(violations=tuple(found))
    return Bundle(workflows=tuple(workflows), tasks=tuple(tasks))


@dataclass(slots=True)
class _Reader:
    """Reads an entry member by member, and notes what is wrong."""

    body: JsonObject
    path: str
    found: list[Violation]

    def code(self) -> int:
        value = self.body.get("code")
        try:
            return read_code(value if isinstance(value, str) else "", f"{self.path}.code")
        except InvalidInput as error:
            self.found += error.violations
            return 0

    def version(self) -> int:
        value = self.body.get("version")
        if type(value) is int and 0 < value <= _LARGEST_VERSION:
            return value
        self.wrong("version", f"must be a whole number from 1 to {_LARGEST_VERSION}")
        return 0

    def flag(self, name: str) -> bool:
        value = self.body.get(name)
        if value is not None and not isinstance(value, bool):
            self.wrong(name, "must be true or false")
        return value is True

    def definition(self, read: Callable[[JsonObject], object]) -> JsonObject:
        value = self.body.get("definition")
        if not isinstance(value, dict):
            self.wrong("definition", "must be an object")
            return {}
        try:
            read(value)
        except InvalidInput as error:
            self.found += moved(error.violations, f"{self.path}.definition")
        return value

    def wrong(self, member: str, message: str) -> None:
        self.found.append(Violation(path=f"{self.path}.{member}", message=message))


def _workflow(reader: _Reader) -> BundledWorkflow:
    return BundledWorkflow(
        code=reader.code(),
        version=reader.version(),
        published=reader.flag("published"),
        edited=reader.flag("edited"),
        definition=reader.definition(read_draft),
    )


def _task(reader: _Reader) -> BundledTask:
    return BundledTask(
        code=reader.code(), version=reader.version(), definition=reader.definition(read_content)
    )


def _entries(
    body: JsonObject,
    name: str,
    read: Callable[[_Reader], _Entry],
    found: list[Violation],
) -> list[_Entry]:
    listed = body.get(name)
    if listed is None:
        return []
    if not isinstance(listed, list):
        found.append(Violation(path=f"$.{name}", message="must be a list"))
        return []
    if len(listed) > MOST_ENTRIES:
        message = f"must not hold more than {MOST_ENTRIES} entries"
        found.append(Violation(path=f"$.{name}", message=message))
        return []
    entries: list[_Entry] = []
    for at, each in enumerate(listed):
        if isinstance(each, dict):
            entries.append(read(_Reader(body=each, path=f"$.{name}[{at}]", found=found)))
        else:
            found.append(Violation(path=f"$.{name}[{at}]", message="must be an object"))
    if len(entries) == len(listed):
        found += _twice(entries, name)
    return entries


def _twice(entries: Sequence[BundledWorkflow | BundledTask], name: str) -> Iterator[Violation]:
    seen: set[tuple[int, int]] = set()
    for at, each in enumerate(entries):
        key = (each.code, each.version)
        if all(key) and key in seen:
            message = "must be there once: it is that of another entry with this code"
            yield Violation(path=f"$.{name}[{at}].version", message=message)
        seen.add(key)
