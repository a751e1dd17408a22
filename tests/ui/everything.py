"""One execution that has every task type and every status, as the server would write it."""

from typing import Any

ID = "000f3a52-1111-4222-8333-444455556666"
CHILD = "000f3a52-1111-4222-8333-444455556667"
STARTED_AT = 1_700_000_000_000

TASK_STATUSES = {
    "SCHEDULED": "Scheduled",
    "IN_PROGRESS": "In progress",
    "COMPLETED": "Completed",
    "COMPLETED_WITH_ERRORS": "Completed with errors",
    "SKIPPED": "Skipped",
    "FAILED": "Failed",
    "FAILED_WITH_TERMINAL_ERROR": "Failed, terminal error",
    "TIMED_OUT": "Timed out",
    "CANCELED": "Canceled",
    "SOMETHING_NEW": "SOMETHING_NEW",
}
"""Each status, and the words that the pages have for it."""

WORKFLOW_STATUSES = {
    "RUNNING": "Running",
    "PAUSED": "Paused",
    "COMPLETED": "Completed",
    "FAILED": "Failed",
    "TIMED_OUT": "Timed out",
    "TERMINATED": "Terminated",
    "SOMETHING_NEW": "SOMETHING_NEW",
}

HTTP_INPUT = {"http_request": {"method": "PUT", "uri": "http://example.test/<b>", "body": {}}}
HTTP_OUTPUT = {"response": {"statusCode": 404, "reasonPhrase": "Not Found", "body": None}}
KAFKA_INPUT = {"kafka_request": {"topic": "orders", "bootStrapServers": "kafka:9092", "key": 7}}
JQ_INPUT = {"queryExpression": ".items | length"}

# Type: its words, its input, its output, and a text that its details show.
TASK_TYPES: dict[str, tuple[str, dict[str, Any], dict[str, Any], str]] = {
    "SIMPLE": ("Worker task", {}, {}, ""),
    "USER_DEFINED": ("Worker task", {}, {}, ""),
    "DYNAMIC": ("Dynamic task", {}, {}, ""),
    "FORK_JOIN": ("Fork", {}, {}, ""),
    "FORK_JOIN_DYNAMIC": ("Dynamic fork", {"forkedTasks": ["left", "right"]}, {}, "left, right"),
    "JOIN": ("Join", {"joinOn": ["left", "right"]}, {}, "left, right"),
    "EXCLUSIVE_JOIN": ("Exclusive join", {"joinOn": ["left"]}, {}, "left"),
    "SWITCH": ("Switch", {}, {"selectedCase": "blue", "evaluationResult": ["blue"]}, "blue"),
    "DECISION": ("Decision", {"case": "red"}, {"caseOutput": ["red"]}, "red"),
    "DO_WHILE": ("Loop", {}, {"iteration": 4, "loopIndex": 3, "loopItem": {"a": 1}}, '{"a":1}'),
    "SUB_WORKFLOW": (
        "Sub-workflow",
        {"subWorkflowName": "inner", "subWorkflowVersion": 3},
        {},
        "inner v3",
    ),
    "START_WORKFLOW": (
        "Start workflow",
        {"startWorkflow": {"name": "beside"}},
        {"workflowId": CHILD},
        "beside",
    ),
    "EVENT": ("Event", {"sink": "conductor:shipped"}, {}, "conductor:shipped"),
    "WAIT": ("Wait", {"duration": "2 days"}, {}, "2 days"),
    "HUMAN": ("Human task", {"assignee": "Bo"}, {}, "Bo"),
    "HTTP": ("HTTP", HTTP_INPUT, HTTP_OUTPUT, "404 Not Found"),
    "LAMBDA": ("Lambda", {"scriptExpression": "return $.a"}, {}, "return $.a"),
    "INLINE": ("Inline script", {"expression": "$.a + 1"}, {"result": 2}, "$.a + 1"),
    "TERMINATE": ("Terminate", {"terminationStatus": "FAILED"}, {}, "FAILED"),
    "KAFKA_PUBLISH": ("Kafka publish", KAFKA_INPUT, {}, "kafka:9092"),
    "JSON_JQ_TRANSFORM": ("jq transform", JQ_INPUT, {}, ".items | length"),
    "SET_VARIABLE": ("Set variables", {"colour": 1, "size": 2}, {}, "colour, size"),
    "NOOP": ("No operation", {}, {}, ""),
    "PULL_WORKFLOW_MESSAGES": ("Pull messages", {"batchSize": 5}, {"count": 3}, "Messages"),
    "LLM_TEXT_COMPLETE": ("LLM text", {}, {}, ""),
    "CALL_MCP_TOOL": ("Call MCP tool", {}, {}, ""),
    "QUANTUM_LEAP": ("QUANTUM_LEAP", {}, {}, ""),
}


def part(ref: object, kind: str, **more: Any) -> dict[str, Any]:
    return {"name": f"def_{ref}", "taskReferenceName": ref, "type": kind, **more}


def made(definition: dict[str, Any], seq: int, status: str, **more: Any) -> dict[str, Any]:
    """A task of that part of a definition."""
    ref, kind = definition["taskReferenceName"], definition["type"]
    started = STARTED_AT + 1000 * seq
    return {
        "taskId": f"{ID}-{seq}",
        "taskType": "FORK" if kind.startswith("FORK") else kind,
        "taskDefName": definition["name"],
        "referenceTaskName": ref,
        "workflowInstanceId": ID,
        "status": status,
        "seq": seq,
        "retryCount": 0,
        "iteration": 0,
        "scheduledTime": started - 500,
        "startTime": started,
        "endTime": 0 if status in {"SCHEDULED", "IN_PROGRESS"} else started + 700,
        "updateTime": started,
        "inputData": {},
        "outputData": {},
        "workflowTask": definition,
        **more,
    }


def execution(status: str, tasks: list[dict[str, Any]], listed: list[Any]) -> dict[str, Any]:
    return {
        "workflowId": ID,
        "workflowName": "everything",
        "workflowVersion": 1,
        "status": status,
        "workflowDefinition": {"name": "everything", "version": 1, "tasks": tasks},
        "createTime": STARTED_AT,
        "startTime": STARTED_AT,
        "updateTime": STARTED_AT,
        "endTime": 0 if status in {"RUNNING", "PAUSED"} else STARTED_AT + 90_000,
        "input": {"a": 1},
        "output": {},
        "variables": {},
        "failedReferenceTaskNames": [],
        "tasks": listed,
    }


def every_type_and_status() -> dict[str, Any]:
    """Each type once, and a worker's task in each status."""
    typed = [part(f"t_{kind.lower()}", kind) for kind in TASK_TYPES]
    stood = [part(f"s_{status.lower()}", "SIMPLE") for status in TASK_STATUSES]
    listed: list[dict[str, Any]] = []
    for definition in typed:
        _, given, output, _ = TASK_TYPES[definition["type"]]
        more = {"subWorkflowId": CHILD} if definition["type"] == "SUB_WORKFLOW" else {}
        task = made(definition, len(listed) + 1, "COMPLETED", **more)
        listed.append({**task, "inputData": given, "outputData": output})
    for definition, status in zip(stood, TASK_STATUSES, strict=True):
        listed.append(made(definition, len(listed) + 1, status, reasonForIncompletion="because"))
    return execution("RUNNING", [*typed, *stood], listed)


def nested() -> dict[str, Any]:
    """Loops in loops, a fork of dynamic branches in one of them, tries, and a superseded one."""
    work = part("work", "SIMPLE")
    inner = part("inner", "DO_WHILE", loopOver=[work])
    fan = part("fan", "FORK_JOIN_DYNAMIC")
    deep = part("deep", "FORK_JOIN", forkTasks=[[part("left", "HTTP")], [part("right", "WAIT")]])
    choice = part("choice", "DECISION", decisionCases={"a": [part("in_a", "NOOP")], "b": []})
    outer = part("outer", "DO_WHILE", loopOver=[inner, fan, part("met", "JOIN"), choice])
    listed = [
        made(outer, 1, "IN_PROGRESS", outputData={"iteration": 2}, iteration=2),
        made(inner, 2, "COMPLETED", referenceTaskName="inner__1", iteration=1),
        made(work, 3, "COMPLETED", referenceTaskName="work__1__1", iteration=1),
        made(inner, 4, "IN_PROGRESS", referenceTaskName="inner__2", iteration=2),
        made(work, 5, "FAILED", referenceTaskName="work__2__1", iteration=1, retried=True),
        made(work, 6, "TIMED_OUT", referenceTaskName="work__2__1", iteration=1, retried=True),
        made(work, 7, "IN_PROGRESS", referenceTaskName="work__2__1", iteration=1, retryCount=2),
        made(
            fan,
            8,
            "COMPLETED",
            referenceTaskName="fan__2",
            iteration=2,
            inputData={"forkedTasks": ["deep"], "forkedTaskDefs": [deep]},
        ),
        made(deep, 9, "COMPLETED", referenceTaskName="deep__2", iteration=2),
        made(deep["forkTasks"][0][0], 10, "FAILED", referenceTaskName="left__2", iteration=2),
        made(
            choice, 11, "COMPLETED", referenceTaskName="choice__2", outputData={"caseOutput": ["b"]}
        ),
    ]
    return execution("RUNNING", [outer, part("after", "HUMAN")], listed)


def odd() -> dict[str, Any]:
    """Names that are markup, payloads of the wrong kind, times that run backwards, and gaps."""
    names = [
        "<img src=x onerror=alert(1)>",
        "__proto__",
        "x" * 5000,
        "\u202eevil",
        "a\nb",
        "é 字 🎉",
    ]
    values: list[Any] = [None, [1, 2], "text", 1e300, {"response": "no"}, {"http_request": 3}]
    kinds = ["HTTP", "DO_WHILE", "SWITCH", "JOIN", "KAFKA_PUBLISH", "START_WORKFLOW"]
    parts = [part(name, kind) for name, kind in zip(names, kinds, strict=True)]
    listed: list[Any] = [
        made(one, seq, "COMPLETED", inputData=value, outputData=value, endTime=1)
        for seq, (one, value) in enumerate(zip(parts, values, strict=True), 1)
    ]
    listed += [
        {"taskId": f"{ID}-90", "status": None},
        {"taskId": 91, "status": "FAILED", "seq": 91, "referenceTaskName": 7, "startTime": "x"},
        made(part("late", "HTTP"), 92, "COMPLETED", progress={"fraction": "x"}, workflowTask=None),
    ]
    found = execution("FAILED", parts, listed)
    return {
        **found,
        "reasonForIncompletion": "<script>alert(1)</script>" * 200,
        "correlationId": 'a "quoted" one',
        "parentWorkflowId": CHILD,
        "output": {"conductor.failure_workflow": CHILD},
        "rateLimited": True,
        "input": None,
        "variables": None,
    }
