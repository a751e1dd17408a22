"""Settings as they are shown to operators: every key with the value in effect, secrets and the
credentials and query values in URLs masked.
"""

from __future__ import annotations

import re
from typing import Final

from conductor_py.config.settings import Settings, declared

_MASK: Final = "***"
_CREDENTIALS: Final = re.compile(r"//[^/\s]*@")


def shown(settings: Settings) -> dict[str, str]:
    """Write every setting by key; a secret that is set is only said to be set."""
    written = {}
    for each in declared():
        value = getattr(getattr(settings, each.section), each.attribute)
        if each.setting.secret:
            written[each.setting.key] = _MASK if value else ""
        elif isinstance(value, bool):
            written[each.setting.key] = str(value).lower()
        elif isinstance(value, int):
            written[each.setting.key] = each.setting.render(value)
        elif isinstance(value, tuple):
            written[each.setting.key] = ",".join(str(part) for part in value)
        else:
            written[each.setting.key] = _redacted(str(value))
    return written


def _redacted(text: str) -> str:
    text = _CREDENTIALS.sub(f"//{_MASK}@", text)
    before, mark, query = text.partition("?")
    if "://" not in before or not mark:
        return text
    query, end, fragment = query.partition("#")
    return before + mark + "&".join(map(_without_value, query.split("&"))) + end + fragment


def _without_value(option: str) -> str:
    """Mask the value: a token of a web hook may stand there, under any name."""
    name, _, value = option.partition("=")
    return f"{name}={_MASK}" if value else option
