"""Small scenarios whose every part is said."""

from __future__ import annotations

from conductor_py.testing.author import WORKER
from conductor_py.testing.definitions import Json, fork, join, simple, sub_workflow, workflow
from conductor_py.testing.simulation.faults import Fault
from conductor_py.testing.simulation.scenario import Action, Deployment, Scenario


def task(ref: str, **policy: object) -> Json:
    """A worker task with short timeouts."""
    definition = {"name": WORKER, "retryCount": 2, "responseTimeoutSeconds": 5, **policy}
    made = simple(ref, name=WORKER, taskDefinition={"retryDelaySeconds": 0, **definition})
    del made["retryCount"]
    return made


def forked() -> Json:
    child = workflow("c", task("x"))
    return workflow(
        "w0",
        fork("f", [task("a")], [task("b"), task("b2")]),
        join("j", "a", "b2"),
        sub_workflow("u", child),
        task("z"),
    )


def scene(
    *faults: Fault,
    seed: int = 2,
    definition: Json | None = None,
    starts: int = 2,
    span_ms: int = 6_000,
    actions: tuple[Action, ...] = (),
    **deployment: object,
) -> Scenario:
    """Two executions of a fork, and these faults."""
    begun = tuple(Action(at_ms=20 + 40 * number, verb="start") for number in range(starts))
    return Scenario(
        seed=seed,
        weather="said",
        deployment=Deployment(**{"apis": 2, "sweepers": 2, "workers": 2, **deployment}),  # type: ignore[arg-type]
        definitions=(definition or forked(),),
        schedules=(),
        actions=(*begun, *actions),
        faults=faults,
        span_ms=span_ms,
    )
