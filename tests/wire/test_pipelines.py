"""Jobs of data pipelines are read whole, or refused with the place of everything that is wrong."""

import copy
import json

import jsonschema
import pytest

from conductor_py.errors import DefinitionError, InvalidInput
from conductor_py.pipelines.spec import EventTime, Guarantee, Rate, SplitRule
from conductor_py.wire.definition_reader import DefinitionReader
from conductor_py.wire.pipelines import job_schema, read_job
from tests.builders import Json
from tests.pipelines.jobs import example, job, sink, source, transform


def _wrong(body):
    """Return paths and sentences of all that is wrong with a job."""
    with pytest.raises(DefinitionError) as refused:
        read_job(body)
    return {found.path: found.message for found in refused.value.violations}


def _simple(**more):
    return job([source("a")], [], [sink("out", "a")], **more)


def test_example_is_read_with_sizes_defaults_and_secrets():
    made = read_job(example())
    orders, _, users, _ = made.sources
    assert orders.split == SplitRule(by="bytes", size_bytes=64 << 20)
    assert orders.settings["options"] == {"header": "true", "sep": ","}
    assert users.settings["url"] == {"secret": "crm-url"}
    assert (users.read_as, users.settings["fetch_rows"]) == ("lookup", 10_000)
    assert made.env.round.max_bytes == 1 << 30
    assert made.dead_letter is not None
    assert made.dead_letter.id == "dead_letter"
    assert made.sinks[0].settings["target_file_size"] == 128 << 20


def test_node_that_names_no_input_takes_the_only_free_output():
    body = job(
        [{"id": "a", "kind": "generator", "output": "a_out", "rows": 1}],
        [{"id": "f", "kind": "filter", "output": "f_out", "where": "id > 1"}],
        [{"id": "out", "kind": "console"}],
    )
    made = read_job(body)
    assert made.transforms[0].inputs == {"input": "a_out"}
    assert made.sinks[0].input == "f_out"


def test_null_is_as_if_it_were_not_there():
    body = _simple(env=None)
    body["sources"][0] |= {"split": None, "seed": None}
    assert read_job(body) == read_job(_simple())


def test_third_party_kind_keeps_its_settings_unchecked():
    body = _simple()
    body["sinks"][0] = {
        "id": "out",
        "kind": "acme.warehouse",
        "input": "a_out",
        "require": "exactly_once",
        "warehouse": {"a": [1]},
    }
    made = read_job(body).sinks[0]
    assert (made.require, made.settings) == (Guarantee.EXACTLY_ONCE, {"warehouse": {"a": [1]}})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(
            ("sep", each)
            for each in ("\t", "\\t", "\\\\", "||", "\\t|\\\\", "\0", "${workflow.input.sep}")
        ),
        *(("quote", each) for each in ("", "'", "${workflow.input.quote}")),
        *((name, "\\") for name in ("escape", "comment", "charToEscapeQuoteEscaping")),
    ],
)
def test_csv_may_be_parted_and_quoted_by_whatever_spark_takes(name: str, value: str):
    given = {**_FILES, "split": {"by": "file"}, "format": "csv", "options": {name: value}}
    made = read_job(job([given], [], [sink("out", "a")]))
    assert made.sources[0].settings["options"] == {name: value}


def test_event_time_and_rate_of_a_source():
    body = _simple()
    body["sources"][0] |= {
        "event_time": {"column": "at", "max_drift_s": 5},
        "rate": {"rows_per_second": 100},
    }
    read = read_job(body).sources[0]
    assert read.event_time == EventTime(column="at", max_drift_s=5)
    assert read.rate == Rate(rows_per_second=100)


@pytest.mark.parametrize(
    ("edit", "path", "says"),
    [
        (lambda b: b.update(version=2), "$.version", "must be 1"),
        (lambda b: b.update(colour="red"), "$.colour", "known are"),
        (lambda b: b.update(sources={}), "$.sources", "must be a list"),
        (lambda b: b.update(sinks=[]), "$.sinks", "at least one"),
        (lambda b: b["env"]["round"].update(target="1s"), "$.env.round.target", "known are"),
        (
            lambda b: b["env"]["round"].update(min_bytes="64 parsecs"),
            "$.env.round.min_bytes",
            "64MB",
        ),
        (lambda b: b["env"]["round"].update(min_bytes="2GB"), "$.env.round.min_bytes", "max_bytes"),
        (lambda b: b["env"]["restart"].update(backoff=0.5), "$.env.restart.backoff", "less than 1"),
        (
            lambda b: b["env"]["errors"].update(max_ratio=1.5),
            "$.env.errors.max_ratio",
            "more than 1",
        ),
        (lambda b: b["env"]["errors"].update(bad_rows="drop"), "$.dead_letter", "no row"),
        (lambda b: b.pop("dead_letter"), "$.dead_letter", "must be given"),
        (lambda b: b["dead_letter"].update(kind="console"), "$.dead_letter.path", "known are"),
        (
            lambda b: b["sources"][0]["options"].update({"fs.zzz.impl": "java.lang.Runtime"}),
            "$.sources[0].options['fs.zzz.impl']",
            "is no option of csv",
        ),
        (
            lambda b: b["sources"][0]["options"].update(Header=True),
            "$.sources[0].options['Header']",
            "is written header",
        ),
        (
            lambda b: b["sources"][0]["options"].update(compression="java.lang.Runtime"),
            "$.sources[0].options['compression']",
            "must be one of brotli, bzip2",
        ),
        *(
            (
                lambda b, name=name, value=value: b["sources"][0]["options"].update({name: value}),
                f"$.sources[0].options['{name}']",
                says,
            )
            for name, value, says in (
                ("sep", "", "one character or more"),
                ("sep", "\\", r"write \\"),
                ("sep", "a\\", r"write \\"),
                ("delimiter", "\\q", r"write \\"),
                ("sep", "\\u0000", r"write \\"),
                ("quote", "''", "must be one character, not 2"),
                ("escape", "\\\\", "must be one character, not 2"),
                ("comment", "//", "must be one character, not 2"),
            )
        ),
        *(
            (lambda b, url=url: b["sources"][2].update(url=url), "$.sources[2].url", says)
            for url, says in (
                ("postgresql://h/d?passfile=/srv/.pgpass", "passfile is no option"),
                ("postgresql://h/d?service=other", "service is no option"),
                ("mysql://h/d?read_default_file=/srv/.my.cnf", "read_default_file is no option"),
                ("sqlite:////data/x.db?vfs=unix", "it has none"),
                ("postgresql://h/d?pass%66ile=/srv/.pgpass", "pass%66ile is no option"),
            )
        ),
        (
            lambda b: b["env"]["spark"].update({"spark.master": "local"}),
            "$.env.spark['spark.master']",
            "worker",
        ),
        *(
            (
                lambda b, name=name: b["env"]["spark"].update({name: "x"}),
                f"$.env.spark['{name}']",
                "belongs to the worker",
            )
            for name in (
                *("spark.sql.streaming.stateStore.compression.codec", "spark.sql.legacy.x"),
                *("spark.hadoop.fs.s3a.endpoint", "spark.sql.catalog.lake", "spark.sql.extensions"),
                *("spark.sql.variable.substitute", "spark.sql.runSQLOnFiles", "shuffle"),
                *("spark.sql.parquet.output.committer.class", "spark.sql.warehouse.dir"),
            )
        ),
        (lambda b: b["sources"][0].update(kind="ftp"), "$.sources[0].kind", "one of file"),
        (lambda b: b["sources"][0].update(paths=[]), "$.sources[0].paths", "empty"),
        (lambda b: b["sources"][0].update(paths=[3]), "$.sources[0].paths[0]", "string"),
        (lambda b: b["sources"][0].update(format="parquet"), "$.sources[0].split.by", "csv"),
        (
            lambda b: b["sources"][0]["options"].update(multiLine=True),
            "$.sources[0].split.by",
            "line",
        ),
        (lambda b: b["sources"][0].update(watch=True), "$.sources[0].watch", "unbounded"),
        (
            lambda b: b["sources"][0]["schema"]["columns"][0].update(type="bigin"),
            "$.sources[0].schema.columns[0].type",
            "name of a type",
        ),
        (
            lambda b: b["sources"][0]["schema"]["columns"][1].update(name="ORDER_ID"),
            "$.sources[0].schema.columns[1].name",
            "unique",
        ),
        (lambda b: b["sources"][2].update(query="select 1"), "$.sources[2].table", "exactly one"),
        (
            lambda b: b["sources"][2]["split"].pop("column"),
            "$.sources[2].split.column",
            "key_range",
        ),
        (lambda b: b["sources"][2].update(url={"secret": ""}), "$.sources[2].url", "secret"),
        (
            lambda b: b["sources"][2].update(read_as="splits"),
            "$.transforms[2].inputs.side",
            "lookup",
        ),
        (lambda b: b["sources"][3].update(rows=-1), "$.sources[3].rows", "less than 0"),
        (lambda b: b["sources"][3].update(rows=True), "$.sources[3].rows", "whole number"),
        (lambda b: b["sources"][3].update(id="orders_csv"), "$.sources[3].id", "unique"),
        (lambda b: b["sources"][3].update(output="Events"), "$.transforms[4].output", "unique"),
        (lambda b: b["sources"][3].update(id="a/b"), "$.sources[3].id", "letters"),
        (
            lambda b: b["transforms"][0]["inputs"].update(o="nobody"),
            "$.transforms[0].inputs.o",
            "there are",
        ),
        (
            lambda b: b["transforms"][0].update(inputs={"o": "daily_sum"}),
            "$.transforms[0].inputs",
            "→",
        ),
        (
            lambda b: b["transforms"][0].update(reach="all"),
            "$.transforms[0].reach",
            "row, blocking",
        ),
        (
            lambda b: b["transforms"][2]["inputs"].pop("side"),
            "$.transforms[2].inputs",
            "main and side",
        ),
        (lambda b: b["transforms"][2].update(on=[["user_id"]]), "$.transforms[2].on[0]", "pair"),
        (lambda b: b["transforms"][3].update(measures={}), "$.transforms[3].measures", "empty"),
        (
            lambda b: b["sinks"][1].update(require="exactly_once"),
            "$.sinks[1].require",
            "idempotent",
        ),
        (lambda b: b["sinks"][2].update(key=[]), "$.sinks[2].key", "upsert"),
        (lambda b: b["sinks"][2].update(key=["day"]), "$.sinks[2].key[0]", "dt, country"),
        (lambda b: b["sinks"][4].update(input="events"), "$.sources[3].output", "must be read"),
        (lambda b: b["sinks"][4].pop("format"), "$.sinks[4].format", "must be given"),
        (
            lambda b: b["sources"].pop() and b["sinks"][4].update(input="users"),
            "$.sinks[4].input",
            "whole",
        ),
    ],
)
def test_what_is_wrong_is_named_by_its_path(edit, path, says):
    body = example()
    edit(body)
    found = _wrong(body)
    assert path in found, found
    assert says in found[path]


def test_both_columns_of_a_pair_of_a_join_are_known_behind_it_unless_they_have_one_name():
    renamed = transform("r", "map", {"i": "b"}, select={"other": "id"})
    joined = transform("j", "join", {"left": "a", "right": "r"}, on=[["id", "other"]])
    once = transform("d", "dedup", {"i": "j"}, keys=["other"])
    read_job(job([source("a"), source("b")], [renamed, joined, once], [sink("out", "d")]))


@pytest.mark.parametrize(
    ("between", "named"),
    [
        (transform("t", "map", {"i": "a"}, select={"id": "id"}), None),
        (transform("t", "sql", {"i": "a"}, query="SELECT id FROM i"), None),
        (transform("t", "filter", {"i": "a"}, where="id > 1", parallelism=3), "t"),
        (transform("t", "sql", {"i": "a"}, query="SELECT id FROM i", reach="blocking"), "t"),
        (transform("t", "dedup", {"i": "a"}, keys=["number"]), "t"),
        (transform("t", "join", {"left": "a", "right": "a"}, on=[["id", "id"]]), "t"),
    ],
)
def test_last_row_of_a_key_is_refused_where_rows_have_no_order(between, named):
    last = transform("d", "dedup", {"i": "t"}, keys=["id"], keep="last")
    body = job([source("a")], [between, last], [sink("out", "d")])
    if named is None:
        read_job(body)
        return
    assert f"no order behind {named}" in _wrong(body)["$.transforms[1].keep"]
    last["keep"] = "first"
    read_job(body)


_FILES: Json = {"id": "a", "kind": "file", "output": "a_out", "paths": ["/in"]}


@pytest.mark.parametrize(
    ("format", "options", "says"),
    [
        ("csv", {"timeZone": "Europe/Berlin"}, "set spark.sql.session.timeZone in env.spark"),
        ("json", {"timestampNTZFormat": "dd.MM.yyyy"}, "is not heeded"),
        ("csv", {"nanValue": "n/a"}, "is not heeded"),
        ("csv", {"mode": "FAILFAST"}, "schema says what is done"),
        ("parquet", {"pathGlobFilter": "*.pq"}, "paths say which files are read"),
        ("orc", {"modifiedAfter": "2026-01-01T00:00:00"}, "paths say which files are read"),
        ("parquet", {"compression": "snappy"}, "for sinks only"),
        ("csv", {"encoding": "UTF-16"}, "must be UTF-8, ISO-8859-1 or US-ASCII"),
        ("json", {"allowComments": True}, "while schema tells of columns that come or go"),
        ("csv", {"mode": "permissive", "encoding": "UTF-16", "multiLine": True}, None),
        ("csv", {"inferSchema": True, "dateFormat": "dd.MM.yyyy", "comment": "#"}, None),
    ],
)
def test_an_option_that_a_source_does_not_heed_is_refused(format, options, says):
    rule = {"columns": [{"name": "id", "type": "int"}], "extra_columns": "fail"}
    given = {**_FILES, "format": format, "options": options, "schema": rule}
    body = job([given], [], [sink("out", "a")])
    if says is None:
        assert read_job(body).sources
        return
    (name,) = options
    assert says in _wrong(body)[f"$.sources[0].options['{name}']"]


def test_what_only_whole_files_heed_is_refused_where_files_are_cut():
    given = {**_FILES, "format": "parquet", "options": {"datetimeRebaseMode": "LEGACY"}}
    assert read_job(job([given], [], [sink("out", "a")])).sources
    body = job([{**given, "split": {"by": "row_groups"}}], [], [sink("out", "a")])
    assert "whole files only" in _wrong(body)["$.sources[0].options['datetimeRebaseMode']"]


def test_what_files_alone_heed_of_a_schema_is_refused_of_others():
    columns = [{"name": "id", "type": "int"}]
    table = {"id": "a", "kind": "jdbc", "output": "a_out", "url": "sqlite:////t.db", "table": "t"}
    topic = {"id": "a", "kind": "kafka", "output": "a_out", "servers": "k:9", "topics": ["t"]}
    for given, rules in (
        (table, {"cast_errors": "null", "extra_columns": "fail"}),
        ({**topic, "format": "json"}, {"extra_columns": "capture", "missing_columns": "fail"}),
    ):
        found = _wrong(
            job([{**given, "schema": {"columns": columns, **rules}}], [], [sink("out", "a")])
        )
        assert set(found) == {f"$.sources[0].schema.{name}" for name in rules}


def test_all_that_is_wrong_is_listed_at_once():
    body = example()
    body["sources"][0]["format"] = "avro"
    body["sinks"][0]["compress"] = True
    body["env"]["buckets"] = 0
    assert set(_wrong(body)) == {"$.sources[0].format", "$.sinks[0].compress", "$.env.buckets"}


def test_two_free_outputs_are_not_guessed_between():
    body = job([source("a"), source("b")], [], [{"id": "out", "kind": "console"}])
    assert "a_out, b_out" in _wrong(body)["$.sinks[0].input"]


@pytest.mark.parametrize("kind", ["join", "aggregate", "dedup"])
def test_unbounded_job_never_sees_all_of_its_input(kind):
    options: dict[str, Json] = {
        "join": {"on": [["id", "id"]]},
        "aggregate": {"measures": {"n": "count(*)"}},
        "dedup": {"keys": ["id"], "keep": "last"},
    }
    inputs = {"left": "a", "right": "b"} if kind == "join" else {"i": "a"}
    sources = [source("a"), source("b")][: len(inputs)]
    body = job(
        sources,
        [transform("t", kind, inputs, **options[kind])],
        [sink("out", "t")],
        mode="unbounded",
    )
    assert "never has that" in _wrong(body)["$.transforms[0].kind"]


def test_query_over_several_inputs_must_say_that_it_sees_all():
    query = transform("q", "sql", {"x": "a", "y": "b"}, query="select * from x join y using (id)")
    body = job([source("a"), source("b")], [query], [sink("out", "q")])
    assert "blocking" in _wrong(body)["$.transforms[0].reach"]
    query["reach"] = "blocking"
    assert read_job(body).transforms[0].settings["reach"] == "blocking"


@pytest.mark.parametrize("bytes_", [1, "4KB", (1 << 16) - 1])
def test_a_size_that_would_make_a_file_of_every_few_rows_is_refused_where_it_stands(bytes_):
    files = sink("out", "a", kind="file", format="parquet", path="/out")
    body = job([source("a")], [], [files | {"target_file_size": bytes_}])
    assert _wrong(body) == {"$.sinks[0].target_file_size": "must not be less than 65536"}
    body["sinks"][0]["target_file_size"] = "64KB"
    assert read_job(body).sinks[0].settings["target_file_size"] == 1 << 16


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("select *, uuid() as u from i", "uuid"),
        ("select * from i where Rand (7) < 0.5", "Rand"),
        ("select *, timestamp 'now' as t from i", "timestamp 'now'"),
    ],
)
def test_what_is_drawn_is_refused_before_any_sink(query, word):
    body = job([source("a")], [transform("q", "sql", {"i": "a"}, query=query)], [sink("out", "q")])
    assert _wrong(body)["$.transforms[0].query"].startswith(f"{word} has another value when")
    measures = {"n": "count(*)", "least": "min(rand())"}
    sums = transform("q", "aggregate", {"i": "a"}, measures=measures)
    body = job([source("a")], [sums], [sink("out", "q")])
    assert list(_wrong(body)) == ["$.transforms[0].measures.least"]
    sums |= {"measures": {"n": "max(now())"}, "time": "at", "window_s": 60}
    body = job([source("a")], [sums], [sink("out", "q")])
    assert "window of event time" in _wrong(body)["$.transforms[0].measures.n"]


@pytest.mark.parametrize(
    ("query", "refused"),
    [
        ("select *, Current_Timestamp as t from i", True),
        ("select *, unix_timestamp() as t from i", True),
        ("select *, unix_timestamp(at) as t, 'now()' as n from i -- rand()", False),
        ("select i.current_date, my_uuid(id), `now()` from i", False),
    ],
)
def test_time_of_the_round_is_refused_before_a_sink_that_is_written_early(query, refused):
    early = {
        "id": "out",
        "kind": "elasticsearch",
        "input": "q_out",
        "hosts": ["http://e"],
        "index": "x",
    }
    body = job([source("a")], [transform("q", "sql", {"i": "a"}, query=query)], [early])
    if refused:
        assert "redone" in _wrong(body)["$.transforms[0].query"]
    else:
        read_job(body)
    read_job({**body, "sinks": [sink("out", "q")]})


def test_running_aggregate_needs_a_sink_that_finds_its_rows_again():
    sums = {"group_by": ["number"], "measures": {"n": "count(*)"}, "emit": "running"}
    table: Json = {
        "id": "out",
        "kind": "jdbc",
        "input": "t_out",
        "url": "sqlite:///x",
        "table": "t",
    }
    body = job([source("a")], [transform("t", "aggregate", {"i": "a"}, **sums)], [table])
    assert "$.sinks[0].key" in _wrong(body)
    table |= {"write": "upsert", "key": ["number"]}
    read_job(body)


def test_types_that_are_never_equal_are_not_joined():
    pairs = transform("j", "join", {"left": "a", "right": "b"}, on=[["id", "at"], ["id", "id"]])
    found = _wrong(job([source("a"), source("b")], [pairs], [sink("out", "j")]))
    assert found == {
        "$.transforms[0].on[0]": "a number is never equal to a time; cast one of them before"
    }


def test_union_of_other_columns_or_types_is_refused():
    other: Json = {
        "id": "b",
        "kind": "file",
        "output": "b_out",
        "format": "json",
        "paths": ["/x"],
        "schema": {
            "columns": [
                {"name": "id", "type": "string"},
                {"name": "number", "type": "decimal(20,0)"},
                {"name": "TEXT", "type": "string"},
                {"name": "at", "type": "timestamp"},
            ]
        },
    }
    body = job(
        [source("a"), other],
        [transform("u", "union", {"x": "a", "y": "b"})],
        [sink("out", "u")],
    )
    assert "id is a string here" in _wrong(body)["$.transforms[0].inputs.y"]
    other["schema"]["columns"].pop()
    assert "differ in at" in _wrong(body)["$.transforms[0].inputs.y"]


@pytest.mark.parametrize(
    "text", ["decimal(12,2)", "ARRAY<struct<a: int, `b c`: map<string, bigint>>>", "varchar(9)"]
)
def test_types_of_spark_are_known(text):
    body = example()
    body["sources"][0]["schema"]["columns"][2]["type"] = text
    read_job(body)


@pytest.mark.parametrize(
    "text",
    ["", "decimal(2,3)", "array<int", "int int", "struct<>", "map<int>", "array<" * 60, "😀"],
)
def test_texts_that_are_no_type_are_refused(text):
    body = example()
    body["sources"][0]["schema"]["columns"][2]["type"] = text
    assert "$.sources[0].schema.columns[2].type" in _wrong(body)


# ------------------------------------------------------------------------- inside of a definition


def _definition(inner):
    task = {"name": "p", "taskReferenceName": "p", "type": "SPARK_PIPELINE"}
    return {"name": "w", "tasks": [task | {"inputParameters": {"job": inner}}]}


def _refused(inner):
    with pytest.raises(InvalidInput) as refused:
        DefinitionReader().workflow(_definition(inner))
    return [found.path for found in refused.value.violations]


def test_literal_job_is_checked_when_its_definition_is_registered():
    DefinitionReader().workflow(_definition(example()))
    body = example()
    body["transforms"][1]["keys"] = ["order_number"]
    body["transforms"][0] |= {"kind": "filter", "where": "amount > 0"}
    del body["transforms"][0]["query"]
    assert _refused(body)[0] == "$.tasks[0].inputParameters.job.transforms[1].keys[0]"


def test_task_without_a_job_is_refused():
    task = {"name": "p", "taskReferenceName": "p", "type": "SPARK_PIPELINE"}
    with pytest.raises(InvalidInput, match=r"inputParameters\.job: must be given"):
        DefinitionReader().workflow({"name": "w", "tasks": [task]})


def test_job_that_is_an_expression_is_the_workers_to_check():
    DefinitionReader().workflow(_definition("${workflow.input.job}"))


def test_expressions_inside_of_a_job_hide_nothing_that_is_literal():
    body = example()
    body["env"]["parallelism"] = "${workflow.input.parallelism}"
    body["sources"][0]["paths"] = "${workflow.input.paths}"
    body["sources"][3]["rows"] = "${workflow.input.rows}"
    DefinitionReader().workflow(_definition(body))
    body["sinks"][1]["require"] = "exactly_once"
    body["sources"][3]["rows"] = 5
    assert _refused(body) == ["$.tasks[0].inputParameters.job.sinks[1].require"]
    body["sinks"][0]["visibility"] = "now"
    assert _refused(body) == ["$.tasks[0].inputParameters.job.sinks[0].visibility"]


@pytest.mark.parametrize(
    ("edit", "path", "says"),
    [
        (lambda b: b["sources"][1].update(paths=["/in", "in/*.csv"]), "sources[1].paths[1]", "abs"),
        (lambda b: b["sinks"][0].update(path="hdfs://lake"), "sinks[0].path", "s3://bucket"),
        (lambda b: b["dead_letter"].update(path="~/dlq"), "dead_letter.path", "absolute path"),
        (lambda b: b["env"].update(work_dir="work"), "env.work_dir", "absolute path"),
        (lambda b: b["sinks"][2].update(url="jdbc:mysql://x"), "sinks[2].url", "mysql://"),
    ],
)
def test_places_that_differ_from_worker_to_worker_are_refused(edit, path, says):
    body = example()
    edit(body)
    ((found, sentence),) = _wrong(body).items()
    assert found == f"$.{path}"
    assert says in sentence
    body["sinks"][3]["path"] = "${workflow.input.out}/events"
    assert [*_wrong(body)] == [found]


def test_expression_in_the_wiring_leaves_the_wiring_to_the_worker():
    body = example()
    body["sinks"][0]["input"] = "${workflow.input.which}"
    body["transforms"][0]["inputs"]["o"] = "nobody"
    DefinitionReader().workflow(_definition(body))


@pytest.mark.parametrize("inner", [7, [], None, "a job"])
def test_anything_else_is_no_job(inner):
    assert _refused(inner)


# ------------------------------------------------------------------------------------- the schema


def test_published_schema_takes_what_is_taken_and_refuses_what_is_refused():
    schema = jsonschema.Draft202012Validator(job_schema())
    body = json.loads(json.dumps(example()))
    del body["env"]["rate"]
    schema.validate(body)
    for edit in (
        lambda each: each.update(version=3),
        lambda each: each["sources"][0].update(format="avro"),
        lambda each: each["sinks"][0].update(visibilty="publish"),
        lambda each: each["transforms"][1].pop("keys"),
    ):
        wrong = copy.deepcopy(body)
        edit(wrong)
        assert not schema.is_valid(wrong)
        _wrong(wrong)


@pytest.mark.parametrize("format", ["csv", None])
def test_a_sink_of_single_values_takes_no_column_of_several(format):
    columns = [{"name": "id", "type": "bigint"}, {"name": "tags", "type": "ARRAY<string>"}]
    given = source("a", kind="file", paths=["/in"], format="json", schema={"columns": columns})
    given.pop("rows")
    table = {"kind": "jdbc", "url": "sqlite:////tmp/t.db", "table": "t"}
    form = {"kind": "file", "format": format, "path": "/out"} if format else table
    taker = {"id": "out", "input": "a_out"}
    body = job([given], [], [taker | form])
    ((path, message),) = _wrong(body).items()
    assert path == "$.sinks[0].input"
    assert "has tags as array<string>, and" in message
    assert message.endswith("use to_json(tags)")
    body["sinks"] = [taker | {"kind": "file", "format": "json", "path": "/out"}]
    assert read_job(body).sinks


@pytest.mark.parametrize(
    "name",
    [
        *("plugin.library.paths", "sasl.kerberos.kinit.cmd", "sasl.kerberos.principal"),
        *("sasl.oauthbearer.token.endpoint.url", "ssl.engine.location", "ssl.providers", "debug"),
    ],
)
def test_no_job_makes_the_kafka_client_load_a_program_run_a_command_or_ask_another_server(name):
    for body, path in _with_kafka({name: "x"}):
        assert "no option that a job may give" in _wrong(body)[f"{path}.options['{name}']"]


def test_kafka_is_told_who_asks_by_a_password_and_by_nothing_that_runs_a_program():
    for body, path in _with_kafka({"sasl.mechanism": "GSSAPI"}):
        assert "must be one of PLAIN" in _wrong(body)[f"{path}.options['sasl.mechanism']"]
    for body, _ in _with_kafka({"sasl.mechanism": "SCRAM-SHA-512", "ssl.ca.pem": {"secret": "c"}}):
        read_job(body)


def _with_kafka(options):
    """Jobs with these options in a source and in a sink, and where they stand."""
    kafka = {"kind": "kafka", "servers": "k:9092", "options": options}
    read = {"id": "k", "output": "k_out", "topics": ["t"], **kafka}
    yield job([read], [], [{"id": "o", "kind": "console", "input": "k_out"}]), "$.sources[0]"
    written = {"id": "o", "input": "a_out", "topic": "t", **kafka}
    generator = {"id": "a", "kind": "generator", "output": "a_out", "rows": 1}
    yield job([generator], [], [written]), "$.sinks[0]"


def test_the_machines_own_keys_go_to_no_store_that_a_job_names():
    read = {"id": "a", "kind": "file", "output": "a_out", "paths": ["s3://b/a"], "format": "json"}
    body = job([read], [], [sink("out", "a")])
    body["sources"][0]["endpoint"] = body["sinks"][0]["endpoint"] = "https://elsewhere"
    for path in ("$.sources[0].endpoint", "$.sinks[0].endpoint"):
        assert "needs access_key and secret_key" in _wrong(body)[path]
    for node in (*body["sources"], *body["sinks"]):
        node |= {"access_key": {"secret": "k"}, "secret_key": {"secret": "s"}}
    read_job(body)
