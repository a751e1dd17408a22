"""Routes read addresses at once, and learn to write them when somebody asks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest
from flask import Flask, url_for
from werkzeug.routing import Rule

from conductor_py.api import create_app
from conductor_py.api.routing import ReadingRule
from tests.api.fake_engine import FakeEngine


@pytest.fixture
def compiled() -> Iterator[mock.MagicMock]:
    """What werkzeug compiles to write addresses."""
    original = Rule._compile_builder
    with mock.patch.object(Rule, "_compile_builder", autospec=True) as compiling:
        compiling.side_effect = original
        yield compiling


def test_a_start_compiles_nothing_that_writes_addresses(compiled: mock.MagicMock) -> None:
    app = create_app(FakeEngine(), instance="here", max_body_bytes=1)
    assert len(list(app.url_map.iter_rules())) > 150
    assert compiled.call_count == 0


_MORE: tuple[dict[str, Any], ...] = ({}, {"q": "1&2"})


def test_an_address_is_written_as_werkzeug_writes_it(compiled: mock.MagicMock) -> None:
    written = []
    for rule in (Rule, ReadingRule):
        app = Flask("here", static_folder=None)
        app.url_rule_class = rule
        app.add_url_rule("/a/<name>/<path:rest>", "reach", lambda **_: "")
        with app.test_request_context():
            written.append(
                [
                    url_for("reach", name=name, rest="x/y z", **more)
                    for name in ("é/", "b")
                    for more in _MORE
                ]
            )
    assert written[0] == written[1]
    assert written[0][3] == "/a/b/x/y%20z?q=1%262"
    # Rule compiles two forms of it at once; the other the one that is used, and once.
    assert compiled.call_count == 2 + 1
