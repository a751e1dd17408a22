"""What calls of the store mean, in words for people who read a trace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson

from conductor_py.ports.store import Outcome

Names = Callable[[str], str]
_QUIET: Final = frozenset(
    {
        "store.load",
        "store.now_ms",
        "reader.snapshot",
        "reader.answer",
        "reader.logs",
        "reader.beside",
        "plans.get",
        "plans.put",
        "metadata.workflow",
        "metadata.tasks",
        "metadata.revision",
        "metadata.tags",
        "search.archived",
        "search.kept",
        "outbox.life",
        "outbox.read",
        "queues.poll_data",
        "shards.lease",
        "shards.view",
        "shards.live",
        "shards.sweep",
        "timers.next_due_ms",
    }
)


def words_of(call: str, given: tuple[Any, ...], reply: Any, names: Names) -> str:
    """Say what a call did; empty when it is not worth a line."""
    if call in _QUIET:
        return ""
    say = _SAYINGS.get(call)
    if say is None:
        return f"{call}"
    said: str = say(given, reply, names)
    return said


def _start(given: tuple[Any, ...], reply: Any, names: Names) -> str:
    start = given[0]
    if reply.outcome is not Outcome.OK:
        return f"starts {names(start.execution)}: refused, {reply.outcome.value}"
    return f"starts {names(start.execution)} ({start.name}): {_changes(start.changes)}"


def _commit(given: tuple[Any, ...], reply: Any, names: Names) -> str:
    commit = given[0]
    who = names(commit.execution)
    if reply.outcome is not Outcome.OK:
        return f"commits a decision on {who}: refused, {reply.outcome.value}"
    return f"commits a decision on {who}: {_changes(commit.changes)}"


def _changes(changes: Any) -> str:
    said = []
    for name, text in changes.fields.items():
        if name.startswith("a:"):
            a = orjson.loads(text)
            place = f"{a['ref']}#{a['it']}" if a["it"] else a["ref"]
            said.append(f"{place} {a['st']}")
    if changes.terminal:
        said.append(f"the execution is {changes.status}")
    said += [f"offers {len(changes.offers)}"] if changes.offers else []
    said += [f"starts {len(changes.children)} children"] if changes.children else []
    said += [f"tells {len(changes.messages)} others"] if changes.messages else []
    said += [f"orders {', '.join(_kind(one.id) for one in changes.effects)}"] * bool(
        changes.effects
    )
    said += ["goes on later"] if changes.own_events else []
    return ", ".join(said) or "nothing changes"


def _kind(effect: str) -> str:
    return effect.partition(":")[2] or effect


def _report(given: tuple[Any, ...], reply: Any, names: Names) -> str:
    report = given[0]
    event = orjson.loads(report.event.split(b" ", 1)[1])
    lease = ", and wins its lease" if reply.loaded is not None else ""
    task = names(f"{report.execution}-{report.seq}")
    outcome = f"{reply.outcome.value}{lease}"
    return f"appends the result {event['st']} of {task} by {report.worker}: {outcome}"


def _send(given: tuple[Any, ...], reply: Any, names: Names) -> str:
    event = orjson.loads(given[2].split(b" ", 1)[1])
    lease = ", and wins its lease" if reply.loaded is not None else ""
    name = event.get("name", event["t"])
    return f"appends the operation {name} to {names(given[0])}: {reply.outcome.value}{lease}"


def _acquire(given: tuple[Any, ...], reply: Any, names: Names) -> str:
    won = "takes" if reply is not None else "does not get"
    return f"{won} the lease of {names(given[0])}"


def _poll(given: tuple[Any, ...], reply: Any, names: Names) -> str:
    if not reply.claimed:
        return ""
    handed = (
        f"{names(f'{one.execution}-{one.seq}')} (claim {one.claim % 100_000})"
        for one in reply.claimed
    )
    return f"hands {', '.join(handed)} to {given[1].worker}"


def _extend(given: tuple[Any, ...], reply: Any, names: Names) -> str:
    return f"extends the claim of {names(f'{given[0]}-{given[1]}')}: {reply[0].value}"


def _claim_due(given: tuple[Any, ...], reply: Any, names: Names) -> str:
    if not reply:
        return ""
    return f"fires timers of {', '.join(names(one.execution) for one in reply)}"


def _take(given: tuple[Any, ...], reply: Any, names: Names) -> str:
    if not reply:
        return ""
    return f"takes effects to hand on: {', '.join(names(one.id) for one in reply)}"


def _confirm(given: tuple[Any, ...], reply: Any, names: Names) -> str:
    if not given[1]:
        return ""
    return f"confirms {', '.join(names(effect) for effect, _ in given[1])}: {reply} go"


def _put(given: tuple[Any, ...], reply: Any, names: Names) -> str:
    return f"indexes {', '.join(names(one.execution_id) for one in given[0])}"


def _plainly(text: str) -> Callable[..., str]:
    return lambda given, reply, names: f"{text} {names(str(given[0]))}: {_short(reply)}"


def _short(reply: Any) -> str:
    return reply.value if isinstance(reply, Outcome) else str(reply)[:60]


def _postponed(given: tuple[Any, ...], reply: Any, names: Names) -> str:
    return f"puts {len(given[1])} effects off" if given[1] else ""


_SAYINGS: Final[Mapping[str, Callable[..., str]]] = {
    "store.start": _start,
    "store.commit": _commit,
    "store.report": _report,
    "store.send": _send,
    "store.acquire": _acquire,
    "store.renew": _plainly("renews the lease of"),
    "store.postpone": _plainly("lets go of"),
    "queues.poll": _poll,
    "queues.extend": _extend,
    "timers.claim_due": _claim_due,
    "outbox.take": _take,
    "outbox.confirm": _confirm,
    "outbox.postpone": _postponed,
    "search.put": _put,
    "reader.remove": _plainly("removes"),
    "reader.begin_restore": _plainly("begins to bring back"),
    "reader.cancel_restore": _plainly("has nobody bring back"),
    "reader.release_key": _plainly("lets go of the key of"),
    "reader.restore": lambda given, reply, names: (
        f"brings {names(given[0].execution)} back from the archive: {reply.value}"
    ),
}
