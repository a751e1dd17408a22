"""The core is pure: standard library only, no clock, chance or I/O, values that never change."""

import ast
import sys

import pytest

from tests.architecture.tree import ROOT, Module, core_modules, imported

pytestmark = pytest.mark.xdist_group("sources")  # which are read once

_WORLD = {
    *("asyncio", "concurrent", "http", "io", "locale", "logging", "multiprocessing", "os"),
    *("pathlib", "platform", "queue", "random", "secrets", "select", "shutil", "signal", "socket"),
    *("sqlite3", "ssl", "subprocess", "sys", "tempfile", "threading", "time", "urllib", "uuid"),
    *("warnings", "zoneinfo"),
}
# The scheduler's cron needs the time zone data; that is a table, not a clock.
_TABLES = {"zoneinfo"}
_CLOCKS = {"now", "utcnow", "today", "time", "time_ns", "monotonic", "perf_counter"}
_OWN = {"errors", "records", "model", "pipelines", "decider"}
_MUTABLE = {"bytearray", "defaultdict", "deque", "dict", "list", "set"}
_REQUIRED = {"frozen", "slots", "kw_only"}


def foreign_imports(module: Module) -> list[str]:
    found = []
    for line, name in imported(module.tree):
        top, *rest = name.split(".")
        own = top == "conductor_py" and bool(rest) and rest[0] in _OWN
        pure = top in sys.stdlib_module_names and (top not in _WORLD or top in _TABLES)
        if not own and not pure:
            found.append(f"{module}:{line} imports {name}")
    return found


def clock_readings(module: Module) -> list[str]:
    return [
        f"{module}:{node.lineno} calls {ast.unparse(node.func)}"
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _CLOCKS
        and ast.unparse(node.func.value) in {"datetime", "date", "datetime.datetime", "time"}
    ]


def _dataclass_options(node: ast.ClassDef) -> set[str] | None:
    for decorator in node.decorator_list:
        call = decorator.func if isinstance(decorator, ast.Call) else decorator
        if ast.unparse(call) in {"dataclass", "dataclasses.dataclass"}:
            keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
            return {str(k.arg) for k in keywords if ast.unparse(k.value) == "True"}
    return None


def changeable_types(module: Module) -> list[str]:
    """What is wrong with the dataclasses of a module of the model."""
    found = []
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.ClassDef):
            continue
        options = _dataclass_options(node)
        if options is None:
            continue
        fields = [line for line in node.body if isinstance(line, ast.AnnAssign)]
        # A wrapper of one value reads well by position.
        required = _REQUIRED if len(fields) > 1 else _REQUIRED - {"kw_only"}
        found += [f"{module}:{node.lineno} {node.name} is not {m}" for m in required - options]
        found += [
            f"{module}:{field.lineno} {node.name} holds a {ast.unparse(field.annotation)}"
            for field in fields
            if _is_mutable(field.annotation)
        ]
    return found


def _is_mutable(annotation: ast.expr) -> bool:
    return any(
        ast.unparse(part.value if isinstance(part, ast.Subscript) else part) in _MUTABLE
        for part in ast.walk(annotation)
        if isinstance(part, ast.Subscript | ast.Name)
    )


def test_core_imports_the_standard_library_and_itself():
    assert [line for module in core_modules() for line in foreign_imports(module)] == []


def test_core_reads_no_clock():
    assert [line for module in core_modules() for line in clock_readings(module)] == []


def test_model_types_never_change():
    model = [module for module in core_modules() if module.package == "model"]
    assert model
    assert [line for module in model for line in changeable_types(module)] == []


def test_model_caches_nothing_on_its_values():
    assert [str(m) for m in core_modules() if "cached_property" in m.text] == []


def test_core_switches_no_rule_of_purity_off():
    assert [str(m) for m in core_modules() if "TID251" in m.text] == []


@pytest.mark.parametrize(
    ("check", "text"),
    [
        (foreign_imports, "import redis"),
        (foreign_imports, "def f():\n    from time import time"),
        (foreign_imports, "from conductor_py.engine import executor"),
        (clock_readings, "from datetime import datetime\nx = datetime.now()"),
        (changeable_types, "@dataclass(frozen=True, slots=True)\nclass A:\n    x: int\n    y: int"),
        (
            changeable_types,
            "@dataclass(frozen=True, slots=True, kw_only=True)\nclass A:\n    x: tuple[list[int]]",
        ),
    ],
)
def test_the_checks_see_what_they_are_for(check, text):
    path = ROOT / "conductor_py/model/x.py"
    assert len(check(Module(path, "conductor_py.model.x", text, ast.parse(text)))) >= 1
