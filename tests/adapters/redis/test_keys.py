"""Keys and scripts agree: nothing spells a key that the table does not know."""

import re
from importlib.resources import files

import pytest

from conductor_py.adapters.redis.keys import KEYS, Namespace
from conductor_py.adapters.redis.scripts import HEADERS, NAMES, source_of

_LUA = files("conductor_py.adapters.redis") / "lua"
_FILES = sorted(entry.name for entry in _LUA.iterdir() if entry.name.endswith(".lua"))
_FRAGMENTS = sorted(entry.name for entry in (_LUA / "include").iterdir())
_SPELLED = re.compile(r"(?:P|KEYS\[1\]) \.\. '([^']*)'")


def test_every_script_file_is_declared() -> None:
    assert [f"{name}.lua" for name in sorted(NAMES)] == _FILES


@pytest.mark.parametrize("name", sorted(NAMES))
def test_script_begins_with_its_contract(name: str) -> None:
    lines = source_of(name).splitlines()
    headers = [line[3:].split(" ")[0] for line in lines if re.match(r"-- [A-Z]+ ", line)]
    assert headers[: len(HEADERS)] == list(HEADERS)


@pytest.mark.parametrize("name", sorted(NAMES))
def test_script_is_whole_and_spells_only_keys_of_the_table(name: str) -> None:
    source = source_of(name)
    assert "@include" not in source
    assert set(_SPELLED.findall(source)) <= {key.name for key in KEYS}


def test_every_fragment_is_included_somewhere() -> None:
    texts = [(_LUA / name).read_text() for name in _FILES]
    used = {found for text in texts for found in re.findall(r"-- @include (\w+)", text)}
    assert sorted(f"{name}.lua" for name in used) == _FRAGMENTS


def test_names_of_keys_are_unique() -> None:
    assert len({key.name for key in KEYS}) == len(KEYS)


def test_keys_of_a_partition_share_a_hash_tag() -> None:
    namespace = Namespace("ns", 2)
    assert namespace.key(1, "exec:", "x") == "{ns:1}:exec:x"
    assert namespace.key(0, "outbox") == "{ns:0}:outbox"
