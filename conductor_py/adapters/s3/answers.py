"""What the object store answers: it may be damaged, cut off, or of something else in its place.

None of that says anything about what was asked for. It is ``StoreUnavailable``, so that whoever
needs the bytes waits and asks again: an execution would otherwise end for one bad answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from conductor_py.errors import InvalidInput, NotFound, StoreUnavailable

_CODE: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_UNREADABLE: Final = "The object store's answer cannot be read"


@contextmanager
def asking(
    gone: str, *, absent: frozenset[str], refused: frozenset[str] = frozenset()
) -> Iterator[None]:
    """Turn what the driver raises into errors of the ports: the codes of ``absent`` into
    ``NotFound``, which says ``gone``, those of ``refused`` into ``InvalidInput``.
    """
    from botocore.exceptions import BotoCoreError, ClientError
    from botocore.parsers import ResponseParserError

    try:
        yield
    except ClientError as error:
        code = _code(error.response)
        if code in absent:
            raise NotFound(gone) from error
        if code in refused:
            raise InvalidInput(f"The object store refused: {code}") from error
        raise StoreUnavailable(f"The object store refused: {code}") from error
    except BotoCoreError as error:
        name = type(error).__name__
        raise StoreUnavailable(f"The object store does not answer: {name}") from error
    except (ResponseParserError, LookupError, TypeError, ValueError, AttributeError) as error:
        # The driver looks at lengths, times and members of an answer as it finds them.
        raise StoreUnavailable(f"{_UNREADABLE}: {type(error).__name__}") from error


def length(answer: Mapping[str, Any]) -> int:
    """The bytes that an answer tells of; ``StoreUnavailable`` when it does not."""
    found = answer.get("ContentLength")
    if not isinstance(found, int) or found < 0:
        raise StoreUnavailable(f"{_UNREADABLE}: it has no length")
    return found


def told(answer: Mapping[str, Any], member: str) -> str:
    """A text that an answer must have; ``StoreUnavailable`` when it does not.

    Each answer about an object has its ``ETag``: a page of something in between, which says that
    all is well, has none.
    """
    found = answer.get(member)
    if not isinstance(found, str) or not found:
        raise StoreUnavailable(f"{_UNREADABLE}: it has no {member}")
    return found


def _code(answer: Mapping[str, Any]) -> str:
    """The code of a refusal; whatever else stands there is shown to nobody."""
    found = answer.get("Error", {}).get("Code")
    return found if isinstance(found, str) and _CODE.fullmatch(found) else "unknown"
