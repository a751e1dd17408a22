"""What the HTTP front needs of the engine: nothing else of it is known here."""

from __future__ import annotations

from typing import Protocol

from conductor_py.api.facade.catalog import (
    Applying,
    Catalog,
    Exporting,
    Importing,
    Lineages,
    Publishing,
)
from conductor_py.api.facade.checkpoints import Checkpoints
from conductor_py.api.facade.codes import Codes
from conductor_py.api.facade.definitions import Definitions, Schemas, Tags, Values
from conductor_py.api.facade.events import Events
from conductor_py.api.facade.executions import (
    Awaiting,
    Executions,
    Lookups,
    Messages,
    OpenTasks,
    Recovery,
    Repairs,
    Steering,
    Trials,
)
from conductor_py.api.facade.oversight import Auditor, Quarantine, Why
from conductor_py.api.facade.schedules import Backfills, Schedules
from conductor_py.api.facade.tasks import PayloadLocations, Tasks
from conductor_py.api.facade.workers import Shards, Workers
from conductor_py.model.json import JsonObject


class EngineFacade(Protocol):
    """The engine, as far as it has endpoints."""

    @property
    def executions(self) -> Executions:
        """Executions."""

    @property
    def steering(self) -> Steering:
        """Verbs on executions under way."""

    @property
    def awaiting(self) -> Awaiting:
        """Calls that wait for executions."""

    @property
    def tasks(self) -> Tasks:
        """Tasks."""

    @property
    def checkpoints(self) -> Checkpoints:
        """What long tasks keep."""

    @property
    def definitions(self) -> Definitions:
        """Definitions."""

    @property
    def catalog(self) -> Catalog:
        """Definitions that have versions."""

    @property
    def publishing(self) -> Publishing:
        """Which of the versions start."""

    @property
    def lineages(self) -> Lineages:
        """What surrounds a workflow."""

    @property
    def exporting(self) -> Exporting:
        """Bundles that go out."""

    @property
    def applying(self) -> Applying:
        """Versions of shared tasks for all who have them."""

    @property
    def importing(self) -> Importing:
        """Bundles that come in."""

    @property
    def trials(self) -> Trials:
        """Trials of workflows."""

    @property
    def lookups(self) -> Lookups:
        """Executions and tasks that share something."""

    @property
    def open_tasks(self) -> OpenTasks:
        """Tasks that have not ended, by type."""

    @property
    def repairs(self) -> Repairs:
        """Looking at an execution now."""

    @property
    def why(self) -> Why:
        """Why executions do not move."""

    @property
    def auditor(self) -> Auditor:
        """Audits of the store."""

    @property
    def quarantine(self) -> Quarantine:
        """Executions that cannot be decided."""

    @property
    def messages(self) -> Messages:
        """Messages to executions."""

    @property
    def events(self) -> Events:
        """Event handlers."""

    @property
    def backfills(self) -> Backfills:
        """Backfills."""

    @property
    def schedules(self) -> Schedules:
        """Schedules."""

    @property
    def workers(self) -> Workers:
        """Workers that are there."""

    @property
    def shards(self) -> Shards:
        """Servers and their shards."""

    @property
    def payloads(self) -> PayloadLocations:
        """Large payloads."""

    @property
    def recovery(self) -> Recovery:
        """Retry, restart, rerun, jump, upgrade."""

    @property
    def codes(self) -> Codes:
        """Codes for what is new."""

    @property
    def schemas(self) -> Schemas:
        """Schemas."""

    @property
    def tags(self) -> Tags:
        """Tags."""

    @property
    def secrets(self) -> Values:
        """Secrets; their values never leave through the front."""

    @property
    def environment(self) -> Values:
        """What definitions may read of the environment."""

    @property
    def version(self) -> str:
        """The version of this software."""

    def health(self) -> JsonObject:
        """Say whether the stores answer: at least ``healthy``."""
