"""What stands right before each task, in lists and in graphs."""

from conductor_py.model.definition_form import workflow_from_json
from conductor_py.model.upstream import leading_to, ranks_of
from conductor_py.testing.definitions import Json, dag, fork, join, simple, typed, workflow


def _before(definition: Json, **how: bool) -> dict[str, set[str]]:
    found = leading_to(workflow_from_json(definition), **how)
    assert all(len(set(refs)) == len(refs) for refs in found.values())
    return {ref: set(refs) for ref, refs in found.items()}


def _switch(ref: str, *bodies: list[Json]) -> Json:
    cases = {str(n): body for n, body in enumerate(bodies)}
    return typed("SWITCH", ref, evaluatorType="value-param", expression="x", decisionCases=cases)


def test_tasks_of_a_list_follow_each_other() -> None:
    assert _before(workflow("w", simple("a"), simple("b"), simple("c"))) == {
        "a": set(),
        "b": {"a"},
        "c": {"b"},
    }


def test_tasks_apart_do_not() -> None:
    apart = _before(workflow("w", simple("a"), simple("b")), apart=True)
    assert apart == {"a": set(), "b": set()}


def test_a_join_stands_behind_what_it_waits_for_and_what_follows_it_behind_the_join() -> None:
    branches = [[simple("a"), simple("b")], [simple("c")], [simple("d")]]
    found = _before(workflow("w", fork("f", *branches), join("j", "b", "c"), simple("z")))
    assert found == {
        "f": set(),
        "a": {"f"},
        "b": {"a"},
        "c": {"f"},
        "d": {"f"},
        "j": {"f", "b", "c"},
        "z": {"j"},
    }


def test_what_follows_a_switch_follows_the_ends_of_its_cases() -> None:
    inner = _switch("i", [simple("b")])
    found = _before(workflow("w", _switch("s", [simple("a"), inner], [simple("c")]), simple("z")))
    ends = {"\0s": {"s", "\0i", "c"}, "\0i": {"i", "b"}}
    assert (found["z"], found["\0s"], found["\0i"]) == ({"\0s"}, ends["\0s"], ends["\0i"])
    assert (found["a"], found["i"], found["b"]) == ({"s"}, {"a"}, {"i"})


def test_what_follows_a_loop_follows_the_end_of_its_body() -> None:
    loop = typed("DO_WHILE", "l", loopOver=[simple("a"), simple("b")], loopCondition="false")
    found = _before(workflow("w", loop, simple("z")))
    assert (found["a"], found["b"], found["z"]) == ({"l"}, {"a"}, {"\0l"})
    assert found["\0l"] == {"l", "b"}


def test_in_a_graph_the_relations_say_it_and_a_body_its_list() -> None:
    loop = typed("DO_WHILE", "l", loopOver=[simple("x"), simple("y")], loopCondition="false")
    found = _before(
        dag("w", [simple("z"), simple("a"), loop], "a > l", "l > z", "a > z", "a -always> z")
    )
    lists = {"x": {"l"}, "y": {"x"}, "\0l": {"l", "y"}}
    assert found == {"a": set(), "l": {"a"}, "z": {"a", "\0l"}} | lists


def test_ranks_go_from_the_beginning_and_a_cycle_has_some() -> None:
    definition = workflow_from_json(dag("w", [simple(ref) for ref in "cba"], "a > b", "b > c"))
    ranks = ranks_of(leading_to(definition))
    assert ranks["a"] < ranks["b"] < ranks["c"]
    assert set(ranks_of({"a": ("b",), "b": ("a",)})) == {"a", "b"}


def test_many_joins_behind_a_wide_switch_are_no_product() -> None:
    many = 300
    wide = _switch("s", *([simple(f"a{n}")] for n in range(many)))
    joins = [join(f"j{n}", "s") for n in range(many)]
    found = leading_to(workflow_from_json(workflow("w", wide, *joins)))
    assert sum(map(len, found.values())) < 5 * many
