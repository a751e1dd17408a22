"""I1, I3, I4, I5: what is claimed, extended and ended by time, seen from both sides of the call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from conductor_py.adapters.memory.claims import (
    attempt_of,
    claim_side,
    is_open,
    nearest_deadline,
)
from conductor_py.adapters.memory.space import Execution
from conductor_py.model.ids import ExecutionId
from conductor_py.ports.queues import Claimed
from conductor_py.ports.store import Commit, Outcome
from conductor_py.testing.simulation.findings import Before

if TYPE_CHECKING:
    from conductor_py.testing.simulation.world import World

Call = Callable[..., Any]
Look = Callable[[Execution], None]
_LOOK_EVERY: Final = 3
_SLACK_MS: Final = 1_500
"""How far a server's estimate of the store's time may be off."""


class Claiming:
    """Stands around the calls that hand out, extend and fire."""

    def __init__(self, world: World, look: Look) -> None:
        """``look`` recounts one execution."""
        self._world = world
        self._look = look
        self._time_is_sound = True
        self._polls = 0

    def clock_stepped(self) -> None:
        """From here on a deadline that had passed may lie ahead again."""
        self._time_is_sound = False

    # -- extensions --------------------------------------------------------------------------------

    def extend(self, call: Call, execution: ExecutionId, seq: int, claim: int, *given: Any) -> Any:
        """I1, I4, I10: only a claim that holds is extended, and what hangs on it with it."""
        stored, now = self._find(execution), self._world.space.clock()
        before = Before.of(stored)
        reply = call(execution, seq, claim, *given)
        if stored is None or before is None:
            return reply
        what = self._world.names.of_attempt(execution, seq)
        self._world.counts[f"extension {reply[0].value}"] += 1
        if reply[0] is not Outcome.OK:
            if not before.is_still(stored):
                self._bad("I1", f"an extension that was refused ({reply[0].value}) changed {what}")
            return reply
        side = before.claim(seq)
        if claim and claim != side.k:
            self._bad("I1", f"{what} is extended under a claim of before")
        if stored.terminal or not side.held or 0 < side.until <= now:
            self._bad("I1", f"{what} is extended after its claim has ended")
        self._hangs_on(stored, seq)
        return reply

    def _hangs_on(self, stored: Execution, seq: int) -> None:
        """The timer and the permit of a claim end when the claim does."""
        partition = self._world.space.of(ExecutionId(stored.id))
        attempt, side = attempt_of(stored.fields[f"a:{seq}"]), claim_side(stored, seq)
        member, at = f"{stored.id}-{seq}", nearest_deadline(attempt, side)
        what = self._world.names.of_attempt(stored.id, seq)
        if at and partition.timers[stored.home].scores.get(f"a:{member}") != at:
            self._bad("I4", f"{what} is extended, and its timer is not")
        if side.permit and partition.permits[attempt.definition].scores.get(member) != side.until:
            self._bad("I10", f"{what} is extended, and its permit is not")

    # -- polls -------------------------------------------------------------------------------------

    def handed_out(self, claimed: Claimed) -> None:
        """I2, I3: only what is open, of what runs."""
        stored = self._find(claimed.execution)
        what = self._world.names.of_attempt(claimed.execution, claimed.seq)
        if stored is None or stored.status == "PAUSED":
            self._bad("I3", f"{what} is handed out, and its execution is not running")
        elif not is_open(stored, claimed.seq, attempt_of(stored.fields[f"a:{claimed.seq}"])):
            self._bad("I3", f"{what} is handed out, and it is not open")

    def look_at_paused(self, partition: int) -> None:
        """I3: a poll parks what it meets of a paused execution, now and then."""
        self._polls += 1
        if self._polls % _LOOK_EVERY:
            return
        for stored in list(self._world.space.partition(partition).executions.values()):
            if stored.status == "PAUSED":
                self._look(stored)

    # -- timers ------------------------------------------------------------------------------------

    def claim_due(self, call: Call, partition: int, shard: str, limit: int, *given: Any) -> Any:
        """I4, I5: what is due is told once, and keeps a timer whether it is brought or not."""
        state = self._world.space.partition(partition)
        due = state.timers[shard].upto(self._world.space.clock(), limit)
        reply = call(partition, shard, limit, *given)
        for execution in dict.fromkeys(member[2:38] for member in due):
            stored = state.executions.get(execution)
            if stored is None:
                continue
            told = Counter(event for event in stored.inbox if b'{"t":"due"' in event)
            if told and max(told.values()) > 1:
                name = self._world.names.of_execution(execution)
                self._bad("I5", f"{name} is told twice of one deadline")
            self._look(stored)
        return reply

    # -- commits -----------------------------------------------------------------------------------

    def moved(self, before: Before, commit: Commit) -> list[int]:
        """List the claims that a commit names and that are not as it saw them."""
        found = []
        for guard in commit.guards:
            side = before.claim(guard.seq)
            same = (side.k, side.until) == (guard.claim, guard.until_ms)
            if side.closed or not (same or (guard.claim == 0 and not side.held)):
                found.append(guard.seq)
        return found

    def take_back(self, before: Before, commit: Commit, handed: dict[tuple[str, int], int]) -> None:
        """I3: an attempt that a worker has is offered again by a commit that names its claim only;
        those are handed out no more.
        """
        named = {guard.seq for guard in commit.guards}
        for offer in commit.changes.offers:
            if before.claim(offer.seq).held and offer.seq in named:
                handed.pop((str(commit.execution), offer.seq), None)
            elif before.claim(offer.seq).held:
                what = self._world.names.of_attempt(commit.execution, offer.seq)
                self._bad("I3", f"{what} is offered again, and its claim is not named")

    def ended_by_time(self, before: Before, commit: Commit) -> None:
        """I1: what a commit ends by time has a deadline that has passed."""
        for seq in self.moved(before, commit):
            what = self._world.names.of_attempt(commit.execution, seq)
            self._bad("I1", f"a commit is applied though the claim of {what} has moved")
        if not self._time_is_sound:
            return
        now = self._world.space.clock() + _SLACK_MS
        for name, text in commit.changes.fields.items():
            was = before.fields.get(name)
            if not name.startswith("a:") or was is None or b'"TIMED_OUT"' not in text:
                continue
            attempt, side = attempt_of(was), before.claim(int(name[2:]))
            is_early = 0 < now < nearest_deadline(attempt, side)
            if attempt.queue and side.held and is_early and attempt.status != "TIMED_OUT":
                what = self._world.names.of_attempt(commit.execution, int(name[2:]))
                self._bad("I1", f"{what} times out before its deadline")

    # -- short words -------------------------------------------------------------------------------

    def _find(self, execution: ExecutionId) -> Execution | None:
        return self._world.space.of(execution).executions.get(execution)

    def _bad(self, invariant: str, sentence: str) -> None:
        self._world.violated(invariant, sentence)


__all__ = ["Claiming"]
