"""Read by each Python that finds it on its path: packages that a reader has not installed are not
there, though they are there for the tests.
"""

import os
import sys

_ABSENT = frozenset(os.environ["DOCS_ABSENT_MODULES"].split(","))
_PACKAGES = frozenset(os.environ["DOCS_ABSENT_PACKAGES"].split(","))


class _Without:
    """A finder that does not find what is absent, and is the one it stands for else."""

    def __init__(self, finder):
        self._finder = finder

    def __getattr__(self, name):
        return getattr(self._finder, name)

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in _ABSENT:
            return None
        return self._finder.find_spec(name, path, target)

    def find_distributions(self, *context):
        find = getattr(self._finder, "find_distributions", lambda *_: ())
        for found in find(*context):
            if found.metadata["Name"] not in _PACKAGES:
                yield found


sys.meta_path[:] = [_Without(finder) for finder in sys.meta_path]
