"""Settings of policies: idempotency keys, cached outputs, named values."""

from __future__ import annotations

from typing import Literal

from conductor_py.config.declaration import choice, count, duration, size, text
from conductor_py.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Idempotency:
    """Idempotency keys of starts."""

    key_ttl_ms: int = duration(
        "conductor.idempotency.keyTtl",
        "7d",
        "How long an idempotency key is remembered, counted from the start that brought it.",
        minimum=1_000,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache:
    """Outputs of tasks that are used again (cacheConfig)."""

    entries: int = count(
        "conductor.cache.entries",
        "10000",
        "Outputs kept in one partition; the one that expires first makes room.",
        minimum=1,
    )
    entry_bytes: int = size(
        "conductor.cache.entrySize",
        "256KB",
        "Largest output that is kept; a larger one is made anew each time.",
        minimum=1 << 10,
    )
    ttl_limit_ms: int = duration(
        "conductor.cache.ttlLimit",
        "7d",
        "How long an output is kept at most, whatever its ttlInSecond says.",
        minimum=1_000,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Secrets:
    """Values that definitions may name: ${workflow.secrets.NAME} and ${workflow.env.NAME}."""

    type: Literal["env", "noop"] = choice(
        "conductor.secrets.type",
        "env",
        ("env", "noop"),
        "Where secrets come from: env reads environment variables, noop has none.",
    )
    prefix: str = text(
        "conductor.secrets.env.prefix",
        "CONDUCTOR_SECRET_",
        "What the names of environment variables that hold secrets begin with; no others are read.",
    )
    environment_type: Literal["env", "noop"] = choice(
        "conductor.environment.type",
        "env",
        ("env", "noop"),
        "Where values of workflow.env come from: env reads environment variables, noop has none.",
    )
    environment_prefix: str = text(
        "conductor.environment.env.prefix",
        "CONDUCTOR_ENV_",
        "What the names of environment variables begin with that definitions may name; no others "
        "are read.",
    )
