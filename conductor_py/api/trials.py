"""Trials of workflows, which the interface calls tests."""

from __future__ import annotations

from flask import Blueprint

from conductor_py.api.answers import Answer, json_answer
from conductor_py.api.front import Front, blueprint
from conductor_py.wire.trials import read_trial


def trials(front: Front) -> Blueprint:
    """Make ``/api/workflow/test``."""

    def run() -> Answer:
        trial = read_trial(front.body(), front.definitions)
        return json_answer(front.engine.trials.run(trial))

    return blueprint("trials", "/api/workflow", (("POST", "/test", run),))
