"""Script processes that cannot be started, or say what no script process says."""

import errno
import os
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from conductor_py.adapters.quickjs import QuickJsScripts, pool
from conductor_py.adapters.quickjs.pool import Child, ChildKilled
from conductor_py.errors import LimitExceeded
from conductor_py.ports.scripts import Evaluation, Failure, ScriptResult, Value
from tests.script_processes import unhurried

_MIB = 1 << 20
#: A program has broken out of its engine and speaks for its child: it answers whatever it is asked
#: with a frame that says to be that long, and sends as much as it is let.
_SPEAKS_FOR_ITS_CHILD = """
import os

def frame(text):
    os.write(0, len(text).to_bytes(4, "big") + text)

frame(b"K")
os.read(0, 4)
frame(b"R")
os.read(0, 1 << 16)
os.write(0, ({size}).to_bytes(4, "big"))
sent = 0
while sent < {size}:
    sent += os.write(0, bytes(min(1 << 20, {size} - sent)))
os.read(0, 4)
"""


def _broken_out(monkeypatch: pytest.MonkeyPatch, folder: Path, size: int) -> None:
    program = folder / "child.py"
    program.write_text(_SPEAKS_FOR_ITS_CHILD.format(size=size))
    monkeypatch.setattr(pool, "_CHILD", program)


def _run(scripts: QuickJsScripts, expression: str) -> ScriptResult:
    (result,) = scripts.evaluate(
        [Evaluation(evaluator="javascript", expression=expression, input={})]
    )
    return result


@pytest.mark.parametrize(
    ("module", "name", "number"),
    [
        (socket, "socketpair", errno.EMFILE),
        (subprocess, "Popen", errno.EAGAIN),
        (subprocess, "Popen", errno.ENOMEM),
    ],
)
def test_a_process_that_cannot_be_started_now_puts_the_evaluation_off(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: str, number: int
) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise OSError(number, os.strerror(number))

    scripts = QuickJsScripts(workers=1)
    request = Evaluation(evaluator="javascript", expression="1 + 1", input={})
    try:
        with monkeypatch.context() as patch:
            patch.setattr(module, name, refuse)
            with pytest.raises(LimitExceeded, match="No script process could be started"):
                scripts.evaluate([request])
            assert scripts.attempt(request) is None
        assert scripts.evaluate([request]) == (Value(value=2),)
    finally:
        scripts.close()


def test_a_frame_that_is_larger_than_any_result_is_not_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    size = 8 * _MIB + pool._PRINTED_BYTES + 1
    _broken_out(monkeypatch, tmp_path, size)
    child = Child(memory_bytes=16 * _MIB, result_bytes=8 * _MIB)
    try:
        child.wait_ready()
        with pytest.raises(ChildKilled, match=f"a frame of {size} bytes"):
            child.call(b"{}", b"{}", 60)
        assert not child.is_alive()
    finally:
        child.kill()


def test_a_frame_as_large_as_a_result_may_be_is_read_whole(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _broken_out(monkeypatch, tmp_path, 8 * _MIB)
    child = Child(memory_bytes=16 * _MIB, result_bytes=8 * _MIB)
    try:
        child.wait_ready()
        assert len(child.call(b"{}", b"{}", 60)) == 8 * _MIB
    finally:
        child.kill()


def test_a_program_whose_processes_say_too_much_fails_and_the_next_one_has_new_processes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    scripts = QuickJsScripts(workers=1, result_bytes=_MIB)
    try:
        with unhurried():
            with monkeypatch.context() as patch:
                _broken_out(patch, tmp_path, (1 << 32) - 1)
                assert _run(scripts, "1") == Failure(
                    message="The script took its process down", terminal=True, kind="killed"
                )
            assert _run(scripts, "2") == Value(value=2)
    finally:
        scripts.close()


def test_that_a_result_is_too_large_is_said_however_small_it_may_be() -> None:
    scripts = QuickJsScripts(workers=1, result_bytes=16)
    try:
        with unhurried():
            assert _run(scripts, "'x'.repeat(20)") == Failure(
                message="The result is larger than 16 bytes", terminal=True, kind="error"
            )
            long = "console.log('y'.repeat(400)); 'x'.repeat(9)"
            assert _run(scripts, long) == Value(value="x" * 9, lines=("y" * 400,))
    finally:
        scripts.close()
