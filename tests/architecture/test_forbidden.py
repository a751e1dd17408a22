"""What never stands in the tree: unsafe calls, waiting by the clock, paths of one machine."""

import ast
import re

import pytest

from tests.architecture.tree import (
    ROOT,
    Module,
    imported,
    lua_scripts,
    package_modules,
    test_modules,
    text_files,
)

pytestmark = pytest.mark.xdist_group("sources")  # which are read once

_UNSAFE_MODULES = {"pickle", "cPickle", "cloudpickle", "dill", "marshal", "shelve"}
_UNSAFE_CALLS = {"eval", "exec", "os.system", "os.popen", "yaml.load", "yaml.unsafe_load"}
_UNSAFE_NAMES = {call.rpartition(".")[2] for call in _UNSAFE_CALLS}
_MACHINE_PATH = re.compile(r"(?<![\w.$}*-])/(?:work|root|farm|home/[a-z]+|Users/[a-z]+)/[\w.]")
_SCRIPT_EVALUATION = re.compile(r"(?<![\w.])eval\(|new Function\(")
#: The one delays what it passes on; in the other sleeps are what is tested, and take no time.
_DELAYS = {"tests/chaos/proxy.py", "tests/testing/test_async_functions.py"}
_THOROUGH = "mark.thorough"
_CLOCKS = {
    *(f"time.{name}" for name in ("monotonic", "perf_counter", "process_time", "thread_time")),
    "cpu_ticks",
}
_KEY_SCAN = re.compile(r"""call\(\s*['"](?:KEYS|SCAN)['"]""", re.IGNORECASE)


def _last_name(function: ast.expr) -> str:
    """What a call ends in: cheap, and tells most calls from those that are looked for."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def unsafe(module: Module) -> list[str]:
    found = [
        f"{module}:{line} imports {name}"
        for line, name in imported(module.tree)
        if name.split(".")[0] in _UNSAFE_MODULES
    ]
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Call):
            continue
        if _last_name(node.func) in _UNSAFE_NAMES and ast.unparse(node.func) in _UNSAFE_CALLS:
            found.append(f"{module}:{node.lineno} calls {ast.unparse(node.func)}")
        found += [
            f"{module}:{node.lineno} passes shell"
            for keyword in node.keywords
            if keyword.arg == "shell" and ast.unparse(keyword.value) != "False"
        ]
    return found


def pauses(module: Module) -> list[str]:
    calls = {"time.sleep", "asyncio.sleep", "gevent.sleep"}
    found = [
        f"{module}:{line} imports {name}" for line, name in imported(module.tree) if name in calls
    ]
    found += [
        f"{module}:{node.lineno} waits by the clock"
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute) and node.attr == "sleep" and ast.unparse(node) in calls
    ]
    return found


def _is_marked(statement: ast.stmt) -> bool:
    """Whether a module or a function says that `make test` leaves it out."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return any(_THOROUGH in ast.unparse(mark) for mark in statement.decorator_list)
    return (
        isinstance(statement, ast.Assign)
        and ast.unparse(statement.targets[0]) == "pytestmark"
        and _THOROUGH in ast.unparse(statement.value)
    )


def measured(module: Module) -> list[str]:
    """Tests of the normal run that read a clock, and what they use of their module: how fast a
    machine is makes none of them red.
    """
    statements = module.tree.body
    if any(_is_marked(each) for each in statements if isinstance(each, ast.Assign)):
        return []
    named = {
        each.name: each for each in statements if isinstance(each, ast.FunctionDef | ast.ClassDef)
    }
    waiting = [
        each
        for name, each in named.items()
        if name.lower().startswith("test") and not _is_marked(each)
    ]
    used: list[ast.FunctionDef | ast.ClassDef] = []
    while waiting:
        used.append(waiting.pop())
        waiting += [named.pop(name) for name in _names(used[-1]) if name in named]
    return [
        f"{module}:{node.lineno} reads the clock"
        for each in used
        for node in ast.walk(each)
        if isinstance(node, ast.Attribute | ast.Name) and ast.unparse(node) in _CLOCKS
    ]


def _names(statement: ast.stmt) -> set[str]:
    """What is named in it; a fixture, by an argument."""
    nodes = list(ast.walk(statement))
    return {each.id for each in nodes if isinstance(each, ast.Name)} | {
        each.arg for each in nodes if isinstance(each, ast.arg)
    }


def silent(module: Module) -> list[str]:
    """What skips where a package is missing, on a build machine, too."""
    return [
        f"{module}:{node.lineno} skips: `needs` fails where everything must be there"
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute) and node.attr == "importorskip"
    ]


def test_nothing_unsafe_is_called():
    modules = (*package_modules(), *test_modules())
    assert [line for module in modules for line in unsafe(module)] == []


def test_pages_evaluate_no_text():
    pages = [path for path in text_files() if path.suffix in {".js", ".html"}]
    found = [
        str(path.relative_to(ROOT))
        for path in pages
        if path.is_relative_to(ROOT / "conductor_py")
        and _SCRIPT_EVALUATION.search(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_no_test_waits_by_the_clock():
    waiting = [module for module in test_modules() if str(module) not in _DELAYS]
    assert [line for module in waiting for line in pauses(module)] == []


def test_no_test_of_the_normal_run_measures_time():
    assert [line for module in test_modules() for line in measured(module)] == []


def test_no_test_is_silent_about_a_package():
    assert [line for module in test_modules() for line in silent(module)] == []


def test_no_path_of_one_machine():
    found = []
    for path in text_files():
        text = path.read_text(encoding="utf-8", errors="replace")
        for number, line in enumerate(text.splitlines(), 1):
            if _MACHINE_PATH.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number} {line.strip()[:80]}")
    assert found == []


def test_no_script_scans_the_keys():
    assert [path.name for path in lua_scripts() if _KEY_SCAN.search(path.read_text())] == []


@pytest.mark.parametrize(
    ("check", "text"),
    [
        (unsafe, "import pickle"),
        (unsafe, "from pickle import loads"),
        (unsafe, "eval('1')"),
        (unsafe, "subprocess.run('ls', shell=True)"),
        (pauses, "from time import sleep"),
        (pauses, "import time\ntime.sleep(1)"),
        (measured, "def test_a():\n    assert time.process_time() < 2"),
        (measured, "def test_a():\n    assert cpu_ticks(7) < 2"),
        (measured, "@fixture\ndef took():\n    return cpu_ticks(7)\ndef test_a(took):\n    took"),
        (measured, "class TestA:\n    def test_a(self):\n        time.monotonic()"),
        (measured, "def _took():\n    return time.monotonic()\ndef test_a():\n    _took()"),
        (silent, "x = pytest.importorskip('x')"),
    ],
)
def test_the_checks_see_what_they_are_for(check, text):
    module = Module(ROOT / "tests/test_x.py", "tests.x", text, ast.parse(text))
    assert len(check(module)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "@pytest.mark.thorough(target='timing')\ndef test_a():\n    assert time.monotonic() < 2",
        "pytestmark = pytest.mark.thorough(target='stories')\ndef test_a():\n    time.monotonic()",
        "def _a():\n    time.monotonic()\n@pytest.mark.thorough()\ndef test_a():\n    _a()",
    ],
)
def test_what_is_left_out_of_the_normal_run_may_measure(text):
    assert measured(Module(ROOT / "tests/test_x.py", "tests.x", text, ast.parse(text))) == []
