"""Every script opens with its contract, and the contract names every key and argument it uses."""

import re

import pytest

from conductor_py.adapters.redis.keys import Namespace
from conductor_py.adapters.redis.scripts import NAMES, Scripts, source_of
from tests.architecture.tree import lua_scripts, package_modules

SECTIONS = ("PURPOSE", "KEYS", "ARGV", "RETURNS", "INVARIANT", "BOUND")
_SECTION = re.compile(r"^--\s*(" + "|".join(SECTIONS) + r")\b:?\s*(.*)$")
_INDEX = re.compile(r"\b(KEYS|ARGV)\[(\d+)\]")


def header(text: str) -> dict[str, str]:
    """The sections of the comment that opens a script; a section may span lines."""
    sections: dict[str, str] = {}
    current = ""
    for line in text.splitlines():
        if not line.startswith("--"):
            break
        match = _SECTION.match(line)
        if match:
            current = match[1]
            sections[current] = match[2]
        elif current:
            sections[current] += "\n" + line.removeprefix("--").strip()
    return sections


def faults(name: str, text: str) -> list[str]:
    found = header(text)
    missing = [f"{name} says nothing of {part}" for part in SECTIONS if not found.get(part)]
    order = [part for part in found if part in SECTIONS]
    if not missing and order != list(SECTIONS):
        missing.append(f"{name} has its sections in another order: {order}")
    return missing


# What is included by other scripts has no keys of its own.
_SCRIPTS = [path for path in lua_scripts() if path.parent.name == "lua"]


@pytest.mark.parametrize("path", _SCRIPTS, ids=lambda path: path.stem)
def test_script_opens_with_its_contract(path):
    assert faults(path.name, path.read_text(encoding="utf-8")) == []


def unnamed(text: str) -> list[str]:
    """The keys and arguments, by position, that a script uses and its contract does not list."""
    opening, body = header(text), _without_comments(text)
    highest = {"KEYS": 0, "ARGV": 0}
    for kind, number in _INDEX.findall(body):
        highest[kind] = max(highest[kind], int(number))
    return [f"{kind}[{top}]" for kind, top in highest.items() if top > _listed(opening[kind])]


def _listed(section: str) -> float:
    """How many names a section lists: "a, b and c" are three, "a, ..." is any number."""
    names = re.sub(r"\([^)]*\)", "", section, flags=re.DOTALL)
    if "..." in names or "\N{HORIZONTAL ELLIPSIS}" in names:
        return float("inf")
    if names.strip(" .\n-") in {"", "none", "nothing"}:
        return 0
    return len(re.split(r",|;|\band\b", names))


@pytest.mark.parametrize("path", _SCRIPTS, ids=lambda path: path.stem)
def test_script_uses_only_what_its_contract_lists(path):
    assert unnamed(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", _SCRIPTS, ids=lambda path: path.stem)
def test_script_is_named_verb_noun(path):
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", path.stem)


def _without_comments(text: str) -> str:
    return "\n".join(line.split("--", 1)[0] for line in text.splitlines())


def test_a_header_without_bound_is_seen():
    text = "-- PURPOSE: a\n-- KEYS: 1 b\n-- ARGV: 1 c\n-- RETURNS: d\n-- INVARIANT: e\nreturn 1\n"
    assert faults("x.lua", text) == ["x.lua says nothing of BOUND"]


def test_an_argument_that_is_not_listed_is_seen():
    text = "-- PURPOSE a\n-- KEYS b\n-- ARGV c (d, e) and f\n-- RETURNS g\n"
    assert unnamed(text + "return KEYS[1] .. ARGV[2]\n") == []
    assert unnamed(text + "return KEYS[2] .. ARGV[3]\n") == ["KEYS[2]", "ARGV[3]"]


#: Sorted sets whose scores are no instants that the sweeper or the relay look for.
_NOT_LOOKED_FOR = {
    *("P .. 'admitted:' .. key", "admitted", "waiting"),
    *("P .. 'catalog:order:' .. row", "P .. 'payloads:due'", "KEYS[1] .. 'plans'", "P .. 'plans'"),
    *("P .. 'limit:' .. a.def", "P .. 'rate:' .. a.def", "key", "index", "ends", "runs", "begun"),
    *("due", "gone"),
    *("P .. 'queue:' .. a.q .. ':' .. a.sh", "P .. 'queue:' .. lane", "delayed", "ready"),
    *("P .. 'running:' .. ARGV[7]", "P .. 'running:' .. name", "P .. 'polled'"),
    "P .. set",  # of what was damaged; what is retried is told of by its name
    *("P .. 'quarantine'", "P .. 'schedules:due'", "P .. 'touched'"),
}
_ADDED = re.compile(r"'ZADD', ([^,]+),")


def test_whatever_may_set_when_something_is_due_says_so() -> None:
    """Else a server that is alone with its store sleeps through it."""
    setting = Scripts(None, Namespace("x")).setting_due  # type: ignore[arg-type]
    for name in NAMES:
        places = set(_ADDED.findall(source_of(name))) - _NOT_LOOKED_FOR
        assert (name in setting) == bool(places), (name, places)


_ADDS = re.compile(r"""command\(\s*"(?:[HPZ]?(?:SET|ADD)|[LR]PUSH|H?INCR\w*|APPEND)\b""")


def test_nothing_is_added_but_by_scripts() -> None:
    """A plain command is refused when Redis is full; the number of partitions may be."""
    found = [
        module.path.name
        for module in package_modules()
        if module.name.startswith("conductor_py.adapters.redis") and _ADDS.search(module.text)
    ]
    assert found == ["partitions.py"]


_WHEN_FULL = re.compile(r"^ *(?:goes_on|needs_room|may_need_room)\(", re.MULTILINE)


@pytest.mark.parametrize("path", _SCRIPTS, ids=lambda path: path.stem)
def test_a_script_that_writes_says_what_it_does_when_redis_is_full(path):
    """Else it depends on its first command whether it is refused."""
    text = path.read_text(encoding="utf-8")
    reads = header(text)["INVARIANT"].startswith("Writes nothing.")
    assert reads != bool(_WHEN_FULL.search(text))
