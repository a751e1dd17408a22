"""The archive of classes that a JVM starts from: which one, and that it only saves time."""

from __future__ import annotations

import os
import subprocess
import sys
from mmap import ACCESS_READ, mmap
from pathlib import Path

import pytest

from conductor_workers import class_archive as archives
from conductor_workers.class_archive import OPTIONS, ClassArchive, class_archive
from conductor_workers.java import Java

_QUICK = "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


@pytest.fixture
def java(tmp_path: Path) -> Java:
    """A runtime that came with an archive of its own classes."""
    home = tmp_path / "java"
    (home / "lib" / "server").mkdir(parents=True)
    (home / "lib" / "server" / "classes.jsa").touch()
    (home / "release").write_text('JAVA_VERSION="17.0.15"')
    return Java(home=home, major=17, source="a test")


@pytest.fixture
def spark_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    (tmp_path / "spark" / "jars").mkdir(parents=True)
    (tmp_path / "spark" / "jars" / "core.jar").write_text("classes")
    return tmp_path / "spark"


def _archive(
    tmp_path: Path, java: Java, spark_home: Path, settings: dict[str, str] | None = None
) -> ClassArchive:
    found = class_archive(tmp_path / "archives", java, spark_home, settings or {})
    assert found is not None
    return found


def test_the_first_start_is_able_to_write_it_and_the_next_ones_use_it(
    tmp_path: Path, java: Java, spark_home: Path
) -> None:
    archive = _archive(tmp_path, java, spark_home, {OPTIONS: "-Xss2m"})
    first = archive.settings({OPTIONS: "-Xss2m", "spark.master": "local[1]"})
    assert first["spark.master"] == "local[1]"
    assert first[OPTIONS].startswith("-Xss2m -XX:+RecordDynamicDumpInfo")
    archive.file.touch()
    assert f'"-XX:SharedArchiveFile={archive.file}"' in archive.settings({})[OPTIONS]


def test_another_java_another_jar_or_another_option_is_another_archive(
    tmp_path: Path, java: Java, spark_home: Path
) -> None:
    names = [_archive(tmp_path, java, spark_home).file]
    names.append(_archive(tmp_path, java, spark_home, {OPTIONS: "-Xss2m"}).file)
    (java.home / "release").write_text('JAVA_VERSION="17.0.16"')
    names.append(_archive(tmp_path, java, spark_home).file)
    (spark_home / "jars" / "core.jar").write_text("other classes")
    names.append(_archive(tmp_path, java, spark_home).file)
    assert len(set(names)) == 4
    assert _archive(tmp_path, java, spark_home).file == names[-1]


@pytest.mark.parametrize("option", ["-Xshare:off", "-XX:SharedArchiveFile=/mine.jsa"])
def test_what_the_user_says_of_archives_is_left_alone(
    tmp_path: Path, java: Java, spark_home: Path, option: str
) -> None:
    assert class_archive(tmp_path / "archives", java, spark_home, {OPTIONS: option}) is None


def test_there_is_none_where_a_folder_with_files_is_on_the_class_path(
    tmp_path: Path, java: Java, spark_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "conf").mkdir()
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path / "conf"))
    assert class_archive(tmp_path / "archives", java, spark_home, {}) is not None
    (tmp_path / "conf" / "log4j2.properties").touch()
    assert class_archive(tmp_path / "archives", java, spark_home, {}) is None
    monkeypatch.delenv("SPARK_CONF_DIR")
    further = {"spark.driver.extraClassPath": f"{tmp_path}/a.jar{os.pathsep}{tmp_path}"}
    assert class_archive(tmp_path / "archives", java, spark_home, further) is None


def test_a_runtime_that_cannot_write_its_own_classes_goes_without(
    tmp_path: Path, java: Java, spark_home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (java.home / "lib" / "server" / "classes.jsa").unlink()
    assert class_archive(tmp_path / "archives", java, spark_home, {}) is None
    assert "No class archive could be made" in caplog.text


def _bare(java: Java, program: str) -> Path:
    """Have the runtime come without its own classes; returns where its starts are counted."""
    (java.home / "lib" / "server" / "classes.jsa").unlink()
    (java.home / "bin").mkdir()
    starts = java.home / "starts"
    started = java.home / "bin" / "java"
    started.write_text(f'#!/bin/sh\necho start >> {starts}\nfile="${{2#*=}}"\n{program}\n')
    started.chmod(0o755)
    return starts


def test_of_two_workers_one_writes_the_runtimes_classes_and_the_other_starts_without(
    tmp_path: Path, java: Java, spark_home: Path
) -> None:
    starts, folder = _bare(java, 'echo whole > "$file"'), tmp_path / "archives"
    folder.mkdir()
    base = folder / f"runtime-{archives._fingerprint(archives._runtime(java))}.jsa"
    with archives._alone(base) as alone:
        assert alone
        assert class_archive(folder, java, spark_home, {}) is None
        assert not starts.exists()
    for _ in range(2):
        assert _archive(tmp_path, java, spark_home).base == base
    assert base.read_text() == "whole\n"
    assert starts.read_text() == "start\n"
    assert {file.suffix for file in folder.iterdir()} == {".jsa", ".lock"}


def test_half_an_archive_is_never_used_and_does_not_stay(
    tmp_path: Path, java: Java, spark_home: Path
) -> None:
    _bare(java, 'echo half > "$file"; exit 1')
    assert class_archive(tmp_path / "archives", java, spark_home, {}) is None
    assert {file.suffix for file in (tmp_path / "archives").iterdir()} == {".lock"}


def test_an_archive_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, java: Java, spark_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _bare(java, 'echo whole > "$file"')
    named: list[bool] = []

    def settled(_: Path) -> None:
        named.append(any((tmp_path / "archives").glob("*.jsa")))

    monkeypatch.setattr(archives, "sync_file", settled)
    assert _archive(tmp_path, java, spark_home).base is not None
    assert named == [False]


def test_what_a_killed_worker_had_written_aside_is_deleted_when_it_is_old(
    tmp_path: Path, java: Java, spark_home: Path
) -> None:
    folder = tmp_path / "archives"
    folder.mkdir()
    left = ["classes-12ab.4711", "runtime-12ab.7", "runtime-12ab-77ff.aside"]
    for name in (*left, "classes-12ab.jsa", "classes-12ab.lock", "notes.txt"):
        (folder / name).touch()
        os.utime(folder / name, (0, 0))
    (folder / "classes-34cd-88ee.aside").touch()
    _archive(tmp_path, java, spark_home)
    assert sorted(file.name for file in folder.iterdir()) == [
        *("classes-12ab.jsa", "classes-12ab.lock", "classes-34cd-88ee.aside", "notes.txt")
    ]


def test_an_archive_in_a_folder_that_is_only_read_is_used(
    tmp_path: Path, java: Java, spark_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = _archive(tmp_path, java, spark_home)
    made.file.touch()
    old = made.file.with_suffix(".4711")
    old.touch()
    os.utime(old, (0, 0))

    def refused(*_: object, **__: object) -> None:
        raise PermissionError("read-only")

    monkeypatch.setattr(Path, "unlink", refused)
    assert _archive(tmp_path, java, spark_home).exists


def test_only_a_process_that_has_mapped_it_uses_it(
    tmp_path: Path, java: Java, spark_home: Path
) -> None:
    archive = _archive(tmp_path, java, spark_home)
    archive.file.write_bytes(b"classes")
    assert not archive.used_by(os.getpid())
    with archive.file.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ):
        assert archive.used_by(os.getpid())


def test_an_archive_that_nobody_used_for_a_month_is_deleted(tmp_path: Path) -> None:
    old, new = tmp_path / "classes-1.jsa", tmp_path / "classes-2.jsa"
    for file in (old, new):
        file.touch()
    os.utime(old, (0, 0))
    archives._forget_old(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == [new.name]


@pytest.mark.spark
@pytest.mark.thorough(target="pipelines")
@pytest.mark.timeout(240)
def test_a_worker_makes_it_and_starts_without_one_that_is_spoilt(
    tmp_path: Path,
) -> None:
    def prepared() -> str:
        command = [sys.executable, "-m", "conductor_workers.launcher", "--prepare"]
        command += ["--master", "local[2]", "--conf", _QUICK, "--work-dir", str(tmp_path / "work")]
        command += ["--class-archive", str(tmp_path / "archives")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        ended = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, ended.stderr
        assert ended.stdout == ""
        return ended.stderr

    assert "Made the class archive" in prepared()
    (archive,) = (tmp_path / "archives").glob("classes-*.jsa")
    archive.unlink()
    archive.write_bytes(b"spoilt")
    assert "The class archive is not used" in prepared()
    assert not archive.exists()
