"""Watching over executions: why one does not move, audits of the store, quarantine."""

from __future__ import annotations

from collections.abc import Iterable

from flask import Blueprint, Response, request

from conductor_py.api.answers import json_answer
from conductor_py.api.facade.oversight import Finding
from conductor_py.api.front import Front, blueprint
from conductor_py.model.json import JsonObject
from conductor_py.wire.parameters import number

_AUDITED = 200
_MOST_AUDITED = 2_000


def oversight(front: Front) -> Blueprint:
    """Make the endpoints that only look, and those of quarantine."""
    engine = front.engine

    def why(workflow_id: str) -> Response:
        return json_answer(engine.why.explain(workflow_id))

    def audit() -> Response:
        size = number(request.args, "size", _AUDITED, least=1, most=_MOST_AUDITED)
        page = engine.auditor.page(request.args.get("cursor", ""), size)
        return json_answer(
            {
                "executions": page.executions,
                "keys": page.keys,
                "cursor": page.cursor,
                **_written(page.findings),
            }
        )

    def audit_one(workflow_id: str) -> Response:
        findings = engine.auditor.execution(workflow_id)
        return json_answer({"executions": 1, "keys": 1, "cursor": "", **_written(findings)})

    def quarantined() -> Response:
        start = number(request.args, "start", 0, least=0)
        size = number(request.args, "size", 100, least=0, most=front.max_results)
        found, total = engine.quarantine.listed(start=start, size=size)
        return json_answer({"totalHits": total, "results": list(found)})

    def retry(workflow_id: str) -> Response:
        decided = engine.quarantine.retry(workflow_id)
        return json_answer({"workflowId": workflow_id, "decided": decided})

    def retry_all() -> Response:
        decided, failed = engine.quarantine.retry_all()
        return json_answer({"decided": decided, "failed": failed})

    routes = (
        ("GET", "/workflow/<workflow_id>/why", why),
        ("GET", "/admin/audit", audit),
        ("GET", "/admin/audit/<workflow_id>", audit_one),
        ("GET", "/admin/quarantine", quarantined),
        ("POST", "/admin/quarantine/retry", retry_all),
        ("POST", "/admin/quarantine/<workflow_id>/retry", retry),
    )
    return blueprint("oversight", "/api", routes)


def _written(findings: Iterable[Finding]) -> JsonObject:
    found = list(findings)
    return {
        "violations": sum(bool(one.invariant) for one in found),
        "findings": [one.to_json() for one in found],
    }
