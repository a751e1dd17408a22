"""Schedules and their records as stored JSON, under Conductor's names.

``None`` is not written; unknown members are ignored, so that an older process can read what a newer
one wrote.
"""

from __future__ import annotations

from typing import Any

import orjson

from conductor_py.model.schedules import CronSchedule, Overlap, RunState, Schedule, ScheduleRun

Json = dict[str, Any]


def schedule_to_json(schedule: Schedule) -> Json:
    """Write a schedule; ``overlapPolicy`` and ``tags`` only when they say something."""
    written: Json = {
        "name": schedule.name,
        "cronExpression": schedule.cron_expression,
        "zoneId": schedule.zone_id,
        "cronSchedules": [
            {"cronExpression": one.cron_expression, "zoneId": one.zone_id}
            for one in schedule.cron_schedules
        ],
        "startWorkflowRequest": schedule.start_workflow_request,
        "runCatchupScheduleInstances": schedule.run_catchup_schedule_instances,
        "paused": schedule.paused,
        "pausedReason": schedule.paused_reason,
        "scheduleStartTime": schedule.schedule_start_time,
        "scheduleEndTime": schedule.schedule_end_time,
        "description": schedule.description,
        "createTime": schedule.create_time,
        "updatedTime": schedule.updated_time,
        "createdBy": schedule.created_by,
        "updatedBy": schedule.updated_by,
    }
    if schedule.overlap_policy is not Overlap.ALLOW:
        written["overlapPolicy"] = schedule.overlap_policy.value
    if schedule.tags:
        written["tags"] = [dict(tag) for tag in schedule.tags]
    return _without_none(written)


def schedule_from_json(stored: Json) -> Schedule:
    """Read a schedule."""
    return Schedule(
        name=stored["name"],
        start_workflow_request=stored["startWorkflowRequest"],
        cron_expression=stored.get("cronExpression"),
        zone_id=stored.get("zoneId", "UTC"),
        cron_schedules=tuple(
            CronSchedule(cron_expression=one["cronExpression"], zone_id=one["zoneId"])
            for one in stored.get("cronSchedules", ())
        ),
        run_catchup_schedule_instances=stored.get("runCatchupScheduleInstances", False),
        paused=stored.get("paused", False),
        paused_reason=stored.get("pausedReason"),
        schedule_start_time=stored.get("scheduleStartTime"),
        schedule_end_time=stored.get("scheduleEndTime"),
        overlap_policy=Overlap(stored.get("overlapPolicy", "ALLOW")),
        description=stored.get("description"),
        tags=tuple(stored.get("tags", ())),
        create_time=stored.get("createTime", 0),
        updated_time=stored.get("updatedTime", 0),
        created_by=stored.get("createdBy", ""),
        updated_by=stored.get("updatedBy", ""),
    )


def run_to_json(run: ScheduleRun) -> Json:
    """Write a record."""
    return _without_none(
        {
            "executionId": run.execution_id,
            "scheduleName": run.schedule_name,
            "scheduledTime": run.scheduled_time,
            "executionTime": run.execution_time,
            "workflowName": run.workflow_name,
            "workflowId": run.workflow_id or None,
            "state": run.state.value,
            "reason": run.reason,
            "stackTrace": run.stack_trace,
            "zoneId": run.zone_id,
            "startWorkflowRequest": run.start_workflow_request,
        }
    )


def run_from_json(stored: Json) -> ScheduleRun:
    """Read a record."""
    return ScheduleRun(
        execution_id=stored["executionId"],
        schedule_name=stored["scheduleName"],
        scheduled_time=stored["scheduledTime"],
        execution_time=stored["executionTime"],
        workflow_name=stored["workflowName"],
        workflow_id=stored.get("workflowId", ""),
        state=RunState(stored["state"]),
        reason=stored.get("reason"),
        stack_trace=stored.get("stackTrace"),
        zone_id=stored.get("zoneId", "UTC"),
        start_workflow_request=stored.get("startWorkflowRequest", {}),
    )


def dump_schedule(schedule: Schedule) -> bytes:
    """Write a schedule as bytes."""
    return orjson.dumps(schedule_to_json(schedule), default=dict)


def load_schedule(stored: bytes) -> Schedule:
    """Read what ``dump_schedule`` wrote."""
    return schedule_from_json(orjson.loads(stored))


def dump_run(run: ScheduleRun) -> bytes:
    """Write a record as bytes."""
    return orjson.dumps(run_to_json(run), default=dict)


def load_run(stored: bytes) -> ScheduleRun:
    """Read what ``dump_run`` wrote."""
    return run_from_json(orjson.loads(stored))


def _without_none(members: Json) -> Json:
    return {name: value for name, value in members.items() if value is not None}
