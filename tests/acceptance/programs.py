"""Other programs than the command line: modules and scripts, as processes of a deployment."""

import os
import subprocess
import sys
from pathlib import Path

from tests.acceptance.deployment import Process


class Program(Process):
    """A Python program: the arguments of the interpreter, with an environment as given."""

    def __init__(
        self, folder: Path, *command: str, environment: dict[str, str] | None = None
    ) -> None:
        super().__init__(folder, *command)
        self.environment = dict(os.environ) if environment is None else environment

    def start(self) -> None:
        """Start it; its output is in `said` and `log`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        with (self.folder / "out").open("wb") as out, (self.folder / "err").open("ab") as err:
            self.process = subprocess.Popen(
                (sys.executable, *self.command),
                cwd=self.folder,
                env=self.environment | path,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
