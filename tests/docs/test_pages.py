"""The pages hang together: links resolve, settings exist, words have one meaning."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from conductor_py.config.settings import declared
from tests.docs.pages import DOCS, ROOT, Page, all_pages, page

_PAGES = all_pages()
_SCRIPTS = sorted((ROOT / "conductor_py/ui/static").glob("*.js"))
#: Names of time zones are not ours: "timor-leste summer time".
_MODULES = sorted(
    path
    for folder in ("conductor_py", "workers/conductor_workers")
    for path in (ROOT / folder).rglob("*.py")
    if path.name != "zone_names.py"
)
_SHOWN = (ROOT / "conductor_py/cli", ROOT / "conductor_py/sdk")
_FOLDERS = ("tutorials", "how-to", "reference", "explanation", "decisions")
_KEY = re.compile(r"(?<![\w-])conductor\.[a-z][\w.-]*[\w]")
_OTHER_NAMES = re.compile(r"conductor\.(properties|failure_workflow)")
#: Turns of phrase that are hard for a reader whose English is not native. Write instead: "for
#: example", "if … is missing", "if none is given, all", "is not a …".
_HARD = re.compile(
    r"\b(?:say[,.;)]|none means|as if it never|lacks is|lest|for want of|save that|none of ours"
    r"|[Ww]ere (?:`\w+`|it|there|they)|lead(?:s|ing)? round|a type without an operator"
    r"|texts in it that|tells? what changes|would be taken\b)"
    r"|, say\b(?!,? )|; and so is|\. Not one\b",
)
_NOT_FOR_USERS = ("docs/reference/mutants.md", "docs/decisions/")
#: The words that code and logs use; the glossary may explain more.
_WORDS = frozenset(
    {
        *("archive", "attempt", "claim", "commit", "decision", "definition", "effect", "event"),
        *("execution", "generation", "inbox", "iteration", "lease", "outbox", "partition", "plan"),
        *("fencing token", "pipeline", "round", "shard", "split", "sweeper", "term", "timer"),
        "version",
    }
)


@pytest.mark.parametrize("found", _PAGES, ids=lambda found: found.name)
def test_links_lead_somewhere(found: Page) -> None:
    broken = []
    for link in found.links():
        if re.match(r"https?:|mailto:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (found.path.parent / path).resolve() if path else found.path
        if not target.exists() or (anchor and anchor not in _read(target).anchors()):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("found", _PAGES, ids=lambda found: found.name)
def test_settings_that_a_page_names_exist(found: Page) -> None:
    known = {one.setting.key.lower() for one in declared()}
    known |= {f"{one.setting.key.lower()}.file" for one in declared() if one.setting.is_credential}
    named = {key for key in _KEY.findall(found.text) if not _OTHER_NAMES.match(key)}
    unknown = {
        key
        for key in named
        if key.lower() not in known and not any(one.startswith(f"{key.lower()}.") for one in known)
    }
    assert unknown == set()


@pytest.mark.parametrize("found", _PAGES, ids=lambda found: found.name)
def test_a_page_installs_from_its_directory_as_the_name_is_another_projects_on_the_index(
    found: Page,
) -> None:
    assert re.findall(r"pip install [^`\n]*\bconductor-py\b(?!`)[^\n]*", found.text) == []


@pytest.mark.parametrize("found", _PAGES, ids=lambda found: found.name)
def test_sentences_have_no_turn_that_is_hard_to_read(found: Page) -> None:
    if not found.name.startswith(_NOT_FOR_USERS):
        assert [
            found.prose[max(0, each.start() - 60) : each.end() + 40]
            for each in _HARD.finditer(found.prose)
        ] == []


@pytest.mark.parametrize("path", _SCRIPTS, ids=lambda path: path.name)
def test_pages_of_the_browser_have_no_turn_that_is_hard_to_read(path: Path) -> None:
    texts = re.findall(r'"([^"\n]{12,})"', path.read_text())
    assert [text for text in texts if _HARD.search(text)] == []


@pytest.mark.parametrize("path", _MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_messages_and_help_have_no_turn_that_is_hard_to_read(path: Path) -> None:
    """What is in a docstring is shown of commands, and read by users of the SDK."""
    tree = ast.parse(path.read_text())
    inside = (
        set()
        if any(path.is_relative_to(one) for one in _SHOWN)
        else {id(one) for one in _docstrings(tree)}
    )
    found = [
        f"line {each.lineno}: {each.value[max(0, hard.start() - 60) : hard.end() + 40]}"
        for each in ast.walk(tree)
        if isinstance(each, ast.Constant) and isinstance(each.value, str) and id(each) not in inside
        for hard in _HARD.finditer(each.value)
    ]
    assert found == []


def _docstrings(tree: ast.AST) -> Iterator[ast.AST]:
    for each in ast.walk(tree):
        if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant):
            yield each.value


def test_every_page_is_reached_from_the_index() -> None:
    index = page("docs/index.md")
    reached = {(index.path.parent / link.partition("#")[0]).resolve() for link in index.links()}
    pages = {path.resolve() for folder in _FOLDERS for path in (DOCS / folder).glob("*.md")}
    assert pages - reached == set()


def test_every_page_begins_with_its_title() -> None:
    assert [found.name for found in _PAGES if not found.text.startswith("# ")] == []


def test_glossary_explains_each_word_once() -> None:
    words = re.findall(r"^\*\*([a-z -]+)\*\*", page("docs/glossary.md").text, re.MULTILINE)
    assert words == sorted(words)
    assert len(words) == len(set(words))
    assert set(words) >= _WORDS


def test_decisions_are_numbered_without_gaps_and_fit_a_page() -> None:
    paths = sorted((DOCS / "decisions").glob("*.md"))
    assert [path.name[:4] for path in paths] == [f"{n:04}" for n in range(1, len(paths) + 1)]
    assert [path.name for path in paths if len(_read(path).text.splitlines()) > 120] == []


def _read(path: object) -> Page:
    return page(str(path).removeprefix(f"{ROOT}/"))
