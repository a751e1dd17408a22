"""The page about the bucket lists each right that the server uses there."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Final

import boto3
import pytest

_PAGE: Final = Path("docs/how-to/external-services.md")
_RIGHT: Final = re.compile(r"^\| `(s3:\w+)` \|", re.MULTILINE)
_RIGHTS: Final = {
    "abort_multipart_upload": {"s3:AbortMultipartUpload"},
    "complete_multipart_upload": {"s3:PutObject"},
    # In parts when the file is large, which are given up when one of them fails.
    "copy": {"s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload"},
    "copy_object": {"s3:GetObject", "s3:PutObject"},
    "create_multipart_upload": {"s3:PutObject"},
    "delete_object": {"s3:DeleteObject"},
    "get_object": {"s3:GetObject"},
    # Without the right to list, what is not there is said to be forbidden.
    "head_object": {"s3:GetObject", "s3:ListBucket"},
    "list_multipart_uploads": {"s3:ListBucketMultipartUploads"},
    "list_objects_v2": {"s3:ListBucket"},
    "put_object": {"s3:PutObject"},
    "upload_part": {"s3:PutObject"},
}


def requests(module: str) -> set[str]:
    """What a module asks an object store for: by a method, or by a URL that it signs for one."""
    client = boto3.session.Session().client(
        "s3", region_name="x", aws_access_key_id="x", aws_secret_access_key="x"
    )
    known = {*client.meta.method_to_api_mapping, "copy"}
    tree = ast.parse(Path("conductor_py/adapters/s3", module).read_text())
    named = {each.attr for each in ast.walk(tree) if isinstance(each, ast.Attribute)}
    signed = {each.value for each in ast.walk(tree) if isinstance(each, ast.Constant)}
    return {each for each in named | signed if each in known}


def rights(module: str) -> set[str]:
    return {right for request in requests(module) for right in _RIGHTS[request]}


@pytest.mark.parametrize(("module", "tables"), [("payloads.py", 1), ("contents.py", 2)])
def test_the_rights_in_a_bucket_are_those_that_the_server_uses(module: str, tables: int) -> None:
    section = _PAGE.read_text().partition("## S3")[2].partition("\n## ")[0]
    found = [set(_RIGHT.findall(part)) for part in section.split("|---|---|---|")[1:]]
    assert len(found) == 2
    assert set().union(*found[:tables]) == rights(module)
