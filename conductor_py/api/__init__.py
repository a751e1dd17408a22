"""The HTTP front of the engine, in Conductor's dialect: one blueprint a noun."""

from conductor_py.api.app import create_app

__all__ = ["create_app"]
