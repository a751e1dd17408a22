"""Payloads too large for the store, and files: held, read in bounded pieces, removed."""
