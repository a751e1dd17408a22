"""``conductor-py config``: what can be configured, as a file and as a page."""

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


@config.command()
def reference() -> None:
    """Print the page of the documentation that lists every setting."""
    from conductor_py.config.reference import reference as reference_page

    click.echo(reference_page(), nl=False)
