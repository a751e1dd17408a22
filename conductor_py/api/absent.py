"""Endpoints of Conductor that are not in yet, where a variable of another path would catch them.

They are as unknown as any other path: nobody must start a workflow named ``test`` by asking for a
test of a workflow.
"""

from __future__ import annotations

from typing import Final

from flask import request
from werkzeug.exceptions import NotFound

_PATHS: Final = frozenset(
    {
        ("POST", "/api/workflow/test"),
        ("GET", "/api/workflow/search-by-tasks"),
        ("GET", "/api/workflow/search-by-tasks-v2"),
    }
)
_REQUEUE: Final = "/api/tasks/queue/requeue/"


def refuse_absent() -> None:
    """Answer 404 before a view is asked."""
    path = request.path
    if (request.method, path) in _PATHS or path.startswith(_REQUEUE):
        raise NotFound
