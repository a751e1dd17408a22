"""What a page shows as a document, a reader may send: the product takes it, and keeps all of it.

A document that the page has put into a file is left to the commands of that page.
"""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from conductor_py.api import create_app
from conductor_py.config.sources import load
from conductor_py.testing.engine import memory_engine
from tests.docs.pages import all_pages, page
from tests.docs.reader import Step, steps_of

Document = Any
Reads = Callable[[FlaskClient, Document], None]


def _sent(client: FlaskClient, path: str, body: Document) -> Document:
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.get_data(as_text=True)
    return answer.get_json(silent=True)


def _workflow(client: FlaskClient, shown: Document) -> None:
    _sent(client, "/api/metadata/workflow", shown)
    kept = client.get(f"/api/metadata/workflow/{shown['name']}").get_json()
    _is_kept(shown, kept)


def _task(client: FlaskClient, shown: Document) -> None:
    _workflow(client, {"name": "shown", "version": 1, "tasks": [shown]})


def _transform(client: FlaskClient, shown: Document) -> None:
    columns = [{"name": "page", "type": "string"}, {"name": shown["time"], "type": "timestamp"}]
    (read,) = shown["inputs"].values()
    source = {"id": "s", "kind": "file", "paths": ["/in/*.json"], "format": "json", "output": read}
    sink = {"id": "k", "kind": "file", "input": shown["output"], "format": "json", "path": "/out"}
    job = {
        "version": 1,
        "name": "shown",
        "mode": "unbounded",
        "sources": [source | {"schema": {"columns": columns}}],
        "transforms": [shown],
        "sinks": [sink],
    }
    task = {"name": "SPARK_PIPELINE", "taskReferenceName": "t", "type": "SPARK_PIPELINE"}
    _task(client, task | {"inputParameters": {"job": job}})


def _task_definitions(client: FlaskClient, shown: Document) -> None:
    _sent(client, "/api/metadata/taskdefs", shown)
    for each in shown:
        _is_kept(each, client.get(f"/api/metadata/taskdefs/{each['name']}").get_json())


def _backfill(client: FlaskClient, shown: Document) -> None:
    files = {step.file: step.text for step in steps_of(page("docs/how-to/backfill.md"))}
    _sent(client, "/api/metadata/workflow", json.loads(files["report.json"]))
    _sent(client, "/api/scheduler/schedules", json.loads(files["nightly-report.json"]))
    planned = _sent(client, "/api/scheduler/backfills?dryRun=true", shown)
    assert len(planned["lanes"]) == shown["lanes"]


def _condition(client: FlaskClient, shown: Document) -> None:
    asked = ("load", "check", "clean")
    tasks: list[Document] = [
        {"name": each, "taskReferenceName": each} for each in (*asked, "good", "bad")
    ]
    whether = {"name": "whether", "taskReferenceName": "whether", "type": "CONDITIONS"}
    relations = [{"preTask": each, "postTask": "whether", "label": "test"} for each in asked]
    for label, task in (("success", "good"), ("failure", "bad")):
        relations.append({"preTask": "whether", "postTask": task, "label": label})
    tasks.append({**whether, "inputParameters": {"condition": shown}})
    _workflow(client, {"name": "dag", "version": 1, "tasks": tasks, "relations": relations})


def _bundle(client: FlaskClient, shown: Document) -> None:
    _sent(client, "/api/catalog/import", shown)
    names = "&".join(f"name={each['name']}" for each in shown["workflows"])
    exported = client.get(f"/api/catalog/export?{names}").get_json()
    assert exported.keys() == shown.keys()
    for kind in ("workflows", "tasks"):
        assert [each["code"] for each in exported[kind]] == [each["code"] for each in shown[kind]]


def _use(client: FlaskClient, shown: Document) -> None:
    _import_the_example(client)
    _sent(client, "/api/catalog/workflows", {"name": "uses", "tasks": [shown]})


def _lineage(client: FlaskClient, shown: Document) -> None:
    _import_the_example(client)
    (edge,) = shown["edges"]
    calls = {"name": "child", "taskReferenceName": "child", "type": "SUB_WORKFLOW"}
    _sent(
        client,
        "/api/catalog/workflows",
        {"name": "weekly", "tasks": [{**calls, "subWorkflowParam": {"name": "nightly"}}]},
    )
    path = f"/api/catalog/workflows/{shown['code']}/lineage?depth={shown['depth']}"
    answered = client.get(path).get_json()
    assert answered.keys() == shown.keys()
    (weekly,) = (each for each in answered["nodes"] if each["name"] == "weekly")
    (called,) = (each for each in answered["edges"] if each["type"] == edge["type"])
    assert weekly.keys() == shown["nodes"][0].keys()
    assert called.keys() == edge.keys()
    assert (called["from"], called["to"]) == (edge["from"], edge["to"])


def _import_the_example(client: FlaskClient) -> None:
    shown = [json.loads(step.text) for step in _shown("docs/reference/catalog.md")]
    (bundle,) = (each for each in shown if "format" in each)
    _sent(client, "/api/catalog/import", bundle)


def _is_kept(shown: Document, kept: Document) -> None:
    """What is not known is not refused everywhere, but nowhere kept."""
    if isinstance(shown, dict):
        for name, value in shown.items():
            assert name in kept
            _is_kept(value, kept[name])
    elif isinstance(shown, list):
        assert len(shown) == len(kept)
        for one, other in zip(shown, kept, strict=True):
            _is_kept(one, other)
    else:
        assert shown == kept


def _shown(name: str) -> list[Step]:
    return [step for step in steps_of(page(name)) if step.language == "json" and not step.file]


_READ: dict[str, tuple[Reads, ...]] = {
    "docs/how-to/backfill.md": (_backfill,),
    "docs/how-to/events.md": (_task,),
    "docs/how-to/http-tasks.md": (_task, _task_definitions, _task),
    "docs/how-to/write-a-system-task.md": (_task,),
    "docs/reference/catalog.md": (_use, _lineage, _bundle),
    "docs/reference/dags.md": (_workflow, _condition),
    "docs/reference/pipelines.md": (_task, _transform),
    "docs/reference/policies.md": (_workflow, _task),
    "docs/reference/priorities.md": (_task,),
}
"""What takes the documents of a page, in their order."""


@pytest.mark.parametrize(
    ("step", "reads"),
    [pair for name, reads in _READ.items() for pair in zip(_shown(name), reads, strict=True)],
    ids=lambda value: value.text[:40] if isinstance(value, Step) else value.__name__,
)
def test_a_document_of_a_page_is_taken_and_kept(step: Step, reads: Reads) -> None:
    reads(create_app(memory_engine().engine).test_client(), json.loads(step.text))


def test_each_document_of_each_page_is_taken_by_something() -> None:
    assert {each.name for each in all_pages() if _shown(each.name)} == _READ.keys()


_SECRETS = {
    "redis": "redis.internal:6379:rack1:password",
    "search": "password",
    "s3": "key",
    "hook": "http://monitor.lan/hook",
}


@pytest.mark.parametrize(
    "settings",
    [block.text for page in all_pages() for block in page.blocks("properties")],
    ids=lambda text: text[:60],
)
def test_settings_of_a_page_have_values_that_a_server_takes(settings: str, tmp_path: Path) -> None:
    for name, secret in _SECRETS.items():
        (tmp_path / name).write_text(secret)
    file = tmp_path / "config.properties"
    file.write_text(settings.replace("/run/secrets", str(tmp_path)))
    keys = {line.partition("=")[0] for line in settings.splitlines()}
    read = load(file=file, environment={"SEARCH_PASSWORD": "password"})
    assert read.given.keys() == keys
    assert read.without_effect == ()


_GROUPS = {f"conductor_py.{each}" for each in ("locks", "sinks", "sources", "system_tasks")}


@pytest.mark.parametrize(
    "text",
    [block.text for page in all_pages() for block in page.blocks("toml")],
    ids=lambda text: text[:60],
)
def test_entry_points_of_a_page_are_of_a_group_that_is_looked_at(text: str) -> None:
    groups = tomllib.loads(text)["project"]["entry-points"]
    assert groups
    assert groups.keys() <= _GROUPS
