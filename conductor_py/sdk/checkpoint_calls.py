"""The client's calls about what long tasks keep.

Those of a worker may all be repeated: the claim token, the epoch, and the position of notes make a
repeat harmless. Those of an operator may too: the newest request replaces the one before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conductor_py.sdk.document import encode
from conductor_py.sdk.server import object_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conductor_py.model.json import JsonObject
    from conductor_py.sdk.server import Server


class CheckpointCalls:
    """Calls below ``/tasks/{id}/checkpoints`` and ``/workflow/{id}/checkpoints``."""

    _server: Server

    # -- for who works on a task -------------------------------------------------------------------

    def acquire_checkpoints(self, task_id: str, claim_token: int) -> JsonObject:
        """Refuse all lower tokens from now on; return what the task keeps. Raises ``ClaimLost``,
        ``NotFound``.
        """
        body = encode({"claimToken": claim_token})
        return object_of(
            self._server.call("POST", "tasks", task_id, "checkpoints", body=body, resend=True)
        )

    def append_notes(
        self,
        task_id: str,
        claim_token: int,
        part: str,
        notes: Sequence[Mapping[str, object]],
        *,
        epoch: int | None = None,
        position: int | None = None,
    ) -> int:
        """Append notes and return how many there are since the newest record. Sent again while the
        server is away only with ``epoch`` and ``position``.

        Raises ``ClaimLost``, ``EpochConflict``, ``NotesConflict``, ``PayloadTooLarge``.
        """
        body: dict[str, object] = {"claimToken": claim_token, "notes": list(notes)}
        if epoch is not None:
            body["epoch"] = epoch
        if position is not None:
            body["position"] = position
        answer = self._server.call(
            "POST",
            "tasks",
            task_id,
            "checkpoints",
            part,
            "notes",
            body=encode(body),
            resend=epoch is not None and position is not None,
        )
        kept = object_of(answer).get("notes")
        return kept if isinstance(kept, int) else 0

    def put_checkpoint(
        self,
        task_id: str,
        claim_token: int,
        part: str,
        record: Mapping[str, object],
        *,
        expected: int,
        epoch: int,
        retain: int | None = None,
        resend: bool = True,
    ) -> JsonObject:
        """Replace the record of the epoch ``expected``; ``epoch`` is that or one more. Returns
        epoch and hash. Without ``resend`` an answer that is lost is an error: a refusal then says
        for certain that nothing was replaced.

        Raises ``ClaimLost``, ``EpochConflict``, ``PayloadTooLarge``.
        """
        body: dict[str, object] = {
            "claimToken": claim_token,
            "record": record,
            "expectedEpoch": expected,
            "epoch": epoch,
        }
        if retain is not None:
            body["retain"] = retain
        path = ("tasks", task_id, "checkpoints", part)
        return object_of(self._server.call("PUT", *path, body=encode(body), resend=resend))

    def get_checkpoints(self, task_id: str) -> JsonObject:
        """Return what a task keeps; raises ``NotFound``."""
        return object_of(self._server.call("GET", "tasks", task_id, "checkpoints", resend=True))

    def get_checkpoint(
        self, task_id: str, part: str, *, epoch: int | None = None, savepoint: str | None = None
    ) -> JsonObject:
        """Return one part, or with ``epoch`` or ``savepoint`` that record of it; raises
        ``NotFound``.
        """
        path = ("tasks", task_id, "checkpoints", part)
        query = {"epoch": epoch, "savepoint": savepoint}
        return object_of(self._server.call("GET", *path, query=query, resend=True))

    # -- for who operates it -----------------------------------------------------------------------

    def workflow_checkpoints(self, workflow_id: str) -> JsonObject:
        """Return what the tasks of an execution keep, by reference; raises ``NotFound``."""
        path = ("workflow", workflow_id, "checkpoints")
        return object_of(self._server.call("GET", *path, resend=True))

    def stop_task(
        self, workflow_id: str, ref: str, *, savepoint: str | None = None, now: bool = False
    ) -> JsonObject:
        """Ask a long task to stop where it can go on later, keeping its last records under the name
        ``savepoint``; ``now``: without finishing what is under way. Raises ``Conflict``.
        """
        body: dict[str, object] = {"now": now}
        if savepoint is not None:
            body["savepoint"] = savepoint
        return self._ask(workflow_id, ref, "stop", body)

    def pause_task(self, workflow_id: str, ref: str) -> JsonObject:
        """Ask a long task to wait; it stays with its worker."""
        return self._ask(workflow_id, ref, "pause", {})

    def cancel_task(self, workflow_id: str, ref: str) -> JsonObject:
        """Ask a long task to end for good; it fails."""
        return self._ask(workflow_id, ref, "cancel", {})

    def resume_task(
        self,
        workflow_id: str,
        ref: str,
        *,
        savepoint: str | None = None,
        epoch: int | None = None,
        part: str | None = None,
        rewind: bool = False,
    ) -> JsonObject:
        """Let a long task run on: from where it is, from a savepoint, or ``part`` from an epoch.
        ``rewind`` allows what came after an older record to be taken back.

        Raises ``Conflict`` (from an older record: while somebody works on it), ``NotFound``.
        """
        given = {"savepoint": savepoint, "epoch": epoch, "part": part, "rewind": rewind or None}
        body = {name: value for name, value in given.items() if value is not None}
        return self._ask(workflow_id, ref, "resume", body)

    def take_savepoint(self, workflow_id: str, ref: str, name: str) -> JsonObject:
        """Keep the newest records of a long task under a name. Sent once; raises ``Conflict``."""
        return self._ask(workflow_id, ref, "savepoint", {"name": name}, resend=False)

    def delete_savepoint(self, workflow_id: str, ref: str, name: str) -> None:
        """Forget a savepoint; raises ``NotFound``, ``Conflict`` while it is needed. Sent once."""
        path = ("workflow", workflow_id, "checkpoints", ref, "savepoints", name)
        self._server.call("DELETE", *path, resend=False)

    def _ask(
        self,
        workflow_id: str,
        ref: str,
        verb: str,
        body: Mapping[str, object],
        *,
        resend: bool | None = None,
    ) -> JsonObject:
        again = "savepoint" not in body if resend is None else resend
        path = ("workflow", workflow_id, "checkpoints", ref, verb)
        return object_of(self._server.call("POST", *path, body=encode(body), resend=again))
