"""``conductor-py config``: settings."""

from __future__ import annotations

import click

from conductor_py.config import example as example_file


@click.group()
def config() -> None:
    """Settings."""


@config.command()
def example() -> None:
    """Print a file with every setting and its default."""
    click.echo(example_file(), nl=False)
