"""The name of a server: what it leases shards under.

An embedded server keeps its name in its data directory, so that it has its shards back at once
after a crash. A server over a shared Redis has a new name at every start.
"""

from __future__ import annotations

import secrets
import socket
from pathlib import Path

from conductor_py.errors import ConfigurationError


def new_name() -> str:
    """Make a name that no other server has."""
    return f"{socket.gethostname()}-{secrets.token_hex(4)}"


def kept_name(file: Path) -> str:
    """Read the name in ``file``, or make one and keep it there; the directory has one owner."""
    try:
        name = file.read_text(encoding="utf-8").strip()
        if name:
            return name
    except FileNotFoundError:
        pass
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{file} cannot be read; remove it") from error
    name = new_name()
    draft = file.with_name(f"{file.name}.new")
    draft.write_text(f"{name}\n", encoding="utf-8")
    draft.replace(file)
    return name
