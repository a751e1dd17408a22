"""``conductor-py dag``: a workflow from its file to its run, and back to an older version."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.builders import dag, simple, sub_workflow
from tests.cli.conftest import Outcome, Run
from tests.sdk.bridge import Bridge
from tests.sdk.stub import StubServer


@pytest.fixture
def bridge(stub: StubServer) -> Bridge:
    return Bridge(stub)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "etl.json"


def _written(file: Path, **more: object) -> str:
    document = dag("etl", [simple("a"), simple("b")], "a > b", **more)
    file.write_text(
        json.dumps({name: value for name, value in document.items() if name != "version"})
    )
    return str(file)


def _done(outcome: Outcome) -> Outcome:
    assert outcome.code == 0, outcome.err
    return outcome


@pytest.mark.usefixtures("bridge")
def test_a_file_is_saved_again_and_again_under_one_name(run: Run, file: Path) -> None:
    first = _done(run("dag", "save", _written(file)))
    assert first.out == ""
    assert "version 1 is edited, nothing is published" in first.err
    second = _done(run("dag", "save", _written(file, description="x"), "--json"))
    head = json.loads(second.out)
    assert (head["name"], head["version"]) == ("etl", 2)
    same = json.loads(_done(run("dag", "save", str(file), "--json")).out)
    assert same == head
    lines = _done(run("dag", "list")).out.splitlines()
    assert len(lines) == 2
    assert head["code"] in lines[1]


def test_published_is_what_starts_until_it_is_withdrawn(
    run: Run, file: Path, bridge: Bridge
) -> None:
    _done(run("dag", "save", _written(file), "--publish"))
    refused = run("dag", "save", _written(file, description="x"))
    assert (refused.code, "as a draft" in refused.err) == (1, True)
    draft = _done(run("dag", "save", str(file), "--draft"))
    assert "version 2 is edited, version 1 is published" in draft.err
    _done(run("dag", "publish", "etl"))
    assert bridge.engine.workflow(bridge.engine.start("etl"))["workflowVersion"] == 2
    _done(run("dag", "publish", "etl", "--version", "1"))
    assert bridge.engine.workflow(bridge.engine.start("etl"))["workflowVersion"] == 1
    assert "nothing is published" in _done(run("dag", "withdraw", "etl")).err


@pytest.mark.usefixtures("bridge")
def test_what_is_published_at_once_is_what_was_saved_over_what_was_seen(
    run: Run, file: Path, stub: StubServer
) -> None:
    """Two etags: of the head that the save replaces, and of the one that it left."""
    _done(run("dag", "save", _written(file), "--publish"))
    before = json.loads(_done(run("dag", "list", "--json")).out)[0]
    _done(run("dag", "save", _written(file, description="x"), "--publish"))
    saved, published = stub.seen("PUT")[-1], stub.seen("POST")[-1]
    etags = [request.headers["if-match"].strip('"') for request in (saved, published)]
    assert etags[0] == str(before["etag"])
    assert int(etags[1]) > before["etag"]
    assert published.path.endswith("/publish")
    assert published.query["version"] == ["2"]


@pytest.mark.usefixtures("bridge")
def test_versions_are_listed_printed_and_gone_back_to(run: Run, file: Path) -> None:
    _done(run("dag", "save", _written(file)))
    first = json.loads(file.read_text())
    _done(run("dag", "save", _written(file, description="x")))
    lines = _done(run("dag", "versions", "etl")).out.splitlines()
    assert [line.split()[0] for line in lines] == ["version", "2", "1"]
    assert json.loads(_done(run("dag", "get", "etl", "--version", "1")).out) == first
    pins = json.loads(_done(run("dag", "get", "etl", "--pins")).out)
    assert [task["taskVersion"] for task in pins["tasks"]] == [1, 1]
    code = pins["tasks"][0]["taskCode"]
    used = json.loads(_done(run("dag", "uses", code, "--json")).out)
    assert (used[0]["workflow"]["name"], used[0]["versions"]) == ("etl", [2])
    assert "etl" in _done(run("dag", "uses", code)).out
    assert json.loads(_done(run("dag", "get", code, "--task")).out)["name"] == "a"
    assert _done(run("dag", "diff", "etl")).out.splitlines() == [
        "version 1 -> 2",
        '~ workflow $.description: null -> "x"',
    ]
    assert "version 1 is edited" in _done(run("dag", "switch", "etl", "1")).err
    _done(run("dag", "purge", "etl", "2"))
    assert len(_done(run("dag", "versions", "etl")).out.splitlines()) == 2


def test_a_shared_task_is_applied_to_all_who_have_it(run: Run, file: Path, bridge: Bridge) -> None:
    file.write_text('{"name": "load"}')
    code = json.loads(_done(run("dag", "save", str(file), "--task", "--json")).out)["code"]
    user = {"name": "user", "tasks": [{"uses": {"code": code, "version": 1}}, simple("own")]}
    file.write_text(json.dumps(user))
    _done(run("dag", "save", str(file)))
    file.write_text('{"name": "load", "optional": true}')
    saved = _done(run("dag", "save", str(file), "--task", "--code", code, "--json"))
    assert json.loads(saved.out)["version"] == 2
    assert len(json.loads(_done(run("dag", "list", "--shared", "--json")).out)) == 1
    assert run("dag", "save", str(file), "--code", code).code == 2
    assert run("dag", "save", str(file), "--task", "--publish").code == 2
    assert "user" in _done(run("dag", "apply", code, "--dry-run")).out
    (head,) = json.loads(_done(run("dag", "apply", code, "--json")).out)
    assert (head["name"], head["version"]) == ("user", 2)
    assert json.loads(_done(run("dag", "apply", code, "--json")).out) == []


@pytest.mark.usefixtures("bridge")
def test_what_surrounds_a_workflow_is_listed_edge_by_edge(
    run: Run, file: Path, tmp_path: Path
) -> None:
    _done(run("dag", "save", _written(file), "--publish"))
    assert _done(run("dag", "lineage", "etl")).err == "Nothing found.\n"
    parent = tmp_path / "parent.json"
    parent.write_text(json.dumps({"name": "parent", "tasks": [sub_workflow("s", "etl")]}))
    _done(run("dag", "save", str(parent)))
    head, edge = _done(run("dag", "lineage", "etl")).out.splitlines()
    assert head.split("  ")[0] == "from"
    assert edge.split() == ["workflow:parent", "SUB_WORKFLOW", "workflow:etl", "1", "edited"]
    found = json.loads(_done(run("dag", "lineage", "etl", "--depth", "3", "--json")).out)
    assert (found["depth"], len(found["nodes"])) == (3, 2)
    assert run("dag", "lineage", "nobody").code == 1


@pytest.mark.usefixtures("bridge")
def test_a_stale_etag_is_1_and_saves_nothing(run: Run, file: Path) -> None:
    head = json.loads(_done(run("dag", "save", _written(file), "--json")).out)
    etag = str(head["etag"])
    _done(run("dag", "save", _written(file, description="x"), "--etag", etag))
    stale = run("dag", "save", _written(file, description="y"), "--etag", etag)
    assert (stale.code, "read it again" in stale.err) == (1, True)
    assert json.loads(_done(run("dag", "get", "etl")).out)["description"] == "x"


@pytest.mark.usefixtures("bridge")
def test_a_deleted_workflow_is_found_by_its_code_only(run: Run, file: Path) -> None:
    head = json.loads(_done(run("dag", "save", _written(file), "--json")).out)
    assert "dag purge" in _done(run("dag", "delete", "etl")).err
    assert run("dag", "get", "etl").code == 1
    assert json.loads(_done(run("dag", "get", head["code"])).out)["name"] == "etl"
    assert _done(run("dag", "list")).out == ""


@pytest.mark.usefixtures("bridge")
def test_what_is_no_workflow_is_told_before_anything_is_sent(run: Run, file: Path) -> None:
    file.write_text("[1]")
    assert "holds no workflow" in run("dag", "save", str(file)).err
    unknown = run("dag", "publish", "nobody")
    assert (unknown.code, "nobody" in unknown.err) == (1, True)


@pytest.mark.usefixtures("bridge")
def test_a_workflow_is_exported_from_one_server_and_imported_into_another(
    run: Run, file: Path, stub: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    _done(run("dag", "save", _written(file), "--publish"))
    text = _done(run("dag", "export", "etl", "--callees", "--versions", "all")).out
    assert stub.seen("GET")[-1].query == {"name": ["etl"], "callees": ["true"], "versions": ["all"]}
    exported = file.with_name("export.json")
    exported.write_text(text)
    other = StubServer()
    try:
        there = Bridge(other)
        there.engine.clock.advance(seconds=3_600)
        monkeypatch.setenv("CONDUCTOR_SERVER_URL", other.url)
        dry = _done(run("dag", "import", str(exported), "--dry-run"))
        assert "Nothing was changed." in dry.err
        assert _done(run("dag", "list")).out == ""
        lines = _done(run("dag", "import", str(exported))).out.splitlines()
        assert lines[1].split()[:3] == ["workflow", "etl", "CREATED"]
        _done(run("dag", "publish", "etl"))
        assert _done(run("dag", "export", "etl")).out == text
        assert there.engine.workflow(there.engine.start("etl"))["workflowVersion"] == 1
        exported.write_text(text.replace('"a"', '"c"'))
        refused = run("dag", "import", str(exported))
        assert (refused.code, "workflow etl" in refused.err) == (1, True)
        dry = _done(run("dag", "import", str(exported), "--dry-run"))
        assert "CONFLICT" in dry.out
        assert "It would be refused" in dry.err
        mode = ("--on-existing", "NEW_VERSION", "--json")
        report = json.loads(_done(run("dag", "import", str(exported), *mode)).out)
        assert report["workflows"][0]["versions"] == [{"from": 1, "to": 2}]
    finally:
        other.close()


@pytest.mark.usefixtures("bridge")
def test_what_is_no_export_is_told_before_anything_is_sent(run: Run, file: Path) -> None:
    file.write_text("[1]")
    assert "holds no export" in run("dag", "import", str(file)).err
    assert run("dag", "export").code == 2
