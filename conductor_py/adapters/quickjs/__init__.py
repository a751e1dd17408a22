"""Scripts in QuickJS, in child processes that can be killed."""

from __future__ import annotations

from conductor_py.adapters.quickjs.scripts import QuickJsScripts

__all__ = ["QuickJsScripts"]
