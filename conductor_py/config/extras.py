"""Packages that only some settings need: each is an extra, and what is missing is said by name.

Nothing is imported here: whether a package is there is asked of Python before a driver's own import
would fail, which tells nobody what to do.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Final

from conductor_py.config.settings import Settings
from conductor_py.errors import MissingExtra

S3_PAYLOADS: Final = "conductor.external-payload-storage.type=s3"
S3_FILES: Final = "conductor.file-storage.type=s3"
ELASTICSEARCH: Final = "conductor.indexing.type=elasticsearch"
ZOOKEEPER: Final = "conductor.workflow-execution-lock.type=zookeeper"
KAFKA: Final = "conductor.event-queues.kafka.bootstrap-servers"

_PACKAGES: Final = {
    "kafka": ("confluent_kafka", "confluent-kafka"),
    "s3": ("boto3", "boto3"),
    "search": ("elasticsearch", "elasticsearch"),
    "zookeeper": ("kazoo", "kazoo"),
}
"""Extra -> the module that is imported of it, the package that has it."""


def require_extra(extra: str, setting: str) -> None:
    """Refuse a setting whose extra is not installed (``MissingExtra``)."""
    module, package = _PACKAGES[extra]
    if find_spec(module) is None:
        raise MissingExtra(f"{setting} needs {package}", extra=extra)


def check_extras(settings: Settings) -> None:
    """Refuse the first setting whose extra is not installed (``MissingExtra``)."""
    for extra, setting in _chosen(settings):
        require_extra(extra, setting)


def missing_extras(settings: Settings) -> Iterator[str]:
    """Say of each setting whose extra is not installed what to install."""
    for extra, setting in _chosen(settings):
        try:
            require_extra(extra, setting)
        except MissingExtra as error:
            yield error.message


def _chosen(settings: Settings) -> Iterator[tuple[str, str]]:
    """Give the extras that are needed, with the settings that ask for them."""
    if settings.payload_storage.type == "s3":
        yield "s3", S3_PAYLOADS
    if settings.file_storage.enabled and settings.file_storage.type == "s3":
        yield "s3", S3_FILES
    if settings.index.type == "elasticsearch":
        yield "search", ELASTICSEARCH
    if settings.lock.type == "zookeeper":
        yield "zookeeper", ZOOKEEPER
    if settings.listeners.kafka_servers:
        yield "kafka", KAFKA
