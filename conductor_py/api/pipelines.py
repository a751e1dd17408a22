"""Data pipelines, as far as the engine knows them: a job is checked, and its cut described."""

from __future__ import annotations

from flask import Blueprint

from conductor_py.api.answers import Answer, json_answer
from conductor_py.api.front import Front, blueprint
from conductor_py.pipelines.cutting import cut
from conductor_py.pipelines.description import description
from conductor_py.wire.pipelines import read_job


def pipelines(front: Front) -> Blueprint:
    """Make ``/api/pipelines/plan``."""

    def plan() -> Answer:
        job = read_job(front.body())
        return json_answer(description(job, cut(job)))

    return blueprint("pipelines", "/api/pipelines", (("POST", "/plan", plan),))
