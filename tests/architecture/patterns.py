"""The regular expressions of the sources, found in the source: what ``re.compile`` or a function of
``re`` is given, folded where it is built of constants.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
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
    trees = [module.tree for module in modules]
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
                    methods = _methods(module.tree, bound, trees)
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


def _methods(tree: ast.Module, name: str, trees: Iterable[ast.Module]) -> frozenset[str]:
    """The methods that are called of what a name is bound to."""
    places = [tree] if name.startswith("_") else list(trees)
    handed = any(
        isinstance(argument, ast.Name) and argument.id == name
        for place in places
        for node in ast.walk(place)
        if isinstance(node, ast.Call)
        for argument in node.args
    )
    return (_methods_of_arguments(places) if handed else frozenset()) | frozenset(
        node.attr
        for place in places
        for node in ast.walk(place)
        if isinstance(node, ast.Attribute)
        and node.attr in _FUNCTIONS
        and (
            (isinstance(node.value, ast.Name) and node.value.id == name)
            or (isinstance(node.value, ast.Attribute) and node.value.attr == name)
        )
    )


def _methods_of_arguments(places: Iterable[ast.Module]) -> frozenset[str]:
    """The methods that functions call of an argument that is a pattern."""
    found: set[str] = set()
    for place in places:
        for function in ast.walk(place):
            if not isinstance(function, ast.FunctionDef):
                continue
            names = {
                argument.arg
                for argument in (*function.args.args, *function.args.kwonlyargs)
                if argument.annotation is not None and "Pattern" in ast.unparse(argument.annotation)
            }
            found |= {
                node.attr
                for node in ast.walk(function)
                if isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id in names
            }
    return frozenset(found)
