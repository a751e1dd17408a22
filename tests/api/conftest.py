"""A client of the HTTP front over a fake engine."""

import pytest
from flask.testing import FlaskClient

from conductor_py.api import create_app
from tests.api.fake_engine import FakeEngine


@pytest.fixture
def engine() -> FakeEngine:
    """Offer an engine that remembers."""
    return FakeEngine()


@pytest.fixture
def client(engine: FakeEngine) -> FlaskClient:
    """Offer a client of the front of that engine."""
    return create_app(engine, instance="here", max_body_bytes=100_000).test_client()
