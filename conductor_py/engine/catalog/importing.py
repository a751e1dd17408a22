"""Imports of bundles: judged as a whole, worked out on a sheet, written in one step or not."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from conductor_py.engine.catalog.heads import CatalogHeads
from conductor_py.engine.catalog.import_checks import check_bundle
from conductor_py.engine.catalog.import_codes import ImportCodes
from conductor_py.engine.catalog.import_tasks import TaskImport
from conductor_py.engine.catalog.import_workflows import WorkflowImport
from conductor_py.engine.catalog.saving import Check, Mint, Saving
from conductor_py.engine.catalog.sheet import Sheet
from conductor_py.engine.clock import StoreClock
from conductor_py.engine.definitions.composing import Composer
from conductor_py.errors import Conflict, PayloadTooLarge
from conductor_py.model.bundle import Bundle, ImportReport, OnExisting
from conductor_py.model.codes import CodeLayout
from conductor_py.ports.catalog import CatalogStore

MOST_WRITES: Final = 20_000
"""Cells that one import changes, some 5,000 tasks: meanwhile the store does nothing else."""


class Importing:
    """Takes bundles in."""

    def __init__(
        self, store: CatalogStore, clock: StoreClock, mint: Mint, layout: CodeLayout
    ) -> None:
        """Work over the catalog's tables; ``mint`` makes codes, in this ``layout``."""
        self._store = store
        self._clock = clock
        self._mint = mint
        self._layout = layout

    def load(
        self, bundle: Bundle, check: Check, *, on_existing: OnExisting, dry_run: bool
    ) -> ImportReport:
        """Take in all of a bundle, or nothing, and say what became of what; with ``dry_run`` only
        say it. ``InvalidInput`` tells everything that is wrong with it, ``Conflict`` everything
        that stands in its way, ``PayloadTooLarge`` when it is too much for one step.
        """
        check_bundle(bundle, check)
        sheet = Sheet(self._store)
        codes = ImportCodes(sheet, self._mint, self._layout, self._clock.now_ms())
        report = self._planned(bundle, check, sheet, codes, on_existing)
        if report.conflicts and not dry_run:
            told = "; ".join(f"{one.kind} {one.name}: {one.told}" for one in report.conflicts)
            raise Conflict(f"Nothing was imported. {told}")
        writes = sheet.writes
        if len(writes) > MOST_WRITES:
            raise PayloadTooLarge(
                f"This would change {len(writes)} cells at once, and {MOST_WRITES} are allowed:"
                " import fewer workflows at a time"
            )
        if dry_run:
            outcomes = [
                replace(one, code=0) if one.code in codes.minted else one for one in report.outcomes
            ]
            return replace(report, dry_run=True, outcomes=tuple(outcomes))
        if writes and not self._store.change(writes):
            raise Conflict("Nothing was imported: the catalog changed meanwhile; try again")
        return report

    def _planned(
        self,
        bundle: Bundle,
        check: Check,
        sheet: Sheet,
        codes: ImportCodes,
        on_existing: OnExisting,
    ) -> ImportReport:
        """Do all of it on the sheet."""
        heads, composer = CatalogHeads(sheet, self._clock), Composer(sheet)
        saving = Saving(
            store=sheet, heads=heads, composer=composer, clock=self._clock, mint=self._mint
        )
        tasks = TaskImport(
            store=sheet, heads=heads, saving=saving, codes=codes, on_existing=on_existing
        )
        workflows = WorkflowImport(
            store=sheet,
            heads=heads,
            composer=composer,
            saving=saving,
            codes=codes,
            check=check,
            on_existing=on_existing,
            tasks=tasks.moved,
        )
        outcomes = [*tasks.load(bundle.tasks), *workflows.load(bundle.workflows)]
        return ImportReport(dry_run=False, on_existing=on_existing, outcomes=tuple(outcomes))
