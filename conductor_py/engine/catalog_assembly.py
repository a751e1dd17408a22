"""The catalog and what works on it, over the ports of an engine."""

from __future__ import annotations

from conductor_py.engine.catalog.applying import Applying
from conductor_py.engine.catalog.catalog import Catalog
from conductor_py.engine.catalog.exporting import Exporting
from conductor_py.engine.catalog.heads import CatalogHeads
from conductor_py.engine.catalog.importing import Importing
from conductor_py.engine.catalog.lineage import Lineages
from conductor_py.engine.catalog.publishing import Publishing
from conductor_py.engine.catalog.saving import Mint
from conductor_py.engine.clock import StoreClock
from conductor_py.engine.definitions.composing import Composer
from conductor_py.engine.definitions.definitions import Definitions
from conductor_py.engine.definitions.registered import Registered
from conductor_py.engine.definitions.snapshots import Snapshots
from conductor_py.engine.schedules.schedules import Schedules
from conductor_py.model.codes import CodeLayout
from conductor_py.ports.catalog import CatalogStore
from conductor_py.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogParts:
    """What an engine has of the catalog."""

    catalog: Catalog
    publishing: Publishing
    lineages: Lineages
    exporting: Exporting
    importing: Importing
    applying: Applying


def catalog_parts(
    store: CatalogStore,
    *,
    clock: StoreClock,
    mint: Mint,
    layout: CodeLayout,
    composer: Composer,
    registered: Registered,
    definitions: Definitions,
    schedules: Schedules,
    snapshots: Snapshots,
) -> CatalogParts:
    """Make them; ``mint`` makes codes, in this ``layout``."""
    heads = CatalogHeads(store, clock)
    catalog = Catalog(store=store, heads=heads, composer=composer, clock=clock, mint=mint)
    return CatalogParts(
        catalog=catalog,
        publishing=Publishing(
            store=store,
            heads=heads,
            composer=composer,
            registered=registered,
            validate=definitions.validate,
            scheduled=schedules.starting,
            forget=snapshots.forget_heads,
        ),
        lineages=Lineages(
            store=store,
            heads=heads,
            composer=composer,
            registered=registered,
            users=catalog.users,
            starting=schedules.of_workflows,
        ),
        exporting=Exporting(store, heads, composer),
        importing=Importing(store, clock, mint, layout),
        applying=Applying(store, clock, mint),
    )
