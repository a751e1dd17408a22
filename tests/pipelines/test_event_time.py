"""Which transforms need event time, what they must be told for it, and what a plan says of them."""

import copy

import pytest

from conductor_py.errors import DefinitionError
from conductor_py.pipelines.cutting import cut
from conductor_py.pipelines.description import description
from conductor_py.pipelines.plan import Reach
from conductor_py.wire.pipelines import read_job
from tests.pipelines.jobs import job, plan_of, sink, source, transform

_WINDOWS = {"group_by": ["number"], "measures": {"n": "count(*)"}, "time": "at", "window_s": 60}
_ONCE = {"keys": ["id"], "time": "at", "within_s": 30}
_NEAR = {"on": [["id", "id"]], "left_time": "at", "right_time": "at", "within_s": 5}


def _job(kind, mode="unbounded", sinks=None, **settings):
    names = ("left", "right") if kind == "join" else ("i",)
    return job(
        [source(name) for name in names],
        [transform("t", kind, {name: name for name in names}, **settings)],
        sinks or [sink("out", "t")],
        mode=mode,
    )


def _refused(body):
    with pytest.raises(DefinitionError) as caught:
        read_job(copy.deepcopy(body))
    return {each.path: each.message for each in caught.value.violations}


@pytest.mark.parametrize(
    ("kind", "settings", "bounded"),
    [
        ("aggregate", _WINDOWS, Reach.BLOCKING),
        ("dedup", _ONCE, Reach.KEYED),
        ("join", _NEAR, Reach.BLOCKING),
    ],
)
def test_time_bounds_what_an_unbounded_job_must_see(kind, settings, bounded):
    (endless,) = plan_of(_job(kind, **settings)).pipelines
    assert endless.reaches == {"t": Reach.EVENT_TIME}
    assert endless.event_time == ("t",)
    assert len(endless.stages) == 1
    (ending,) = plan_of(_job(kind, mode="bounded", **settings)).pipelines
    assert ending.reaches == {"t": bounded}
    assert ending.event_time == ()


def test_a_description_says_what_drives_a_pipeline_and_why():
    body = read_job(_job("aggregate", **_WINDOWS))
    (told,) = description(body, cut(body))["pipelines"]
    assert told["driver"] == "streaming"
    assert "t: event time" in told["because"]
    (node,) = [each for each in told["stages"][0]["nodes"] if each["id"] == "t"]
    assert node["reach"] == "event_time"
    body = read_job(_job("aggregate", mode="bounded", **_WINDOWS))
    assert description(body, cut(body))["pipelines"][0]["driver"] == "rounds"


def test_without_time_an_unbounded_job_is_told_what_would_bound_it():
    found = _refused(_job("aggregate", group_by=["number"], measures={"n": "count(*)"}))
    assert "time and window_s" in found["$.transforms[0].kind"]
    found = _refused(_job("join", on=[["id", "id"]]))
    assert "within_s" in found["$.transforms[0].kind"]


@pytest.mark.parametrize(
    ("kind", "settings", "path"),
    [
        ("aggregate", {**_WINDOWS, "time": None}, "time"),
        ("aggregate", {**_WINDOWS, "time": "nowhere"}, "time"),
        ("aggregate", {**_WINDOWS, "time": "text"}, "time"),
        ("aggregate", {**_WINDOWS, "emit": "running"}, "emit"),
        ("aggregate", {**_WINDOWS, "slide_s": 61}, "slide_s"),
        ("aggregate", {**_WINDOWS, "window_s": 0}, "window_s"),
        ("aggregate", {**_WINDOWS, "measures": {"n": "max(now())"}}, "measures.n"),
        ("aggregate", {"measures": {"n": "count(*)"}, "emit": "running", "time": "at"}, "time"),
        ("dedup", {**_ONCE, "keep": "last"}, "keep"),
        ("dedup", {"keys": ["id"], "time": "at"}, "time"),
        ("join", {**_NEAR, "right_time": None}, "right_time"),
        ("join", {**_NEAR, "left_time": "text"}, "left_time"),
        ("join", {**_NEAR, "how": "anti"}, "how"),
    ],
)
def test_what_does_not_fit_is_named(kind, settings, path):
    assert f"$.transforms[0].{path}" in _refused(_job(kind, **settings))


def test_a_sink_that_shows_rows_early_must_find_them_again():
    index = {
        "id": "out",
        "kind": "elasticsearch",
        "input": "t_out",
        "hosts": ["http://localhost:9200"],
        "index": "sums",
    }
    body = _job("aggregate", sinks=[index], **_WINDOWS)
    assert "$.sinks[0].id_from" in _refused(body)
    body["sinks"][0]["id_from"] = ["number", "window_start"]
    assert plan_of(body).pipelines[0].event_time == ("t",)


def test_spark_must_be_able_to_write_where_its_state_is_kept():
    body = _job("dedup", **_ONCE) | {"env": {"work_dir": "s3://bucket/work"}}
    assert "env.work_dir" in _refused(body)["$.transforms[0].kind"]


def test_windows_have_a_start_and_an_end():
    body = _job("aggregate", sinks=[sink("out", "t", partition_by=["window_start"])], **_WINDOWS)
    assert plan_of(body)
    body["sinks"][0]["partition_by"] = ["at"]
    assert "$.sinks[0].partition_by[0]" in _refused(body)
