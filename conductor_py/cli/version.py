"""``conductor-py version``: the version that is installed."""

from __future__ import annotations

from importlib.metadata import version as installed_version

import click


@click.command()
def version() -> None:
    """Print the version."""
    click.echo(installed_version("conductor-py"))
