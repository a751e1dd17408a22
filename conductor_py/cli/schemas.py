"""``conductor-py schemas``: the contract of the HTTP interface, for other languages."""

from __future__ import annotations

from pathlib import Path

import click


@click.group()
def schemas() -> None:
    """The language-neutral contract."""


@schemas.command()
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
def write(directory: Path) -> None:
    """Write JSON Schemas and the OpenAPI document into DIRECTORY."""
    from conductor_py.wire.openapi import write as write_files

    try:
        write_files(directory)
    except OSError as error:
        raise click.UsageError(f"{directory} cannot be written: {error.strerror}") from error
