"""Functions that definitions name, ``package.module:function``: those of modules that the worker
allows, and nothing that such a module has only imported.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from typing import Final, cast

from conductor_py.errors import ConductorError

_NAMED: Final = re.compile(r"(?P<module>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):(?P<name>[A-Za-z]\w*)")


class FunctionRefused(ConductorError):
    """A definition names a function that this worker does not call; the message says why."""

    code = "FUNCTION_REFUSED"


def named(text: str, allowed: tuple[str, ...]) -> tuple[str, str]:
    """Return module and name of a function; ``allowed`` are prefixes of modules.

    Raises ``FunctionRefused``.
    """
    found = _NAMED.fullmatch(text)
    if found is None:
        raise FunctionRefused("must look like package.module:function.")
    if not _is_below(found["module"], allowed):
        raise FunctionRefused(
            f"module {found['module']} is not allowed on this worker; start it with --allow-module."
        )
    return found["module"], found["name"]


def function_of(module: str, name: str, allowed: tuple[str, ...]) -> Callable[..., object]:
    """Import the module and return its function of that name.

    Raises ``FunctionRefused`` when it has none, or has it from a module that is not allowed.
    """
    try:
        found = getattr(importlib.import_module(module), name, None)
    except ImportError as error:
        raise FunctionRefused(f"{module} cannot be imported: {error}") from error
    if not callable(found):
        raise FunctionRefused(f"{module} has no function {name}.")
    home = getattr(found, "__module__", None)
    if not isinstance(home, str) or not _is_below(home, allowed):
        raise FunctionRefused(f"{module} does not define {name}, it is of {home}.")
    return cast("Callable[..., object]", found)


def _is_below(module: str, allowed: tuple[str, ...]) -> bool:
    return any(module == prefix or module.startswith(f"{prefix}.") for prefix in allowed)
