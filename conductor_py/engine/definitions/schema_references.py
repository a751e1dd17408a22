"""References of a JSON Schema that lead nowhere, told as the schema writes them.

The library tells a part of the reference, with all of the document in which it was looked for.
"""

from __future__ import annotations

from referencing.exceptions import Unresolvable


def named(unknown: Unresolvable, wanted: object) -> Unresolvable:
    """Name the reference at which a keyword that wants ``wanted`` has failed: ``$ref`` wants it,
    others look through the references beside them. What is named already stays.
    """
    if type(unknown) is Unresolvable:
        return unknown
    if isinstance(wanted, str):
        return Unresolvable(ref=wanted)
    fragment = getattr(unknown, "anchor", None) or unknown.ref
    return Unresolvable(ref=fragment if "#" in fragment or ":" in fragment else f"#{fragment}")
