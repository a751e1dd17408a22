"""The forms of what watches over executions and of what a server says about itself. Answers are
written by hand; nothing here is on their way.
"""

from __future__ import annotations

from conductor_py.wire.fields import (
    Choice,
    Flag,
    Many,
    One,
    Payload,
    Text,
    Texts,
    Whole,
    WireSchema,
)


class CauseForm(WireSchema):
    """Why an execution, or one of its tasks, is not moving: in a sentence, with what to do about it
    and what shows it. Times are in milliseconds since the epoch.
    """

    code = Text(required=True)
    sentence = Text(required=True)
    advice = Text(required=True)
    workflow_id = Text(required=True)
    task_id = Text()
    reference_task_name = Text()
    since = Whole()
    until = Whole()
    sub_workflow_id = Text()
    evidence = Payload()


class ExplanationForm(WireSchema):
    """Why an execution is not moving: the cause that matters most, and those of all open tasks.
    ``path`` leads down to the sub-workflow whose cause it is.
    """

    workflow_id = Text(required=True)
    cause = One(lambda: _CAUSE, required=True)
    causes = Many(lambda: _CAUSE, required=True)
    path = Texts()


class FindingForm(WireSchema):
    """What an audit found; ``invariant`` is empty where none is violated."""

    code = Text(required=True)
    invariant = Text(required=True)
    meaning = Text(required=True)
    subject = Text(required=True)
    task = Text(required=True)
    detail = Text(required=True)


class AuditForm(WireSchema):
    """What an audit of a page of the store found. The next page begins at ``cursor``; empty: that
    was the last.
    """

    executions = Whole(required=True)
    keys = Whole(required=True)
    cursor = Text(required=True)
    violations = Whole(required=True)
    findings = Many(lambda: _FINDING, required=True)


class QuarantinedForm(WireSchema):
    """An execution that cannot be decided: since when, how often it was tried, why, and when it is
    tried again.
    """

    workflow_id = Text(required=True)
    since = Whole(required=True)
    tries = Whole(required=True)
    reason = Text(required=True)
    retry_at = Whole(required=True)


class DamagedForm(WireSchema):
    """What cannot be read: its name, since when, how often it was looked at, why, and when it is
    next.
    """

    entry = Text(required=True)
    since = Whole(required=True)
    tries = Whole(required=True)
    reason = Text(required=True)
    retry_at = Whole(required=True)


class QuarantineForm(WireSchema):
    """A page of the executions that cannot be decided, and all that cannot be read."""

    total_hits = Whole(required=True)
    results = Many(lambda: _QUARANTINED, required=True)
    damaged = Many(lambda: _DAMAGED, required=True)


class DamagedEntryForm(WireSchema):
    """The name of what was damaged."""

    entry = Text(required=True)


class QuarantineDropForm(WireSchema):
    """The execution that was terminated."""

    workflow_id = Text(required=True)


class QuarantineRetryForm(WireSchema):
    """Whether an execution in quarantine was decided."""

    workflow_id = Text(required=True)
    decided = Flag(required=True)


class QuarantineRetriesForm(WireSchema):
    """How many executions in quarantine were decided, and how many were not. ``left`` are to be
    tried yet: go on at ``cursor``; empty: that were all.
    """

    decided = Whole(required=True)
    failed = Whole(required=True)
    left = Whole(required=True)
    cursor = Text(required=True)


class HealthResultForm(WireSchema):
    """How one store is; ``message`` says what is wrong. ``healthy`` is false when it is down."""

    name = Text(required=True)
    healthy = Flag(required=True)
    status = Choice(("UP", "DEGRADED", "DOWN"))
    message = Text()


class HealthForm(WireSchema):
    """Whether the server can work."""

    healthy = Flag(required=True)
    health_results = Many(lambda: _HEALTH_RESULT, required=True)
    suppressed_health_results = Many(lambda: _HEALTH_RESULT, required=True)


class ActuatorHealthForm(WireSchema):
    """Whether the server can work, in Spring's words. ``components`` has of each store, by its
    name, a ``status`` (``UP``, ``DEGRADED``, ``DOWN``) and ``details`` of what is wrong.
    """

    status = Choice(("UP", "DOWN"), required=True)
    components = Payload()


class BuildForm(WireSchema):
    """Name and version of this software."""

    name = Text(required=True)
    version = Text(required=True)


class ActuatorInfoForm(WireSchema):
    """What this software is."""

    build = One(lambda: _BUILD, required=True)


class QueueShardForm(WireSchema):
    """How many tasks wait in one shard of a queue, and how many of it are with workers."""

    size = Whole(required=True)
    uacked = Whole(required=True)


class DoneForm(WireSchema):
    """It was done."""

    status = Choice(("done",), required=True)


class RequeuedSchedulesForm(WireSchema):
    """How many schedules were put back, and some of their names."""

    record_ids_size = Whole(required=True, data_key="recordIds.size")
    sample_ids = Texts(required=True)


class GuaranteeForm(WireSchema):
    """What one sink of a job promises; without a ``guarantee`` none."""

    sink = Text(required=True)
    guarantee = Text(allow_none=True)
    because = Text(required=True)


class PlannedPipelineForm(WireSchema):
    """One pipeline that a job is cut into."""

    id = Text(required=True)
    plan_hash = Text(required=True)
    driver = Choice(("rounds", "streaming"), required=True)
    because = Text(required=True)
    stages = Many(lambda: _STAGE, required=True)
    guarantees = Many(lambda: _GUARANTEE, required=True)


class PlannedInputForm(WireSchema):
    """Where an input of a node comes from; ``exchange``: through storage, from another stage."""

    input = Text(required=True)
    from_ = Text(required=True, data_key="from")
    exchange = Flag(required=True)


class PlannedNodeForm(WireSchema):
    """A source, transform or sink in its stage. A source says how it is read (``splits``), a
    transform how far it reaches, a sink what it promises.
    """

    id = Text(required=True)
    kind = Text(required=True)
    hash = Text(required=True)
    role = Choice(("source", "transform", "sink"), required=True)
    reads = Many(lambda: _INPUT, required=True)
    splits = Text(allow_none=True)
    reach = Text()
    parallelism = Whole()
    guarantee = Text(allow_none=True)
    because = Text()


class PlannedExchangeForm(WireSchema):
    """What a stage leaves for the next: ``output`` of it, read by ``to``."""

    to = Text(required=True)
    output = Text(required=True)


class PlannedStageForm(WireSchema):
    """One stage of a pipeline: its nodes, and what it leaves for the next."""

    number = Whole(required=True)
    nodes = Many(lambda: _NODE, required=True)
    exchanges = Many(lambda: _EXCHANGE, required=True)


class JobPlanForm(WireSchema):
    """How the job of a data pipeline is cut, and what its sinks promise."""

    name = Text(required=True)
    mode = Text(required=True)
    pipelines = Many(lambda: _PIPELINE, required=True)


_CAUSE: WireSchema = CauseForm()
_FINDING: WireSchema = FindingForm()
_QUARANTINED: WireSchema = QuarantinedForm()
_DAMAGED: WireSchema = DamagedForm()
_HEALTH_RESULT: WireSchema = HealthResultForm()
_BUILD: WireSchema = BuildForm()
_INPUT: WireSchema = PlannedInputForm()
_NODE: WireSchema = PlannedNodeForm()
_EXCHANGE: WireSchema = PlannedExchangeForm()
_STAGE: WireSchema = PlannedStageForm()
_GUARANTEE: WireSchema = GuaranteeForm()
_PIPELINE: WireSchema = PlannedPipelineForm()

FORMS: tuple[WireSchema, ...] = (
    _CAUSE,
    ExplanationForm(),
    _FINDING,
    AuditForm(),
    _QUARANTINED,
    _DAMAGED,
    QuarantineForm(),
    DamagedEntryForm(),
    QuarantineDropForm(),
    QuarantineRetryForm(),
    QuarantineRetriesForm(),
    _HEALTH_RESULT,
    HealthForm(),
    ActuatorHealthForm(),
    _BUILD,
    ActuatorInfoForm(),
    QueueShardForm(),
    DoneForm(),
    RequeuedSchedulesForm(),
    _GUARANTEE,
    _INPUT,
    _NODE,
    _EXCHANGE,
    _STAGE,
    _PIPELINE,
    JobPlanForm(),
)
"""The forms of this module, for the published schemas."""
