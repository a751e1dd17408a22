"""The regular expressions of the sources, found in the source: what ``re.compile`` or a function of
``re`` is given, folded where it is built of constants.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from importlib import import_module

from tests.architecture.tree import package_modules

_FUNCTIONS = (
    "compile",
    "match",
    "fullmatch",
    "search",
    "sub",
    "subn",
    "split",
    "findall",
    "finditer",
)
_ANCHORED = {"match", "fullmatch"}


@dataclass(frozen=True, slots=True)
class Found:
    """A pattern, where it stands, and how it is used."""

    module: str
    line: int
    name: str
    """What it is bound to; else the function where it stands."""

    text: str | None
    """``None``: it is not made of constants."""
    flags: int
    methods: frozenset[str]

    @property
    def searched(self) -> bool:
        """Whether a match may begin anywhere; so it is when nobody can tell."""
        return not self.methods or bool(self.methods - _ANCHORED)

    def __str__(self) -> str:
        return f"{self.module}:{self.name}"


def patterns() -> Iterator[Found]:
    """All patterns of the sources: what ``re`` is given, and the fields that have a pattern."""
    modules = list(package_modules())
    uses = {str(module): _uses(module.tree) for module in modules}
    everywhere = _together(uses.values())
    for module in modules:
        constants = _constants(module.tree)
        for owner, call in _calls(module.tree):
            function = call.func
            if isinstance(function, ast.Name) and function.id == "a_name":
                methods, bound = frozenset({"fullmatch"}), ast.unparse(call.args[0])
            elif isinstance(function, ast.Attribute) and ast.unparse(function.value) == "re":
                if function.attr not in _FUNCTIONS:
                    continue
                methods, bound = frozenset({function.attr}), owner
                if function.attr == "compile":
                    bound = next((key for key, value in constants.items() if value is call), owner)
                    places = uses[str(module)] if bound.startswith("_") else everywhere
                    methods = places.methods(bound)
            else:
                continue
            text = _folded(call.args[0], constants)
            if text is None and constants.get(bound) is call:
                text = _imported(module.name, bound)
            yield Found(str(module), call.lineno, bound, text, _flags(call), methods)


def _calls(tree: ast.Module) -> Iterator[tuple[str, ast.Call]]:
    """Every call, with the name of the function or constant where it stands."""
    pending: list[tuple[str, ast.AST]] = [("", tree)]
    while pending:
        owner, node = pending.pop()
        if isinstance(node, ast.FunctionDef):
            owner = node.name
        if isinstance(node, ast.Call):
            yield owner, node
        pending += [(owner, child) for child in ast.iter_child_nodes(node)]


def _imported(module: str, name: str) -> str | None:
    """The text of a pattern that is made while its module is loaded."""
    try:
        found = getattr(import_module(module), name).pattern
    except ImportError:  # what a worker needs is not installed here
        return None
    return found if isinstance(found, str) else found.decode("latin-1")


def _constants(tree: ast.Module) -> dict[str, ast.expr]:
    found: dict[str, ast.expr] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found[node.targets[0].id] = node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            found[node.target.id] = node.value
    return found


def _folded(node: ast.expr, constants: dict[str, ast.expr]) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
        return node.value if isinstance(node.value, str) else node.value.decode("latin-1")
    if isinstance(node, ast.Name) and node.id in constants:
        return _folded(constants[node.id], constants)
    parts: list[ast.expr] = []
    if isinstance(node, ast.JoinedStr):
        parts = [
            part.value if isinstance(part, ast.FormattedValue) else part for part in node.values
        ]
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = [node.left, node.right]
    elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".encode"):
        assert isinstance(node.func, ast.Attribute)
        return _folded(node.func.value, constants)
    folded = [_folded(part, constants) for part in parts]
    return (
        "".join(text for text in folded if text is not None)
        if folded and None not in folded
        else None
    )


def _flags(node: ast.Call) -> int:
    names = [
        found.attr
        for argument in (*node.args[1:], *(keyword.value for keyword in node.keywords))
        for found in ast.walk(argument)
        if isinstance(found, ast.Attribute)
        and isinstance(found.value, ast.Name)
        and found.value.id == "re"
    ]
    return int(sum(getattr(re, name) for name in names))


@dataclass(frozen=True, slots=True)
class _Uses:
    """How names are used in some modules; read once, since there are many patterns."""

    called: Mapping[str, set[str]]
    """The methods of ``re`` that are called of a name."""
    handed: AbstractSet[str]
    """The names that are an argument of some call."""
    of_arguments: AbstractSet[str]
    """The methods that functions call of an argument that is a pattern."""

    def methods(self, name: str) -> frozenset[str]:
        """The methods that are called of what a name is bound to."""
        called = self.called.get(name, set())
        return frozenset(called | self.of_arguments if name in self.handed else called)


def _uses(tree: ast.Module) -> _Uses:
    called: defaultdict[str, set[str]] = defaultdict(set)
    handed: set[str] = set()
    of_arguments: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in _FUNCTIONS:
            if isinstance(node.value, ast.Name):
                called[node.value.id].add(node.attr)
            elif isinstance(node.value, ast.Attribute):
                called[node.value.attr].add(node.attr)
        elif isinstance(node, ast.Call):
            handed |= {argument.id for argument in node.args if isinstance(argument, ast.Name)}
        elif isinstance(node, ast.FunctionDef):
            of_arguments |= _methods_of_arguments(node)
    return _Uses(called, handed, of_arguments)


def _together(uses: Iterable[_Uses]) -> _Uses:
    called: defaultdict[str, set[str]] = defaultdict(set)
    handed: set[str] = set()
    of_arguments: set[str] = set()
    for each in uses:
        for name, methods in each.called.items():
            called[name] |= methods
        handed |= each.handed
        of_arguments |= each.of_arguments
    return _Uses(called, handed, of_arguments)


def _methods_of_arguments(function: ast.FunctionDef) -> set[str]:
    names = {
        argument.arg
        for argument in (*function.args.args, *function.args.kwonlyargs)
        if argument.annotation is not None and "Pattern" in ast.unparse(argument.annotation)
    }
    return {
        node.attr
        for node in (ast.walk(function) if names else ())
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in names
    }
