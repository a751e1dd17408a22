"""What is there when a run begins, and the engine of each process: production's, behind gates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conductor_py.codec.definitions import (
    dump_task_def,
    dump_workflow,
    task_def_from_json,
    workflow_from_json,
)
from conductor_py.codec.schedules import dump_schedule, schedule_from_json
from conductor_py.decider.workspace import Limits
from conductor_py.engine import Engine
from conductor_py.engine.assembly import assemble
from conductor_py.engine.decisions.encoding import PayloadLimits
from conductor_py.engine.effects.notifications import Listeners
from conductor_py.engine.port_set import Ports
from conductor_py.engine.shards import LOCAL_ONLY, ROUND_ROBIN, Shards
from conductor_py.model.schedules import next_run
from conductor_py.testing.simulation.gates import Gate, SimulatedMachine, gated
from conductor_py.testing.simulation.process import ApiServer, Server, Sweeper
from conductor_py.testing.simulation.scenario import Scenario

if TYPE_CHECKING:
    from conductor_py.testing.simulation.world import World

_STAYS_MS = 3_000
"""Less than in a deployment, as runs are short; more than what is sent again here takes."""


def register(scenario: Scenario, ports: Ports, now_ms: int) -> None:
    """Store the definitions and schedules that are there from the beginning."""
    for task in scenario.tasks:
        task_definition = task_def_from_json(task)
        document = dump_task_def(task_definition)
        ports.metadata.put_task(task_definition.name, document, must_exist=False)
    for found in (*scenario.others, *scenario.definitions):
        definition = workflow_from_json(found)
        ports.metadata.put_workflow(
            definition.name, definition.version, dump_workflow(definition), create=False
        )
    for stored in scenario.schedules:
        schedule = schedule_from_json(stored)
        next_ms = next_run(schedule, now_ms) or 0
        ports.schedules.put(
            schedule.name, dump_schedule(schedule), version=0, next_ms=next_ms, armed=True
        )


def build_engine(world: World, server: Server, shard_registry: object) -> Engine:
    """Make the engine of a process."""
    deployment = world.scenario.deployment
    machine = SimulatedMachine(server)
    number = server.name.rpartition("-")[2]
    is_sweeper = isinstance(server, Sweeper)
    hand_on = server.hand_on if isinstance(server, Sweeper) and deployment.effects else None
    registry: Any = Gate(server, "shards", shard_registry)
    shards = Shards(
        registry,
        f"server-{number}" if isinstance(server, ApiServer) else server.name,
        strategy=LOCAL_ONLY if deployment.local_only else ROUND_ROBIN,
        serves_all=not isinstance(server, ApiServer),
        sweeps=is_sweeper,
        lease_ms=deployment.shard_lease_ms,
        monotonic=machine.monotonic,
    )
    soft = deployment.soft_bytes
    return assemble(
        gated(server, world.ports),
        shards,
        version="simulation",
        limits=Limits(
            attempts=deployment.decision_attempts,
            rounds=deployment.decision_rounds,
            workflow_notices=deployment.is_listened_to,
        ),
        payload_limits=PayloadLimits(
            task_output_soft=soft, workflow_output_soft=soft, task_input_soft=soft
        ),
        partitions=deployment.partitions,
        lease_ms=deployment.lease_ms,
        remove_after_ms=deployment.remove_after_ms,
        stays_ms=_STAYS_MS,
        monotonic=machine.monotonic,
        sweep_batch=deployment.sweep_batch,
        enqueue=hand_on,
        effects_give_way=is_sweeper and not deployment.effects,
        machine=machine,
        listeners=Listeners(workflow_url="http://listener/" if deployment.is_listened_to else ""),
    )


__all__ = ["build_engine", "register"]
