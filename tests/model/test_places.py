"""A place on the wire may mean several places; the one that is meant is among them."""

from hypothesis import given
from hypothesis import strategies as st

from conductor_py.model.execution import Vector
from conductor_py.model.places import place_key, places_on_wire, wire_place, wire_ref

_REFS = st.text("ab_2", min_size=1).filter(lambda ref: ref.strip("_"))
_VECTORS = st.lists(st.integers(1, 99), max_size=4).map(lambda each: ".".join(map(str, each)))


@given(_REFS, _VECTORS.map(Vector))
def test_what_a_place_is_called_on_the_wire_leads_back_to_it(ref: str, vector: Vector) -> None:
    named = wire_ref(ref, vector)
    assert place_key(ref, vector) in places_on_wire(named)
    assert named == wire_place(place_key(ref, vector))


def test_a_name_is_no_iteration_of_nothing() -> None:
    assert places_on_wire("__1__2") == ["__1__2", "__1#2"]
    assert places_on_wire("a__x__1") == ["a__x__1", "a__x#1"]
    assert places_on_wire("a__²") == ["a__²"]


def test_a_hostile_name_means_few_places() -> None:
    assert len(places_on_wire("a" + "__1" * 100_000)) == 101
