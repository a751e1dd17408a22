"""A reader of the documentation: an empty directory, a shell, and nothing that was set before.

A page is followed from its first block to its last. Blocks of Python are one program; blocks for
the shell are pasted into one shell; what the page says to put into a file is put there. A server is
in a terminal of its own: where the page has no command that starts one, its text tells to.
"""

import fcntl
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.docs.installed import extras_of, with_extras
from tests.docs.pages import ROOT, Page
from tests.services import absent
from tests.services.processes import answers, die_with_parent

_KEPT = frozenset({"LANG", "PYTHONPATH", "TMPDIR", "JAVA_HOME", "LD_LIBRARY_PATH"})
_INTO = re.compile(r"[Pp]ut this\b[^`]* into `([\w.-]+)`:$")
_LEFT_OUT = re.compile(r"^\*Not run as it stands: (.+)\.\*$")
_SERVER = re.compile(r"^(?:nohup )?conductor-py server\b", re.MULTILINE)
_LONGEST_S = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One block: ``file`` is what it is put into, ``needs`` is why nobody can run it as it stands,
    ``prints`` what the page says that it prints.
    """

    language: str
    text: str
    file: str = ""
    needs: str = ""
    prints: str | None = None

    @property
    def runs(self) -> bool:
        """Whether it is a program or a command that a reader runs."""
        return self.language in {"python", "sh"} and not self.needs


def steps_of(page: Page) -> tuple[Step, ...]:
    """The blocks of a page in order. A text right behind a block is what that prints."""
    steps, file = [], ""
    for block in page.blocks():
        said = page.text[: block.start].rstrip().rpartition("\n\n")[2].replace("\n", " ").strip()
        named, left_out = _INTO.search(said), _LEFT_OUT.match(said)
        goes_on = block.language == "python" and file.endswith(".py")
        file = named[1] if named else file if goes_on else ""
        steps.append(
            Step(
                language=block.language,
                text=block.text,
                file=file,
                needs=left_out[1] if left_out else "",
                prints=block.prints,
            )
        )
    return tuple(steps)


def environment_of(folder: Path, programs: Path | None = None) -> dict[str, str]:
    """The variables of somebody who has activated an environment with conductor-py in it, by its
    folder of programs: that of the tests, or another one, which holds all it needs.
    """
    names = _KEPT if programs is None else _KEPT - {"PYTHONPATH"}
    kept = {name: os.environ[name] for name in sorted(names) if name in os.environ}
    path = f"{programs or Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return kept | {"PATH": path, "HOME": str(folder), "PYTHONUNBUFFERED": "1"}


def files_of(page: Page) -> dict[str, str]:
    """The files that a page has its reader write."""
    files: dict[str, str] = {}
    for step in steps_of(page):
        if step.file:
            files[step.file] = "\n".join(filter(None, (files.get(step.file), step.text)))
    return files


@dataclass(frozen=True, slots=True)
class Followed:
    """What came of a page: what each of its steps printed, and what went to standard error."""

    steps: tuple[Step, ...]
    printed: tuple[str, ...]
    errors: str


def follow(
    page: Page,
    steps: Iterable[Step],
    folder: Path,
    programs: Path | None = None,
    *,
    network: bool = True,
    place: str = "work",
    longest_s: int = _LONGEST_S,
) -> Followed:
    """Do what these steps of a page say, in order; AssertionError when something of it fails.

    Without a ``network`` of their own they reach what listens on this machine. ``place`` is the
    name of the reader's directory. Of optional packages those are there that the page tells to
    install.
    """
    steps = tuple(step for step in steps if step.runs or step.file)
    own_network = network and _has_networks()
    known = environment_of(folder, programs)
    plan = {
        "own_network": own_network,
        "place": place,
        "environment": known if programs else with_extras(known, extras_of(page)),
        "server": _tells_of_server(page) and not any(_starts_server(step) for step in steps),
        "steps": list(_planned(steps)),
    }
    (folder / "plan.json").write_text(json.dumps(plan))
    inside = ("unshare", "--map-root-user", "--net", "--") if own_network else ()
    with nullcontext() if own_network else _the_port():
        session = (sys.executable, "-m", "tests.docs.session", str(folder / "plan.json"))
        _run((*inside, *session), longest_s)
    answer = json.loads((folder / "answer.json").read_text())
    errors = (folder / "errors").read_text() if (folder / "errors").exists() else ""
    assert not answer["failed"], f"{answer['failed']}\n{errors[-3000:]}"
    return Followed(steps, tuple(answer["printed"]), errors)


def _planned(steps: tuple[Step, ...]) -> Iterator[dict[str, object]]:
    commands = "\n".join(step.text for step in steps if step.language == "sh")
    program = [step for step in steps if _is_program(step, commands)]
    for step in steps:
        if step in program:
            yield {
                "kind": "python",
                "text": step.text,
                "name": step.file or "page.py",
                "first": step is program[0],
                "whole": [each.text for each in program],
            }
        elif step.file:
            yield {"kind": "file", "name": step.file, "text": step.text}
        else:
            yield {"kind": "sh", "text": step.text}


def _is_program(step: Step, commands: str) -> bool:
    """A file that a command of the page names is run by that command."""
    return step.language == "python" and not (step.file and step.file in commands)


def _tells_of_server(page: Page) -> bool:
    return "conductor-py server" in page.text


def _starts_server(step: Step) -> bool:
    return step.language == "sh" and _SERVER.search(step.text) is not None


@functools.cache
def _has_networks() -> bool:
    """Whether a process may have a network of its own here."""
    if shutil.which("unshare") is None:
        return False
    tried = subprocess.run(
        ["unshare", "--map-root-user", "--net", "--", "true"], capture_output=True, check=False
    )
    return tried.returncode == 0


@contextmanager
def _the_port() -> Iterator[None]:
    """Have port 8080 of this machine for oneself, among the tests."""
    with (Path(tempfile.gettempdir()) / "conductor-py-docs.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if answers(8080):
            absent(
                "port 8080, which the pages name, is in use, and there is no network of one's own"
            )
        yield


def _run(command: tuple[str, ...], longest_s: int) -> None:
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        start_new_session=True,
        preexec_fn=die_with_parent,  # noqa: PLW1509 - one system call, libc already loaded
    )
    try:
        assert process.wait(longest_s) == 0
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
