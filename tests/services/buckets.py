"""A bucket of its own for each test."""

import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.services.object_store import ObjectStore

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Bucket:
    """An empty bucket, and what a client needs to reach it."""

    name: str
    endpoint: str
    region: str
    access_key: str
    secret_key: str = field(repr=False)

    def client(self) -> "S3Client":
        """A client of its own, path style and with version 4 signatures."""
        import boto3
        from botocore.config import Config

        return boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            region_name=self.region,
            aws_access_key_id=self.access_key,
            aws_secret_access_key=self.secret_key,
            config=Config(signature_version="s3v4", s3={"addressing_style": "path"}),
        )


def fresh_bucket(store: ObjectStore) -> S3Bucket:
    """Make a bucket with a name of its own."""
    bucket = S3Bucket(
        name=f"test-{uuid.uuid4().hex}",
        endpoint=store.endpoint,
        region=store.region,
        access_key=store.access_key,
        secret_key=store.secret_key,
    )
    bucket.client().create_bucket(Bucket=bucket.name)
    return bucket
