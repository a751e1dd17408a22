"""The endpoints of the catalog: workflows and tasks that have versions."""

from __future__ import annotations

from conductor_py.wire.operations.operation import (
    Operation,
    get,
    post,
    put,
)

_PAGE = "createdFrom:integer createdTo:integer after:string size:integer"


def _deleting(path: str, summary: str, answer: str) -> Operation:
    return Operation(method="DELETE", path=path, summary=summary, answer=answer)


def _kind(noun: str, one: str, body: str, page: str) -> tuple[Operation, ...]:
    root = f"/api/catalog/{noun}"
    return (
        get(
            root,
            f"List {noun} that have versions, by code, which is by time",
            "CatalogHead[]",
            page,
        ),
        post(root, f"Save a new {one}", "CatalogHead", body),
        get(f"{root}/{{code}}", f"Read a {one} as it was saved", body, "version:integer"),
        put(
            f"{root}/{{code}}",
            f"Save a {one}: what has changed becomes a new version",
            "CatalogHead",
            body,
            "draft:boolean",
        ),
        get(f"{root}/{{code}}/head", f"Read what can be changed of a {one}", "CatalogHead"),
        get(f"{root}/{{code}}/versions", f"List the versions of a {one}", "CatalogVersion[]"),
        post(
            f"{root}/{{code}}/switch",
            "Edit another version",
            "CatalogHead",
            "",
            "version!:integer",
        ),
        _deleting(
            f"{root}/{{code}}", f"Take a {one} out of the lists; versions stay", "CatalogHead"
        ),
        _deleting(f"{root}/{{code}}/versions/{{version}}", "Forget a version for good", "nothing"),
    )


OPERATIONS: tuple[Operation, ...] = (
    post("/api/catalog/codes", "Mint codes for what is new", "string[]", "", "count:integer"),
    get("/api/catalog/codes/{code}", "Say when and by which worker a code was minted", "Code"),
    *_kind("workflows", "workflow", "CatalogWorkflow", f"name:string {_PAGE}"),
    get(
        "/api/catalog/workflows/{code}/versions/{version}",
        "Read a version as it is stored: codes and versions",
        "SplitWorkflow",
    ),
    get(
        "/api/catalog/workflows/{code}/diff",
        "Tell what differs between two versions, the one that is edited and the one before if none"
        " are named",
        "WorkflowDiff",
        "from:integer to:integer",
    ),
    get(
        "/api/catalog/workflows/{code}/lineage",
        "Tell what starts a workflow, what it starts, and which tasks it shares",
        "Lineage",
        "depth:integer",
    ),
    post(
        "/api/catalog/workflows/{code}/publish",
        "Let a version be the one that starts by its name",
        "CatalogHead",
        "",
        "version:integer",
    ),
    post(
        "/api/catalog/workflows/{code}/withdraw",
        "Let no version start any more, or not this one",
        "CatalogHead",
        "",
        "version:integer",
    ),
    *_kind("tasks", "task", "CatalogTask", f"shared:boolean {_PAGE}"),
    get(
        "/api/catalog/export",
        "Write workflows with the shared tasks that they use as one document",
        "Bundle",
        "name!:string versions:edited|all callees:boolean",
    ),
    post(
        "/api/catalog/import",
        "Take in such a document, all of it or nothing",
        "ImportReport",
        "Bundle",
        "onExisting:FAIL|SKIP|NEW_VERSION dryRun:boolean",
    ),
    get("/api/catalog/tasks/{code}/uses", "List the workflows that have a task", "TaskUse[]"),
    post(
        "/api/catalog/tasks/{code}/apply",
        "Give every workflow that has a task this version of it, as a draft; answers their heads",
        "CatalogHead[]",
        "",
        "version:integer dryRun:boolean",
    ),
)
