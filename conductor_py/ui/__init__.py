"""Pages for people, each a view of one JSON endpoint."""

from conductor_py.ui.pages import create_ui

__all__ = ["create_ui"]
