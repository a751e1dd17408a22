"""The commands by name, each imported when it is used; errors become exit codes here only."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final, NoReturn

import click

from conductor_py.cli.printing import say
from conductor_py.errors import ConductorError, ConfigurationError, InvalidInput

#: Command -> module of this package, attribute in it, line in the list of commands.
_COMMANDS: Final = {
    "server": ("process", "server", "Run everything in one command."),
    "api": ("process", "api", "Run an API node."),
    "sweeper": ("process", "sweeper", "Run a sweeper: due timers, outbox relay."),
    "system-worker": ("process", "system_worker", "Run a system-task worker: HTTP, KAFKA_PUBLISH."),
    "scheduler": ("process", "scheduler", "Run a scheduler: workflows by the clock."),
    "effects": ("process", "effects", "Run an effects worker: index, archive, remove."),
    "workflow": ("workflow", "workflow", "Start, look at, end and search executions."),
    "task": ("task", "task", "Report on tasks; look at their logs and queues."),
    "definition": ("definition", "definition", "Register and read definitions."),
    "dag": ("dag", "dag", "Save, publish and look at workflows that have versions."),
    "pipeline": ("pipeline", "pipeline", "Check jobs of data pipelines; see how they are cut."),
    "schedule": ("schedule", "schedule", "Save, read, pause and run schedules."),
    "event": ("event", "event", "Register and list event handlers; see what they did."),
    "deployment": ("deployment", "deployment", "Look at servers, shards and workers."),
    "simulate": ("simulate", "simulate", "Run a workflow of yours under simulated faults."),
    "audit": ("audit", "audit", "Count violations of the invariants on a live store."),
    "quarantine": ("quarantine", "quarantine", "List what cannot be decided; try it again."),
    "status": ("status", "status", "Print how a server is and what it is doing."),
    "doctor": ("doctor", "doctor", "Check that all is there that the settings speak of."),
    "completion": ("completion", "completion", "Print what completes commands in your shell."),
    "config": ("config", "config", "Settings."),
    "schemas": ("schemas", "schemas", "The language-neutral contract."),
    "version": ("version", "version", "Print the version."),
}


class _Commands(click.Group):
    """Imports a command when it is named; the list of commands needs none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, attribute, _ = _COMMANDS[cmd_name]
        found = getattr(import_module(f"conductor_py.cli.{module}"), attribute)
        assert isinstance(found, click.Command)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            # click looks for what may have been meant among the commands that are imported.
            from difflib import get_close_matches

            near = get_close_matches(args[0], _COMMANDS, n=1)
            if not near or args[0].startswith("-"):
                raise
            said = f"{error.format_message()} Did you mean '{near[0]}'?"
            raise click.UsageError(said, ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, _, line) in _COMMANDS.items()])


@click.command(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="conductor-py", message="%(version)s")
def root() -> None:
    """Conductor-style workflow orchestration."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command and exit."""
    try:
        outcome: Any = root.main(
            args=None if arguments is None else list(arguments),
            prog_name="conductor-py",
            standalone_mode=False,
        )
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except click.Abort:
        code = 1
    except ConductorError as error:
        _explain(error)
        code = 2 if isinstance(error, ConfigurationError) else 1
    else:
        code = outcome if isinstance(outcome, int) else 0
    sys.exit(code)


def _explain(error: ConductorError) -> None:
    say(f"Error: {error.message}", err=True)
    if isinstance(error, InvalidInput):
        lines = [f"{violation.path}: {violation.message}" for violation in error.violations]
        for line in lines:
            if line != error.message:  # the first may be the message already
                say(f"  {line}", err=True)
