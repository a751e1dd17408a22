"""Running a command in this process, against a server that answers what a test wants."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from conductor_py.cli import main
from tests.sdk.stub import StubServer


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command did: exit code, data and messages."""

    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def command(*arguments: str) -> Outcome:
        with pytest.raises(SystemExit) as end:
            main(arguments)
        said = capsys.readouterr()
        assert isinstance(end.value.code, int)
        return Outcome(end.value.code, said.out, said.err)

    return command


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[StubServer]:
    """A server; commands find it by their variable."""
    server = StubServer()
    monkeypatch.setenv("CONDUCTOR_SERVER_URL", server.url)
    yield server
    server.close()
