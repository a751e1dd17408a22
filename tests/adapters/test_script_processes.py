"""Script processes on a machine that has nothing left to start one with."""

import errno
import os
import socket
import subprocess
from typing import Any

import pytest

from conductor_py.adapters.quickjs import QuickJsScripts
from conductor_py.errors import LimitExceeded
from conductor_py.ports.scripts import Evaluation, Value


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
