"""Settings: each declared once as data, read from flags, environment and file, checked, documented.

``load`` returns a ``Settings``, a tree of frozen sections such as ``settings.redis.hosts`` and
``settings.payloads.task_output_soft_bytes``. Durations are in milliseconds, sizes in bytes.
"""

from __future__ import annotations

from conductor_py.config.declaration import RedisHost
from conductor_py.config.example import example
from conductor_py.config.settings import Settings
from conductor_py.config.sources import environment_name, environment_of, load

__all__ = ["RedisHost", "Settings", "environment_name", "environment_of", "example", "load"]
