"""The client's calls about the catalog: workflows and tasks that have versions.

Both travel as the JSON objects that the server documents. A change that is given the ``etag`` of a
head changes that one, or raises ``Conflict``; 0 stands for whichever there is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from conductor_py.sdk.document import encode
from conductor_py.sdk.server import object_of, objects_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conductor_py.model.json import JsonObject
    from conductor_py.sdk.server import QueryValue, Server

    Noun = Literal["workflows", "tasks"]


class CatalogCalls:
    """Calls below ``/catalog``. ``noun`` is ``workflows`` or ``tasks``."""

    _server: Server

    def save_version(
        self,
        noun: Noun,
        document: JsonObject,
        *,
        code: str | None = None,
        etag: int = 0,
        draft: bool = False,
    ) -> JsonObject:
        """Save a definition, a new one without ``code``, and return its head; raises
        ``InvalidInput``, and ``Conflict`` when it is published and this is no ``draft``.
        """
        body = encode(document)
        if code is None:
            return object_of(self._server.call("POST", "catalog", noun, body=body, resend=False))
        answer = self._server.call(
            *("PUT", "catalog", noun, code),
            query={"draft": draft or None},
            body=body,
            headers=_if_match(etag),
            resend=False,
        )
        return object_of(answer)

    def get_version(self, noun: Noun, code: str, *, version: int | None = None) -> JsonObject:
        """Return a definition as it was saved; raises ``NotFound``."""
        query = {"version": version}
        return object_of(self._server.call("GET", "catalog", noun, code, query=query, resend=True))

    def get_head(self, noun: Noun, code: str) -> JsonObject:
        """Return what can be changed of a definition; raises ``NotFound``."""
        return object_of(self._server.call("GET", "catalog", noun, code, "head", resend=True))

    def list_heads(
        self,
        noun: Noun,
        *,
        name: str | None = None,
        after: str | None = None,
        size: int = 100,
        shared: bool = False,
    ) -> list[JsonObject]:
        """Return heads by code, behind the code ``after``; with ``name`` that workflow only, of
        tasks with ``shared`` only those that stand by themselves.
        """
        query = {"name": name, "after": after, "size": size, "shared": shared or None}
        return objects_of(self._server.call("GET", "catalog", noun, query=query, resend=True))

    def list_versions(self, noun: Noun, code: str) -> list[JsonObject]:
        """Return what is told of each version, the newest first; raises ``NotFound``."""
        return objects_of(self._server.call("GET", "catalog", noun, code, "versions", resend=True))

    def get_pins(self, code: str, version: int) -> JsonObject:
        """Return a version of a workflow as codes and versions; raises ``NotFound``."""
        answer = self._server.call(
            *("GET", "catalog", "workflows", code, "versions", str(version)), resend=True
        )
        return object_of(answer)

    def get_diff(
        self, code: str, *, before: int | None = None, after: int | None = None
    ) -> JsonObject:
        """Return what differs between two versions of a workflow, the edited one and the one before
        it if none are named; raises ``NotFound``.
        """
        query = {"from": before, "to": after}
        answer = self._server.call(
            "GET", "catalog", "workflows", code, "diff", query=query, resend=True
        )
        return object_of(answer)

    def get_lineage(self, code: str, *, depth: int = 1) -> JsonObject:
        """Return what surrounds a workflow, so many calls in both directions, as nodes and edges;
        raises ``NotFound``.
        """
        answer = self._server.call(
            "GET", "catalog", "workflows", code, "lineage", query={"depth": depth}, resend=True
        )
        return object_of(answer)

    def export_workflows(
        self, names: Sequence[str], *, callees: bool = False, every_version: bool = False
    ) -> JsonObject:
        """Return workflows with the shared tasks that they use as one document, in the versions
        that are edited and published or in ``every_version``; with ``callees`` those that they
        start, too. Raises ``NotFound``.
        """
        query: dict[str, QueryValue] = {
            "name": list(names),
            "callees": callees or None,
            "versions": "all" if every_version else None,
        }
        return object_of(self._server.call("GET", "catalog", "export", query=query, resend=True))

    def import_workflows(
        self, document: JsonObject, *, on_existing: str = "FAIL", dry_run: bool = False
    ) -> JsonObject:
        """Take in what ``export_workflows`` gave, all of it or nothing, and return what became of
        what; ``on_existing`` is ``FAIL``, ``SKIP`` or ``NEW_VERSION``. Raises ``InvalidInput``,
        ``Conflict``.
        """
        answer = self._server.call(
            *("POST", "catalog", "import"),
            query={"onExisting": on_existing, "dryRun": dry_run or None},
            body=encode(document),
            resend=False,
        )
        return object_of(answer)

    def list_uses(self, code: str) -> list[JsonObject]:
        """Return the workflows that have a task, each with its versions that do."""
        return objects_of(self._server.call("GET", "catalog", "tasks", code, "uses", resend=True))

    def apply_task(
        self, code: str, *, version: int | None = None, dry_run: bool = False
    ) -> list[JsonObject]:
        """Give every workflow that has a task this version of it, as a draft, and return their
        heads: all of them or none. Raises ``Conflict`` when one would be no workflow with it.
        """
        answer = self._server.call(
            "POST",
            *("catalog", "tasks", code, "apply"),
            query={"version": version, "dryRun": dry_run or None},
            resend=True,
        )
        return objects_of(answer)

    def publish(self, code: str, *, version: int | None = None, etag: int = 0) -> JsonObject:
        """Let a version of a workflow start by its name, and return the head; raises
        ``InvalidInput``, ``Conflict``.
        """
        return self._changed(code, "publish", etag, version)

    def withdraw(self, code: str, *, version: int | None = None, etag: int = 0) -> JsonObject:
        """Let no version of a workflow start any more, or not this one, and return the head."""
        return self._changed(code, "withdraw", etag, version)

    def switch_version(self, noun: Noun, code: str, version: int, *, etag: int = 0) -> JsonObject:
        """Edit another version, and return the head; raises ``NotFound``."""
        return self._changed(code, "switch", etag, version, noun)

    def delete_versioned(self, noun: Noun, code: str, *, etag: int = 0) -> JsonObject:
        """Take a definition out of the lists, and return the head; its versions stay."""
        answer = self._server.call(
            "DELETE", "catalog", noun, code, headers=_if_match(etag), resend=False
        )
        return object_of(answer)

    def purge_version(self, noun: Noun, code: str, version: int) -> None:
        """Forget a version for good; raises ``Conflict`` while something needs it."""
        self._server.call("DELETE", "catalog", noun, code, "versions", str(version), resend=False)

    def _changed(
        self, code: str, verb: str, etag: int, version: int | None = None, noun: Noun = "workflows"
    ) -> JsonObject:
        answer = self._server.call(
            *("POST", "catalog", noun, code, verb),
            query={"version": version},
            headers=_if_match(etag),
            resend=False,
        )
        return object_of(answer)


def _if_match(etag: int) -> dict[str, str]:
    return {"If-Match": f'"{etag}"'} if etag else {}
