"""Parameters: values with a name that tasks read as ``${param.NAME}`` (``decider.parameters`` says
where each is looked for).
"""

from __future__ import annotations

import re
from typing import Final

PARAM: Final = "param"
"""The root under which parameters are read, unless a task is named so."""

SYSTEM: Final = "system"
"""The parameter that is always there, an object."""

ROOTS: Final = frozenset({PARAM, "workflow", "CPEWF_TASK_ID", "NETFLIX_ENV", "NETFLIX_STACK"})
"""What expressions begin with that name no task."""

WORKFLOW_MEMBERS: Final = frozenset(
    {
        *("input", "output", "variables", "status", "workflowId", "workflowType", "version"),
        *("correlationId", "schemaVersion", "parentWorkflowId", "parentWorkflowTaskId"),
        *("businessTime", "zoneId", "reasonForIncompletion", "secrets", "env"),
    }
)
"""What ``${workflow.…}`` finds; all else is null."""

TASK_MEMBERS: Final = frozenset(
    {
        *("input", "output", "taskType", "status", "referenceTaskName", "retryCount"),
        *("correlationId", "pollCount", "taskDefName", "scheduledTime", "startTime", "endTime"),
        *("workflowInstanceId", "taskId", "reasonForIncompletion", "callbackAfterSeconds"),
        *("workerId", "iteration"),
    }
)
"""What ``${reference.…}`` finds of a task; all else is null."""

MOST_NESTED: Final = 50
"""How many parameters may stand within each other."""

NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,199}")
"""What a parameter may be called."""

BUILT_IN: Final = frozenset(
    {
        "biz.date",
        "biz.curdate",
        "datetime",
        "workflow.instance.id",
        "workflow.definition.name",
        "workflow.definition.version",
        "task.instance.id",
        "task.definition.name",
    }
)
"""What ``${param.system.…}`` holds, under DolphinScheduler's names."""
