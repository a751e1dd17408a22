"""``conductor-py doctor``: whether everything is there that the settings speak of."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

import click

from conductor_py.cli.printing import print_json, say
from conductor_py.cli.settings import configured, read, setting

_SIGNS: Final = {"ok": "ok      ", "warning": "warning ", "failure": "FAILURE "}


@click.command()
@setting("--host", "conductor.server.host")
@setting("--port", "conductor.server.port")
@setting("--allow-anonymous", "conductor.server.allowAnonymous")
@setting("--data", "conductor.data.directory")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
@configured
def doctor(*, as_json: bool, **given: Any) -> int:  # noqa: ANN401 - the options, by name
    """Check that all is there that the settings speak of: packages, Redis, search, storage, Java,
    a port.

    Nothing is changed. The exit code is 1 if anything is missing or does not answer.
    """
    settings = read(given)
    from conductor_py.processes.checkup import Verdict, check_up

    found = []
    for each in check_up(settings):
        found.append(each)
        if not as_json:
            say(f"{_SIGNS[each.verdict]} {each.about}: {each.said}")
            if each.remedy:
                say(f"         → {each.remedy}")
    if as_json:
        print_json([asdict(each) for each in found])
    return int(any(each.verdict is Verdict.FAILURE for each in found))
