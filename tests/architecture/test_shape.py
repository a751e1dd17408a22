"""One concept a module, named by its noun, small enough to be read at once."""

import ast
import re

import pytest

from tests.architecture.tree import ROOT, Module, package_modules, test_modules

pytestmark = pytest.mark.xdist_group("sources")  # which are read once

DRAWERS = {"base", "common", "helper", "helpers", "misc", "util", "utils"}
MODULE_LINES = 400
BODY_LINES = 60
CORE_BODY_LINES = 40
_EXEMPTION = re.compile(r"#\s*long: \S+ \S+")


def _bodies(module: Module):
    """Every function with the number of lines of its body, docstring aside."""
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
        if body:
            first = min([body[0].lineno, *(d.lineno for d in _decorators(body[0]))])
            yield node, (node.end_lineno or first) - first + 1


def _decorators(node: ast.stmt) -> list[ast.expr]:
    return list(getattr(node, "decorator_list", []))


def _exempt(module: Module, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """A reasoned comment `# long: why` above the function, or anywhere in its head."""
    lines = module.text.splitlines()
    top = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    head = lines[max(top - 3, 0) : node.body[0].lineno]
    return any(_EXEMPTION.search(line) for line in head)


def long_bodies(module: Module) -> list[str]:
    limit = CORE_BODY_LINES if module.is_core else BODY_LINES
    return [
        f"{module}:{node.lineno} {node.name} has {size} lines, {limit} are allowed"
        for node, size in _bodies(module)
        if size > limit and not _exempt(module, node)
    ]


def test_no_module_is_a_drawer():
    names = [m.path for m in (*package_modules(), *test_modules())]
    drawers = [
        str(path.relative_to(ROOT))
        for path in names
        if DRAWERS & set(path.stem.strip("_").split("_")) or path.parent.name in DRAWERS
    ]
    assert drawers == []


def test_no_module_holds_two_concepts():
    long = [
        f"{module} has {count} lines, {MODULE_LINES} are allowed"
        for module in package_modules()
        if (count := module.text.count("\n")) > MODULE_LINES
        and not any(_EXEMPTION.match(line) for line in module.text.splitlines())
    ]
    assert long == []


def test_every_body_can_be_read_at_once():
    assert [line for module in package_modules() for line in long_bodies(module)] == []


def test_every_module_says_what_it_owns():
    silent = [
        str(module)
        for module in package_modules()
        if len((ast.get_docstring(module.tree) or "").split()) < 4
    ]
    assert silent == []


@pytest.mark.parametrize(
    ("head", "count"),
    [("", 1), ("# long:\n", 1), ("# long: a table of cases\n", 0)],
    ids=["without", "without a reason", "with a reason"],
)
def test_an_exemption_takes_a_reason(head, count):
    text = head + "def f():\n" + "    pass\n" * (BODY_LINES + 1)
    module = Module(ROOT / "conductor_py/api/x.py", "conductor_py.api.x", text, ast.parse(text))
    assert len(long_bodies(module)) == count
