"""Rules of routes that learn to write addresses when the first address is asked for.

A rule both reads addresses and writes them (``url_for``). It compiles what writes when it is made,
which is five sixths of what some two hundred rules cost a start; pages write a dozen of them.
"""

from __future__ import annotations

from collections.abc import Callable

from werkzeug.routing import Rule


class ReadingRule(Rule):
    """A rule of werkzeug (3.1) whose writing half is compiled when it is first used."""

    def _compile_builder(
        self,
        append_unknown: bool = True,  # noqa: FBT001, FBT002 - as it is called
    ) -> Callable[..., tuple[str, str]]:
        compile_now = super()._compile_builder
        place = "_build_unknown" if append_unknown else "_build"

        def build(rule: Rule, **values: object) -> tuple[str, str]:
            written = compile_now(append_unknown).__get__(rule, None)
            setattr(rule, place, written)
            address: tuple[str, str] = written(**values)
            return address

        return build
