"""The keys in Redis: every name, its type, what it means and what bounds it.

A key is the prefix of its partition and a name from ``KEYS``. The prefix is a hash tag, so all
that one script touches is in one slot of a cluster; scripts are handed the prefix and put the rest
behind it, because what they touch stands in state that only they read. Nothing outside this module
and the scripts spells a key.
"""

from __future__ import annotations

from conductor_py.model.ids import home_partition
from conductor_py.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyName:
    """One kind of key: the Redis type, what it holds, and what keeps it from growing without
    end.
    """

    name: str
    kind: str
    meaning: str
    bound: str


def _key(name: str, kind: str, meaning: str, bound: str) -> KeyName:
    return KeyName(name=name, kind=kind, meaning=meaning, bound=bound)


KEYS = (
    _key("exec:", "hash", "<execution>: its fields, see ports/store.py", "until removed"),
    _key("quarantine", "zset", "failing since ms -> execution in quarantine", "not decided"),
    _key(
        "damaged",
        "hash",
        "'<set> <member>' that cannot be read -> '<since ms> <tries> <next ms> <what is wrong>'",
        "1,000",
    ),
    _key("aside:", "any", "<name>: a key that had a wrong type", "1 a name, 7 d"),
    _key("audit", "string", "what the last audit counted, JSON (partition 0)", "1"),
    _key("inbox:", "list", "<execution>: events not yet consumed", "trimmed by commit"),
    _key("ans:", "hash", "<execution>: operation -> '<ms>[ <answer>]'", "60 s; 1,087"),
    _key("park:", "set", "<execution>: attempts parked while paused", "open attempts"),
    _key(
        "ckpt:", "hash", "<execution>: what its long tasks keep, see ports/checkpoints.py", "64 MB"
    ),
    _key("log:", "list", "<execution>: '<seq> <ms> <line>'", "10,000"),
    _key("queue:", "zset", "<queue>:<shard>: ready; score -> task id", "open attempts"),
    _key("delayed:", "zset", "<queue>:<shard>: delayed; due ms -> task id", "open attempts"),
    _key(
        "passed:",
        "string",
        "<queue>:<shard>: how many heads polls that ended among those of others passed over",
        "60 s",
    ),
    _key(
        "queues",
        "set",
        "'<queue> newline <shard>' that has entries, or had some",
        "open attempts, or 1,000; sweepers forget what has none",
    ),
    _key(
        "polldata",
        "hash",
        "'<type> newline <domain>', escaped -> '<ms> <worker>'; with ' newline <shard>' -> '<ms>'",
        "20,000",
    ),
    _key("polled", "zset", "field of polldata by the time of the poll", "20,000"),
    _key("limit:", "zset", "<task definition>: permits; claim end -> task id", "the limit"),
    _key("rate:", "zset", "<task definition>: claims of the window", "the rate, one window"),
    _key(
        "permits:",
        "hash",
        "<limit>: of several partitions this one keeps who has how many permits: partition -> "
        "'<token> <number>'; s:<partition> who seeks some, since when",
        "partitions; expires with the last permit",
    ),
    _key(
        "permitted:",
        "string",
        "<limit>: '<token> <number> <limit>' of permits that this partition has",
        "1 a limit; expires at 0",
    ),
    _key("rates:", "zset", "<task definition>: claims leased in all partitions", "as rate:"),
    _key(
        "late:", "zset", "<home>, or ~effects: ended ms -> began ms of a span of being late", "1 h"
    ),
    _key("timers:", "zset", "<home>: due ms -> x:<execution> or a:<task id>", "1 an owner"),
    _key("outbox", "zset", "due ms -> effect id", "until confirmed"),
    _key("effects", "hash", "effect id -> '<stamp> <document>'", "until confirmed"),
    _key("touched", "zset", "changed ms -> task id of an open execution", "until indexed"),
    _key(
        "plan:",
        "hash",
        "<hash>: blob, n:<ref> reads, used_at; owner (execution) of a fragment",
        "dropped when not in references, its owner gone, and untouched for a day",
    ),
    _key("plans", "zset", "stored, or seen in use, ms -> hash; its head is looked at", "as plan:"),
    _key(
        "references",
        "hash",
        "plan hash -> present executions whose header names it",
        "plans of present executions",
    ),
    _key("idem:", "string", "<workflow, escaped>:<key> -> execution", "expires"),
    _key("cache:", "string", "<digest> -> output of a task", "as cached; expires"),
    _key("cached", "zset", "expires ms -> key of cache:", "a setting"),
    _key(
        "admitted:",
        "zset",
        "<workflow, escaped>:<rate limit key>: admitted ms -> execution",
        "the limit; the dead are dropped",
    ),
    _key(
        "waiting:",
        "zset",
        "<workflow, escaped>:<rate limit key>: order of asking -> execution",
        "not terminal",
    ),
    _key(
        "chain:",
        "hash",
        "<execution>: what it has set going quickly in this partition: starts, nested -> number",
        "settings; expires an hour after the first",
    ),
    _key("room", "string", "never there: written to by scripts that ask for memory", "0"),
    _key("running:", "zset", "<workflow>: started ms -> execution", "not terminal"),
    _key("meta:revision", "string", "grows with each change of a definition", "1"),
    _key("meta:workflows", "set", "names of workflow definitions (partition 0)", "names"),
    _key(
        "meta:workflow:",
        "hash",
        "<name>: version -> document; published -> version (partition 0)",
        "versions",
    ),
    _key(
        "catalog:head:", "hash", "<kind>: code -> head of a definition (partition 0)", "definitions"
    ),
    _key("catalog:order:", "zset", "<kind>: codes in their order (partition 0)", "definitions"),
    _key(
        "catalog:document:",
        "hash",
        "<kind> <code>: version -> document, written once (partition 0)",
        "until purged",
    ),
    _key("catalog:log:", "hash", "<kind> <code>: version -> what is told of it", "until purged"),
    _key("catalog:use:", "hash", "<task code>: codes of workflows that have it", "definitions"),
    _key("catalog:call:", "hash", "<name>: codes of workflows that start it", "definitions"),
    _key(
        "catalog:name:",
        "hash",
        "workflow: name -> code (partition 0); task <name>: codes of tasks by themselves",
        "definitions",
    ),
    _key("meta:tasks", "hash", "name -> task definition (partition 0)", "names"),
    _key("meta:handlers", "hash", "event handler -> '<event> newline <document>'", "names"),
    _key("meta:handled:", "set", "<event>: names of its handlers (partition 0)", "names"),
    _key("event:held:", "zset", "<event>: came ms -> message nobody handles yet", "1,000, 7 d"),
    _key("event:target:", "string", "<action>: what it is about (partition 0)", "2 d"),
    _key("event:records", "list", "what handlers did, newest first (partition 0)", "1,000"),
    _key("event:counts", "hash", "outcome -> how many (partition 0)", "outcomes"),
    _key("meta:schemas", "hash", "'<version> <name>' -> schema (partition 0)", "versions"),
    _key("meta:tags:", "hash", "<noun>: name -> tags (partition 0)", "definitions, 100 each"),
    _key("meta:partitions", "string", "how many partitions, fixed at first use (partition 0)", "1"),
    _key(
        "schedules",
        "hash",
        "name -> '<version> <generation> <next ms> <armed> <tries> <schedule>' (partition 0)",
        "schedules",
    ),
    _key(
        "schedules:due",
        "zset",
        "next ms, or claimed until -> name (partition 0)",
        "armed schedules",
    ),
    _key(
        "schedules:runs:",
        "zset",
        "<name>: scheduled ms -> '<id> <record>' (partition 0)",
        "archivalMaxRecordThreshold a schedule",
    ),
    _key(
        "schedules:started:",
        "zset",
        "<name>: scheduled ms -> execution not known to have ended (partition 0)",
        "20 a schedule",
    ),
    _key("schedules:halted", "string", "there while all schedules are halted (partition 0)", "1"),
    _key("files", "hash", "file id -> its record (partition 0)", "1,000 an execution"),
    _key("files:due", "zset", "when to look at it, ms -> file id (partition 0)", "as files"),
    _key("files:of", "hash", "execution -> how many files it has (partition 0)", "as files"),
    _key(
        "files:gone",
        "zset",
        "ms at which it was gone for good, or -ms at which it was first missed -> execution that "
        "has files (partition 0)",
        "as files:of; 60 d",
    ),
    _key(
        "payload:",
        "hash",
        "<path>: holder -> 0: there, ms: gone since, -ms: missed since; #: version, !: leaving "
        "(partition 0)",
        "what needs it",
    ),
    _key("payloads:due", "zset", "when to look at it, ms -> path (partition 0)", "payloads"),
    _key("payloads:of:", "set", "<holder>: paths (partition 0)", "payloads"),
    _key(
        "servers",
        "hash",
        "server -> '<until ms> <renewed ms> <configured shards>' (partition 0)",
        "live servers",
    ),
    _key(
        "shards",
        "hash",
        "shard -> '<until ms> <term> <server>' (partition 0)",
        "servers ever at once",
    ),
    _key(
        "numbers",
        "hash",
        "worker number -> '<until ms> <owner>' of its last lease; layout: of codes (partition 0)",
        "worker numbers of the layout",
    ),
    _key(
        "signs",
        "hash",
        "key -> '<at ms> <until ms> <document>' of a sign of life (partition 0)",
        "10,000",
    ),
    _key("signs:until", "zset", "until ms -> key of a sign of life (partition 0)", "as signs"),
    _key(
        "erasure",
        "hash",
        "removed: when something was removed last; erased: what was before has been erased "
        "(partition 0)",
        "2",
    ),
    _key("swept", "hash", "shard -> until ms its own sweeper fires (partition 0)", "as shards"),
)


class Namespace:
    """The keys of one deployment: ``{<namespace>:<partition>}:`` and what stands behind it."""

    __slots__ = ("channels", "name", "partitions", "prefixes")

    def __init__(self, name: str, partitions: int = 1) -> None:
        """Take the namespace's name and its number of partitions, which never changes later."""
        self.name = name
        self.partitions = partitions
        self.channels = (
            (f"{name}:wake",)
            if partitions == 1
            else tuple(f"{name}:wake:{number}" for number in range(partitions))
        )
        self.prefixes = tuple(f"{{{name}:{number}}}:" for number in range(partitions))

    def channel_of(self, kind: str, partition: int = 0) -> str:
        """Where a partition publishes the topics of a kind."""
        return f"{self.channels[partition]}:{kind}"

    def home_of(self, name: str) -> int:
        """Tell the partition where something by that name stands that is about all of them."""
        return home_partition(name, self.partitions)

    def key(self, partition: int, name: str, rest: str = "") -> str:
        """Spell one key."""
        return f"{self.prefixes[partition]}{name}{rest}"
