"""Conductor's own server and ours, both as they are started, side by side."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.acceptance.deployment import deployed
from tests.beside_java.server import Conductor
from tests.services.absence import absent
from tests.services.cache import Unobtainable
from tests.services.conductor_java import conductor_java

#: A WAIT is over when Conductor looks: every second instead of every half minute.
_SETTINGS = {"conductor.app.workflow-offset-timeout": "1s"}


@pytest.fixture(scope="session")
def java() -> Iterator[Conductor]:
    try:
        with conductor_java(_SETTINGS) as server, closing(Conductor(server.port)) as asked:
            yield asked
    except Unobtainable as error:
        absent(f"Conductor's server cannot be had: {error}")


@pytest.fixture(scope="session")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Conductor]:
    folder: Path = tmp_path_factory.mktemp("ours")
    with deployed(folder) as made, closing(Conductor(made.server().port)) as asked:
        yield asked
