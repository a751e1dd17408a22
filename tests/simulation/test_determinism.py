"""What a seed does it does again, here and elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from importlib import import_module
from typing import Any

import pytest

from conductor_py.testing.simulation.drawing import draw_scenario
from conductor_py.testing.simulation.runner import simulate

_SEEDS = range(40, 52)
_READS = (
    "time.time",
    "time.time_ns",
    "time.monotonic",
    "time.sleep",
    "secrets.token_hex",
    "secrets.token_bytes",
    "uuid.uuid4",
    "os.urandom",
)
_PROGRAM = """
import sys
from conductor_py.testing.simulation.runner import simulate
from conductor_py.testing.simulation.drawing import draw_scenario
for seed in map(int, sys.argv[1:]):
    run = simulate(draw_scenario(seed))
    print(seed, run.checksum, run.steps, run.virtual_ms)
"""


def _in_a_process(hash_seed: str) -> list[str]:
    found = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *map(str, _SEEDS)],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
    )
    return found.stdout.splitlines()


def test_a_seed_does_the_same_again() -> None:
    for seed in _SEEDS:
        first, again = (simulate(draw_scenario(seed)) for _ in range(2))
        assert (first.checksum, first.steps) == (again.checksum, again.steps), seed
        assert first.steps > 50


@pytest.mark.timeout(600)
@pytest.mark.thorough(target="simulation")
def test_a_seed_does_the_same_in_another_process_with_other_hashes() -> None:
    here = [
        f"{seed} {run.checksum} {run.steps} {run.virtual_ms}"
        for seed in _SEEDS
        for run in (simulate(draw_scenario(seed)),)
    ]
    assert _in_a_process("1") == here
    assert _in_a_process("4711") == here


def test_words_change_nothing() -> None:
    scenario = draw_scenario(41)
    assert simulate(scenario, keeps_words=True).checksum == simulate(scenario).checksum


def test_another_seed_does_something_else() -> None:
    assert len({simulate(draw_scenario(seed)).checksum for seed in _SEEDS}) == len(_SEEDS)


@pytest.mark.parametrize("seed", [3, 7])
def test_nothing_reads_the_machine(seed: int) -> None:
    me = threading.get_ident()

    def refusing(real: Any) -> Any:
        def read(*given: Any, **named: Any) -> Any:
            if threading.get_ident() != me:  # a thread that another test has left behind
                return real(*given, **named)
            raise AssertionError("a simulated process reads the machine")

        return read

    with pytest.MonkeyPatch.context() as patch:
        for name in _READS:
            module, _, word = name.partition(".")
            patch.setattr(name, refusing(getattr(import_module(module), word)))
        run = simulate(draw_scenario(seed))
    assert not run.violations
    assert run.counts["commit OK"] > 0
