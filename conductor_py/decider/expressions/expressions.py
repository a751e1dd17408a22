"""Expressions in definitions, compiled once and resolved often: ``"order ${fetch.output.id}"``.

A text that is one whole expression keeps the type of what it finds; inside a longer text the
value is written as Java writes it. ``$${`` is an escaped ``${``. Inner expressions are resolved
first. Keys of maps are never resolved, and what an expression brought in is never read again.
``workflow.secrets.`` and ``workflow.env.`` stay as they are written, for the hand-off to replace.

Nothing here throws, whatever a definition says, but ``TooLarge`` where a bound is given: a path
that cannot be read finds null, unbalanced braces are plain text, and what is nested deeper than
``MAX_DEPTH`` stays as it is. ``check`` reports these for registration. Values are shared, not
copied, and never changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from conductor_py.decider.expressions.java_text import text_of
from conductor_py.decider.expressions.jsonpath import Lookup, compile_path, read, rooted
from conductor_py.decider.expressions.jsonpath_operators import MISSING, Missing
from conductor_py.decider.expressions.jsonpath_steps import Call, Path, Step, paths_in
from conductor_py.decider.expressions.nodes import (
    TASK_ID,
    Computed,
    Constant,
    Elements,
    Joined,
    Members,
    Node,
    Reference,
    Root,
    Scope,
    TaskId,
    TooLarge,
    brought,
    walk,
)
from conductor_py.model.json import JsonValue
from conductor_py.model.json_text import read_json
from conductor_py.records import dataclass

__all__ = [
    "MISSING",
    "Lookup",
    "Missing",
    "Template",
    "TooLarge",
    "check",
    "compile_template",
    "named_value",
    "resolve",
    "text_of",
    "verbatim",
]

MAX_DEPTH: Final = 100
"""Levels of maps and lists that are searched for expressions."""

MAX_INNER: Final = 16
"""Levels of expressions within expressions."""

_OPENER: Final = re.compile(r"(?<!\$)\$\{")
_BRACES: Final = re.compile(r"[{}]")
_SECRETS: Final = "workflow.secrets."
_ENVIRONMENT: Final = "workflow.env."
_RESERVED: Final = frozenset({"NETFLIX_ENV", "NETFLIX_STACK"})
_LEADING: Final = re.compile(r"\s*([^\s.\[\](){}$*]+)\.([^\s.\[\](){}$*]+)[.\[]")
_BARE_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


@dataclass(frozen=True, slots=True)
class Template:
    """A compiled value.

    ``roots``: the (root, member) pairs that it is known to read, in order, each once.
    ``dynamic``: it also has paths that are only known while resolving, and these may read others.
    ``constant``: it has no expression and resolves to the same value always.
    """

    roots: tuple[Root, ...]
    dynamic: bool
    constant: bool
    _node: Node


def compile_template(value: JsonValue) -> Template:
    """Compile a whole parameter map, a list or a scalar."""
    node = _compile(value, 0)
    roots: dict[Root, None] = {}
    dynamic = False
    for one in walk(node):
        if isinstance(one, Reference):
            roots.update(dict.fromkeys(one.roots))
        elif isinstance(one, Computed):
            dynamic = True
            roots.update(dict.fromkeys(one.leading))
    return Template(tuple(roots), dynamic, isinstance(node, Constant), node)


def resolve(
    template: Template,
    lookup: Lookup,
    *,
    task_id: str | None,
    most: int | None = None,
) -> JsonValue:
    """Resolve a template; what ``lookup`` raises passes through.

    ``task_id`` is what ``${CPEWF_TASK_ID}`` stands for; without one it stays as it is written.
    ``most``: what is made may take so many bytes when it is written, else ``TooLarge`` is raised
    before it is made; a little more may pass.
    """
    scope = Scope(lookup, task_id)
    if most is not None:
        scope.room = scope.most = most
    return brought(template._node, scope)  # noqa: SLF001


def named_value(text: str, value_of: Callable[[str], str | None]) -> JsonValue:
    """Read what ``NAME`` or ``NAME.path`` stands for after ``workflow.secrets.`` (or ``env.``):
    with a path, a part of a value that is JSON.
    """
    name, dot, rest = text.partition(".")
    value = value_of(name)
    if not dot or value is None:
        return value
    path = compile_path(rest)
    if isinstance(path, str):
        return None
    try:
        document = read_json(value)
    except ValueError:
        return None
    return read(path, document)


def verbatim(value: JsonValue, depth: int = 0) -> JsonValue:
    """Write a value so that resolving it gives the value itself, whatever its texts hold."""
    if isinstance(value, str):
        return value.replace("${", "$${")
    if depth >= MAX_DEPTH:
        return value
    if isinstance(value, Mapping):
        return {key: verbatim(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [verbatim(item, depth + 1) for item in value]
    return value


def check(value: JsonValue) -> tuple[tuple[str, str], ...]:
    """List malformed expressions: where (``.a[0]['odd key']``) and what is wrong."""
    found: list[tuple[str, str]] = []
    pending: list[tuple[str, int, JsonValue]] = [("", 0, value)]
    while pending:
        place, depth, item = pending.pop()
        if isinstance(item, str):
            found.extend((place, sentence) for sentence in _complaints(item))
            continue
        entries = _entries(item)
        if entries and depth >= MAX_DEPTH:
            found.append(
                (place, f"Expressions nested more than {MAX_DEPTH} deep are not resolved.")
            )
            continue
        pending.extend((place + key, depth + 1, entry) for key, entry in reversed(entries))
    return tuple(found)


# -------------------------------------------------------------------------------------- compiling


def _compile(value: JsonValue, depth: int) -> Node:
    if isinstance(value, str):
        return _compile_text(value) if "${" in value else Constant(value)
    if value is None or isinstance(value, int | float) or depth >= MAX_DEPTH:
        return Constant(value)
    if isinstance(value, Mapping):
        members = {key: _compile(item, depth + 1) for key, item in value.items()}
        fixed = {key: _fixed(node) for key, node in members.items()}
        if all(fixed[key] is item for key, item in value.items()):
            return Constant(value)
        changing = tuple((k, node) for k, node in members.items() if not isinstance(node, Constant))
        return Members(fixed, changing) if changing else Constant(fixed)
    elements = [_compile(item, depth + 1) for item in value]
    parts = tuple(_fixed(node) for node in elements)
    if all(part is item for part, item in zip(parts, value, strict=True)):
        return Constant(value)
    moving = tuple((i, node) for i, node in enumerate(elements) if not isinstance(node, Constant))
    return Elements(parts, moving) if moving else Constant(list(parts))


_PENDING: Final = "\0pending"


def _fixed(node: Node) -> JsonValue:
    """Return the value of a constant; any other node overwrites its place when it is resolved."""
    return node.value if isinstance(node, Constant) else _PENDING


def _compile_text(text: str) -> Node:
    parts = _parts(text, 0)
    plain = [part for part in parts if isinstance(part, str)]
    if len(plain) == len(parts):
        return Constant("".join(plain))
    if len(parts) == 1 and not isinstance(parts[0], str):
        return parts[0]
    return Joined(tuple(parts))


def _parts(text: str, level: int) -> list[str | Node]:
    """Cut a text into plain text (unescaped) and expressions."""
    parts: list[str | Node] = []
    done = 0
    for begin, end in _spans(text):
        if level >= MAX_INNER:
            break
        if begin > done:
            parts.append(_unescaped(text[done:begin]))
        parts.append(_compile_expression(text[begin + 2 : end], level))
        done = end + 1
    if done < len(text):
        parts.append(_unescaped(text[done:]))
    return parts


def _closers(text: str) -> dict[int, int | None]:
    """Map each opener to the brace that closes it, None when nothing does."""
    openers = [found.start() for found in _OPENER.finditer(text)]
    if not openers:
        return {}
    closing: dict[int, int] = {}
    opened: list[int] = []
    for found in _BRACES.finditer(text):
        if found[0] == "{":
            opened.append(found.start())
        elif opened:
            closing[opened.pop()] = found.start()
    return {opener: closing.get(opener + 1) for opener in openers}


def _spans(text: str) -> list[tuple[int, int]]:
    """Find the outermost expressions: where each opens and where its last brace stands."""
    spans: list[tuple[int, int]] = []
    for opener, end in _closers(text).items():
        if end is not None and (not spans or opener > spans[-1][1]):
            spans.append((opener, end))
    return spans


def _unescaped(text: str) -> str:
    return text.replace("$${", "${")


def _compile_expression(text: str, level: int) -> Node:
    inner = _parts(text, level + 1)
    plain = [part for part in inner if isinstance(part, str)]
    if len(plain) == len(inner):
        return _expression("".join(plain))
    leading = _LEADING.match(inner[0]) if isinstance(inner[0], str) else None
    known: tuple[Root, ...] = ()
    if leading and not leading[0].strip().startswith((_SECRETS, _ENVIRONMENT)):
        known = ((leading[1], leading[2]),)
    return Computed(Joined(tuple(inner)), known, _expression)


def _expression(text: str) -> Node:
    """Compile what stands between the braces."""
    path_text = text.strip()
    if not path_text:
        return Constant("")
    if path_text.startswith((_SECRETS, _ENVIRONMENT)):
        return Constant(f"${{{text}}}")
    if path_text == TASK_ID:
        return TaskId()
    if path_text in _RESERVED:
        return Constant(f"${{{path_text}}}")
    path = compile_path(path_text)
    if isinstance(path, str):
        return Constant(None)
    root, member, steps = rooted(path)
    inner = tuple(rooted(one)[:2] for one in paths_in(path))
    roots = ((root, member), *inner) if root else inner
    return Reference(root, member, _after(path, steps), tuple(one for one in roots if one[0]))


def _after(path: Path, steps: tuple[Step, ...]) -> Path:
    plain = tuple(step for step in steps if isinstance(step, str | int))
    return Path(steps, True, path.definite, plain if len(plain) == len(steps) else None)


# --------------------------------------------------------------------------------------- checking


def _complaints(text: str) -> list[str]:
    """Say what is wrong with the expressions of a text."""
    sentences: list[str] = []
    pending = [(text, 0)]
    while pending:
        part, level = pending.pop()
        spans = _spans(part)
        if spans and level >= MAX_INNER:
            sentences.append(f"Expressions within expressions go {MAX_INNER} levels deep at most.")
            continue
        if None in _closers(part).values():
            sentences.append("An expression '${' is not closed by '}'; write '$${' for the text.")
        for begin, end in spans:
            path_text = part[begin + 2 : end]
            if _spans(path_text):
                pending.append((path_text, level + 1))
            elif sentence := _complaint(path_text.strip()):
                sentences.append(sentence)
    return sentences


def _complaint(text: str) -> str | None:
    if not text or text.startswith(_SECRETS):
        return None
    if text.startswith(_ENVIRONMENT):
        _, _, text = text.removeprefix(_ENVIRONMENT).partition(".")
        if not text:
            return None
    path = compile_path(text)
    if isinstance(path, str):
        return path
    if not rooted(path)[0] and not any(isinstance(step, Call) for step in path.steps[:1]):
        return f"The path '{text}' must begin with 'workflow' or a task's reference name."
    return None


def _entries(value: JsonValue) -> list[tuple[str, JsonValue]]:
    if isinstance(value, Mapping):
        return [(_key(key), item) for key, item in value.items()]
    if value is None or isinstance(value, str | int | float):
        return []
    return [(f"[{index}]", item) for index, item in enumerate(value)]


def _key(key: str) -> str:
    if _BARE_KEY.fullmatch(key):
        return f".{key}"
    escaped = key.replace("\\", "\\\\").replace("'", "\\'")
    return f"['{escaped}']"
