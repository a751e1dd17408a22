"""Codes over HTTP, on a real engine in memory."""

import pytest
from flask.testing import FlaskClient

from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.api import create_app
from conductor_py.testing import FakeClock, MemoryEngine, memory_engine
from conductor_py.testing.clock import START_MS
from conductor_py.wire.codes import FORMS
from conductor_py.wire.fields import load


@pytest.fixture
def engine() -> MemoryEngine:
    return memory_engine()


@pytest.fixture
def client(engine: MemoryEngine) -> FlaskClient:
    return create_app(engine.engine, instance="here").test_client()


def test_codes_are_minted_as_decimals_each_larger_than_the_one_before(client: FlaskClient) -> None:
    found = client.post("/api/catalog/codes?count=1000").get_json()
    numbers = [int(code) for code in found]
    assert found == [str(number) for number in numbers]
    assert numbers == sorted(set(numbers))
    assert len(numbers) == 1_000


def test_one_code_is_minted_unless_more_are_asked_for(client: FlaskClient) -> None:
    (one,) = client.post("/api/catalog/codes").get_json()
    (other,) = client.post("/api/catalog/codes").get_json()
    assert int(one) < int(other)


@pytest.mark.parametrize("count", ["0", "-1", "1001", "many", "99999999999999999999"])
def test_a_count_that_is_none_is_refused_with_its_place(client: FlaskClient, count: str) -> None:
    answer = client.post("/api/catalog/codes", query_string={"count": count})
    assert answer.status_code == 400
    (found,) = answer.get_json()["validationErrors"]
    assert (found["path"], found["invalidValue"]) == ("?count", count)


def test_a_code_says_when_and_by_whom_it_was_minted(
    client: FlaskClient, engine: MemoryEngine
) -> None:
    engine.clock.advance(seconds=5)
    _, code = client.post("/api/catalog/codes?count=2").get_json()

    found = client.get(f"/api/catalog/codes/{code}").get_json()

    load(FORMS[0], found)
    assert found == {"code": code, "time": START_MS + 5_000, "worker": 0, "sequence": 1}


@pytest.mark.parametrize("code", ["x", "-1", "01", "1.5", str(2**53), "9" * 100, "%20", "1%0A"])
def test_what_is_no_code_is_refused_with_its_place(client: FlaskClient, code: str) -> None:
    answer = client.get(f"/api/catalog/codes/{code}")
    assert answer.status_code == 400
    (found,) = answer.get_json()["validationErrors"]
    assert found["path"] == "{code}"
    assert "decimal of at most 53 bits" in found["message"]


def test_servers_over_one_store_mint_no_code_twice() -> None:
    clock = FakeClock()
    space = MemorySpace(clock=clock)
    servers = [memory_engine(clock=clock, space=space) for _ in range(2)]
    clients = [create_app(server.engine).test_client() for server in servers]
    found = [
        code
        for _ in range(3)
        for client in clients
        for code in client.post("/api/catalog/codes?count=100").get_json()
    ]
    assert len(set(found)) == 600


def test_a_clock_that_was_set_back_is_answered_with_the_time_that_it_takes(
    client: FlaskClient, engine: MemoryEngine
) -> None:
    client.post("/api/catalog/codes")
    engine.clock.advance(seconds=-60)
    answer = client.post("/api/catalog/codes")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "60")
    assert "set back" in answer.get_json()["message"]
