"""Settings as they are shown to operators: every key with the value in effect, secrets and the
credentials and query values in URLs masked.
"""

from __future__ import annotations

import re
from typing import Final

from conductor_py.config.settings import Settings, declared

_MASK: Final = "***"
_CREDENTIALS: Final = re.compile(r"//[^/@\s]+@")
#: Tokens of web hooks stand there; which name is a secret's nobody can tell.
_QUERY: Final = re.compile(r"(?<=[?&])([^=&#\s]+)=[^&#\s]+")


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
    return _QUERY.sub(rf"\1={_MASK}", text) if "://" in text else text
