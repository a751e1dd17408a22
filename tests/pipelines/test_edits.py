"""A job that was changed goes on from what is kept, as far as was agreed to."""

from dataclasses import replace

import pytest

from conductor_py.pipelines.cutting import cut
from conductor_py.pipelines.edits import (
    Change,
    Permissions,
    carried,
    compare,
    rewind_refusal,
    rewound,
)
from conductor_py.pipelines.intervals import Intervals
from conductor_py.pipelines.record import Decided, PipelineState, Record, SourceState
from conductor_py.pipelines.record_form import record_from_json, record_to_json
from conductor_py.wire.pipelines import read_job
from tests.pipelines.jobs import job, sink, source, transform

_HALF = SourceState(discovered=4, done=Intervals.of([0, 1]), complete=True)


def _body():
    return job(
        [source("a"), source("b")],
        [transform("once", "dedup", {"i": "a"}, keys=["id"])],
        [sink("a_out_files", "once"), sink("b_out_files", "b")],
    )


def _kept(body, **more):
    """Return records of all pipelines after three epochs, half of each source done."""
    records = {}
    for pipeline in cut(read_job(body)).pipelines:
        sources = {name: _HALF for name in pipeline.nodes if name in {"a", "b"}}
        state: dict[str, object] = {"once": {"deltas": []}} if "once" in pipeline.nodes else {}
        records[pipeline.id] = Record(
            pipeline=pipeline.id,
            plan_hash=pipeline.plan_hash,
            node_hashes=pipeline.node_hashes,
            epoch=3,
            published=3,
            decided=Decided(epoch=3, sinks={}),
            sources=sources,
            keyed_state=state,
            **more,
        )
    return records


_NOTHING_AGREED = Permissions()


def _compared(body, permissions=_NOTHING_AGREED, kept=None):
    made = read_job(body)
    return compare(_kept(_body()) if kept is None else kept, made, cut(made), permissions)


def _found(comparison):
    return [(each.change, each.node, each.allowed) for each in comparison.differences]


def test_same_job_and_tuned_job_have_no_difference():
    body = _body()
    body["env"] = {"parallelism": 7, "round": {"target_s": 3}, "restart": {"per_pipeline": 9}}
    body["sources"].reverse()
    assert _found(_compared(body)) == []


def test_pipeline_more_or_less_is_free():
    body = _body()
    body["sources"][1] = source("c")
    body["sinks"][1] = sink("c_out_files", "c")
    found = _compared(body)
    assert [each.change for each in found.differences] == [
        Change.PIPELINE_ADDED,
        Change.PIPELINE_REMOVED,
    ]
    assert found.refused == ()


def test_changed_sink_needs_its_permission_once_there_are_epochs():
    body = _body()
    body["sinks"][1]["path"] = "/elsewhere"
    assert _found(_compared(body)) == [(Change.NODE_CHANGED, "b_out_files", False)]
    assert _compared(body).refused[0].permission == "acceptPlanChange"
    assert _compared(body, Permissions(plan_change=True)).refused == ()
    unbegun = {name: replace(each, epoch=0) for name, each in _kept(_body()).items()}
    assert _compared(body, kept=unbegun).refused == ()


def test_state_of_a_changed_node_is_dropped_only_by_name():
    body = _body()
    body["transforms"][0]["keys"] = ["number"]
    changed = Permissions(plan_change=True)
    assert [each.permission for each in _compared(body, changed).refused] == ["dropState: once"]
    dropped = replace(changed, drop_state=frozenset({"once"}))
    comparison = _compared(body, dropped)
    assert comparison.refused == ()
    (pipeline,) = (each for each in cut(read_job(body)).pipelines if "once" in each.nodes)
    record = carried(_kept(_body())[pipeline.id], pipeline)
    assert (record.keyed_state, record.epoch, record.sources) == ({}, 3, {"a": _HALF})


def test_node_more_makes_a_successor_that_keeps_what_is_done():
    body = _body()
    body["sinks"].append(sink("copy", "once"))
    comparison = _compared(body, Permissions(plan_change=True))
    assert _found(comparison) == [(Change.NODE_ADDED, "copy", True)]
    (pipeline,) = (each for each in cut(read_job(body)).pipelines if "once" in each.nodes)
    old = _kept(_body())[comparison.successors[pipeline.id]]
    record = carried(old, pipeline)
    assert (record.pipeline, record.epoch, record.decided) == (pipeline.id, 0, None)
    assert (record.sources, record.keyed_state) == ({"a": _HALF}, old.keyed_state)
    assert compare({record.pipeline: record}, read_job(body), cut(read_job(body))).refused == ()


def _joined():
    return job(
        [source("a"), source("b")],
        [transform("u", "union", {"x": "a", "y": "b"})],
        [sink("out", "u")],
    )


def test_source_with_undone_splits_is_abandoned_only_by_name():
    body = job(
        [source("a")], [transform("u", "filter", {"x": "a"}, where="true")], [sink("out", "u")]
    )
    changed = Permissions(plan_change=True)
    found = _compared(body, changed, _kept(_joined())).refused
    assert [(each.change, each.permission) for each in found] == [
        (Change.SOURCE_ABANDONED, "abandon: b")
    ]
    given = replace(changed, abandon=frozenset({"b"}))
    assert _compared(body, given, _kept(_joined())).refused == ()


def test_pipelines_with_epochs_of_their_own_are_not_joined():
    body = job(
        [source("a"), source("b")],
        [
            transform("once", "dedup", {"i": "a"}, keys=["id"]),
            transform("u", "union", {"x": "once", "y": "b"}),
        ],
        [sink("a_out_files", "u")],
    )
    found = _compared(body, Permissions(plan_change=True)).refused
    assert [each.change for each in found] == [Change.PIPELINES_MERGED]


def test_pipeline_that_falls_apart_abandons_nothing():
    parts = job([source("a"), source("b")], [], [sink("out", "a"), sink("other", "b")])
    comparison = _compared(parts, Permissions(plan_change=True), _kept(_joined()))
    assert comparison.refused == ()
    assert len(set(comparison.successors.values())) == 1
    records = [
        carried(_kept(_joined())[comparison.successors[each.id]], each)
        for each in cut(read_job(parts)).pipelines
    ]
    assert [dict(each.sources) for each in records] == [{"a": _HALF}, {"b": _HALF}]


def test_finished_pipeline_is_left_alone_and_never_changed():
    kept = _kept(_body(), state=PipelineState.FINISHED)
    body = _body()
    body["env"] = {"errors": {"bad_rows": "drop"}}
    assert _found(_compared(body, kept=kept)) == []
    body["sinks"][1]["path"] = "/elsewhere"
    assert _found(_compared(body, Permissions(plan_change=True), kept)) == [
        (Change.FINISHED_CHANGED, "b_out_files", False)
    ]


@pytest.mark.parametrize(
    ("exchange", "refusals"),
    [
        ({"buckets": 128, "keyed": True}, [Change.BUCKETS_CHANGED] * 2),
        ({"buckets": 64, "keyed": True}, []),
        ({"buckets": 1, "keyed": False}, []),
    ],
)
def test_other_number_of_buckets_would_part_equal_keys_of_an_exchange(exchange, refusals):
    body = _body()
    body["env"] = {"buckets": 64}
    kept = _kept(_body(), exchanges={"join/left": exchange})
    refused = _compared(body, Permissions(plan_change=True), kept).refused
    assert [each.change for each in refused] == refusals


def test_stage_that_was_left_is_not_changed_behind():
    kept = _kept(_body(), stage=1)
    body = _body()
    body["sinks"][1]["path"] = "/elsewhere"
    refused = _compared(body, Permissions(plan_change=True), kept).refused
    assert [each.change for each in refused] == [Change.STAGE_LEFT]


@pytest.mark.parametrize(
    ("to_epoch", "rewind", "visibility", "says"),
    [
        (3, False, "publish", None),
        (2, True, "manifest", "was taken back"),
        (4, True, "manifest", "no epoch"),
        (1, False, "manifest", "--rewind"),
        (1, True, "manifest", None),
        (1, True, "publish", "b_out_files"),
    ],
)
def test_rewind_takes_back_only_what_can_be(to_epoch, rewind, visibility, says):
    body = _body()
    body["sinks"][1]["visibility"] = visibility
    made = read_job(body)
    (pipeline,) = (each for each in cut(made).pipelines if "b" in each.nodes)
    record = replace(_kept(body)[pipeline.id], taken_back=Intervals.range(2, 3))
    found = rewind_refusal(record, to_epoch, made, pipeline, rewind=rewind)
    assert (says is None) == (found is None)
    assert says is None or says in str(found)


def test_sink_of_a_third_party_is_asked_by_whoever_opens_it():
    body = _body()
    body["sinks"][1] |= {"kind": "acme.lines"}
    body["sinks"][1].pop("format", None)
    made = read_job(body)
    (pipeline,) = (each for each in cut(made).pipelines if "b" in each.nodes)
    assert rewind_refusal(_kept(body)[pipeline.id], 1, made, pipeline, rewind=True) is None


def test_windows_of_a_streaming_query_do_not_go_back():
    body = job(
        [source("a")],
        [
            transform(
                "sums",
                "aggregate",
                {"i": "a"},
                group_by=["number"],
                measures={"n": "count(*)"},
                time="at",
                window_s=60,
            )
        ],
        [sink("out", "sums", visibility="manifest")],
        mode="unbounded",
    )
    made = read_job(body)
    (pipeline,) = cut(made).pipelines
    record = Record(pipeline=pipeline.id, plan_hash="h", epoch=3, published=3)
    assert rewind_refusal(record, 1, made, pipeline, rewind=True) == (
        "the state of sums cannot go back"
    )


def test_going_back_is_the_next_epoch_and_takes_back_those_between():
    older = replace(_record(1), reason="stopped", state=PipelineState.STOPPED)
    newest = replace(_record(5), taken_back=Intervals.range(2, 4), sources={"a": SourceState()})
    record = rewound(newest, older, token=9)
    assert (record.epoch, record.published, record.token) == (6, 5, 9)
    assert record.decided == Decided(epoch=6, sinks={}, back_to=1)
    assert (record.state, record.reason, record.sources) == (
        PipelineState.RUNNING,
        "",
        {"a": _HALF},
    )
    assert str(record.taken_back) == "2-5"
    assert record_from_json(record_to_json(record)) == record


def _record(epoch):
    return Record(pipeline="p", plan_hash="h", epoch=epoch, published=epoch, sources={"a": _HALF})
