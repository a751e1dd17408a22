"""Every example of every page does what the page says, for a reader who follows it.

Nothing is set before: an empty directory, the default port, no variables, and a server only where
the page tells to start one. What nobody can run as it stands says so on the page, and is listed
here.
"""

import json
import re
from pathlib import Path

import pytest

from tests.docs.pages import Page, all_pages, page
from tests.docs.reader import Step, follow, steps_of
from tests.docs.theirs import with_theirs

_LANGUAGES = {"python", "sh", "json", "properties", "toml", "text", "py"}
_ELSEWHERE = {
    "README.md": "test_readme.py",
    "docs/how-to/test-a-workflow.md": "test_testing_page.py",
    "docs/how-to/unstick.md": "test_unstick_page.py",
    "docs/how-to/write-a-connector.md": "test_connector_page.py",
    "docs/reference/pipelines.md": "test_tutorials.py",
    "docs/tutorials/pipeline.md": "test_tutorials.py",
    "docs/tutorials/watched-folder.md": "test_tutorials.py",
}
"""Pages that a test of their own follows."""
_COMMAND = re.compile(
    r"^[ \t]{4,}(\$ .+|(?:[A-Z_]+=\S+ )*(?:\S*/)?(?:conductor-\S+|curl|git|make|python3?|pip)\b.*)",
    re.MULTILINE,
)
_FENCE = re.compile(r"^.*(?:```|~~~).*$", re.MULTILINE)
_PAGES = [
    page
    for page in all_pages()
    if page.name not in _ELSEWHERE and any(step.runs for step in steps_of(page))
]
_NEEDS = {
    "docs/how-to/locks.md": ["it needs a package index"],
    "docs/how-to/simulate-a-workflow.md": ["it needs a package index"],
}
"""What nobody can run as it stands, by what it needs."""
_INDENTED = {
    "CONTRIBUTING.md": ["make test"],
    "docs/how-to/cluster-and-sentinel.md": [
        ".venv/bin/python -m pytest tests/acceptance/test_redis_failover.py"
    ],
    "docs/explanation/simulation.md": [
        "make simulate SEEDS=10000",
        "python -m conductor_py.testing.simulation --from 4711 --trace",
    ],
    "docs/how-to/spark-cluster.md": [
        "conductor-spark-worker --server http://127.0.0.1:8080/api \\"
    ],
    "docs/reference/benchmarks-compared.md": [
        ".venv/bin/python benchmarks/compare.py 65a85da 0",
        ".venv/bin/python benchmarks/compare.py 4519698 0",
        ".venv/bin/python benchmarks/compare.py 89e792b 0",
    ],
    "docs/reference/benchmarks-peers.md": ["make bench-peers [TURNS=4] [ONLY=java,rq]"],
    "docs/reference/benchmarks-spark.md": ["make bench-spark ONLY=T1,T5 PAIRS=3"],
    "docs/reference/chaos.md": [
        "make chaos [FSYNC=always|everysec] [SECONDS=300] [SEED=1] [SHAPE=server|apart]",
        "make chaos-spark [ONLY=F8,F9] [SCENE=bounded] [STRIKE=jvm] [GO_ON=1] [MINUTES=60]",
        "make soak [MINUTES=15] [SHAPE=server|apart]",
    ],
    "docs/tutorials/flights.md": [
        "make run",
        "KEEP=1 make run",
        "SPOIL=1 make run",
        "conductor-spark-worker --server http://127.0.0.1:PORT/api --allow-path .run",
    ],
}
"""Commands outside of blocks: of a checkout, of a cluster, and forms of commands."""


@pytest.mark.thorough(target="docs")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.name)
def test_a_page_does_what_it_says_for_who_follows_it(page: Page, tmp_path: Path) -> None:
    followed = follow(page, with_theirs(page), tmp_path)
    for step, printed in zip(followed.steps, followed.printed, strict=True):
        if step.prints is not None:
            assert _plain(printed) == _plain(step.prints)
    if "Traceback" in followed.errors:
        assert "traceback" in page.text, "a reader is startled by what nobody told of"


def test_what_cannot_be_run_as_it_stands_is_known() -> None:
    left_out: dict[str, list[str]] = {}
    for found in all_pages():
        for step in steps_of(found):
            if step.needs:
                left_out.setdefault(found.name, []).append(step.needs)
    assert left_out == _NEEDS


def test_every_other_block_is_run_or_read_by_a_test() -> None:
    assert {
        page.name: step.text
        for page in all_pages()
        for step in steps_of(page)
        if step.language not in _LANGUAGES
        or (step.language == "py" and page.name not in _ELSEWHERE and not step.needs)
    } == {}
    for name, test in _ELSEWHERE.items():
        assert Path(name).stem in (Path(__file__).parent / test).read_text()


def test_a_command_stands_in_a_block_that_is_run() -> None:
    """What is merely indented shows output, or how something looks."""
    found = {page.name: _COMMAND.findall(page.prose) for page in all_pages()}
    assert {name: commands for name, commands in found.items() if commands} == _INDENTED


def test_no_block_is_passed_over() -> None:
    """Where a fence is left in the prose of a page, what it encloses has been read as prose."""
    found = {page.name: _FENCE.findall(page.prose) for page in all_pages()}
    assert {name: fences for name, fences in found.items() if fences} == {}


@pytest.mark.parametrize(
    "step",
    [step for page in all_pages() for step in steps_of(page) if step.language == "json"],
    ids=lambda step: step.text[:40],
)
def test_json_is_json(step: Step) -> None:
    json.loads(step.text)


def test_an_example_of_the_readme_is_short() -> None:
    (example,) = page("README.md").blocks("python")
    assert len(example.text.splitlines()) < 20


def _plain(output: str) -> str:
    """Ids differ from run to run; a page shows some id in their place."""
    return re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<id>", output.strip())
