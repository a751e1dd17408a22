"""A setting that does nothing is a lie: each is read by the code that it is for."""

import ast
from collections.abc import Iterator
from pathlib import Path

import conductor_py
from conductor_py.config.settings import declared, sections

_PACKAGE = Path(conductor_py.__file__).parent
_SECTIONS = frozenset(name for name, _ in sections())
#: Where settings are declared and written down; to stand there is not to have an effect.
_DECLARING = frozenset(
    f"{name}.py"
    for name in (
        "background",
        "declaration",
        "engine",
        "example",
        "reference",
        "server",
        "settings",
        "stores",
    )
)


def _trees() -> Iterator[ast.Module]:
    for file in _PACKAGE.rglob("*.py"):
        if file.parent.name != "config" or file.name not in _DECLARING:
            yield ast.parse(file.read_text(encoding="utf-8"))


def _section_of(value: ast.expr, names: dict[str, str]) -> str | None:
    """The section that an expression is: ``settings.<section>``, or a name that stands for it."""
    if isinstance(value, ast.Name):
        return names.get(value.id)
    if isinstance(value, ast.Attribute) and value.attr in _SECTIONS:
        holder = value.value
        return value.attr if isinstance(holder, ast.Name) and holder.id == "settings" else None
    return None


def _names(function: ast.AST) -> dict[str, str]:
    """Local names of sections: ``redis = settings.redis``, also several at once."""
    found: dict[str, str] = {}
    for node in ast.walk(function):
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        (target,) = node.targets
        pairs = (
            zip(target.elts, node.value.elts, strict=False)
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
            else [(target, node.value)]
        )
        for name, value in pairs:
            section = _section_of(value, {})
            if isinstance(name, ast.Name) and section is not None:
                found[name.id] = section
    return found


def _parameters(function: ast.FunctionDef) -> dict[str, str]:
    """Parameters that are sections, by their annotation: ``settings: Log``."""
    classes = {kind.__name__: name for name, kind in sections()}
    return {
        argument.arg: classes[argument.annotation.id]
        for argument in function.args.args
        if isinstance(argument.annotation, ast.Name) and argument.annotation.id in classes
    }


def _read() -> Iterator[tuple[str, str]]:
    for tree in _trees():
        for function in ast.walk(tree):
            if not isinstance(function, ast.FunctionDef):
                continue
            names = {**_names(function), **_parameters(function)}
            for node in ast.walk(function):
                if isinstance(node, ast.Attribute):
                    section = _section_of(node.value, names)
                    if section is not None:
                        yield section, node.attr


def test_every_setting_is_read() -> None:
    read = set(_read())
    idle = [each.setting.key for each in declared() if (each.section, each.attribute) not in read]

    assert idle == []
