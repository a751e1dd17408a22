"""Expressions in definitions: compiled once, resolved often, in bounded time."""
