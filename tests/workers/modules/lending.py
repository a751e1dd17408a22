"""A module that has things of others; the tests' definitions name them."""

from os import getcwd
from pathlib import Path

__all__ = ["Path", "getcwd"]
