"""From a decision to the changes of a commit: stored bytes, shards, payload sizes.

A document above its soft threshold goes to payload storage before the commit, under a path that
nobody else knows; one above the hard limit is not stored at all: the fact is handed back and decide
is asked again (design: the size check is part of the transition).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b

from conductor_py.codec.event import dump_event
from conductor_py.codec.execution import (
    dump_attempt,
    dump_document,
    dump_header,
    dump_json,
    dump_state,
)
from conductor_py.decider.adoption import is_awaited
from conductor_py.engine.decisions.abroad import is_abroad, post
from conductor_py.engine.decisions.precedence import due_of
from conductor_py.engine.payloads.holding import PayloadHolding, effect_holder
from conductor_py.model.decision import Answer, Decision, NewChild, Order, Send
from conductor_py.model.event import Admitted, ChildEnded, Started
from conductor_py.model.execution import Document, External
from conductor_py.model.ids import ExecutionId, partition_of
from conductor_py.model.json_bounds import MAX_VALUES, has_more, too_many
from conductor_py.model.status import WorkflowStatus
from conductor_py.ports.admission import Admission
from conductor_py.ports.payloads import PayloadKind, Payloads
from conductor_py.ports.store import Changes, Child, Effect, Message, Offer
from conductor_py.records import dataclass, made

KB = 1024
_EFFECT_BYTES = 4 * KB
_EVENT_BYTES = 32 * KB
_BOUNDED = (
    ("i", PayloadKind.TASK_INPUT, "Task input"),
    ("o", PayloadKind.TASK_OUTPUT, "Task output"),
    ("input", PayloadKind.WORKFLOW_INPUT, "Workflow input"),
    ("output", PayloadKind.WORKFLOW_OUTPUT, "Workflow output"),
)
_ADMITTED = dump_event(Admitted())
_LATELY = 1_000
_LATELY_MS = 600_000
"""Payloads that are known by what they hold, and for how long: each time that one is named it stays
for the grace period at least, an hour.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PayloadLimits:
    """Soft thresholds and hard limits in bytes (Conductor's defaults), and the most values that a
    document may have.
    """

    workflow_input_soft: int = 5120 * KB
    workflow_input_hard: int = 10240 * KB
    workflow_output_soft: int = 5120 * KB
    workflow_output_hard: int = 10240 * KB
    task_input_soft: int = 3072 * KB
    task_input_hard: int = 10240 * KB
    task_output_soft: int = 3072 * KB
    task_output_hard: int = 10240 * KB
    variables_hard: int = 256 * KB
    values: int = MAX_VALUES

    def of(self, kind: PayloadKind) -> tuple[int, int]:
        """The soft threshold and the hard limit of a kind."""
        name = kind.name.lower()
        return getattr(self, f"{name}_soft"), getattr(self, f"{name}_hard")

    @property
    def largest(self) -> int:
        """The largest of the hard limits."""
        return max(self.of(kind)[1] for kind in PayloadKind)


@dataclass(frozen=True, slots=True)
class _Bounds:
    kind: PayloadKind
    what: str
    soft: int
    hard: int


class Encoder:
    """Encodes decisions with the limits of this deployment."""

    def __init__(
        self,
        payloads: Payloads,
        holding: PayloadHolding,
        limits: PayloadLimits,
        *,
        remove_after_ms: int,
        stays_ms: int,
        index_after_ms: int,
        gather_tasks_ms: int | None,
        elapsed_ms: Callable[[], int],
    ) -> None:
        """``remove_after_ms``: how long a finished execution stays in the store, ``stays_ms`` when
        that is nearly full;
        ``index_after_ms``: how long the first index entry may wait, so that a short execution is
        indexed once. Changes of its tasks are gathered for ``gather_tasks_ms``, and
        the index is told while it runs; None: it is not. ``elapsed_ms`` grows evenly.
        """
        self._payloads = payloads
        self._holding = holding
        self._most_values = limits.values
        self._remove_after_ms = max(remove_after_ms, stays_ms)
        self._stays_ms = stays_ms
        self._index_after_ms = index_after_ms
        self._gather_tasks_ms = gather_tasks_ms
        self._elapsed_ms = elapsed_ms
        self._lately: dict[bytes, tuple[str, int]] = {}
        self._bounds = {
            name: _Bounds(kind, what, *limits.of(kind)) for name, kind, what in _BOUNDED
        }
        self._bounds["vars"] = _Bounds(
            PayloadKind.WORKFLOW_OUTPUT,
            "The set of workflow variables",
            limits.variables_hard,
            limits.variables_hard,
        )

    def document(self, name: str, document: Document) -> bytes | str:
        """Encode a document field; a sentence when it is above a hard limit or not JSON."""
        bounds = self._bounds.get(name) or self._bounds.get(name[:1])
        try:
            stored = dump_document(document)
        except TypeError as refused:
            what = bounds.what if bounds is not None else name
            return f"{what} cannot be stored as JSON: {refused}"
        size = len(stored)
        if size < KB or isinstance(document, External):
            return stored
        if bounds is None:
            return stored
        if size > bounds.hard:
            return f"{bounds.what} of {size} bytes is larger than the limit of {bounds.hard} bytes"
        if has_more(stored, self._most_values):
            return too_many(bounds.what, self._most_values)
        if size <= bounds.soft:
            return stored
        return b"@" + self._put(bounds.kind, stored).encode()

    def _put(self, kind: PayloadKind, stored: bytes) -> str:
        """Store a document apart. One that was stored a while ago, by its bytes, is named again:
        its decision may have been refused, and be made anew for hours.
        """
        digest, now_ms = blake2b(stored, person=kind.value.encode()).digest(), self._elapsed_ms()
        path, named_ms = self._lately.pop(digest, ("", 0))
        if not path or now_ms - named_ms > _LATELY_MS:
            path = self._payloads.put(kind, stored)
        self._lately[digest] = (path, now_ms)
        if len(self._lately) > _LATELY:
            with suppress(KeyError, StopIteration):  # another thread was quicker
                self._lately.pop(next(iter(self._lately)))
        return path

    def changes(
        self,
        sender: ExecutionId,
        decision: Decision,
        pick_shard: Callable[[str], str],
        now_ms: int,
        *,
        birth: Mapping[str, bytes] | None = None,
    ) -> Changes | dict[str, object]:
        """Encode a decision of ``sender``; or the facts ``oversize:<field>`` that decide has to
        hear about first.

        ``birth`` are further fields of a new execution.
        """
        fields: dict[str, bytes] = dict(birth) if birth else {}
        for name, document in decision.documents.items():
            stored = self.document(name, document)
            if isinstance(stored, str):
                # Only the first: what follows from it may be smaller when it is decided again.
                return {f"oversize:{_culprit(decision, name)}": stored}
            fields[name] = stored
        children: list[Child] = []
        for child in decision.children:
            encoded = self._child(child)
            if isinstance(encoded, str):
                return {f"oversize:child:{child.id}": encoded}
            children.append(encoded)
        header = decision.header
        fields["h"] = dump_header(header)
        offers = self._offers(decision, pick_shard, fields)
        deleted: list[str] = []
        for name, seq in decision.pointers.items():
            if seq:
                fields[name] = b"%d" % seq
            else:
                deleted.append(name)
        for name, plan_hash in decision.hashes.items():
            fields[name] = plan_hash.encode()
        for name, state in decision.states.items():
            if state is None:
                deleted.append(name)
            else:
                fields[name] = dump_state(state)
        self._holding.hold_stored(sender, fields.values())
        messages, posts = self._sends(sender, decision.sends)
        return made(
            Changes,
            status=header.status.value,
            terminal=header.status.terminal,
            generation=header.generation,
            fields=fields,
            deleted=tuple(name for name in deleted if name not in fields),
            ended=decision.ended,
            reopened=decision.reopened,
            offers=offers,
            attempt_timers=tuple((seq, _from(now_ms, due)) for seq, due in decision.timers),
            due_ms=_from(now_ms, header.due_at),
            children=tuple(children),
            messages=messages,
            own_events=tuple(map(dump_event, decision.continues)),
            effects=self._effects(sender, decision, now_ms) + posts,
            answers=tuple(map(_answer, decision.answers)),
            plans=decision.plans,
            unpark=header.status is WorkflowStatus.RUNNING and header.last_retried_at > 0,
            admission=_admission(decision),
            touched=() if self._gather_tasks_ms is None else _touched(decision, deleted),
            gather_ms=self._gather_tasks_ms or 0,
            logs=tuple((seq, now_ms, line) for seq, line in decision.logs),
        )

    def _sends(
        self, sender: ExecutionId, sends: Sequence[Send]
    ) -> tuple[tuple[Message, ...], tuple[Effect, ...]]:
        """Encode what is sent: to the own partition with the commit, to others by effects."""
        if not sends:
            return (), ()
        return (
            tuple(self._message(send) for send in sends if not is_abroad(sender, send)),
            tuple(post(sender, send) for send in sends if is_abroad(sender, send)),
        )

    def _message(self, send: Send) -> Message:
        """Encode an event for another execution. A large output is stored apart: an inbox holds
        what is small.
        """
        event, stored = send.event, dump_event(send.event)
        if isinstance(event, ChildEnded):
            if len(stored) > _EVENT_BYTES:
                output = dump_document(event.output)
                path = self._put(PayloadKind.WORKFLOW_OUTPUT, output)
                event = replace(event, output=External(path))
                stored = dump_event(event)
            if isinstance(event.output, External):
                self._holding.hold(send.execution, [event.output.path])
        return Message(
            execution=ExecutionId(send.execution), event=stored, wanted=is_awaited(event)
        )

    def _offers(
        self, decision: Decision, pick_shard: Callable[[str], str], fields: dict[str, bytes]
    ) -> tuple[Offer, ...]:
        due = dict(decision.offered)
        offers: list[Offer] = []
        for seq, attempt in decision.attempts.items():
            if seq in due:
                shard = pick_shard(decision.header.home)
                fields[f"a:{seq}"] = dump_attempt(attempt, shard)
                offers.append(
                    Offer(
                        seq=seq,
                        queue=attempt.queue,
                        shard=shard,
                        score=attempt.score,
                        due_ms=due[seq],
                    )
                )
            else:
                fields[f"a:{seq}"] = dump_attempt(attempt, attempt.shard)
        return tuple(offers)

    def _child(self, child: NewChild) -> Child | str:
        stored = self.document("input", child.input)
        if isinstance(stored, str):
            return stored
        fields = {
            "h": dump_header(child.header),
            "input": stored,
            "vars": dump_document(child.variables),
            "meta": dump_state(child.meta),
        }
        if child.watches is not None:
            fields["watch"] = dump_state(child.watches)
        if child.domains:
            fields["domains"] = dump_json(child.domains)
        self._holding.hold_stored(child.id, (stored,))
        return Child(
            execution=ExecutionId(child.id),
            home=child.header.home,
            name=child.header.name,
            generation=child.header.generation,
            fields=fields,
            event=dump_event(Started()),
            wanted=child.header.parent is not None or child.reports,
        )

    def _effects(self, sender: ExecutionId, decision: Decision, now_ms: int) -> tuple[Effect, ...]:
        ended = decision.header.status.terminal
        effects: list[Effect] = []
        for order in decision.effects:
            due, soonest = order.due_ms or due_of(order.kind), 0
            if order.kind == "remove" and not due:
                due, soonest = now_ms + self._remove_after_ms, now_ms + self._stays_ms
            elif order.kind == "index" and not ended:
                due = now_ms + self._index_after_ms
            document = dump_json({"kind": order.kind, **order.arguments})
            if len(document) > _EFFECT_BYTES and "payload" in order.arguments:
                document = self._apart(partition_of(sender), order)
            effects.append(Effect(id=order.id, document=document, due_ms=due, soonest_ms=soonest))
        return tuple(effects)

    def _apart(self, partition: int, order: Order) -> bytes:
        """Store the payload of an effect apart: an outbox holds what is small.

        The effect owns it. It does not name what the execution stores: a restart forgets that, and
        an execution may have left the store before the last effect is delivered.
        """
        arguments = dict(order.arguments)
        payload = dump_json(arguments.pop("payload"))
        hard = self._bounds["o"].hard
        if len(payload) > hard:
            sentence = f"Message of {len(payload)} bytes is larger than the limit of {hard} bytes"
            payload = dump_json({"error": sentence})
        elif has_more(payload, self._most_values):
            payload = dump_json({"error": too_many("Message", self._most_values)})
        path = arguments["path"] = self._payloads.put(PayloadKind.TASK_OUTPUT, payload)
        self._holding.hold(effect_holder(partition, order.id), [path])
        return dump_json({"kind": order.kind, **arguments})


def _answer(answer: Answer) -> tuple[str, bytes]:
    return answer.operation, dump_json({"error": answer.error, "message": answer.message})


def _touched(decision: Decision, deleted: Sequence[str]) -> tuple[int, ...]:
    """The attempts that a decision has changed or deleted."""
    if not deleted:
        return tuple(decision.attempts)
    gone = (int(name[2:]) for name in deleted if name.startswith("a:"))
    return (*decision.attempts, *gone)


def _admission(decision: Decision) -> Admission | None:
    """What a new execution asks for, or what one that has ended gives back."""
    entry, header = decision.entry, decision.header
    if entry is not None:
        return Admission(
            key=entry.key,
            limit=entry.limit,
            reject=entry.reject,
            admitted=_ADMITTED,
            refused=dump_event(Admitted(admitted=False)),
        )
    if header.admission_key and header.status.terminal:
        limit = header.admission_limit
        return Admission(key=header.admission_key, leave=True, limit=limit, admitted=_ADMITTED)
    return None


def _from(now_ms: int, due_ms: int) -> int:
    """An instant that is past is now: by a timer's score the store tells how late it is."""
    return max(due_ms, now_ms) if due_ms else 0


def _culprit(decision: Decision, name: str) -> str:
    """What a refusal names: the attempt whose document it is, or, of the variables, who made them
    too large; nobody when several did.
    """
    if name == "vars":
        setters = [
            attempt
            for attempt in decision.attempts.values()
            if attempt.type == "SET_VARIABLE" and attempt.status.successful
        ]
        return f"vars:{setters[0].seq}:{setters[0].ref}" if len(setters) == 1 else name
    kind, _, seq = name.partition(":")
    attempt = decision.attempts.get(int(seq)) if seq else None
    return f"{kind}:{seq}:{attempt.ref}" if attempt is not None else name
