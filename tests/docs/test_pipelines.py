"""The page of the job's format has every member, with its default."""

from dataclasses import fields, is_dataclass

import pytest

from conductor_py.pipelines.kinds import SINKS, SOURCES, TRANSFORMS
from conductor_py.pipelines.spec import Environment
from conductor_py.wire.pipeline_fields import size
from tests.docs.pages import page

_NAMED = [(kind, name) for table in (SOURCES, TRANSFORMS, SINKS) for name, kind in table.items()]


def _sections():
    text = page("docs/reference/pipelines.md").text
    parts = text.split("\n### ")[1:]
    return {part.partition("\n")[0]: part.partition("\n## ")[0] for part in parts}


def _rows(text):
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    return {cells[1].strip(" `"): cells[3].strip() for cells in (row.split("|") for row in lines)}


def _shown(default):
    if default is None:
        return "none"
    if default in ((), {}):
        return "empty"
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


@pytest.mark.parametrize(("kind", "name"), _NAMED, ids=lambda each: str(each)[:20])
def test_every_setting_of_a_kind_is_listed_with_its_default(kind, name):
    rows = _rows(_sections()[f"`{name}` {kind.role}"])
    expected = {
        key: "required" if setting.required else _shown(setting.default)
        for key, setting in kind.settings.items()
    }
    assert rows == expected


def _members(value, prefix=""):
    for each in fields(value):
        inner = getattr(value, each.name)
        if is_dataclass(inner):
            yield from _members(inner, f"{prefix}{each.name}.")
        else:
            yield f"{prefix}{each.name}", inner


def test_every_member_of_the_environment_is_listed_with_its_default():
    rows = _rows(page("docs/reference/pipelines.md").section("Environment"))
    members = dict(_members(Environment()))
    assert rows.keys() == members.keys()
    for name, default in members.items():
        shown = rows[name].strip("`")
        if name.endswith("_bytes"):
            assert size(shown) == default, name
        elif isinstance(default, bool):
            assert shown == str(default).lower(), name
        elif isinstance(default, int | float):
            assert float(shown) == default, name
        elif isinstance(default, str) and default:
            assert shown == default, name
