"""What is done while answers that nobody reads hold all the room: by route, through the whole
application.
"""

from __future__ import annotations

from typing import Any

import pytest

from conductor_py.api import create_app
from conductor_py.api.admission import Admission
from conductor_py.api.front import Front
from conductor_py.api.held import Held, held_by
from conductor_py.api.unread import MOST
from conductor_py.errors import Overloaded
from tests.api.fake_engine import FakeEngine
from tests.waiting import PATIENCE_S

_OVERLOADED = "OVERLOADED"


class _Full:
    """An application whose room is taken."""

    def __init__(self) -> None:
        self.admission = Admission(threads=8, working=2, resting=2, wait_s=PATIENCE_S)
        self.app = create_app(FakeEngine(), instance="here", admission=self.admission)
        self.client: Any = self.app.test_client()
        self.fill(MOST + 1)

    def fill(self, size: int) -> None:
        self.admission.unread.seen(())
        self.admission.unread.given(size)

    def code(self, method: str, path: str, body: object = None) -> str:
        answer = self.client.open(path, method=method, json=body)
        return str((answer.get_json(silent=True) or {}).get("code")) if answer.data else ""


@pytest.fixture
def full() -> _Full:
    return _Full()


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/workflow"),
        ("POST", "/api/workflow/thumbs"),
        ("DELETE", "/api/workflow/one"),
        ("PUT", "/api/workflow/one/pause"),
        ("GET", "/api/workflow/externalstoragelocation"),
        ("GET", "/api/tasks/externalstoragelocation"),
        ("GET", "/api/tasks/poll/thumbs"),
        ("GET", "/api/tasks/poll/batch/thumbs"),
        ("POST", "/api/tasks"),
        ("POST", "/api/tasks/update-v2"),
        ("POST", "/api/tasks/one/ref/COMPLETED"),
        ("POST", "/api/tasks/one/extend"),
        ("POST", "/api/tasks/one/log"),
        ("PUT", "/api/tasks/one/checkpoints/part"),
        ("GET", "/api/tasks/one/checkpoints"),
        ("POST", "/api/workers"),
        ("POST", "/api/queue/update/one/ref/COMPLETED"),
    ],
)
def test_five_slow_readers_close_the_server_to_no_start_and_no_work(
    full: _Full, method: str, path: str
) -> None:
    assert full.code(method, path, None if method == "GET" else {}) != _OVERLOADED


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/workflow/one"),
        ("GET", "/api/tasks/one"),
        ("GET", "/api/tasks/one/log"),
        ("GET", "/api/tasks/search-v2"),
        ("GET", "/api/tasks/search"),
        ("GET", "/api/tasks/queue/polldata/all"),
        ("POST", "/api/tasks/one/ref/COMPLETED/sync"),
        ("POST", "/api/tasks/one/COMPLETED/signal/sync"),
        ("POST", "/api/workflow/execute/thumbs"),
        ("POST", "/api/workflow/bulk/search"),
        ("GET", "/api/tasks/nobody/knows/this/path"),
        ("PATCH", "/api/workflow"),
    ],
)
def test_room_that_is_taken_is_not_renewed_by_what_may_be_large(
    full: _Full, method: str, path: str
) -> None:
    assert full.code(method, path, None if method == "GET" else {}) == _OVERLOADED


def test_whatever_only_reads_is_large_unless_workers_need_it(full: _Full) -> None:
    held = held_by(full.app)
    small = {
        rule.rule
        for rule in full.app.url_map.iter_rules()
        if "GET" in (rule.methods or ()) and held("GET", _path(rule.rule)) is not Held.MUCH
    }
    assert small == {
        "/api/tasks/<task_id>/checkpoints",
        "/api/tasks/<task_id>/checkpoints/<part>",
        "/api/tasks/external-storage-location",
        "/api/tasks/externalstoragelocation",
        "/api/tasks/poll/<task_type>",
        "/api/tasks/poll/batch/<task_type>",
        "/api/tasks/queue/size",
        "/api/workflow/external-storage-location",
        "/api/workflow/externalstoragelocation",
    }


def _path(rule: str) -> str:
    return rule.replace("<", "").replace(">", "")


def test_who_waited_for_the_place_of_wide_executions_adds_none_when_the_room_is_gone(
    full: _Full,
) -> None:
    """A hundred of them wait without a turn, and each that comes first leaves its answer."""
    full.admission.unread.seen(())
    full.admission.unread.seen(())
    front = Front(engine=FakeEngine(), definitions=None, admission=full.admission)  # type: ignore[arg-type]
    read = []

    def wide(*, patient: bool) -> str:
        read.append(patient)
        if len(read) == 1:  # another is being read, and its answer takes the room
            full.fill(MOST + 1)
            raise Overloaded
        return "wide"

    with pytest.raises(Overloaded):
        front.whole(wide)
    full.admission.be_light()
    assert read == [False]
    assert full.admission.counts()["refused"] == 1
