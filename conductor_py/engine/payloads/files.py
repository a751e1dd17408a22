"""Files of executions: who may send and fetch them, and how far each has come.

The execution that a file was made for owns it: it alone uploads. Its parents and children, at any
depth, may read. The record of a file changes only from what was seen, so of two that complete one
upload one is told that it was completed, and what is complete never changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import BinaryIO, Final
from uuid import uuid4

from conductor_py.codec.files import dump_file, load_file
from conductor_py.engine.clock import StoreClock
from conductor_py.engine.port_set import FilePorts
from conductor_py.errors import (
    Conflict,
    Forbidden,
    InvalidInput,
    LimitExceeded,
    NotFound,
    Violation,
)
from conductor_py.model.files import HANDLE_PREFIX, FileRecord, FileRequest, UploadStatus
from conductor_py.model.json import JsonObject
from conductor_py.ports.files import (
    Changed,
    RecordChange,
    ServedContents,
    StoredContent,
)
from conductor_py.records import dataclass

MOST_FILES: Final = 1_000
"""Files of one execution."""
MOST_PARTS: Final = 10_000
CHECK_MS: Final = 3_600_000
"""How often it is looked whether the execution of a file is still there."""

_DEEPEST: Final = 1_000
_TRIES: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedFile:
    """The bytes of a file, to be closed by the caller."""

    stream: BinaryIO
    size: int
    content_type: str
    file_name: str


class Files:
    """The verbs of files. All but ``create`` raise ``NotFound`` for an id that is none, and
    ``Forbidden`` for an execution that may not.
    """

    def __init__(
        self,
        ports: FilePorts,
        clock: StoreClock,
        *,
        workflow: Callable[[str], JsonObject],
        task: Callable[[str], JsonObject],
    ) -> None:
        """``workflow`` and ``task`` read documents in wire form (``NotFound``)."""
        self._records = ports.records
        self._contents = ports.contents
        self._served = ports.served
        self._clock = clock
        self._workflow = workflow
        self._task = task

    def create(self, request: FileRequest) -> JsonObject:
        """Record a file that is about to be uploaded, and say where to send it."""
        owner = request.workflow_id
        self._workflow(owner)
        if request.task_id is not None:
            self._check_task(owner, request.task_id)
        now_ms = self._clock.now_ms()
        record = FileRecord(
            file_id=str(uuid4()),
            workflow_id=owner,
            ancestors=self._ancestors(owner),
            storage_type=self._contents.storage_type,
            created_ms=now_ms,
            updated_ms=now_ms,
            file_name=request.file_name,
            content_type=request.content_type,
            task_id=request.task_id,
        )
        if self._change(None, record) is Changed.FULL:
            raise LimitExceeded(f"An execution has at most {MOST_FILES} files.")
        url = self._contents.upload_url(record)
        return {
            "fileHandleId": _handle(record),
            "fileName": record.file_name,
            "contentType": record.content_type,
            "storageType": record.storage_type,
            "uploadStatus": record.status.value,
            "uploadUrl": url.url,
            "uploadUrlExpiresAt": url.expires_ms,
            "createdAt": record.created_ms,
            "workflowId": owner,
        }

    def upload_url(self, owner: str, file_id: str) -> JsonObject:
        """Say anew where to send the bytes (``Conflict``: they are there)."""
        record = self._uploading(owner, file_id)
        url = self._contents.upload_url(record)
        return {
            "fileHandleId": _handle(record),
            "uploadUrl": url.url,
            "expiresAt": url.expires_ms,
        }

    def complete(self, owner: str, file_id: str) -> JsonObject:
        """Take what was sent for the file (``Conflict``: nothing was, or it was taken)."""

        def stored(record: FileRecord) -> StoredContent:
            found = self._contents.take(record.file_id)
            if found is None:
                raise Conflict("Nothing was uploaded: send the bytes to the upload URL first.")
            return found

        return self._complete(owner, file_id, stored)

    def begin_parts(self, owner: str, file_id: str) -> JsonObject:
        """Begin an upload in parts; one that was under way ends."""
        for _ in range(_TRIES):
            record = self._uploading(owner, file_id)
            upload_id = self._contents.begin_parts(file_id)
            if self._moved(record, upload_id=upload_id):
                if record.upload_id:
                    self._contents.drop_parts(file_id, record.upload_id)
                return {"fileHandleId": _handle(record), "uploadId": upload_id}
            self._contents.drop_parts(file_id, upload_id)
        raise _restless()

    def part_url(self, owner: str, file_id: str, upload_id: str, part: int) -> JsonObject:
        """Say where to send one part, counted from 1."""
        if not 1 <= part <= MOST_PARTS:
            raise _wrong("partNumber", f"must be from 1 to {MOST_PARTS}", str(part))
        record = self._in_parts(owner, file_id, upload_id)
        url = self._contents.part_url(record, part)
        return {
            "fileHandleId": _handle(record),
            "uploadUrl": url.url,
            "expiresAt": url.expires_ms,
        }

    def complete_parts(
        self, owner: str, file_id: str, upload_id: str, etags: tuple[str, ...]
    ) -> JsonObject:
        """Make the file of its parts, which have these tags in order."""
        if not 1 <= len(etags) <= MOST_PARTS:
            raise _wrong("$.partETags", f"must hold 1 to {MOST_PARTS} tags")

        def stored(record: FileRecord) -> StoredContent:
            if record.upload_id != upload_id:
                raise _no_such_upload()
            return self._contents.join_parts(record.file_id, upload_id, etags)

        return self._complete(owner, file_id, stored)

    def drop_parts(self, owner: str, file_id: str, upload_id: str) -> None:
        """End an upload in parts; the file can be uploaded otherwise."""
        for _ in range(_TRIES):
            record = self._in_parts(owner, file_id, upload_id)
            if self._moved(record, upload_id=""):
                self._contents.drop_parts(file_id, upload_id)
                return
        raise _restless()

    def receive(
        self,
        owner: str,
        file_id: str,
        chunks: Iterable[bytes],
        *,
        upload_id: str,
        part: int,
        token: str = "",
    ) -> str:
        """Take the bytes of a file, or of a part of it, and tell their tag.

        ``UrlRefused`` for a wrong token where URLs are signed; ``Conflict`` when they are not to
        be sent here, or the file was completed meanwhile.
        """
        served = self._serving()
        served.check_token(token, "PUT", file_id, upload_id=upload_id, part=part)
        if part:
            self._in_parts(owner, file_id, upload_id)
        else:
            self._uploading(owner, file_id)
        with served.open_upload(file_id, upload_id, part) as upload:
            for chunk in chunks:
                upload.write(chunk)
        try:
            record = self._uploading(owner, file_id)
        except (NotFound, Conflict):
            # It leaves, or has left: nobody may ever remove what came after that.
            if self._has_ended(file_id):
                served.drop_all(file_id)
            raise
        if part and record.upload_id != upload_id:
            raise _no_such_upload()
        return upload.etag()

    def download_url(self, reader: str, file_id: str) -> JsonObject:
        """Say where to fetch the bytes (``InvalidInput``: they are not all there)."""
        record = self._readable(reader, file_id)
        url = self._contents.download_url(replace(record, workflow_id=reader))
        return {
            "fileHandleId": _handle(record),
            "downloadUrl": url.url,
            "expiresAt": url.expires_ms,
        }

    def open(self, reader: str, file_id: str, token: str = "") -> OpenedFile:
        """Read the bytes, where this server has them; ``UrlRefused`` as in ``receive``."""
        served = self._serving()
        served.check_token(token, "GET", file_id)
        record = self._readable(reader, file_id)
        return OpenedFile(
            stream=served.open_content(file_id, record.content),
            size=record.size,
            content_type=record.content_type,
            file_name=record.file_name or file_id,
        )

    def document(self, reader: str, file_id: str) -> JsonObject:
        """Read what is known of a file, in wire form."""
        record = self._known(reader, file_id)
        return {
            "fileHandleId": _handle(record),
            "fileName": record.file_name,
            "contentType": record.content_type,
            "fileSize": record.size,
            "contentHash": record.content_hash,
            "storageType": record.storage_type,
            "uploadStatus": record.status.value,
            "workflowId": record.workflow_id,
            "taskId": record.task_id,
            "createdAt": record.created_ms,
            "updatedAt": record.updated_ms,
        }

    # -------------------------------------------------------------------------------- records

    def _complete(
        self, owner: str, file_id: str, store: Callable[[FileRecord], StoredContent]
    ) -> JsonObject:
        for _ in range(_TRIES):
            record = self._uploading(owner, file_id)
            found = store(record)
            done = self._moved(
                record,
                status=UploadStatus.UPLOADED,
                content=found.content,
                size=found.size,
                content_hash=found.hash,
                upload_id="",
            )
            if done:
                self._contents.drop_draft(file_id)
                if record.upload_id:
                    self._contents.drop_parts(file_id, record.upload_id)
                return {
                    "fileHandleId": _handle(record),
                    "uploadStatus": UploadStatus.UPLOADED.value,
                    "contentHash": found.hash,
                }
            now = self._records.read(file_id)
            if now is None or load_file(now).content != found.content:
                self._contents.drop(file_id, found.content)
        raise _restless()

    def _moved(self, record: FileRecord, **more: object) -> bool:
        after = replace(record, updated_ms=self._clock.now_ms(), **more)  # type: ignore[arg-type]
        return self._change(record, after) is Changed.OK

    def _change(self, before: FileRecord | None, after: FileRecord) -> Changed:
        change = RecordChange(
            file_id=after.file_id,
            owner=after.workflow_id,
            before=dump_file(before) if before else None,
            after=dump_file(after),
            check_ms=after.updated_ms + CHECK_MS,
        )
        return self._records.change(change, most=MOST_FILES)

    def _read(self, file_id: str) -> FileRecord:
        stored = self._records.read(file_id)
        if stored is None:
            raise NotFound(f"No such file found by id: {file_id}")
        return load_file(stored)

    def _has_ended(self, file_id: str) -> bool:
        stored = self._records.read(file_id)
        return stored is None or load_file(stored).status is UploadStatus.FAILED

    # ----------------------------------------------------------------------------------- rights

    def _uploading(self, owner: str, file_id: str) -> FileRecord:
        record = self._read(file_id)
        if record.workflow_id != owner:
            raise Forbidden("Only the workflow that a file was created for uploads it.")
        if record.status is UploadStatus.FAILED:
            raise Conflict("The upload was given up: nobody completed it. Create another file.")
        if record.status is not UploadStatus.UPLOADING:
            raise Conflict(f"The file is {record.status.value} already.")
        return record

    def _in_parts(self, owner: str, file_id: str, upload_id: str) -> FileRecord:
        record = self._uploading(owner, file_id)
        if not upload_id or record.upload_id != upload_id:
            raise _no_such_upload()
        return record

    def _known(self, reader: str, file_id: str) -> FileRecord:
        record = self._read(file_id)
        family = (record.workflow_id, *record.ancestors)
        if reader not in family and record.workflow_id not in self._ancestors(reader):
            raise Forbidden("The file belongs to another workflow, which is no parent or child.")
        return record

    def _readable(self, reader: str, file_id: str) -> FileRecord:
        record = self._known(reader, file_id)
        if record.status is not UploadStatus.UPLOADED:
            raise InvalidInput(f"The file is {record.status.value}: it cannot be fetched.")
        return record

    def _ancestors(self, workflow_id: str) -> tuple[str, ...]:
        """Walk up; the walk ends at the first execution that is gone."""
        found: list[str] = []
        while len(found) < _DEEPEST:
            try:
                parent = self._workflow(workflow_id).get("parentWorkflowId")
            except NotFound:
                break
            if not parent or parent in found:
                break
            workflow_id = str(parent)
            found.append(workflow_id)
        return tuple(found)

    def _check_task(self, owner: str, task_id: str) -> None:
        try:
            known = self._task(task_id).get("workflowInstanceId") == owner
        except NotFound:
            known = False
        if not known:
            raise _wrong("$.taskId", "must be a task of the workflow", task_id)

    def _serving(self) -> ServedContents:
        if self._served is None:
            where = self._contents.storage_type
            raise Conflict(f"The bytes are in {where}: use the URL that this server made for them.")
        return self._served


def _handle(record: FileRecord) -> str:
    return HANDLE_PREFIX + record.file_id


def _no_such_upload() -> NotFound:
    return NotFound("There is no such upload in parts: it has ended, or never began.")


def _restless() -> Conflict:
    return Conflict("The file kept changing; try again.")


def _wrong(path: str, message: str, value: str | None = None) -> InvalidInput:
    return InvalidInput(violations=(Violation(path=path, message=message, invalid_value=value),))
