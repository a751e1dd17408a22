"""The graph of an execution: the scripts that build and lay it out, run by the sandbox's engine."""

import itertools
import json
import re
from pathlib import Path

import pytest
import quickjs

import conductor_py.ui

STATIC = Path(conductor_py.ui.__file__).parent / "static"


def _source(name: str) -> str:
    text = (STATIC / name).read_text(encoding="utf-8")
    text = re.sub(r"^import .*?;$", "", text, flags=re.MULTILINE)
    return re.sub(r"^export ", "", text, flags=re.MULTILINE)


@pytest.fixture(scope="module")
def graph():
    """The tree with states, and the layout, of a definition and tasks."""
    context = quickjs.Context()
    # Each in a function of its own: modules share no names.
    context.eval(
        f"""
        const M = (() => {{ {_source("graph_model.js")}; return {{graphOf}}; }})();
        const D = (() => {{ {_source("dag_layers.js")}; return {{layered}}; }})();
        const layered = D.layered;
        const L = (() => {{ {_source("graph_layout.js")}; return {{layout}}; }})();
        const itemsOf = (d, t) => M.graphOf(JSON.parse(d), JSON.parse(t)).items;
        function tree(d, t) {{ return JSON.stringify(itemsOf(d, t)); }}
        function laid(d, t) {{ return JSON.stringify(L.layout(itemsOf(d, t))); }}
        """
    )

    def build(tasks, attempts=(), relations=()):
        definition = json.dumps({"tasks": tasks, "relations": list(relations)})
        call = (definition, json.dumps(list(attempts)))
        return (
            json.loads(context.get("tree")(*call)),
            json.loads(context.get("laid")(*call)),
        )

    return build


def _task(ref, type_="SIMPLE", **more):
    return {"name": ref, "taskReferenceName": ref, "type": type_, **more}


def _attempt(ref, seq, status="COMPLETED", **more):
    return {"referenceTaskName": ref, "seq": seq, "status": status, "taskType": "x", **more}


SWITCH = _task(
    "kind",
    "SWITCH",
    decisionCases={"a": [_task("in_a")], "b": [_task("in_b")]},
    defaultCase=[_task("otherwise")],
)


@pytest.mark.parametrize(("said", "label"), [("a", "a"), ("b", "b"), ("z", "default")])
def test_the_chosen_case_is_marked_and_the_others_are_passed_by(graph, said, label):
    done = _attempt("kind", 1, outputData={"selectedCase": said})
    (switch,), _ = graph([SWITCH], [done])
    assert [case["label"] for case in switch["cases"] if case["taken"]] == [label]
    passed = [case["label"] for case in switch["cases"] if case["items"][0]["state"]["passedBy"]]
    assert sorted([*passed, label]) == ["a", "b", "default"]


def test_before_a_switch_is_decided_nothing_is_passed_by(graph):
    (switch,), _ = graph([SWITCH])
    assert [case["items"][0]["state"]["passedBy"] for case in switch["cases"]] == [False] * 3


def test_a_node_shows_its_newest_task_and_counts_the_tries_of_that_iteration(graph):
    loop = _task("loop", "DO_WHILE", loopOver=[_task("work")])
    tries = [
        _attempt("work__1", 2, iteration=1),
        _attempt("work__2", 4, "IN_PROGRESS", iteration=2),
        _attempt("work__2", 3, "FAILED", iteration=2),
    ]
    (item,), _ = graph([loop], tries)
    state = item["body"][0]["state"]
    assert (state["status"], state["attempts"], state["iteration"]) == ("IN_PROGRESS", 2, 2)


def test_a_reference_that_looks_like_an_iteration_is_its_own(graph):
    items, _ = graph([_task("part"), _task("part__1")], [_attempt("part__1", 1, "FAILED")])
    assert [item["state"].get("status") for item in items] == [None, "FAILED"]


def test_a_dynamic_fork_shows_its_branches_up_to_a_bound(graph):
    refs = [f"mail_{number}" for number in range(57)]
    fork = _attempt("fan", 1, taskType="FORK", inputData={"forkedTasks": refs})
    branch = _attempt("mail_3", 2, "FAILED")
    items, laid = graph([_task("fan", "FORK_JOIN_DYNAMIC"), _task("met", "JOIN")], [fork, branch])
    assert (len(items[0]["branches"]), items[0]["more"]) == (50, 7)
    assert items[0]["branches"][3][0]["state"]["status"] == "FAILED"
    assert "57 branches, 50 shown, +7 more" in [frame["label"] for frame in laid["frames"]]


def test_a_branch_of_a_dynamic_fork_may_be_a_container(graph):
    inner = _task("sub_fork", "FORK_JOIN", forkTasks=[[_task("deep")]])
    fork = _attempt("fan", 1, taskType="FORK", inputData={"forkedTasks": ["sub_fork"]})
    tried = [_attempt("sub_fork", 2, workflowTask=inner), _attempt("deep", 3, "TIMED_OUT")]
    (item,), _ = graph([_task("fan", "FORK_JOIN_DYNAMIC")], [fork, *tried])
    assert item["branches"][0][0]["branches"][0][0]["state"]["status"] == "TIMED_OUT"


@pytest.mark.parametrize(
    "tasks",
    [
        [],
        [_task("a"), _task("b")],
        [SWITCH, _task("after")],
        [_task("f", "FORK_JOIN", forkTasks=[[_task("x"), _task("y")], [SWITCH], []]), _task("j")],
        [_task("f", "FORK_JOIN", forkTasks=[[_task(f"b{n}")] for n in range(60)])],
        [_task("l", "DO_WHILE", loopOver=[_task("l2", "DO_WHILE", loopOver=[_task("x")])])],
        [_task("c", "SWITCH", decisionCases={"end": [_task("t", "TERMINATE")]}), _task("on")],
        [_task("__proto__", "constructor", decisionCases={"__proto__": []})],
    ],
    ids=["empty", "sequence", "switch", "fork", "wide", "loops", "terminate", "hostile names"],
)
def test_no_two_nodes_overlap_and_all_are_on_the_canvas(graph, tasks):
    _, laid = graph(tasks)
    boxes = [(node["x"], node["y"]) for node in laid["nodes"]]
    for index, (x, y) in enumerate(boxes):
        assert 0 <= x <= laid["width"] - 208
        assert 0 <= y <= laid["height"] - 50
        for other_x, other_y in boxes[index + 1 :]:
            assert abs(x - other_x) >= 208 or abs(y - other_y) >= 50
    assert "NaN" not in json.dumps(laid["edges"])
    assert None not in [edge["path"] for edge in laid["edges"]]


def test_a_path_is_drawn_as_taken_only_as_far_as_the_execution_came(graph):
    tasks = [_task("a"), _task("b"), _task("c")]
    _, laid = graph(tasks, [_attempt("a", 1), _attempt("b", 2, "IN_PROGRESS")])
    assert [edge["taken"] for edge in laid["edges"]] == [True, True, False, False]
    assert [edge["running"] for edge in laid["edges"]] == [False, True, False, False]


# -- DAGs ------------------------------------------------------------------------------------------


def _relations(*edges):
    pairs = (edge.split(">") for edge in edges)
    return [{"preTask": before, "postTask": after} for before, after in pairs]


def test_tasks_of_a_dag_stand_below_all_that_leads_to_them(graph):
    tasks = [_task(ref) for ref in "dcbaz"]
    relations = _relations("a>c", "a>d", "b>d", "c>z", "d>z", "a>z")
    (dag,), laid = graph(tasks, relations=relations)
    assert dag["kind"] == "dag"
    tops = {node["item"]["ref"]: node["y"] for node in laid["nodes"]}
    assert all(tops[each["preTask"]] < tops[each["postTask"]] for each in relations)
    spots = {(node["x"], node["y"]) for node in laid["nodes"]}
    assert len(spots) == len(tasks)


def test_boxes_of_a_layer_do_not_overlap(graph):
    tasks = [_task(f"t{number}") for number in range(60)]
    relations = _relations(*(f"t{n}>t{n * 7 % 60}" for n in range(60) if n < n * 7 % 60))
    _, laid = graph(tasks, relations=relations)
    by_top: dict[float, list[float]] = {}
    for node in laid["nodes"]:
        by_top.setdefault(node["y"], []).append(node["x"])
    for lefts in by_top.values():
        lefts.sort()
        assert all(right - left >= 208 for left, right in itertools.pairwise(lefts))
    assert all(0 <= node["x"] <= laid["width"] - 208 for node in laid["nodes"])


def test_edges_of_a_dag_show_their_labels_and_what_was_taken(graph):
    relations = [
        {"preTask": "s", "postTask": "l", "label": "case", "case": "left"},
        {"preTask": "s", "postTask": "r", "label": "default"},
    ]
    tasks = [_task("s", "SWITCH"), _task("l"), _task("r")]
    attempts = [_attempt("s", 1), _attempt("l", 2, "SCHEDULED")]
    _, laid = graph(tasks, attempts, relations)
    assert [(case["label"], case["taken"]) for case in laid["cases"]] == [
        ("left", True),
        ("default", False),
    ]
    assert [edge["running"] for edge in laid["edges"] if "C" in edge["path"]] == [True, False]


def test_a_thousand_tasks_in_layers_are_laid_out(graph):
    tasks = [_task(f"t{number}") for number in range(1000)]
    relations = _relations(
        *(f"t{n}>t{n + 10 + side}" for n in range(985) for side in (0, 3) if n + 10 + side < 1000)
    )
    _, laid = graph(tasks, relations=relations)
    assert len(laid["nodes"]) == 1000
    assert len(laid["edges"]) == len(relations) + 2


def test_a_wide_layer_has_rows_that_one_can_look_at(graph):
    tasks = [_task(ref) for ref in ("first", *(f"t{n}" for n in range(998)), "last")]
    edges = [edge for n in range(998) for edge in (f"first>t{n}", f"t{n}>last")]
    _, laid = graph(tasks, relations=_relations(*edges))
    assert laid["width"] < 9_000
    tops = {node["item"]["ref"]: node["y"] for node in laid["nodes"]}
    assert tops["first"] < min(tops[f"t{n}"] for n in range(998))
    assert tops["last"] > max(tops[f"t{n}"] for n in range(998))
    assert len({(node["x"], node["y"]) for node in laid["nodes"]}) == 1000
