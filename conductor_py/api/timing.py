"""How long Flask's requests take, told by the pattern of their path, never by the path itself."""

from __future__ import annotations

import time
from typing import Final

from flask import Flask, Response, g, request

from conductor_py.api.hot import Timed

_UNKNOWN_ROUTE: Final = "unknown"


def time_requests(app: Flask, timed: Timed) -> None:
    """Tell ``timed`` of all requests of an application from now on."""

    def begin() -> None:
        g.began = time.perf_counter()

    def end(answer: Response) -> Response:
        rule = request.url_rule
        route = rule.rule if rule is not None else _UNKNOWN_ROUTE
        # Anybody can send any method; those without a route are one.
        method = request.method if rule is not None else _UNKNOWN_ROUTE
        began = g.get("began", None)
        if began is not None:
            timed(method, route, answer.status_code, time.perf_counter() - began)
        return answer

    app.before_request(begin)
    app.after_request(end)
