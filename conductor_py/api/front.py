"""What every blueprint is given: the engine, the reader of definitions, limits, and how to stop."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar, cast

from flask import Blueprint, Response, request

from conductor_py.api.admission import Admission
from conductor_py.api.answers import Answer
from conductor_py.api.facade import EngineFacade
from conductor_py.errors import Overloaded
from conductor_py.model.json_bounds import MAX_VALUES, is_heavy
from conductor_py.records import dataclass
from conductor_py.wire.body import MAX_DEPTH, parse, parse_object
from conductor_py.wire.definition_reader import DefinitionReader
from conductor_py.wire.parameters import Arguments

_T = TypeVar("_T")

Route = tuple[str, str, Callable[..., Answer | Response]]
"""Method, path below the prefix, view."""


class Asked(Protocol):
    """What most views need of a request; Flask's is one."""

    @property
    def args(self) -> Arguments: ...

    def get_data(self, *, cache: bool = True) -> bytes: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Front:
    """The surroundings of a view."""

    engine: EngineFacade
    definitions: DefinitionReader
    max_depth: int = MAX_DEPTH
    max_values: int = MAX_VALUES
    max_poll_count: int = 1_000
    max_poll_ms: int = 5_000
    max_results: int = 5_000
    max_wait_ms: int = 60_000
    time_zone: str = "UTC"
    stop: threading.Event | None = None
    instance: str = "unknown"
    admission: Admission | None = None

    @property
    def is_crowded(self) -> bool:
        """Whether so many wait for something to happen that nobody else should."""
        return self.admission is not None and self.admission.is_crowded

    def body(self, asked: Asked = request) -> Any:  # noqa: ANN401 - any JSON value
        """Read the body, whatever content type it claims; ``InvalidInput`` when it is not JSON."""
        return parse(self._sent(asked), max_depth=self.max_depth, max_values=self.max_values)

    def body_object(self, asked: Asked = request) -> dict[str, Any]:
        """Read the body as a JSON object; an empty one when there is none."""
        return parse_object(self._sent(asked), max_depth=self.max_depth, max_values=self.max_values)

    def be_heavy(self) -> None:
        """Have the one place of what takes much memory until this request ends (``Overloaded``)."""
        if self.admission is not None:
            self.admission.be_heavy()

    def whole(self, read: Callable[..., _T]) -> _T:
        """Read what may be wide: at most one of those is being read. Who waits for it has no turn.

        ``read`` takes ``patient``; ``Overloaded`` when it still has to wait, or when those before
        it have left no room for its answer to stay unread.
        """
        if self.admission is None:
            return read(patient=True)
        try:
            return read(patient=False)
        except Overloaded:
            self.admission.be_heavy()
            if self.admission.unread.is_full:
                self.admission.refuse()
                raise Overloaded from None
            return read(patient=False)

    def _sent(self, asked: Asked) -> bytes:
        sent = asked.get_data(cache=False)
        if self.admission is not None and is_heavy(sent):
            self.admission.be_heavy()
        return sent


def blueprint(noun: str, prefix: str, routes: Iterable[Route]) -> Blueprint:
    """Make a blueprint of a table of routes."""
    made = Blueprint(noun, __name__, url_prefix=prefix)
    for method, path, view in routes:
        endpoint = f"{method} {path}".replace(".", "_")
        # The one path that ends with a slash is served without it, too: nobody is sent elsewhere.
        strict = not path.endswith("/")
        made.add_url_rule(
            path, endpoint, cast("Any", view), methods=[method], strict_slashes=strict
        )
    return made
