"""Healthy executions beside what is damaged, and whether they go on."""

from __future__ import annotations

from dataclasses import replace

from conductor_py.api import create_app
from conductor_py.api.metrics import Metrics
from conductor_py.engine.system_worker.worker import SystemWorkerOptions
from conductor_py.ports.system_tasks import SystemCall, SystemResult
from conductor_py.wiring.application import show_engine
from tests.builders import simple, typed, workflow
from tests.damage.world import World, schedule_of

_ROUNDS = 40
_PAGES = (
    "/actuator/prometheus",
    "/api/admin/servers",
    "/api/admin/quarantine",
    "/api/tasks/queue/all",
    "/api/tasks/queue/polldata/all",
    "/api/workers",
)
"""What an operator looks at to find out."""


class _Http:
    """An HTTP task that asks nobody."""

    task_type = "HTTP"

    def execute(self, _: SystemCall) -> SystemResult:
        return SystemResult()

    def close(self) -> None:
        """Nothing is kept."""


class Beside:
    """Healthy executions beside what is damaged."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.server = world.server
        self.raised: list[str] = []
        engine = world.server.engine
        workers = replace(engine.system_workers, begin=lambda _, act: act())
        self._worker = workers.worker((_Http(),), SystemWorkerOptions(worker="beside"))
        metrics = Metrics()
        show_engine(metrics, engine)
        self._client = create_app(engine, metrics=metrics.write).test_client()

    def rounds(self, most: int = _ROUNDS) -> int:
        """Tick as the processes do, until nothing is found; how many rounds that took."""
        engine = self.server.engine
        for done in range(most):
            found = 0
            for tick in (
                engine.quarantine.tick,
                self._keep,
                engine.sweeper.tick,
                engine.relay.tick,
                engine.scheduler.tick,
                engine.queue_names.tick,
                self._worker.look,
            ):
                try:
                    found += tick()
                except Exception as error:  # noqa: BLE001 - as ``run_ticks``
                    self.raised.append(f"{type(error).__name__}: {error}")
                    found += 1
            if not found:
                return done
        return most

    def _keep(self) -> int:
        self.server.engine.shards.keep()
        return 0

    def go_on(self, *, waits: bool) -> str:
        """What does not go on; empty when all does."""
        server, clock = self.server, self._world.clock
        try:
            self.rounds()
            started = server.start(workflow("beside", simple("beside")))
            wait = typed("WAIT", "w", inputParameters={"duration": "20 seconds"})
            second = server.start(workflow("beside-wait", wait))
            call = typed("HTTP", "h", inputParameters={"uri": "u"})
            third = server.start(workflow("beside-http", call))
            server.run("beside")
            server.schedule(schedule_of("beside-schedule"))
            for _ in range(4):
                clock.advance(seconds=35)
                self.rounds()
            statuses = [server.workflow(one)["status"] for one in (started, second, third)]
            if statuses != ["COMPLETED"] * 3:
                return f"start, poll, complete, WAIT and HTTP ended as {statuses}"
            if waits and (status := server.workflow(self._world.waiting)["status"]) != "COMPLETED":
                return f"the WAIT from before is {status}"
            if not server.poll("t", 10):
                return "the schedule did not fire"
            if server.ports.search.archived(started) is None:
                return "an effect was not carried out"
            if (turns := self.rounds()) > 20:
                return f"it loops: {turns} rounds, {self.raised[-1:]}"
            for page in _PAGES:
                if (answer := self._client.get(page)).status_code != 200:
                    return f"{page} answers {answer.text[:200]}"
        except Exception as error:  # noqa: BLE001 - told by what it is
            return f"{type(error).__name__}: {str(error)[:200]}"
        return ""
