"""The system-task worker: claims tasks of the types that the engine carries out itself.

It is a worker like any other: claims with a lease that it keeps extending, results under its
claim. One thread looks at the queues, woken by what commits publish; each call has a thread of its
own, and there are never more calls than slots, those apart that last and have room beside. Killed
at any moment it loses nothing: its claims end, and the tasks are offered again without using up a
retry.
"""

from __future__ import annotations

import logging
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final, cast

from conductor_py.codec.execution import dump_document
from conductor_py.engine.clock import StoreClock
from conductor_py.engine.payloads.reading import PayloadReader
from conductor_py.engine.quiet import Quiet, last_change
from conductor_py.engine.system_worker.claim_keeper import ClaimKeeper, Hold
from conductor_py.engine.system_worker.lanes import Lane, Lanes, Served
from conductor_py.engine.tasks.tasks import Tasks
from conductor_py.errors import ConductorError, Conflict, NotFound, PayloadTooLarge, StoreFailure
from conductor_py.model.json import JsonObject
from conductor_py.model.requests import PollRequest, TaskResult
from conductor_py.model.status import TaskStatus
from conductor_py.ports.queues import TaskQueues
from conductor_py.ports.system_tasks import SystemCall, SystemResult, SystemTask
from conductor_py.ports.wakeups import FAMILY, Wakeups
from conductor_py.records import dataclass, field

_log = logging.getLogger(__name__)

_OWN_TOPIC: Final = "w:system-tasks"
_LIMITED_LOOK_S: Final = 10.0
_PAUSE_S: Final = 1.0
_FIRST_PAUSE_S: Final = 0.1
_LONGEST_PAUSE_S: Final = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemWorkerOptions:
    """``max_poll`` bounds what one look claims; ``lease_s`` is the length of a claim, ``idle_s``
    the time between two looks without a wake-up, ``find_s`` that between two searches for new
    queues, ``drain_s`` how long an end waits for calls under way.
    """

    worker: str
    served: Served = field(default_factory=Served)
    max_poll: int = 16
    lease_s: int = 15
    idle_s: float = 1.0
    find_s: float = 10.0
    drain_s: float = 30.0


def in_a_thread(name: str, act: Callable[[], None]) -> None:
    """Begin something that goes on beside; ``RuntimeError`` when there is no thread for it."""
    threading.Thread(target=act, name=name, daemon=True).start()


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemWorkers:
    """What a system-task worker works over; makes them.

    ``begin`` begins a call, and ``rest`` waits for an event at most so many seconds.
    """

    tasks: Tasks
    queues: TaskQueues
    wakeups: Wakeups
    payloads: PayloadReader
    clock: StoreClock
    monotonic: Callable[[], float] = time.monotonic
    quiet: Quiet | None = None
    begin: Callable[[str, Callable[[], None]], None] = in_a_thread
    rest: Callable[[threading.Event, float], bool] = threading.Event.wait

    def worker(
        self, system_tasks: Iterable[SystemTask], options: SystemWorkerOptions
    ) -> SystemWorker:
        """Make a worker for the types of ``system_tasks``."""
        return SystemWorker(self, system_tasks, options)


class SystemWorker:
    """Carries out system tasks."""

    def __init__(
        self,
        services: SystemWorkers,
        system_tasks: Iterable[SystemTask],
        options: SystemWorkerOptions,
    ) -> None:
        """Serve the types of ``system_tasks``."""
        self._services = services
        self._options = options
        self._monotonic = services.monotonic
        self._wakeups = services.wakeups
        self._lanes = Lanes({task.task_type: task for task in system_tasks}, options.served)
        self._lock = threading.Lock()
        self._find_at = 0.0
        self._families: dict[str, int] = {}
        self.keeper = ClaimKeeper(
            services.tasks,
            worker=options.worker,
            lease_s=options.lease_s,
            monotonic=services.monotonic,
        )

    def run(self, stop: threading.Event) -> bool:
        """Work until ``stop``, then wait for the calls under way; tells whether all have ended."""
        over = threading.Event()
        for name, target, argument in (
            ("claim-keeper", self.keeper.run, over),
            ("system-worker-stop", self._wake_at, stop),
        ):
            threading.Thread(target=target, args=(argument,), name=name, daemon=True).start()
        while not stop.is_set():
            try:
                self.look_or_wait()
            except ConductorError as error:
                facts = {"action": "system_poll_failed", "error": error.message}
                _log.warning("the queues of system tasks could not be read", extra=facts)
                stop.wait(_PAUSE_S)
            except Exception:  # noqa: BLE001 - nothing may end the loop but a stop
                _log.exception("a look at the queues failed", extra={"action": "look_failed"})
                stop.wait(_PAUSE_S)
        drained = self._drain()
        over.set()
        return drained

    def look_or_wait(self) -> None:
        """Look at the queues; where they have nothing, wait for a wake-up or the next look."""
        seen = {topic: self._wakeups.ticket(topic) for topic in self._topics()}
        if not self.look():
            self._wakeups.wait_any(seen, self._until_next_look())

    def look(self) -> int:
        """Look at the queues that may have something, begin what they hand out; how many that is.

        No more is claimed than can begin at once.
        """
        self._find()
        claimed = 0
        for lane in tuple(self._lanes.by_queue.values()):
            claimed += self._look_at(lane)
        return claimed

    def _topics(self) -> tuple[str, ...]:
        return (_OWN_TOPIC, *self._lanes.topics())

    def _wake_at(self, stop: threading.Event) -> None:
        stop.wait()
        self._wakeups.wake(_OWN_TOPIC)

    def _find(self) -> None:
        """Look for new queues, when it is time or a family of them says that there may be one."""
        families = {
            topic: self._wakeups.ticket(topic)
            for topic in self._lanes.topics()
            if topic.endswith(FAMILY)
        }
        now = self._monotonic()
        if families == self._families and now < self._find_at:
            return
        self._lanes.find(self._services.queues.names(None))
        self._families, self._find_at = families, now + self._options.find_s

    def _look_at(self, lane: Lane) -> int:
        ticket, now = self._wakeups.ticket(f"q:{lane.queue}"), self._monotonic()
        with self._lock:
            wanted = min(lane.slots.free(now), self._options.max_poll)
        quiet = self._services.quiet
        if ticket == lane.ticket and quiet is not None and quiet.last == lane.seen:
            lane.look_at = self._next_look(lane, 0)
        if wanted <= 0 or (ticket == lane.ticket and now < lane.look_at):
            return 0
        seen = last_change(quiet)
        request = PollRequest(
            task_type=lane.queue,
            worker=self._options.worker,
            count=wanted,
            timeout_ms=0,
            lease_s=self._options.lease_s,
        )
        documents, retry_at = self._services.tasks.take(request, lane.task.task_type)
        lane.ticket = ticket
        lane.seen = -1 if documents or retry_at else seen
        lane.look_at = now if len(documents) == wanted else self._next_look(lane, retry_at)
        self._begin_all(lane, documents)
        return len(documents)

    def _next_look(self, lane: Lane, retry_at: int) -> float:
        # Queues of single definitions may be many: they rely on wake-ups and due times longer.
        rest = _LIMITED_LOOK_S if FAMILY in lane.queue else self._options.idle_s
        if retry_at:
            rest = min(rest, max(retry_at - self._services.clock.now_ms(), 1) / 1000)
        return self._monotonic() + rest

    def _until_next_look(self) -> float:
        now = self._monotonic()
        with self._lock:
            waiting = [
                lane.look_at if lane.slots.free(now) > 0 else lane.slots.frees_at(now)
                for lane in self._lanes.by_queue.values()
            ]
        return max(min([*waiting, self._find_at]) - now, 0.0)

    def _begin_all(self, lane: Lane, documents: Iterable[JsonObject]) -> None:
        """Begin what can begin; a claim without a thread ends by its time, at no retry's cost."""
        refused: RuntimeError | None = None
        for document in documents:
            try:
                self._begin(lane, document)
            except RuntimeError as error:
                refused = error
        if refused is not None:
            raise refused

    def _begin(self, lane: Lane, document: JsonObject) -> None:
        with self._lock:
            slot = lane.slots.begin(self._monotonic())
        name = f"{lane.task.task_type}-{document['taskId']}"
        try:
            self._services.begin(name, partial(self._occupy, lane, slot, document))
        except Exception:
            self._leave(lane, slot)
            raise

    def _leave(self, lane: Lane, slot: int) -> None:
        with self._lock:
            lane.slots.end(slot)

    def _occupy(self, lane: Lane, slot: int, document: JsonObject) -> None:
        """Carry a task out in a slot, which is free again whatever comes of that."""
        try:
            with self._services.payloads.place.scope():
                self._carry_out(lane.task, document)
        except Exception:  # noqa: BLE001 - the claim ends by its time, and the task comes again
            facts = {"action": "call_failed", "task_id": document["taskId"]}
            _log.exception("a call ended without a result", extra=facts)
        finally:
            self._leave(lane, slot)
            self._wakeups.wake(_OWN_TOPIC)

    def _carry_out(self, task: SystemTask, document: JsonObject) -> None:
        call = _call(document)
        claim = cast("int", document.get("claimToken", 0))
        response_s = cast("int", document.get("responseTimeoutSeconds", 0))
        hold = self.keeper.hold(call, claim, response_s)
        try:
            result = self._result(task, call, document)
            if call.cancelled.is_set() and result.status.terminal and not result.status.successful:
                # It may have failed for being cancelled, which is not to cost a retry.
                facts = {"action": "cancelled_call_failed", "task_id": call.task_id}
                _log.info("a call failed that was cancelled", extra=facts)
            else:
                self._report(call, hold, result)
        except StoreFailure as error:
            # Nothing was begun: the claim ends by its time, and no retry is used up.
            facts = {"action": "input_not_read", "task_id": call.task_id}
            _log.warning("an input could not be read", extra={**facts, "error": error.message})
        finally:
            self.keeper.release(hold)

    def _result(self, task: SystemTask, call: SystemCall, document: JsonObject) -> SystemResult:
        try:
            result = task.execute(self._whole(call, document))
            # What cannot be stored is a fault of the system task, too.
            dump_document(result.output)
            return result
        except PayloadTooLarge as refused:
            status = TaskStatus.FAILED_WITH_TERMINAL_ERROR
            return SystemResult(status=status, reason=refused.message)
        except StoreFailure:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, it costs this task alone
            # The message and the values of a failure may be secrets; where it was is none.
            at = traceback.extract_tb(error.__traceback__)[-1]
            facts = {
                "action": "system_task_failed",
                "task_id": call.task_id,
                "task_type": call.task_type,
                "error": type(error).__name__,
                "where": f"{at.filename}:{at.lineno}",
            }
            _log.error("a system task raised an error", extra=facts)
            reason = f"{call.task_type} raised {type(error).__name__}"
            return SystemResult(status=TaskStatus.FAILED, reason=reason)

    def _whole(self, call: SystemCall, document: JsonObject) -> SystemCall:
        """The call with its input, fetched when it lies in payload storage."""
        path = document.get("externalInputPayloadStoragePath")
        if not isinstance(path, str):
            return call
        found = self._services.payloads.value(path)
        # A call may wait for its peer, and nobody is to wait with it.
        self._services.payloads.place.leave()
        return _call({**document, "inputData": found}, call.cancelled)

    def _report(self, call: SystemCall, hold: Hold, result: SystemResult) -> None:
        """Report for as long as the claim is ours: what was done is not to be done again."""
        reported = TaskResult(
            workflow_id=call.workflow_id,
            task_id=call.task_id,
            status=result.status,
            output=result.output,
            reason=result.reason,
            claim=hold.claim,
            worker=self._options.worker,
            callback_after_s=result.callback_after_s,
        )
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                self._services.tasks.update(reported)
            except (Conflict, NotFound):
                return
            except ConductorError as error:
                facts = {"action": "result_not_taken", "task_id": call.task_id}
                _log.warning(
                    "a result could not be reported", extra={**facts, "error": error.message}
                )
                self._services.payloads.place.leave()  # it may be long until it is taken
                if not error.retryable or self._services.rest(call.cancelled, pause_s):
                    return
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
            else:
                return

    def _drain(self) -> bool:
        """Wait for the calls under way."""
        if under_way := self._lanes.in_use():
            facts = {"action": "system_worker_drains", "under_way": under_way}
            _log.info("no more tasks are taken; the calls under way may end", extra=facts)
        end = self._monotonic() + self._options.drain_s
        while self._lanes.in_use():
            seen = {_OWN_TOPIC: self._wakeups.ticket(_OWN_TOPIC)}
            left = end - self._monotonic()
            if left <= 0:
                return False
            if self._lanes.in_use():
                self._wakeups.wait_any(seen, left)
        return True


def _call(document: Mapping[str, Any], cancelled: threading.Event | None = None) -> SystemCall:
    task = document["workflowTask"]
    value = document["inputData"]
    asynchronous = value.get("asyncComplete", task.get("asyncComplete", False))
    return SystemCall(
        task_id=document["taskId"],
        workflow_id=document["workflowInstanceId"],
        ref=document["referenceTaskName"],
        task_type=document["taskType"],
        definition=document["taskDefName"],
        input=value,
        retry_count=document["retryCount"],
        async_complete=asynchronous is True,
        cancelled=cancelled or threading.Event(),
    )
