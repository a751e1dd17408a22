"""The example file: every setting with its default, unit and sentence, grouped by section."""

from __future__ import annotations

import dataclasses
import inspect
import textwrap
from typing import Final

from conductor_py.config.declaration import Setting, setting_of
from conductor_py.config.settings import sections

_WIDTH: Final = 96
_HEAD: Final = """\
# Every setting of conductor-py with its default. Copy it to config.properties, and uncomment what
# you change. Generated from the declarations; do not edit: make config-example.
#
# A flag of the command line wins over an environment variable, that over this file. The variable of
# conductor.app.ownerEmailMandatory is CONDUCTOR_APP_OWNEREMAILMANDATORY: dots become underscores,
# dashes go. ${NAME} and ${NAME:otherwise} in a value stand for an environment variable. An empty
# value means the default. Durations: 500ms, 60s, 10m, 1h, 2d. Sizes: 512B, 5120KB, 10MB, 1GB.
# A secret can stand in a file of its own, whose name is given with .file behind the key.
"""


def example() -> str:
    """Return the text of config.properties.example."""
    parts = [_HEAD]
    for _, section in sections():
        title = " ".join(inspect.cleandoc(section.__doc__ or "").split())
        parts.append(f"\n# {'-' * (_WIDTH - 2)}\n{_comment(title)}\n")
        parts.extend(_entry(setting_of(field)) for field in dataclasses.fields(section))
    return "".join(parts)


def _entry(setting: Setting) -> str:
    notes = _values(setting)
    return f"\n{_comment(setting.sentence)}\n{_comment(notes)}\n#{setting.key}={setting.default}\n"


def _values(setting: Setting) -> str:
    bounds = [f"at least {setting.render(setting.minimum)}"] if setting.minimum else []
    if setting.maximum is not None:
        bounds.append(f"at most {setting.render(setting.maximum)}")
    kinds = {
        "text": "Text",
        "flag": "true or false",
        "count": "A whole number",
        "duration": f"A duration; a bare number is in {setting.unit}",
        "size": f"A size; a bare number is in {setting.unit}",
        "choice": f"One of {', '.join(setting.choices)}",
        "names": "Words separated by commas",
        "hosts": "A list of nodes; may hold passwords",
        "layout": "Bits of time, worker and sequence",
    }
    kind = "A secret" if setting.secret and setting.kind == "text" else kinds[setting.kind]
    return f"({'; '.join([kind, *bounds])})"


def _comment(text: str) -> str:
    return "\n".join(textwrap.wrap(text, _WIDTH, initial_indent="# ", subsequent_indent="# "))
