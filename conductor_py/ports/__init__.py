"""Protocols between the engine and the outside; the docstring of a method is its contract."""
