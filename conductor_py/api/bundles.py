"""Bundles of the catalog: exported from one place, imported into another."""

from __future__ import annotations

from flask import Blueprint, request

from conductor_py.api.answers import Answer, json_answer
from conductor_py.api.front import Front, blueprint
from conductor_py.model.bundle import OnExisting
from conductor_py.wire.bundles import bundle_body, read_bundle, report_body
from conductor_py.wire.parameters import choice, flag, wrong

_EDITED, _ALL = "edited", "all"
_MOST_NAMES = 100


def bundles(front: Front) -> Blueprint:
    """Make the endpoints ``/api/catalog/export`` and ``import``."""
    views = _Bundles(front)
    routes = (("GET", "/export", views.export), ("POST", "/import", views.load))
    return blueprint("bundles", "/api/catalog", routes)


class _Bundles:
    def __init__(self, front: Front) -> None:
        self._front = front

    def export(self) -> Answer:
        # Names may have commas: the parameter is repeated and nothing else.
        names = tuple(name for name in request.args.getlist("name") if name)
        if not 0 < len(names) <= _MOST_NAMES:
            raise wrong("name", f"must be given, at most {_MOST_NAMES} times")
        self._front.be_heavy()
        bundle = self._front.engine.exporting.bundle(
            names,
            callees=flag(request.args, "callees"),
            every_version=choice(request.args, "versions", (_EDITED, _ALL)) == _ALL,
        )
        return json_answer(bundle_body(bundle))

    def load(self) -> Answer:
        on_existing = OnExisting(choice(request.args, "onExisting", tuple(OnExisting)))
        report = self._front.engine.importing.load(
            read_bundle(self._front.body_object()),
            self._front.definitions.check,
            on_existing=on_existing,
            dry_run=flag(request.args, "dryRun"),
        )
        return json_answer(report_body(report))
