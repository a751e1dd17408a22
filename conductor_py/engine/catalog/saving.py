"""What a save writes: the next version of a workflow with the tasks that changed, or of a task.

Everybody who saves goes by it: one definition at a time, or a bundle of them. Nothing is stored
here, and nothing is asked about who may.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from conductor_py.codec.catalog import digest_of, digest_of_workflow, dump_content, dump_split
from conductor_py.engine.catalog.heads import CatalogHeads
from conductor_py.engine.catalog.pinning import Pinned, Pinning
from conductor_py.engine.catalog.writes import (
    next_head,
    of_calls,
    of_head,
    of_name,
    of_task_name,
    of_version,
)
from conductor_py.engine.clock import StoreClock
from conductor_py.engine.definitions.composing import Composer
from conductor_py.model.catalog import Draft, Head, Kind, SplitWorkflow
from conductor_py.model.definitions import WorkflowDef
from conductor_py.model.json import JsonObject
from conductor_py.ports.catalog import CatalogStore, Write
from conductor_py.records import dataclass

Check = Callable[[WorkflowDef], None]
"""Hold a whole definition to the rules (``DefinitionError``)."""
Mint = Callable[[int], Sequence[int]]
"""Make so many codes that nobody has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A draft, pinned upon the version that is edited; ``head`` is ``None`` for a new workflow."""

    head: Head | None
    before: SplitWorkflow | None
    split: SplitWorkflow
    pinned: Pinned
    digest: str


class Saving:
    """Works out writes over the catalog's tables."""

    def __init__(
        self,
        *,
        store: CatalogStore,
        heads: CatalogHeads,
        composer: Composer,
        clock: StoreClock,
        mint: Mint,
    ) -> None:
        """``mint`` makes codes for what is new."""
        self._heads = heads
        self._composer = composer
        self._clock = clock
        self._mint = mint
        self.pinning = Pinning(store, mint)

    def step(self, draft: Draft, head: Head | None) -> Step:
        """Pin a draft (``InvalidInput``)."""
        before = self._composer.split(head.code, head.version) if head else None
        pinned = self.pinning.pin(draft, before, head.code if head else 0)
        split = SplitWorkflow(header=draft.header, pins=pinned.pins)
        return Step(
            head=head, before=before, split=split, pinned=pinned, digest=digest_of_workflow(split)
        )

    def workflow(
        self, step: Step, check: Check, *, code: int = 0, version: int = 0, name: str = ""
    ) -> tuple[tuple[Write, ...], Head]:
        """What a step writes, and the head that it ends in: of a new workflow under ``code``, in
        ``version``, named ``name``; what is not said is minted, the next one, what the draft says.
        ``DefinitionError`` for what is no workflow, ``Conflict`` when the name is taken.
        """
        head, now = step.head, self._clock.now_ms()
        name = name or step.split.name
        standing, floor = None, 0
        if head is None or head.name != name:
            standing, floor = self._heads.free_name(name, head.code if head else 0)
        if head is not None:
            code = head.code
        (code,) = (code,) if code else self._mint(1)
        version = version or max(head.latest if head else 0, floor) + 1
        definition = self._composer.definition(step.split, version, step.pinned.given)
        check(definition)
        after = next_head(head, now, code=code, name=name, version=version, digest=step.digest)
        writes = (
            *of_name(head, after, standing),
            *self.pinning.writes(step.pinned, step.before, code, now),
            *of_calls(definition, code),
            *of_version(Kind.WORKFLOW, after, dump_split(step.split), len(step.split.pins)),
            of_head(Kind.WORKFLOW, head, after),
        )
        return writes, after

    def task(
        self, content: JsonObject, name: str, head: Head | None, *, code: int = 0, version: int = 0
    ) -> tuple[tuple[Write, ...], Head]:
        """What the next version of a task that stands by itself writes, and the head that it ends
        in; of a new one under ``code``, in ``version``.
        """
        if head is not None:
            code = head.code
        (code,) = (code,) if code else self._mint(1)
        version = version or (head.latest if head else 0) + 1
        digest = digest_of(content)
        now = self._clock.now_ms()
        after = next_head(head, now, code=code, name=name, version=version, digest=digest)
        writes = (
            *of_task_name(head, after),
            *of_version(Kind.TASK, after, dump_content(content), 1),
            of_head(Kind.TASK, head, after),
        )
        return writes, after
