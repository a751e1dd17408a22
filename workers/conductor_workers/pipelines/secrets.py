"""Secrets that a job names: ``{"secret": "crm-url"}`` is resolved in the worker and nowhere else.

A name is looked for in the environment (``CONDUCTOR_SECRET_CRM_URL``), then as a file of that name
in the folder that ``CONDUCTOR_SECRETS_DIR`` names. No value is written to a record or a log.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from conductor_py.errors import ConductorError
from conductor_py.records import dataclass, field

Secrets = Callable[[str], str]
"""The value of a name; raises ``SecretMissing``."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class SecretMissing(ConductorError):
    """A job names a secret that this worker does not have."""

    code = "SECRET_MISSING"


@dataclass(frozen=True, slots=True)
class WorkerSecrets:
    """``Secrets`` of this worker. None is the environment of the process that asks."""

    environment: Mapping[str, str] | None = field(default=None, repr=False)

    def __call__(self, name: str) -> str:
        """Return the value of that name."""
        known = os.environ if self.environment is None else self.environment
        variable = "CONDUCTOR_SECRET_" + re.sub(r"[^A-Za-z0-9]", "_", name).upper()
        if variable in known:
            return known[variable]
        folder = known.get("CONDUCTOR_SECRETS_DIR")
        file = Path(folder) / name if folder and _NAME.fullmatch(name) else None
        if file is not None and file.is_file():
            return file.read_text(encoding="utf-8").rstrip("\r\n")
        raise SecretMissing(
            f"The worker has no secret {name!r}: set {variable} or put a file of that name into "
            "the folder that CONDUCTOR_SECRETS_DIR names."
        )
