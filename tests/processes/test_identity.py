"""The name of a server."""

from pathlib import Path

import pytest

from conductor_py.errors import ConfigurationError
from conductor_py.processes.identity import kept_name, new_name


def test_a_kept_name_survives_a_restart(tmp_path: Path) -> None:
    file = tmp_path / "server-name"

    assert kept_name(file) == kept_name(file)


def test_every_new_name_differs(tmp_path: Path) -> None:
    assert new_name() != new_name()
    assert kept_name(tmp_path / "a") != kept_name(tmp_path / "b")


def test_a_file_that_is_cut_off_gets_a_new_name(tmp_path: Path) -> None:
    file = tmp_path / "server-name"
    file.write_text("")

    assert kept_name(file) == file.read_text().strip() != ""


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "server-name"
    file.write_bytes(b"\xff\xfe")

    with pytest.raises(ConfigurationError, match="server-name cannot be read"):
        kept_name(file)
