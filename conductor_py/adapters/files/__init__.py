"""Payloads as files in a directory, for a deployment on one machine."""
