"""Watching over executions: why one does not move, audits of the store, quarantine."""

from __future__ import annotations

from collections.abc import Iterable

from flask import Blueprint, request

from conductor_py.api.answers import Answer, json_answer
from conductor_py.api.facade.oversight import Finding
from conductor_py.api.front import Front, blueprint
from conductor_py.errors import NotFound
from conductor_py.model.json import JsonObject
from conductor_py.wire.parameters import number

_AUDITED = 200
_MOST_AUDITED = 2_000


def oversight(front: Front) -> Blueprint:
    """Make the endpoints that only look."""
    engine = front.engine

    def why(workflow_id: str) -> Answer:
        return json_answer(engine.why.explain(workflow_id))

    def audit() -> Answer:
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

    def audit_one(workflow_id: str) -> Answer:
        findings = engine.auditor.execution(workflow_id)
        return json_answer({"executions": 1, "keys": 1, "cursor": "", **_written(findings)})

    routes = (
        ("GET", "/workflow/<workflow_id>/why", why),
        ("GET", "/admin/audit", audit),
        ("GET", "/admin/audit/<workflow_id>", audit_one),
    )
    return blueprint("oversight", "/api", routes)


def quarantine(front: Front) -> Blueprint:
    """Make the endpoints of what cannot be decided, or cannot be read."""
    engine = front.engine

    def quarantined() -> Answer:
        start = number(request.args, "start", 0, least=0)
        size = number(request.args, "size", 100, least=0, most=front.max_results)
        found, total = engine.quarantine.listed(start=start, size=size)
        damaged = engine.quarantine.damaged()
        return json_answer({"totalHits": total, "results": list(found), "damaged": damaged})

    def retry_damaged() -> Answer:
        entry = request.args.get("entry", "")
        engine.quarantine.retry_damaged(entry)
        return json_answer({"entry": entry})

    def drop_damaged() -> Answer:
        entry = request.args.get("entry", "")
        engine.quarantine.drop_damaged(entry)
        return json_answer({"entry": entry})

    def drop(workflow_id: str) -> Answer:
        reason = request.args.get("reason") or "dropped from quarantine"
        if not engine.quarantine.end(workflow_id, reason):
            raise NotFound(f"Workflow {workflow_id} is not in quarantine")
        return json_answer({"workflowId": workflow_id})

    def retry(workflow_id: str) -> Answer:
        decided = engine.quarantine.retry(workflow_id)
        return json_answer({"workflowId": workflow_id, "decided": decided})

    def retry_all() -> Answer:
        tried = engine.quarantine.retry_all(request.args.get("cursor", ""))
        return json_answer(
            {
                "decided": tried.decided,
                "failed": tried.failed,
                "left": tried.left,
                "cursor": tried.cursor,
            }
        )

    routes = (
        ("GET", "/admin/quarantine", quarantined),
        ("POST", "/admin/quarantine/retry", retry_all),
        ("POST", "/admin/quarantine/damaged/retry", retry_damaged),
        ("POST", "/admin/quarantine/damaged/drop", drop_damaged),
        ("POST", "/admin/quarantine/<workflow_id>/retry", retry),
        ("POST", "/admin/quarantine/<workflow_id>/drop", drop),
    )
    return blueprint("quarantine", "/api", routes)


def _written(findings: Iterable[Finding]) -> JsonObject:
    found = list(findings)
    return {
        "violations": sum(bool(one.invariant) for one in found),
        "findings": [one.to_json() for one in found],
    }
