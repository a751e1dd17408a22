"""A setting whose package is not installed is refused at the start, with what to install."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import cast

import pytest

from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.config import Settings, load
from conductor_py.config.extras import check_extras
from conductor_py.errors import ConfigurationError
from conductor_py.processes.application import await_stores
from conductor_py.processes.server import run_server
from conductor_py.wiring.files import files_of
from conductor_py.wiring.outlets import sinks_of
from conductor_py.wiring.payloads import payloads_of
from conductor_py.wiring.search import search_of

_BUCKET = {"conductor.external-payload-storage.s3.bucketName": "payloads"}
_CHOSEN = [
    ("boto3", {"conductor.external-payload-storage.type": "s3", **_BUCKET}, "s3"),
    (
        "boto3",
        {
            "conductor.file-storage.enabled": "true",
            "conductor.file-storage.type": "s3",
            "conductor.file-storage.s3.bucket-name": "files",
        },
        "s3",
    ),
    ("elasticsearch", {"conductor.indexing.type": "elasticsearch"}, "search"),
    ("kazoo", {"conductor.workflow-execution-lock.type": "zookeeper"}, "zookeeper"),
    (
        "confluent_kafka",
        {"conductor.event-queues.kafka.bootstrap-servers": "localhost:9092"},
        "kafka",
    ),
]
_NO_SCRIPTS = cast("Scripts", SimpleNamespace(connection=None, prefix=str))


def chosen(flags: dict[str, str]) -> Settings:
    return load(environment={}, flags=flags)


@pytest.mark.parametrize(("module", "flags", "extra"), _CHOSEN)
def test_a_setting_whose_package_is_missing_is_refused_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch, module: str, flags: dict[str, str], extra: str
) -> None:
    settings = chosen(flags)
    check_extras(settings)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ConfigurationError, match=r"needs .*: pip install") as refused:
        check_extras(settings)
    assert f"pip install '.[{extra}]'" in refused.value.message


@pytest.mark.parametrize(("module", "flags", "extra"), _CHOSEN)
def test_a_server_does_not_start_without_a_package_that_its_settings_need(
    monkeypatch: pytest.MonkeyPatch, module: str, flags: dict[str, str], extra: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ConfigurationError, match="pip install"):
        run_server(chosen(flags), print)
    with pytest.raises(ConfigurationError, match="pip install"):
        await_stores(chosen(flags))


def test_whatever_makes_the_adapter_says_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("boto3", "elasticsearch", "confluent_kafka"):
        monkeypatch.setitem(sys.modules, module, None)
    given = {name: value for _, flags, _ in _CHOSEN for name, value in flags.items()}
    settings = chosen(given)
    for make in (payloads_of, search_of, sinks_of):
        with pytest.raises(ConfigurationError, match="pip install"):
            make(settings)
    with pytest.raises(ConfigurationError, match="pip install"):
        files_of(settings, _NO_SCRIPTS)


def test_nothing_is_needed_by_the_settings_that_stand_without_a_choice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module, _, _ in _CHOSEN:
        monkeypatch.setitem(sys.modules, module, None)
    check_extras(chosen({}))
