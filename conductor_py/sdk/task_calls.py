"""The client's calls about tasks: poll, extend, report, logs, queues.

A poll is sent exactly once: a lost reply costs a claim, a repeated poll would cost two.
``update_task`` and ``extend_task`` may be repeated, because the claim token makes the repeat
harmless.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from conductor_py.errors import InvalidInput
from conductor_py.sdk.document import embed, encode
from conductor_py.sdk.payloads import PayloadKind
from conductor_py.sdk.server import object_of, objects_of, text_of
from conductor_py.sdk.task import ResultStatus, Task, TaskResult

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conductor_py.model.json import JsonObject
    from conductor_py.sdk.payloads import PayloadTransfer
    from conductor_py.sdk.server import Server

_NO_CONTENT = 204


class TaskCalls:
    """Calls below ``/tasks``."""

    _server: Server
    _payloads: PayloadTransfer
    _task_output_threshold_bytes: int

    def poll_task(
        self,
        task_type: str,
        *,
        worker_id: str | None = None,
        domain: str | None = None,
        lease_s: int | None = None,
    ) -> JsonObject | None:
        """Claim one task, or return None; never sent twice. For ``lease_s`` see ``poll_batch``."""
        query = {"workerid": worker_id, "domain": domain, "leaseSeconds": lease_s}
        answer = self._server.call("GET", "tasks", "poll", task_type, query=query, resend=False)
        if answer.status == _NO_CONTENT or not answer.body:
            return None
        return object_of(answer)

    def poll_batch(
        self,
        task_type: str,
        *,
        worker_id: str | None = None,
        count: int = 1,
        timeout_ms: int = 100,
        domain: str | None = None,
        lease_s: int | None = None,
    ) -> list[JsonObject]:
        """Claim up to ``count`` tasks, waiting at most ``timeout_ms`` for the first; never sent
        twice.

        With ``lease_s`` the claim ends so many seconds after the hand-out unless ``extend_task``
        moves its end; a task whose lease ended is given to another worker. Each task carries its
        ``claimToken``.
        """
        query = {
            "workerid": worker_id,
            "domain": domain,
            "count": count,
            "timeout": timeout_ms,
            "leaseSeconds": lease_s,
        }
        answer = self._server.call(
            "GET",
            "tasks",
            "poll",
            "batch",
            task_type,
            query=query,
            resend=False,
            wait_s=timeout_ms / 1000,
        )
        return objects_of(answer)

    def task_input(self, task: Task | JsonObject) -> JsonObject:
        """Return the task's input, downloaded when it is in payload storage."""
        polled = task if isinstance(task, Task) else Task.from_json(task)
        if polled.external_input_path is None:
            return polled.input
        return self._payloads.download(PayloadKind.TASK_INPUT, polled.external_input_path)

    def offload_output(self, result: TaskResult) -> TaskResult:
        """Return the result with its output in payload storage when it is above the threshold."""
        document = encode(result.output)
        if len(document) <= self._task_output_threshold_bytes:
            return result
        path = self._payloads.upload(PayloadKind.TASK_OUTPUT, document)
        if path is None:
            return result
        return replace(result, output={}, external_output_path=path)

    def update_task(
        self,
        result: TaskResult | JsonObject,
        *,
        resend: bool = True,
        timeout_s: float | None = None,
    ) -> str:
        """Report a result and return the task id; a large output is offloaded first.

        A result for an attempt that has ended is a success and changes nothing. Raises
        ``NotFound``, ``Conflict`` (the claim is no longer ours), ``InvalidInput``,
        ``PayloadTooLarge``.
        """
        told = result.to_json() if isinstance(result, TaskResult) else result
        wire = self._offloaded_json(told)
        answer = self._server.call(
            "POST", "tasks", body=encode(wire), resend=resend, timeout_s=timeout_s
        )
        return text_of(answer)

    def update_task_by_ref(
        self, workflow_id: str, ref: str, status: ResultStatus | str, output: JsonObject
    ) -> str | None:
        """Report on the open task of that reference; return its id, None when there is none. Sent
        once.
        """
        answer = self._server.call(
            "POST", "tasks", workflow_id, ref, str(status), body=encode(output), resend=False
        )
        return text_of(answer) or None

    def extend_task(
        self,
        task_id: str,
        claim_token: int,
        lease_s: int,
        progress: JsonObject | None = None,
        *,
        resend: bool = True,
        timeout_s: float | None = None,
    ) -> JsonObject:
        """Move the end of the claim to ``lease_s`` from now; return ``leaseUntil`` (epoch
        milliseconds).

        Raises ``Conflict`` or ``NotFound`` when the task is no longer ours: stop the work and
        report nothing.
        """
        body: dict[str, object] = {"claimToken": claim_token, "leaseSeconds": lease_s}
        if progress is not None:
            body["progress"] = progress
        answer = self._server.call(
            "POST",
            "tasks",
            task_id,
            "extend",
            body=encode(body),
            resend=resend,
            timeout_s=timeout_s,
        )
        return object_of(answer)

    def get_task(self, task_id: str) -> JsonObject:
        """Return the task; raises ``NotFound``."""
        return object_of(self._server.call("GET", "tasks", task_id, resend=True))

    def add_task_log(self, task_id: str, line: str, *, timeout_s: float | None = None) -> None:
        """Append one entry to the task's log; sent once."""
        if not line:
            message = "a log line must not be empty"
            raise InvalidInput(message)
        body = line.encode("utf-8", "replace")
        self._server.call(
            "POST", "tasks", task_id, "log", body=body, resend=False, timeout_s=timeout_s
        )

    def task_logs(self, task_id: str) -> list[JsonObject]:
        """Return the task's log entries, oldest first."""
        return objects_of(self._server.call("GET", "tasks", task_id, "log", resend=True))

    def queue_sizes(self, task_types: Sequence[str]) -> dict[str, int]:
        """Return the number of waiting tasks of each type."""
        query = {"taskType": task_types}
        return _sizes(
            object_of(self._server.call("GET", "tasks", "queue", "sizes", query=query, resend=True))
        )

    def all_queue_sizes(self) -> dict[str, int]:
        """Return the size of every queue by its name."""
        return _sizes(object_of(self._server.call("GET", "tasks", "queue", "all", resend=True)))

    def poll_data(self, task_type: str | None = None) -> list[JsonObject]:
        """Return who polled last and when: of one task type, or of all."""
        if task_type is None:
            return objects_of(
                self._server.call("GET", "tasks", "queue", "polldata", "all", resend=True)
            )
        query = {"taskType": task_type}
        return objects_of(
            self._server.call("GET", "tasks", "queue", "polldata", query=query, resend=True)
        )

    def _offloaded_json(self, result: Mapping[str, object]) -> dict[str, object]:
        wire: dict[str, object] = dict(result)
        document = encode(wire.get("outputData") or {})
        wire["outputData"] = embed(document)
        if len(document) > self._task_output_threshold_bytes:
            path = self._payloads.upload(PayloadKind.TASK_OUTPUT, document)
            if path is not None:
                wire["outputData"] = {}
                wire["externalOutputPayloadStoragePath"] = path
        return wire


def _sizes(listed: JsonObject) -> dict[str, int]:
    return {name: size for name, size in listed.items() if isinstance(size, int)}
