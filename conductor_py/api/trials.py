"""Trials of workflows, which the interface calls tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from flask import Blueprint

from conductor_py.api.answers import Answer, json_answer
from conductor_py.api.documents import Documents
from conductor_py.api.front import Front, blueprint
from conductor_py.model.json import JsonObject
from conductor_py.wire.trials import read_trial


def trials(front: Front) -> Blueprint:
    """Make ``/api/workflow/test``."""

    def run() -> Answer:
        trial = read_trial(front.body(), front.definitions)
        return _answer(front.engine.trials.run(trial))

    return blueprint("trials", "/api/workflow", (("POST", "/test", run),))


def _answer(execution: JsonObject) -> Answer:
    """Write an execution task by task: each brings its definition, however often that stands there.
    ``PayloadTooLarge`` beyond the bound of all documents of an answer.
    """
    documents = Documents()
    tasks = [documents.add(task) for task in cast("Sequence[JsonObject]", execution["tasks"])]
    documents.add({**execution, "tasks": ()})
    return json_answer({**execution, "tasks": tasks})
