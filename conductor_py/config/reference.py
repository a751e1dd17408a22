"""The reference page: every setting with key, variable, default and sentence, by section."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Final

from conductor_py.config.declaration import Setting, setting_of
from conductor_py.config.secret_files import SUFFIX
from conductor_py.config.settings import sections
from conductor_py.config.sources import environment_name

_HEAD: Final = """\
# Configuration

Every setting of conductor-py. Generated from the declarations by `conductor-py config reference`;
do not edit.

A flag of the command line wins over an environment variable, that over the file named by `--config`
(or `CONDUCTOR_CONFIG`), that over the default. Every setting can be given as a flag with
`--set KEY=VALUE`; `conductor-py config example` prints a file to start from. The keys are
Conductor's where Conductor has them: letter case, dashes and underscores in a key do not count. A
key that begins with `conductor.` and is unknown is refused.

Durations are written as `500ms`, `60s`, `10m`, `1h`, `2d`; sizes as `512B`, `5120KB`, `10MB`,
`1GB`. In the file, `${NAME}` and `${NAME:otherwise}` in a value stand for an environment variable.

What is a secret can stand in a file of its own, as orchestrators mount them, of at most 64 KB: with
`.file` behind the key (`conductor.elasticsearch.password.file=/run/secrets/search`, or
`CONDUCTOR_ELASTICSEARCH_PASSWORD_FILE`). Blanks and line ends around the value do not count. A file
that is missing or empty ends the start; one that every user of the machine can read is warned of.
"""


def reference() -> str:
    """Return the text of docs/reference/configuration.md."""
    parts = [_HEAD]
    for _, section in sections():
        title, _, rest = " ".join(inspect.cleandoc(section.__doc__ or "").split()).partition(": ")
        parts.append(f"\n## {title.rstrip('.')}\n")
        if rest:
            parts.append(f"\n{rest[0].upper()}{rest[1:]}\n")
        parts.append("\n| setting | default | meaning |\n|---|---|---|\n")
        parts.extend(_row(setting_of(field)) for field in dataclasses.fields(section))
    return "".join(parts)


def _row(setting: Setting) -> str:
    default = f"`{setting.default}`" if setting.default else "none"
    notes = [setting.sentence]
    if setting.choices:
        notes.append(f"One of {', '.join(f'`{choice}`' for choice in setting.choices)}.")
    if setting.unit:
        notes.append(f"A bare number is in {setting.unit}.")
    if setting.minimum:
        notes.append(f"At least {setting.render(setting.minimum)}.")
    if setting.maximum is not None:
        notes.append(f"At most {setting.render(setting.maximum)}.")
    if setting.secret:
        notes.append("A secret: shown nowhere.")
    if setting.secret_path:
        notes.append("May hold a secret: its host is all that is shown.")
    if setting.is_credential:
        notes.append(f"`{SUFFIX}` behind the key: a file that holds it.")
    name = f"`{setting.key}`<br>`{environment_name(setting.key)}`"
    return f"| {name} | {default} | {_cell(' '.join(notes))} |\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("${", "$\\{").replace("<", "&lt;")
