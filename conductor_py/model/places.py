"""Places: a reference in an iteration of the loops around it, as it is stored and on the wire."""

from __future__ import annotations

from typing import Final

from conductor_py.model.execution import Vector

_MOST_LOOPS: Final = 100
"""As many loops within one another as a definition can nest at most: its JSON is no deeper."""


def place_key(ref: str, vector: Vector) -> str:
    """Name a reference in an iteration, as the stored fields do."""
    return f"{ref}#{vector}" if vector else ref


def wire_ref(ref: str, vector: Vector) -> str:
    """Name a reference on the wire: loop tasks carry ``__<iteration>`` for each loop around
    them.
    """
    return f"{ref}__{vector.replace('.', '__')}" if vector else ref


def wire_place(place: str) -> str:
    """Name a stored place on the wire."""
    ref, _, vector = place.rpartition("#")
    return wire_ref(ref, Vector(vector)) if ref else place


def places_on_wire(reference: str) -> list[str]:
    """Name the places that a reference on the wire may mean, the likeliest first: ``a__2__1`` is a
    task of that name, or ``a__2`` in an iteration, or ``a`` in one within another.
    """
    found, ref, vector = [reference], reference, ""
    for _ in range(_MOST_LOOPS):
        ref, mark, number = ref.rpartition("__")
        if not (ref and mark and number.isascii() and number.isdecimal()):
            break
        vector = f"{number}.{vector}" if vector else number
        found.append(place_key(ref, Vector(vector)))
    return found
