"""Writes config.properties.example to standard output."""

from __future__ import annotations

import sys

from conductor_py.config.example import example

sys.stdout.write(example())
