"""Where the CPU of an execution goes: what ``make profile`` prints for the tree at hand.

.venv/bin/python benchmarks/profile.py [one|fork] [EXECUTIONS]

A server as it ships is put under load while each of its Python processes samples itself
(``sampled/sitecustomize.py``); the rest is told by /proc. A fork has 1,000 branches, and what is
printed is the cost of one.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(_ROOT))

from benchmarks.clients import drive  # noqa: E402 - found where this file is
from benchmarks.machine import cost_by_process  # noqa: E402
from benchmarks.server_part import Served, await_effects, chain, fork, server  # noqa: E402

_WIDTH = 1_000
_LEAST_MS = 0.005
Ledger = Counter[tuple[str, str]]


def main(work: str = "one", executions: int = 0) -> int:
    """Measure and print one table: part, layer, milliseconds of CPU for each unit of work."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        path = f"{_ROOT / 'benchmarks' / 'sampled'}:{_ROOT}:{_ROOT / 'workers'}"
        with server(PYTHONPATH=path, SAMPLES=folder) as at:
            units, ledger = _measured(at, place, work, executions)
    unit = "branch" if work == "fork" else "execution"
    print("\n".join(table({key: seconds * 1000 / units for key, seconds in ledger.items()}, unit)))
    return 0


def table(costs: dict[tuple[str, str], float], unit: str) -> Iterator[str]:
    """Yield the table, the dearest part first, and in each the dearest layer."""
    parts: Counter[str] = Counter()
    for (part, _), ms in costs.items():
        parts[part] += ms
    yield f"| part | layer | CPU for one {unit} (ms) |"
    yield "|---|---|---:|"
    yield f"| **all** | | **{sum(costs.values()):.3f}** |"
    for part, whole in parts.most_common():
        if whole < _LEAST_MS:
            continue
        yield f"| {part} | | {whole:.3f} |"
        layers = {layer: ms for (found, layer), ms in costs.items() if found == part and layer}
        for layer, ms in sorted(layers.items(), key=lambda item: -item[1]):
            if ms >= _LEAST_MS:
                yield f"| | {layer} | {ms:.3f} |"


def _measured(at: Served, folder: Path, work: str, executions: int) -> tuple[int, Ledger]:
    if work == "fork":
        executions = executions or 5
        load, width = fork(at, "fork", _WIDTH), _WIDTH
    else:
        executions = executions or 2_000
        load, width = chain(at, "one", 1), 1
    drive(replace(load, executions=max(1, executions // 10)))
    await_effects(at)
    before = _ledger(at, folder)
    drive(replace(load, executions=executions))
    await_effects(at)
    return executions * width, _ledger(at, folder) - before


def _ledger(at: Served, folder: Path) -> Ledger:
    """CPU in seconds until now, by part and layer."""
    found: Ledger = Counter()
    sampled = {int(file.stem): json.loads(file.read_text()) for file in folder.glob("*.json")}
    for pid, (name, cpu_s) in cost_by_process(at.pid).items():
        if pid not in sampled:
            found[name, ""] += cpu_s
            continue
        spent_s, rows = sampled[pid]
        for part, layer, seconds in rows:
            found[part, layer] += seconds
        found["outside Python", ""] += spent_s - sum(seconds for _, _, seconds in rows)
    return found


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2], *map(int, sys.argv[2:3])))
