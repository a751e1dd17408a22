"""``conductor-py deployment``: servers with their shards, workers."""

import json

from tests.cli.conftest import Run
from tests.sdk.stub import Reply, StubServer

_AT = 1_800_000_000_000
_SERVERS = [
    {
        "server": "a-1",
        "lastRenewal": _AT,
        "until": _AT + 6_000,
        "shards": [
            {"shard": "east", "term": 17, "configured": True, "sweptUntil": 0},
            {"shard": "west", "term": 18, "configured": False, "sweptUntil": 0},
        ],
    },
    {"server": "b-2", "lastRenewal": _AT, "until": _AT + 6_000, "shards": []},
]
_WORKERS = [
    {
        "workerId": "w-1",
        "host": "h",
        "version": "1.4",
        "sdk": "conductor-py/1",
        "taskTypes": [{"taskType": "resize"}, {"taskType": "resize", "domain": "gpu"}],
        "running": 3,
        "capacity": 8,
        "reported": True,
        "lastSeen": _AT,
    },
    {
        "workerId": "java\u001b[2J",
        "taskTypes": [{"taskType": "charge"}],
        "reported": False,
        "lastSeen": _AT,
    },
]


def test_servers_are_listed_one_line_a_shard(run: Run, stub: StubServer) -> None:
    stub.on("GET", "/api/admin/servers", Reply(200, _SERVERS))

    lines = run("deployment", "servers").out.splitlines()

    assert [line.split()[:3] for line in lines[1:3]] == [
        ["a-1", "east", "17"],
        ["a-1", "west", "18"],
    ]
    assert lines[3].split() == ["b-2", "2027-01-15", "08:00:00Z"]
    assert json.loads(run("deployment", "servers", "--json").out) == _SERVERS


def test_workers_are_listed_with_what_they_take_and_their_load(run: Run, stub: StubServer) -> None:
    stub.on("GET", "/api/workers", Reply(200, _WORKERS))

    outcome = run("deployment", "workers", "resize")

    _, first, second = outcome.out.splitlines()
    assert "resize, gpu:resize" in first
    assert "3 of 8" in first
    assert "2027-01-15 08:00:00Z" in first
    assert "java\\x1b[2J" in second
    assert " of " not in second
    assert stub.seen("GET")[0].query == {"taskType": ["resize"]}
    assert json.loads(run("deployment", "workers", "--json").out) == _WORKERS


def test_a_deployment_without_workers_says_so(run: Run, stub: StubServer) -> None:
    stub.on("GET", "/api/workers", Reply(200, []))
    outcome = run("deployment", "workers")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "Nothing found.\n")
