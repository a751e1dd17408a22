"""Random histories of the catalog beside a model that keeps whole documents."""

from __future__ import annotations

import copy
import random
from dataclasses import dataclass, field, replace

import pytest

from conductor_py.errors import Conflict, NotFound
from conductor_py.model.bundle import Action, Bundle, OnExisting
from conductor_py.model.catalog import Kind
from conductor_py.model.requests import StartRequest
from conductor_py.testing import MemoryEngine, memory_engine
from conductor_py.wire.catalog import read_draft
from conductor_py.wire.definition_reader import DefinitionReader
from tests.builders import Json, simple

_CHECK = DefinitionReader().check
_STEPS = 60


@dataclass
class _Model:
    """What one workflow is to be like."""

    versions: dict[int, Json] = field(default_factory=dict)
    pins: dict[int, object] = field(default_factory=dict)
    edited: int = 0
    published: int = 0
    startable: set[int] = field(default_factory=set)
    deleted: bool = False


class _History:
    def __init__(self, engine: MemoryEngine, seed: int) -> None:
        self.engine, self.random = engine, random.Random(seed)
        self.models: dict[int, _Model] = {}
        self.made = 0

    def step(self) -> None:
        live = [code for code, model in self.models.items() if not model.deleted]
        if not live or (len(live) < 3 and self.random.random() < 0.2):
            self.create()
            return
        code = self.random.choice(live)
        verb = self.random.choice(
            [
                self.edit,
                self.edit,
                self.publish,
                self.withdraw,
                self.switch,
                self.purge,
                self.delete,
            ]
        )
        verb(code, self.models[code])

    def document(self, name: str) -> Json:
        refs = self.random.sample("abcdef", self.random.randint(1, 5))
        tasks = [
            simple(ref) | {"inputParameters": {"n": self.random.randint(0, 1)}} for ref in refs
        ]
        edges = [
            {"preTask": before, "postTask": after}
            for at, after in enumerate(refs)
            for before in refs[:at]
            if self.random.random() < 0.4
        ]
        return {"name": name, "tasks": tasks} | ({"relations": edges} if edges else {})

    def create(self) -> None:
        self.made += 1
        document = self.document(f"w{self.made}")
        head = self.engine.engine.catalog.save(read_draft(copy.deepcopy(document)), _CHECK)
        self.models[head.code] = _Model(versions={1: document}, edited=1)

    def edit(self, code: int, model: _Model) -> None:
        document = self.document(str(model.versions[model.edited]["name"]))
        latest = max(model.versions)
        head = self.engine.engine.catalog.save(
            read_draft(copy.deepcopy(document)), _CHECK, code=code, as_draft=True
        )
        if document == model.versions[model.edited]:
            assert head.version == model.edited
            return
        assert head.version > latest or head.version == model.edited
        model.versions[head.version] = document
        model.edited = head.version

    def publish(self, code: int, model: _Model) -> None:
        version = self.random.choice([*model.versions])
        self.engine.engine.publishing.publish(code, version=version)
        model.published = version
        model.startable.add(version)

    def withdraw(self, code: int, model: _Model) -> None:
        self.engine.engine.publishing.withdraw(code)
        model.published = 0
        model.startable.clear()

    def switch(self, code: int, model: _Model) -> None:
        version = self.random.choice([*model.versions])
        self.engine.engine.catalog.switch(Kind.WORKFLOW, code, version)
        model.edited = version

    def purge(self, code: int, model: _Model) -> None:
        version = self.random.choice([*model.versions])
        if version == model.edited or version in model.startable:
            with pytest.raises(Conflict):
                self.engine.engine.catalog.purge(Kind.WORKFLOW, code, version)
        elif version != max(model.versions):  # so that the model knows the next number
            self.engine.engine.catalog.purge(Kind.WORKFLOW, code, version)
            del model.versions[version]

    def delete(self, code: int, model: _Model) -> None:
        if model.published:
            with pytest.raises(Conflict):
                self.engine.engine.catalog.delete(Kind.WORKFLOW, code)
        elif self.random.random() < 0.3:
            self.engine.engine.catalog.delete(Kind.WORKFLOW, code)
            model.deleted = True

    def compare(self) -> None:
        catalog = self.engine.engine.catalog
        for code, model in self.models.items():
            head = catalog.head(Kind.WORKFLOW, code)
            assert (head.version, head.published) == (model.edited, model.published)
            assert set(head.startable) == model.startable
            assert head.deleted == model.deleted
            for version, document in model.versions.items():
                assert catalog.workflow(code, version)[1] == document
                split, _ = catalog.split(code, version)
                assert model.pins.setdefault(version, split.pins) == split.pins
            assert {one.version for one in catalog.log(Kind.WORKFLOW, code)[1]} == {*model.versions}
            self._starts(str(model.versions[model.edited]["name"]), model)

    def _starts(self, name: str, model: _Model) -> None:
        for version in (None, *model.versions):
            wanted = model.published if version is None else version
            if wanted in model.startable:
                started = self.engine.engine.executions.start(
                    StartRequest(name=name, version=version)
                )
                definition = self.engine.workflow(started)["workflowDefinition"]
                assert definition["version"] == wanted
                refs = [task["taskReferenceName"] for task in definition["tasks"]]
                expected = [task["taskReferenceName"] for task in model.versions[wanted]["tasks"]]
                assert refs == expected
            else:
                with pytest.raises(NotFound):
                    self.engine.engine.executions.start(StartRequest(name=name, version=version))


@pytest.mark.parametrize("seed", range(8))
def test_versions_never_change_and_what_is_published_is_what_starts(
    engine: MemoryEngine, seed: int
) -> None:
    history = _History(engine, seed)
    for _ in range(_STEPS):
        history.step()
        history.compare()


@pytest.mark.parametrize("seed", range(8))
def test_whatever_the_history_is_it_is_the_same_where_it_was_imported(
    engine: MemoryEngine, seed: int
) -> None:
    history = _History(engine, seed)
    for _ in range(_STEPS):
        history.step()
    names = [
        str(model.versions[model.edited]["name"])
        for model in history.models.values()
        if not model.deleted
    ]
    if not names:
        return
    bundle = engine.engine.exporting.bundle(names, callees=False, every_version=True)
    other = memory_engine()
    other.clock.advance(seconds=3_600)
    for action in (Action.CREATED, Action.UNCHANGED):
        report = other.engine.importing.load(
            bundle, _CHECK, on_existing=OnExisting.FAIL, dry_run=False
        )
        assert {each.action for each in report.outcomes} == {action}
        found = other.engine.exporting.bundle(names, callees=False, every_version=True)
        assert found == _unpublished(bundle)


def _unpublished(bundle: Bundle) -> Bundle:
    workflows = tuple(replace(each, published=False) for each in bundle.workflows)
    return replace(bundle, workflows=workflows)
