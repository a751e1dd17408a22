"""The stored forms of the catalog: heads, versions of workflows and of tasks, entries of logs.

The content of a task or header is kept as the user wrote it, so that reading gives back what was
saved. Its digest is that of the same members in order of their names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import orjson

from conductor_py.codec.nesting import plain
from conductor_py.model.catalog import Head, Pin, Saved, SplitWorkflow
from conductor_py.model.json import JsonObject

_DIGEST = 32


def digest_of(content: object) -> str:
    """Name content by what it is, whatever the order of its members."""
    text = orjson.dumps(content, default=plain, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(text).hexdigest()[:_DIGEST]


def digest_of_workflow(workflow: SplitWorkflow) -> str:
    """Name a version of a workflow by its header and by what it pins."""
    pins = [[pin.code, pin.version, pin.with_code, pin.changes] for pin in workflow.pins]
    return digest_of([workflow.header, pins])


def dump_content(content: JsonObject) -> bytes:
    """Write a task as it was given."""
    return orjson.dumps(content, default=plain)


def load_content(stored: bytes) -> JsonObject:
    """Read what ``dump_content`` wrote."""
    content: JsonObject = orjson.loads(stored)
    return content


def dump_split(workflow: SplitWorkflow) -> bytes:
    """Write a version of a workflow."""
    pins = [_pin(pin) for pin in workflow.pins]
    return orjson.dumps({"header": workflow.header, "pins": pins}, default=plain)


def load_split(stored: bytes) -> SplitWorkflow:
    """Read what ``dump_split`` wrote."""
    form = orjson.loads(stored)
    pins = tuple(
        Pin(
            reference=pin["ref"],
            code=pin["code"],
            version=pin["version"],
            digest=pin["digest"],
            with_code=pin.get("named", False),
            changes=pin.get("changes"),
        )
        for pin in form["pins"]
    )
    return SplitWorkflow(header=form["header"], pins=pins)


def _pin(pin: Pin) -> Mapping[str, Any]:
    form: dict[str, Any] = {"ref": pin.reference, "code": pin.code, "version": pin.version}
    form["digest"] = pin.digest
    if pin.with_code:
        form["named"] = True
    if pin.changes is not None:
        form["changes"] = pin.changes
    return form


def dump_head(head: Head) -> bytes:
    """Write a head."""
    return orjson.dumps(asdict(head), option=orjson.OPT_SORT_KEYS)


def load_head(stored: bytes) -> Head:
    """Read what ``dump_head`` wrote."""
    form = orjson.loads(stored)
    return Head(**form | {"startable": tuple(form["startable"])})


def dump_saved(saved: Saved) -> bytes:
    """Write what the list of versions says."""
    return orjson.dumps(asdict(saved), option=orjson.OPT_SORT_KEYS)


def load_saved(stored: bytes) -> Saved:
    """Read what ``dump_saved`` wrote."""
    return Saved(**orjson.loads(stored))


def dump_name(code: int, floor: int) -> bytes:
    """Write who has a name (0: nobody), and the largest version that it had with somebody else."""
    return b"%d %d" % (code, floor)


def load_name(stored: bytes | None) -> tuple[int, int]:
    """Read what ``dump_name`` wrote; of nothing, nobody and none."""
    if stored is None:
        return 0, 0
    code, _, floor = stored.partition(b" ")
    return int(code), int(floor)


def dump_pointer(code: int, version: int) -> bytes:
    """Write what stands among the registered definitions for a version that is published."""
    return orjson.dumps({"catalog": {"code": code, "version": version}})


def load_pointer(stored: bytes) -> tuple[int, int] | None:
    """Read what ``dump_pointer`` wrote; ``None``: it is a definition."""
    if not stored.startswith(b'{"catalog":'):
        return None
    pointed = orjson.loads(stored)["catalog"]
    return pointed["code"], pointed["version"]
