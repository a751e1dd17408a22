"""Jobs are cut into pipelines and stages by what hangs together, and by nothing else."""

import copy

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conductor_py.pipelines.plan import Stage
from tests.pipelines.jobs import any_jobs, example, job, plan_of, sink, source, transform

_slow = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)


def _nodes(plan):
    return [set(each.nodes) for each in plan.pipelines]


def test_example_is_cut_into_its_three_pipelines():
    assert _nodes(plan_of(example())) == [
        {"orders_csv", "users_db", "clean", "dedup", "enrich", "daily"}
        | {"lake_orders", "orders_es", "daily_db"},
        {"events_pq", "ev", "events_json"},
        {"audit_gen", "audit_csv"},
    ]


def test_blocking_transform_begins_a_stage_behind_an_exchange():
    assert plan_of(example()).pipelines[0].stages == (
        Stage(
            number=0,
            sources=("orders_csv", "users_db"),
            transforms=("clean", "dedup", "enrich"),
            sinks=("lake_orders", "orders_es"),
            exchanges={"daily/i": "orders"},
        ),
        Stage(
            number=1,
            sources=(),
            reads=("daily/i",),
            transforms=("daily",),
            sinks=("daily_db",),
            exchanges={},
        ),
    )


def test_source_is_read_in_the_latest_stage_that_needs_it():
    plan = plan_of(
        job(
            [source("a"), source("b"), source("late"), source("last")],
            [
                transform("ab", "join", {"left": "a", "right": "b"}, on=[["id", "id"]]),
                transform("abl", "join", {"left": "ab", "right": "late"}, on=[["id", "id"]]),
                transform("all", "union", {"one": "abl", "two": "last"}),
            ],
            [sink("out", "all")],
        )
    ).pipelines[0]
    assert [stage.sources for stage in plan.stages] == [("a", "b"), ("late",), ("last",)]
    assert [stage.reads for stage in plan.stages] == [
        (),
        ("ab/left", "ab/right"),
        ("abl/left", "abl/right"),
    ]


def _union(**env):
    return job(
        [source("a"), source("b")],
        [transform("both", "union", {"one": "a", "two": "b"}), _filter("kept", "both")],
        [sink("out", "kept"), sink("copy", "a")],
        env=env,
    )


def _filter(name, reads):
    return transform(name, "filter", {"input": reads}, where="id > 0")


def test_union_is_one_pipeline_unless_it_is_split_by_source():
    assert _nodes(plan_of(_union())) == [{"a", "b", "both", "kept", "out", "copy"}]
    assert _nodes(plan_of(_union(split_unions=True))) == [
        {"a", "both", "kept", "out", "copy"},
        {"b", "both", "kept", "out"},
    ]


def test_union_in_front_of_state_is_never_split():
    body = _union(split_unions=True)
    body["transforms"].append(transform("once", "dedup", {"input": "kept"}, keys=["id"]))
    body["sinks"].append(sink("each", "once"))
    assert len(plan_of(body).pipelines) == 1


@_slow
@given(any_jobs())
def test_every_node_is_in_one_pipeline_and_runs_after_what_it_reads(body):
    plan = plan_of(body)
    listed = [name for each in plan.pipelines for name in each.nodes]
    nodes = [*body["sources"], *body["transforms"], *body["sinks"]]
    assert sorted(listed) == sorted(node["id"] for node in nodes)
    makers = {node["output"]: node["id"] for node in nodes if "output" in node}
    blocking = {node["id"] for node in nodes if node["kind"] == "join"}
    for pipeline in plan.pipelines:
        stage_of = {
            name: stage.number
            for stage in pipeline.stages
            for name in (*stage.sources, *stage.transforms, *stage.sinks)
        }
        order = list(pipeline.nodes)
        assert [stage.number for stage in pipeline.stages] == list(range(len(pipeline.stages)))
        for node in nodes:
            if node["id"] not in stage_of:
                continue
            for name, output in node.get("inputs", {"input": node.get("input")}).items():
                if output is None:
                    continue
                producer, here = makers[output], stage_of[node["id"]]
                crosses = stage_of[producer] < here
                exchange = f"{node['id']}/{name}"
                assert order.index(producer) < order.index(node["id"]) or crosses
                assert crosses or node["id"] not in blocking
                assert crosses == (exchange in pipeline.stages[here].reads)
                written = pipeline.stages[stage_of[producer]].exchanges
                assert crosses == (written.get(exchange) == output)


@_slow
@given(any_jobs(), st.randoms(use_true_random=False))
def test_order_of_nodes_and_names_of_outputs_change_no_id_and_no_hash(body, random):
    other = copy.deepcopy(body)
    for name in ("sources", "transforms", "sinks"):
        random.shuffle(other[name])
    renamed = _renamed(other)
    plans = [
        {each.id: (each.plan_hash, each.node_hashes) for each in plan_of(each_body).pipelines}
        for each_body in (body, other, renamed)
    ]
    assert plans[0] == plans[1] == plans[2]


def _renamed(value):
    if isinstance(value, dict):
        return {name: _renamed(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_renamed(each) for each in value]
    return f"{value}_renamed" if isinstance(value, str) and value.endswith("_out") else value


@_slow
@given(any_jobs())
def test_edit_of_one_pipeline_leaves_the_others_as_they_were(body):
    before = plan_of(body)
    more = copy.deepcopy(body)
    more["sources"].insert(0, source("stranger"))
    more["sinks"].insert(0, sink("strange_sink", "stranger"))
    more["sinks"][-1]["path"] = "/elsewhere"
    after = {each.id: each for each in plan_of(more).pipelines}
    changed = more["sinks"][-1]["id"]
    for pipeline in before.pipelines:
        now = after[pipeline.id]
        assert now.stages == pipeline.stages
        assert (now.plan_hash == pipeline.plan_hash) == (changed not in pipeline.nodes)


def test_tuning_gives_the_data_no_other_meaning():
    body = example()
    before = plan_of(body).pipelines
    body["env"] |= {"parallelism": 9, "round": {}, "restart": {}, "rate": {"rows_per_second": 5}}
    body["env"]["spark"] = {"spark.sql.shuffle.partitions": 99}
    body["sinks"][0]["target_file_size"] = "1MB"
    body["sinks"][2]["batch_rows"] = 7
    body["sources"][0]["paths"].append("/more/*.csv")
    assert [each.plan_hash for each in plan_of(body).pipelines] == [
        each.plan_hash for each in before
    ]


def test_default_that_is_written_out_is_no_change():
    body = example()
    before = plan_of(body).pipelines[2].node_hashes
    body["sinks"][4] |= {"partition_by": [], "options": {}, "visibility": "publish"}
    body["sources"][3]["in_python"] = False
    assert plan_of(body).pipelines[2].node_hashes == before


def test_what_data_means_changes_hashes():
    edits = [
        lambda body: body["transforms"][0].update(query="select * from o"),
        lambda body: (
            body["env"]["errors"].update(bad_rows="fail", max_rows=None, max_ratio=None)
            or body.pop("dead_letter")
        ),
        lambda body: body["sources"][0]["schema"]["columns"][2].update(type="double"),
        lambda body: body["sinks"][0].update(partition_by=[]),
        lambda body: body["env"].update(spark={"spark.sql.session.timeZone": "Asia/Tokyo"}),
        lambda body: body["dead_letter"].update(path="/elsewhere"),
    ]
    before = plan_of(example()).pipelines[0].plan_hash
    for edit in edits:
        body = example()
        edit(body)
        assert plan_of(body).pipelines[0].plan_hash != before
