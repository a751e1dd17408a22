"""Settings as they are shown to operators: every key with the value in effect; secrets are masked,
and in URLs credentials, values of the query and paths that may be secrets.
"""

from __future__ import annotations

import re
from typing import Final

from conductor_py.config.settings import Settings, declared

_MASK: Final = "***"
_HOST: Final = re.compile(
    r"(?P<scheme>https?://)(?P<user>[^/?#\s\\]*@)?(?P<host>[^/?#\s\\@]+)(?=[/?#]|$)", re.IGNORECASE
)
_CREDENTIALS: Final = re.compile(r"//[^/\s]*@")


def shown(settings: Settings) -> dict[str, str]:
    """Write every setting by key; a secret that is set is only said to be set."""
    written = {}
    for each in declared():
        value = getattr(getattr(settings, each.section), each.attribute)
        if each.setting.secret:
            written[each.setting.key] = _MASK if value else ""
        elif each.setting.secret_path:
            written[each.setting.key] = _host_of(str(value))
        elif isinstance(value, bool):
            written[each.setting.key] = str(value).lower()
        elif isinstance(value, int):
            written[each.setting.key] = each.setting.render(value)
        elif isinstance(value, tuple):
            written[each.setting.key] = ",".join(str(part) for part in value)
        else:
            written[each.setting.key] = _redacted(str(value))
    return written


def _host_of(url: str) -> str:
    """Mask all but scheme, host and port; of what has none, everything."""
    found = _HOST.match(url)
    if found is None:
        return _MASK if url else ""
    user = f"{_MASK}@" if found["user"] else ""
    path = f"/{_MASK}" if url[found.end() :].strip("/") else url[found.end() :]
    return f"{found['scheme']}{user}{found['host']}{path}"


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
