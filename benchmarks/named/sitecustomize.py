"""Names the threads of each Python process that finds this folder on its path.

/proc says what each thread has used, and does not know what it is for. So each process writes
which of its threads has which name into a file of its own in the folder ``NAMES``.
"""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path

_EVERY_S = 0.2


def _tell(folder: Path) -> None:
    file = folder / f"{os.getpid()}.json"
    while True:
        names = {str(thread.native_id): thread.name for thread in threading.enumerate()}
        file.with_suffix(".new").write_text(json.dumps(names))
        file.with_suffix(".new").replace(file)
        time.sleep(_EVERY_S)


def _begin() -> None:
    folder = Path(os.environ["NAMES"])
    threading.Thread(target=_tell, args=(folder,), name="names", daemon=True).start()


if "NAMES" in os.environ:
    os.register_at_fork(after_in_child=_begin)
    _begin()
