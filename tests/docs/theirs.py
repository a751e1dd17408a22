"""What a page takes as given, because it is a reader's own: an old server, an execution, a Redis.

A page is followed word for word but for names of such things. What stands for them is started, or
made, right before the block that needs it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from tests.docs.pages import ROOT, Page
from tests.docs.reader import Step, steps_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Theirs:
    """``first`` is pasted before a page, ``before`` ahead of the block that has a text, ``after``
    at the end; ``called`` is how a thing of theirs is called here.
    """

    first: str = ""
    before: Mapping[str, str] = field(default_factory=dict)
    called: Mapping[str, str] = field(default_factory=dict)
    after: str = ""


_OLD_SERVER = """\
conductor-py server
cat > old.json << 'end'
[{"name": "orders", "version": 1, "tasks": [{"name": "pack", "taskReferenceName": "pack"}]}]
end
echo '[{"name": "pack", "retryCount": 1, "ownerEmail": "orders@example.com"}]' > tasks.json
"""
_OLD_DEFINITIONS = """\
conductor-py definition register tasks.json old.json
echo '{"order": 7}' > order.json
echo '{"pack": [{"status": "FAILED"}, {"status": "COMPLETED"}]}' > mocks.json
"""
_REDIS = "redis-server --port 6379 --save ''\n"
_START_RESIZE = """\
cat > resizing.json << 'end'
{"name": "resizing", "version": 1, "tasks": [{"name": "resize", "taskReferenceName": "first"}]}
end
id=$(conductor-py workflow start --definition @resizing.json)
"""
_START_COUNTING = """\
cat > counting.json << 'end'
{"name": "counting", "version": 1, "tasks": [{"name": "count_lines", "taskReferenceName": "count"}]}
end
id=$(conductor-py workflow start --definition @counting.json)
"""
_FAILED_BACKFILL = """\
cat > worse.json << 'end'
{"name": "report", "version": 1, "tasks": [{"name": "end", "taskReferenceName": "end",
 "type": "TERMINATE", "inputParameters": {"terminationStatus": "FAILED"}}]}
end
conductor-py definition register worse.json --overwrite
id=$(conductor-py schedule backfill nightly-report --from 2026-03-02 --to 2026-03-02)
failed='import json, sys; sys.exit(json.load(sys.stdin)["status"] != "FAILED")'
until conductor-py workflow get "$id" --json | python -c "$failed"; do :; done
"""
_PROTECTED_REDIS = "redis-server --port 6379 --save '' --requirepass password\n"
_CONFIGURATION = """\
echo conductor.redis.hosts=127.0.0.1:6379:r:password >> config.properties
echo conductor.tasks.http.allowedNetworks=127.0.0.1 >> config.properties
"""
_WORK_FOR_ALL_PARTS = """\
cat > parts.json << 'end'
{"name": "parts", "version": 1, "tasks": [
  {"name": "wait", "taskReferenceName": "wait", "type": "WAIT",
   "inputParameters": {"duration": "1 s"}},
  {"name": "ask", "taskReferenceName": "ask", "type": "HTTP", "inputParameters": {
    "uri": "http://127.0.0.1:8082/health", "method": "GET"}}]}
end
export CONDUCTOR_SERVER_URL=http://127.0.0.1:8082/api
conductor-py workflow start --definition @parts.json --watch
until conductor-py workflow search | grep parts; do :; done
"""
_WORK_FOR_A_GROUP = """\
cat > group.json << 'end'
{"name": "group", "version": 1, "tasks": [{
 "name": "slow_call", "taskReferenceName": "call", "type": "HTTP",
 "inputParameters": {"uri": "http://127.0.0.1:8080/health", "method": "GET"},
 "taskDefinition": {"name": "slow_call", "isolationGroupId": "slow"}}]}
end
conductor-py workflow start --definition @group.json --watch
"""
_SPARK = f"""\
conductor-py server
cp '{ROOT}/schemas/examples/pipelines/orders.json' .
is() {{ until conductor-py workflow why "$ID" | grep "^$1:"; do sleep 0.2; done; }}
shows() {{ until conductor-py pipeline progress "$ID" | grep "$1"; do sleep 0.2; done; }}
arrives() {{ echo '{{"day": 1}}' > "in/.$1"; mv "in/.$1" "in/$1.json"; }}
"""
_BOUNDED = """\
conductor-spark-worker --server http://127.0.0.1:8080/api --allow-path . 2> worker.log &
mkdir in
arrives monday
of() { cat << end
{"name": "visits", "version": $1, "tasks": [{
 "name": "load", "taskReferenceName": "load", "type": "SPARK_PIPELINE",
 "inputParameters": {"job": {"version": 1, "name": "visits", "mode": "$2", "sources": [{
   "id": "folder", "kind": "file", "output": "visits", "format": "json", "paths": [$3],
   "schema": {"columns": [{"name": "day", "type": "bigint"}]} $4}],
  "sinks": [{"id": "lake", "kind": "file", "input": "visits", "format": "parquet",
   "path": "$PWD/out-$2", "visibility": "manifest"}],
  "env": {"work_dir": "$PWD/work-$2"}}}}]}
end
}
path="\\"$PWD/in/*.json\\"" other="\\"$PWD/more/*.json\\""
of 1 bounded "$path" "" > bounded.json
ID=$(conductor-py workflow start --definition @bounded.json)
"""
_UNBOUNDED = """\
watched=', "watch": true, "poll_s": 1'
of 1 unbounded "$path" "$watched" > visits.json
of 2 unbounded "$path, $other" "$watched" > more.json
conductor-py definition register visits.json more.json
ID=$(conductor-py workflow start visits --version 1)
shows "1 of . splits"
"""
_THIRD_EPOCH = """\
arrives tuesday
shows "2 of . splits"
arrives wednesday
shows "3 of . splits"
"""
_STOP_AGAIN = """\
is running
conductor-py workflow stop-task $ID load
is callback
part=$(conductor-py workflow checkpoints "$ID" | grep -o 'p-[0-9a-f]*' | head -n 1)
"""
_GO_BACK = "conductor-py workflow resume-task $ID load --savepoint"
_FURTHER = "conductor-py workflow resume-task $ID load --epoch"
_REACHES_HERE = "--set conductor.tasks.http.allowedNetworks=127.0.0.1"
_AUDITED = f"""\
{_REDIS}conductor-py server --redis redis://127.0.0.1:6379 --set conductor.quarantine.tries=3
"""
_IN_QUARANTINE = """\
cat > store.py << 'end'
import sys
import redis
_, what, name, field = sys.argv
db = redis.Redis()
(key,) = db.keys(f"*:{name}")
if what == "damage":
    db.set("kept", db.hget(key, field))
    db.hset(key, field, b'{"f": 99}')
else:
    db.hset(key, field, db.get("kept"))
end
is_due() { redis-cli zadd "$(redis-cli --raw keys "*:$1")" 1 "$2"; }
listed() { until conductor-py quarantine list | grep "$1"; do sleep 0.2; done; }
cat > held.json << 'end'
{"name": "held", "version": 1, "tasks": [
 {"name": "wait", "taskReferenceName": "wait", "type": "WAIT",
  "inputParameters": {"duration": "1 day"}},
 {"name": "look", "taskReferenceName": "look", "type": "HUMAN"}]}
end
id=$(conductor-py workflow start --definition @held.json)
python store.py damage "exec:$id" h
is_due timers:s0 "a:$id-1"
listed "$id"
python store.py mend "exec:$id" h
"""
_DAMAGED = """\
cat > third.json << 'end'
{"name": "third", "version": 1, "tasks": [
 {"name": "one", "taskReferenceName": "one", "type": "NOOP"},
 {"name": "two", "taskReferenceName": "two", "type": "NOOP"},
 {"name": "wait", "taskReferenceName": "wait", "type": "WAIT",
  "inputParameters": {"duration": "1 day"}}]}
end
conductor-py definition register third.json
cat > nightly.json << 'end'
{"name": "nightly", "cronExpression": "0 0 3 1 1 *", "startWorkflowRequest": {"name": "third"}}
end
conductor-py schedule save @nightly.json
python store.py damage schedules nightly
is_due schedules:due nightly
listed "schedules:due nightly"
id=$(conductor-py workflow start third)
python store.py damage "exec:$id" a:3
is_due timers:s0 "a:$id-3"
listed "timers:s0 a:$id-3"
python store.py mend "exec:$id" a:3
"""
_PAGES = {
    "docs/how-to/audit.md": Theirs(
        first=_AUDITED,
        before={"quarantine retry --all": _IN_QUARANTINE, "quarantine drop": _DAMAGED},
        called={
            "00012d4b-1c2f-4c6e-9a51-7f0e6f7d1a2b": '"$id"',
            "quarantine drop": "quarantine drop --yes",  # nobody is there to be asked
        },
    ),
    "docs/how-to/backfill.md": Theirs(
        before={"3f1d…": _FAILED_BACKFILL},
        called={"3f1d…": '"$id"'},
    ),
    "docs/how-to/external-services.md": Theirs(
        before={
            "redis.internal:6379/0": _PROTECTED_REDIS,
            "conductor-py api": _CONFIGURATION,
        },
        called={
            "@redis.internal:6379/0": "@127.0.0.1:6379/1 --port 8081 --data ./second",
            "--port 8080": "--port 8082",  # at 8080 is the server from the beginning of the page
        },
        after=_WORK_FOR_ALL_PARTS,
    ),
    "docs/how-to/http-tasks.md": Theirs(
        first=f"{_REDIS}conductor-py server --redis redis://127.0.0.1:6379\n",
        called={"redis.internal:6379": f"127.0.0.1:6379 {_REACHES_HERE}"},
        after=_WORK_FOR_A_GROUP,
    ),
    "docs/how-to/long-tasks.md": Theirs(
        first="conductor-py server\n",
        before={"workflow checkpoints": _START_COUNTING},
        called={"1b671a64-40d5-491e-99b0-da01ff1f3341": '"$id"'},
    ),
    "docs/how-to/migrate-from-conductor.md": Theirs(
        first=_OLD_SERVER,
        before={"--port 8090": _OLD_DEFINITIONS},
        called={"http://old-server:8080": "http://127.0.0.1:8080"},
        after="conductor-py definition list | grep orders\n",
    ),
    "docs/how-to/two-servers.md": Theirs(first=_REDIS),
    "docs/how-to/why.md": Theirs(
        first="conductor-py server\n",
        before={"workflow why": _START_RESIZE},
        called={"00012d4b-1c2f-4c6e-9a51-7f0e6f7d1a2b": '"$id"'},
        after='conductor-py workflow why "$id" | grep no-worker-ever\n',
    ),
    "docs/reference/catalog.md": Theirs(
        first="conductor-py server\nconductor-py server --port 8090 --data ./prod\n",
        called={"http://prod:8080": "http://127.0.0.1:8090"},
        after="conductor-py dag list --server http://127.0.0.1:8090 | grep nightly\n",
    ),
    "docs/reference/connectors.md": Theirs(
        first="mkdir lake\necho there > lake/orders\n",
        called={'"s3://lake/orders"': "f\"{__import__('os').getcwd()}/lake\""},
    ),
    "docs/reference/pipelines.md": Theirs(
        first=_SPARK,
        before={
            "pipeline progress": _BOUNDED,
            "workflow upgrade": _UNBOUNDED,
            "--savepoint evening": _THIRD_EPOCH,
        },
        called={
            "1b671a64-40d5-491e-99b0-da01ff1f3341": '"$ID"',
            "conductor-py workflow upgrade": "is callback\nconductor-py workflow upgrade",
            _GO_BACK: f"is callback\n{_GO_BACK}",
            f"{_FURTHER} 41 --part p-6f2a": f"{_STOP_AGAIN}{_FURTHER} 1 --part $part",
        },
        after='shows "WAITING epoch [5-9]"\n',  # the rows behind epoch 1 came again
    ),
}


def with_theirs(page: Page) -> tuple[Step, ...]:
    """The steps of a page with what they take as given."""
    theirs = _PAGES.get(page.name, Theirs())
    steps = tuple(_steps(page, theirs))
    texts = "".join(step.text for step in steps_of(page))
    lost = [name for name in (*theirs.called, *theirs.before) if name not in texts]
    assert not lost, f"{page.name} has them not any more: {lost}"
    return steps


def _steps(page: Page, theirs: Theirs) -> Iterator[Step]:
    if theirs.first:
        yield Step(language="sh", text=theirs.first)
    for step in steps_of(page):
        for text, made in theirs.before.items():
            if text in step.text:
                yield Step(language="sh", text=made)
        text = step.text
        for name, here in theirs.called.items():
            text = text.replace(name, here)
        yield replace(step, text=text)
    if theirs.after:
        yield Step(language="sh", text=theirs.after)
