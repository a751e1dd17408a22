"""The client's calls about definitions: register, read, validate, delete.

Definitions travel as the JSON objects that the server documents; nothing here knows their fields. A
call is repeated only where the second time is as good as the first: a delete is not, its repeat
would find nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conductor_py.sdk.definition_document import Definition, document_of
from conductor_py.sdk.document import encode
from conductor_py.sdk.server import object_of, objects_of, warnings_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conductor_py.model.json import JsonObject
    from conductor_py.sdk.server import Server


class DefinitionCalls:
    """Calls below ``/metadata``."""

    _server: Server

    def register_workflow(self, definition: Definition, *, overwrite: bool = False) -> None:
        """Register a new version; raises ``Conflict`` when it exists and ``overwrite`` is false.

        A ``Workflow`` or ``Dag`` is written first; ``DefinitionError`` says what is wrong with it.
        """
        self._server.call(
            "POST",
            "metadata",
            "workflow",
            query={"overwrite": overwrite},
            body=encode(document_of(definition)),
            resend=overwrite,
        )

    def update_workflows(self, definitions: Sequence[Definition]) -> JsonObject:
        """Create or replace each definition; return which succeeded and why others did not."""
        body = encode([document_of(each) for each in definitions])
        answer = self._server.call("PUT", "metadata", "workflow", body=body, resend=True)
        return object_of(answer)

    def validate_workflow(self, definition: Definition) -> list[JsonObject]:
        """Check without storing; raises ``InvalidInput`` with every violation. Return what would be
        taken but is likely not meant: ``path`` and ``message`` of each.
        """
        body = encode(document_of(definition))
        answer = self._server.call(
            "POST", "metadata", "workflow", "validate", body=body, resend=True
        )
        return warnings_of(answer)

    def get_workflow_definition(self, name: str, *, version: int | None = None) -> JsonObject:
        """Return one version, the latest when ``version`` is None; raises ``NotFound``."""
        query = {"version": version}
        answer = self._server.call("GET", "metadata", "workflow", name, query=query, resend=True)
        return object_of(answer)

    def list_workflow_definitions(self) -> list[JsonObject]:
        """Return all versions of all workflow definitions."""
        return objects_of(self._server.call("GET", "metadata", "workflow", resend=True))

    def delete_workflow_definition(self, name: str, version: int) -> None:
        """Remove one version; executions keep their snapshot. Raises ``NotFound``."""
        self._server.call("DELETE", "metadata", "workflow", name, str(version), resend=False)

    def register_tasks(self, definitions: Sequence[JsonObject]) -> None:
        """Create or replace the task definitions."""
        body = encode(list(definitions))
        self._server.call("POST", "metadata", "taskdefs", body=body, resend=True)

    def validate_task(self, definition: JsonObject) -> list[JsonObject]:
        """Check a task definition as ``validate_workflow`` does a workflow."""
        body = encode(definition)
        answer = self._server.call(
            "POST", "metadata", "taskdefs", "validate", body=body, resend=True
        )
        return warnings_of(answer)

    def update_task_definition(self, definition: JsonObject) -> None:
        """Replace one task definition; absent fields get their defaults. Raises ``NotFound``."""
        self._server.call("PUT", "metadata", "taskdefs", body=encode(definition), resend=True)

    def get_task_definition(self, name: str) -> JsonObject:
        """Return one task definition; raises ``NotFound``."""
        return object_of(self._server.call("GET", "metadata", "taskdefs", name, resend=True))

    def list_task_definitions(self) -> list[JsonObject]:
        """Return all task definitions."""
        return objects_of(self._server.call("GET", "metadata", "taskdefs", resend=True))

    def delete_task_definition(self, name: str) -> None:
        """Remove one task definition; raises ``NotFound``."""
        self._server.call("DELETE", "metadata", "taskdefs", name, resend=False)
