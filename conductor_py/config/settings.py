"""All settings: the tree that the composition root reads, and every declaration in it by key."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, cast

from conductor_py.config.background import Effects, HttpTasks, KafkaTasks, Sweeper, SystemTasks
from conductor_py.config.declaration import Setting, setting_of
from conductor_py.config.engine import App, Limits, Messages, Payloads, Scripts
from conductor_py.config.file_storage import FileStorage
from conductor_py.config.health import Audit, Quarantine
from conductor_py.config.listeners import Listeners
from conductor_py.config.policies import Cache, Idempotency, Secrets
from conductor_py.config.scheduler import Scheduler
from conductor_py.config.server import Data, Log, Server
from conductor_py.config.stores import Erasure, Index, Lock, PayloadStorage, Redis
from conductor_py.records import dataclass, field

_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every setting, checked. ``Settings()`` is what a server without any configuration has.

    ``given`` holds what was configured, by key and as it was written; ``without_effect`` names what
    was configured and is known, but changes nothing here; ``ignored`` says of further lines of the
    file, a sentence each, that they are of something else. ``open_files`` are files of secrets
    that every user of the machine can read.
    """

    server: Server = field(default_factory=Server)
    data: Data = field(default_factory=Data)
    redis: Redis = field(default_factory=Redis)
    lock: Lock = field(default_factory=Lock)
    index: Index = field(default_factory=Index)
    payload_storage: PayloadStorage = field(default_factory=PayloadStorage)
    file_storage: FileStorage = field(default_factory=FileStorage)
    erasure: Erasure = field(default_factory=Erasure)
    app: App = field(default_factory=App)
    payloads: Payloads = field(default_factory=Payloads)
    limits: Limits = field(default_factory=Limits)
    scripts: Scripts = field(default_factory=Scripts)
    idempotency: Idempotency = field(default_factory=Idempotency)
    cache: Cache = field(default_factory=Cache)
    secrets: Secrets = field(default_factory=Secrets)
    messages: Messages = field(default_factory=Messages)
    sweeper: Sweeper = field(default_factory=Sweeper)
    audit: Audit = field(default_factory=Audit)
    quarantine: Quarantine = field(default_factory=Quarantine)
    effects: Effects = field(default_factory=Effects)
    listeners: Listeners = field(default_factory=Listeners)
    system_tasks: SystemTasks = field(default_factory=SystemTasks)
    http_tasks: HttpTasks = field(default_factory=HttpTasks)
    kafka_tasks: KafkaTasks = field(default_factory=KafkaTasks)
    scheduler: Scheduler = field(default_factory=Scheduler)
    log: Log = field(default_factory=Log)
    given: Mapping[str, str] = field(default_factory=lambda: _NOTHING, repr=False)
    without_effect: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    open_files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """Where a setting lives: ``settings.<section>.<attribute>``."""

    section: str
    attribute: str
    setting: Setting


def sections() -> Iterator[tuple[str, type[Any]]]:
    """Yield the name and class of every section, in the order of the example file."""
    for each in dataclasses.fields(Settings):
        factory = cast("object", each.default_factory)
        if isinstance(factory, type):
            yield each.name, factory


def declared() -> tuple[Declared, ...]:
    """Return every setting, in the order of the example file."""
    return tuple(
        Declared(section=name, attribute=each.name, setting=setting_of(each))
        for name, section in sections()
        for each in dataclasses.fields(section)
    )
