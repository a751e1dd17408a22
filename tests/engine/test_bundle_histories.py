"""Two catalogs that are edited and take over from each other, again and again."""

from __future__ import annotations

import copy
import random
from typing import Any

import orjson
import pytest

from conductor_py.model.bundle import Action, Bundle, ImportReport, OnExisting
from conductor_py.model.catalog import Kind
from conductor_py.testing import MemoryEngine, memory_engine
from conductor_py.wire.bundles import bundle_body, read_bundle
from conductor_py.wire.catalog import read_content, read_draft
from conductor_py.wire.definition_reader import DefinitionReader
from tests.builders import Json, simple

_CHECK = DefinitionReader().check
_NAMES = ("v", "w", "x")


class _Place:
    """A catalog whose workflows have tasks of their own, some with codes, and shared ones."""

    def __init__(self, of: random.Random) -> None:
        self.random = of
        self.engine: MemoryEngine = memory_engine()
        self.catalog = self.engine.engine.catalog
        self.shared: list[tuple[int, int]] = []

    def edit(self) -> None:
        """Save a task or a workflow, switch one, publish or delete one."""
        self.engine.clock.advance(milliseconds=self.random.randint(0, 50))
        of = self.random.random()
        name = self.random.choice(_NAMES)
        head = self.catalog.named(name)
        if of < 0.2 or not self.shared:
            self._save_task()
        elif of < 0.7 or head is None:
            self._save(name)
        elif of < 0.8:
            self.catalog.switch(Kind.WORKFLOW, head.code, self.random.choice(self._log(head.code)))
        elif of < 0.95:
            self.engine.engine.publishing.publish(
                head.code, version=self.random.choice(self._log(head.code))
            )
        elif not head.published:
            self.catalog.delete(Kind.WORKFLOW, head.code)

    def _log(self, code: int) -> list[int]:
        return [one.version for one in self.catalog.log(Kind.WORKFLOW, code)[1]]

    def _save_task(self) -> None:
        # Each its own name: several of one name are refused where they cannot be told apart.
        named = {f"load{number}": 0 for number in range(3)}
        for code, _ in self.shared:
            named[self.catalog.head(Kind.TASK, code).name] = code
        name = self.random.choice(sorted(named))
        content: Json = {"name": name, "inputParameters": {"n": self.random.randint(0, 3)}}
        head = self.catalog.save_task(read_content(content), code=named[name], as_draft=True)
        self.shared.append((head.code, head.version))

    def _save(self, name: str) -> None:
        tasks: list[Json] = []
        for reference in self.random.sample("abcd", self.random.randint(1, 4)):
            task = simple(reference) | {"inputParameters": {"n": self.random.randint(0, 1)}}
            chance = self.random.random()
            if chance < 0.3:
                code, version = self.random.choice(self.shared)
                uses = {"code": str(code), "version": version}
                task = {"uses": uses, "taskReferenceName": reference}
            elif chance < 0.5 and (code := self._own(name, reference)):
                task["code"] = str(code)
            tasks.append(task)
        head = self.catalog.named(name)
        self.catalog.save(
            read_draft({"name": name, "tasks": tasks}),
            _CHECK,
            code=head.code if head else 0,
            as_draft=True,
        )

    def _own(self, name: str, reference: str) -> int:
        head = self.catalog.named(name)
        if head is None:
            return self.engine.engine.codes.codes()[0]
        split, _ = self.catalog.split(head.code, head.version)
        own = {pin.reference: pin.code for pin in split.pins if pin.changes is None}
        return own.get(reference, 0)

    def export(self, *, every: bool) -> Bundle:
        names = [name for name in _NAMES if self.catalog.named(name) is not None]
        bundle = self.engine.engine.exporting.bundle(names, callees=True, every_version=every)
        return read_bundle(orjson.loads(orjson.dumps(bundle_body(bundle), default=dict)))

    def take(self, bundle: Bundle, mode: OnExisting) -> ImportReport:
        report = self.engine.engine.importing.load(bundle, _CHECK, on_existing=mode, dry_run=False)
        for each in report.outcomes:
            if each.kind is Kind.TASK:
                self.shared += [(each.code, version) for _, version in each.versions]
        return report

    def plain(self, name: str) -> object:
        """What is edited, with the content of what is used and without codes."""
        head = self.catalog.named(name)
        assert head is not None
        _, document = self.catalog.workflow(head.code, None)
        plain: Any = copy.deepcopy(dict(document))
        for task in plain["tasks"]:
            task.pop("code", None)
            if "uses" in task:
                of = task["uses"]
                task["uses"] = self.catalog.task(int(of["code"]), of["version"])[1]
        return plain


@pytest.mark.parametrize("seed", range(8))
def test_who_takes_over_edits_the_same_and_taking_over_again_changes_nothing(seed: int) -> None:
    of = random.Random(seed)
    places = [_Place(of), _Place(of)]
    places[1].engine.clock.advance(seconds=3)
    for _ in range(12):
        for _ in range(of.randint(1, 12)):
            of.choice(places).edit()
        giver, taker = of.sample(places, 2)
        if all(giver.catalog.named(name) is None for name in _NAMES):
            continue
        bundle = giver.export(every=of.random() < 0.5)
        taker.take(bundle, OnExisting.NEW_VERSION)
        for name in {each.name for each in bundle.workflows}:
            assert taker.plain(name) == giver.plain(name)
        again = taker.take(bundle, OnExisting.FAIL)
        assert {each.action for each in again.outcomes} == {Action.UNCHANGED}
