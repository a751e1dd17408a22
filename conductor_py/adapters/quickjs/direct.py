"""Scripts in this very process: for simulations and tests, whose scripts are trusted.

The same programs give the same results as in a child process, at once; nothing bounds them but the
engine's own limits. A script is a pure function, so each evaluation is made once.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final

from conductor_py.adapters.quickjs.child import JavaScript, Jq
from conductor_py.adapters.quickjs.scripts import QuickJsScripts, _Request
from conductor_py.ports.scripts import ScriptResult

_KEPT: Final = 20_000
_MEMORY_BYTES: Final = 64 << 20


class DirectScripts(QuickJsScripts):
    """``Scripts`` without child processes. Not for what strangers wrote."""

    def __init__(self, *, time_limit_ms: int = 4_000) -> None:
        """Load the evaluators when they are first needed; ``time_limit_ms`` bounds JavaScript."""
        super().__init__(time_limit_ms=time_limit_ms)
        self._limit_ms = time_limit_ms
        self._javascript: JavaScript | None = None
        self._jq: Jq | None = None
        self._known: dict[tuple[str, str, bytes, bool], ScriptResult] = {}

    def _in_quick_lane(self, request: _Request, wait_s: float | None = None) -> ScriptResult:
        key = (request.language, request.source, request.data, request.check)
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _KEPT:
                self._known.clear()
            found = self._known[key] = self._made(request)
        return found

    def _made(self, request: _Request) -> ScriptResult:
        asked = {"source": request.source, "check": request.check, "time_ms": self._limit_ms}
        if request.language == "jq":
            self._jq = self._jq or Jq(import_module("jq"))
            answer = self._jq.answer(asked, request.data.decode())
        else:
            if self._javascript is None:
                self._javascript = JavaScript(import_module("_quickjs"), _MEMORY_BYTES)
            answer = self._javascript.answer(asked, request.data.decode())
            self._javascript.prepare()
        return self._read(answer)


__all__ = ["DirectScripts"]
