"""``python -m conductor_py``: the command line, where the script is not on the path."""

import sys

from conductor_py.cli import main

if __name__ == "__main__":
    sys.exit(main())
