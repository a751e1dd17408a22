"""Who imports whom when a module is imported, and who stands in a circle.

A module that stands in no circle finds all that it imports complete, whoever imports it first; one
in a circle may meet the others half done, depending on where the circle is entered. A package is
always entered before what is in it, so that alone is no circle.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping

from tests.architecture.tree import Module

Graph = Mapping[str, frozenset[str]]


def import_graph(modules: Iterable[Module]) -> Graph:
    """The modules that each of them imports while it is imported itself."""
    trees = {module.name: module.tree for module in modules}
    return {name: frozenset(_edges(name, tree, trees)) for name, tree in trees.items()}


def in_circles(graph: Graph) -> list[str]:
    """The modules that import themselves by way of others."""
    return [name for name in graph if name in _reached(graph, name)]


def _edges(name: str, tree: ast.Module, known: Mapping[str, ast.Module]) -> Iterator[str]:
    for target in _targets(tree, known):
        entered = {target, *_packages(target) - _packages(name)}
        yield from (each for each in entered if each in known and each != name)


def _targets(tree: ast.Module, known: Mapping[str, ast.Module]) -> Iterator[str]:
    for node in _executed(tree.body):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports are absolute"
            for alias in node.names:
                inside = f"{node.module}.{alias.name}"
                yield inside if inside in known else str(node.module)


def _executed(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """What runs when a module is imported: not what is in functions, nor what is for types."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            yield from _executed(node.orelse)
            continue
        yield node
        yield from _executed(ast.iter_child_nodes(node))


def _packages(name: str) -> set[str]:
    parts = name.split(".")
    return {".".join(parts[:length]) for length in range(1, len(parts))}


def _reached(graph: Graph, start: str) -> set[str]:
    found: set[str] = set()
    left = [start]
    while left:
        for name in graph[left.pop()] - found:
            found.add(name)
            left.append(name)
    return found
