"""Workers: who is there, and their signs of life."""

from __future__ import annotations

from flask import Blueprint, request

from conductor_py.api.answers import Answer, empty, json_answer
from conductor_py.api.front import Front, blueprint
from conductor_py.api.held import little
from conductor_py.wire.parameters import text, wrong
from conductor_py.wire.workers import LONGEST, read_sign


def workers(front: Front) -> Blueprint:
    """Make the endpoints of ``/api/workers``."""
    known = front.engine.workers

    def present() -> Answer:
        return json_answer(list(known.present(text(request.args, "taskType"))))

    def report() -> Answer:
        lease_ms = known.report(read_sign(front.body()))
        return json_answer({"leaseSeconds": lease_ms // 1000})

    def leave() -> Answer:
        worker = text(request.args, "workerId")
        if not 0 < len(worker) <= LONGEST:
            raise wrong("workerId", f"must be given, with at most {LONGEST} characters", worker)
        known.leave(worker)
        return empty()

    routes = (("GET", "", present), ("POST", "", little(report)), ("DELETE", "", little(leave)))
    return blueprint("workers", "/api/workers", routes)
