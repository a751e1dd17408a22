"""Jobs for the tests: small ones made by hand, and any that hypothesis thinks of."""

import copy
import json
from pathlib import Path

from hypothesis import strategies as st

from conductor_py.pipelines.cutting import cut
from conductor_py.wire.pipelines import read_job
from tests.builders import Json

EXAMPLE = Path(__file__).parents[2] / "schemas/examples/pipelines/orders.json"


def example():
    """Return the example of the documentation: three pipelines."""
    return json.loads(EXAMPLE.read_text())


def source(name, **more):
    """Make a generator."""
    return {"id": name, "kind": "generator", "output": f"{name}_out", "rows": 10, **more}


def transform(name, kind, inputs, **more):
    """Make a transform of named nodes."""
    return {
        "id": name,
        "kind": kind,
        "inputs": {key: f"{each}_out" for key, each in inputs.items()},
        "output": f"{name}_out",
        **more,
    }


def sink(name, reads, **more):
    """Make a file sink."""
    return {
        "id": name,
        "kind": "file",
        "input": f"{reads}_out",
        "path": f"/out/{name}",
        "format": "json",
        **more,
    }


def job(sources, transforms, sinks, **more):
    """Make a job."""
    return {
        "version": 1,
        "name": "job",
        "sources": sources,
        "transforms": transforms,
        "sinks": sinks,
        **more,
    }


def plan_of(body):
    """Read and cut a job."""
    return cut(read_job(copy.deepcopy(body)))


@st.composite
def any_jobs(draw):
    """Draw a job of up to five sources whose rows meet in any way."""
    names = [f"s{number}" for number in range(draw(st.integers(1, 5)))]
    sources = [source(name) for name in names]
    transforms = []
    for number in range(draw(st.integers(0, 6))):
        kind = draw(st.sampled_from(["filter", "union", "dedup", "join"]))
        count = 2 if kind in {"union", "join"} else 1
        chosen = [draw(st.sampled_from(names)) for _ in range(count)]
        inputs = dict(zip(["left", "right"], chosen, strict=False))
        options: dict[str, Json] = {
            "filter": {"where": "id > 0"},
            "union": {},
            "dedup": {"keys": ["id"]},
            "join": {"on": [["id", "id"]]},
        }
        transforms.append(transform(f"t{number}", kind, inputs, **options[kind]))
        names.append(f"t{number}")
    sinks = [sink(f"k{number}", draw(st.sampled_from(names))) for number in range(2)]
    read = {each for node in transforms for each in node["inputs"].values()}
    read |= {each["input"] for each in sinks}
    sinks += [sink(f"of_{name}", name) for name in names if f"{name}_out" not in read]
    return job(sources, transforms, sinks)
