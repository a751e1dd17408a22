"""Payloads in a bucket of an S3-compatible object store."""
