"""``conductor-py completion``: commands, options and names completed by the shell."""

from __future__ import annotations

import os
from typing import Final

import click
from click.shell_completion import get_completion_class

from conductor_py.cli.printing import say

_PROGRAM: Final = "conductor-py"
_VARIABLE: Final = "_CONDUCTOR_PY_COMPLETE"
_INTO: Final = {
    "bash": "~/.bashrc",
    "zsh": "~/.zshrc, behind compinit",
    "fish": "~/.config/fish/completions/conductor-py.fish",
}


@click.command()
@click.argument("shell", type=click.Choice(tuple(_INTO)), required=False)
def completion(shell: str | None) -> None:
    """Print what completes commands, options and names in SHELL; by default the one you use.

    In ~/.bashrc: eval "$(conductor-py completion bash)"; in ~/.zshrc the same with zsh, behind
    compinit; in ~/.config/fish/config.fish: conductor-py completion fish | source.
    """
    named = shell or os.path.basename(os.environ.get("SHELL", ""))  # noqa: PTH119 - a name
    found = get_completion_class(named) if named in _INTO else None
    if found is None:
        raise click.UsageError(f"name a shell: {', '.join(_INTO)}")
    from conductor_py.cli.entry import root

    say(found(root, {}, _PROGRAM, _VARIABLE).source())
    if shell is None:
        say(f"# this is for {named}: put it into {_INTO[named]}", err=True)
