"""An archive of the JVM's classes, from which the next driver JVM starts in half the time.

Most of a cold start is the loading and checking of Spark's classes. A Java runtime can write what
it has loaded to a file (some 100 MB) and map that file at its next start. Such an archive fits one
runtime, one class path and one set of options; its name is a fingerprint of them, so after an
upgrade another one is made. The worker makes it once, after its first queries and before it polls.

Whoever writes an archive holds its lock, writes aside and renames what is whole and on the disk; a
worker that finds the lock taken starts without. What a killed one had written aside is deleted
when it is an hour old.

An archive only saves time: whatever is wrong with it is logged, and the JVM starts without.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import re
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from py4j.protocol import Py4JError

from conductor_py.records import dataclass
from conductor_workers.datafiles import sync_file
from conductor_workers.java import Java
from conductor_workers.manifest import sync_directory

if TYPE_CHECKING:
    from py4j.java_collections import JavaArray
    from py4j.java_gateway import JavaGateway
    from pyspark.sql import SparkSession

logger = logging.getLogger(__name__)

OPTIONS: Final = "spark.driver.extraJavaOptions"
_DUMP_WITHIN_S: Final = 60
_FORGOTTEN_AFTER_S: Final = 30 * 24 * 3600
_LEFT_BEHIND_AFTER_S: Final = 3600
_ASIDE: Final = ".aside"
#: Also as they were named before: with the number of the process.
_LEFT_BEHIND: Final = re.compile(r"(classes|runtime)-\w+(-\w+\.aside|\.\d+)")
_OWN_ARCHIVE: Final = ("SharedArchiveFile", "ArchiveClassesAtExit", "-Xshare")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassArchive:
    """The archive of one kind of start. ``base`` is the runtime's own classes, where the runtime
    itself came without an archive of them.
    """

    file: Path
    base: Path | None

    @property
    def exists(self) -> bool:
        """Whether it has been made."""
        return self.file.exists()

    def settings(self, settings: Mapping[str, str]) -> dict[str, str]:
        """Add the options with which the JVM uses the archive, or is able to write it."""
        if self.exists:
            layers = [str(path) for path in (self.base, self.file) if path is not None]
            options = [f'"-XX:SharedArchiveFile={os.pathsep.join(layers)}"', "-Xshare:auto"]
        else:
            options = ["-XX:+RecordDynamicDumpInfo"]
            if self.base is not None:
                options.append(f'"-XX:SharedArchiveFile={self.base}"')
        # What the runtime would say of an archive that does not fit, this module says.
        options.append("-Xlog:cds*=off")
        return {**settings, OPTIONS: " ".join([settings.get(OPTIONS, ""), *options]).strip()}

    def used_by(self, pid: int) -> bool:
        """Say whether that JVM has mapped it; where nobody can tell, it is believed."""
        try:
            return str(self.file) in Path(f"/proc/{pid}/maps").read_text()
        except OSError:
            return True

    def keep_fresh(self) -> None:
        """Note that it was used, or it would be deleted as forgotten."""
        logger.info("Started from the class archive", extra={"action": "class_archive_used"})
        for file in (self.file, self.base):
            with suppress(OSError):
                if file is not None:
                    os.utime(file)

    def drop(self, why: str) -> None:
        """Delete it, so that the next start makes another."""
        logger.warning(
            "The class archive is not used", extra={"action": "class_archive_dropped", "why": why}
        )
        with suppress(OSError):
            self.file.unlink()

    def make(self, gateway: JavaGateway) -> None:
        """Have a running JVM write it; another worker that does so already is left to it."""
        began = time.monotonic()
        try:
            with _alone(self.file) as alone:
                if not alone or self.exists:
                    return
                _forget_old(self.file.parent, keep=self.base)
                with _written_aside(self.file) as aside:
                    _dump(gateway, aside)
                    size = aside.stat().st_size
        except (Py4JError, OSError) as error:
            _say_not_made(error)
            return
        logger.info(
            "Made the class archive",
            extra={
                "action": "class_archive_made",
                "file": str(self.file),
                "bytes": size,
                "seconds": round(time.monotonic() - began, 1),
            },
        )


def class_archive(
    directory: Path, java: Java, spark_home: Path, settings: Mapping[str, str]
) -> ClassArchive | None:
    """Return the archive for a start with these; None when there can be none."""
    options = settings.get(OPTIONS, "")
    if any(mark in options for mark in _OWN_ARCHIVE):
        return None
    configuration = os.environ.get("SPARK_CONF_DIR")
    if configuration and any(Path(configuration).glob("*")):
        logger.info(
            "No class archive: SPARK_CONF_DIR is part of the class path and holds files",
            extra={"action": "class_archive_impossible"},
        )
        return None
    further = settings.get("spark.driver.extraClassPath", "")
    if any(Path(entry).is_dir() for entry in further.split(os.pathsep) if entry):
        logger.info(
            "No class archive: spark.driver.extraClassPath names a directory",
            extra={"action": "class_archive_impossible"},
        )
        return None
    try:
        directory.mkdir(parents=True, exist_ok=True)
        _remove_left_behind(directory)
        runtime = _runtime(java)
        base = _base(directory, java, runtime)
    except (OSError, subprocess.SubprocessError) as error:
        _say_not_made(error)
        return None
    memory = settings.get("spark.driver.memory", "")
    parts = [runtime, options, further, configuration or "", memory]
    parts.append(os.environ.get("JAVA_TOOL_OPTIONS", ""))
    for jar in sorted((spark_home / "jars").glob("*.jar")):
        known = jar.stat()
        parts.append(f"{jar} {known.st_size} {known.st_mtime_ns}")
    return ClassArchive(file=directory / f"classes-{_fingerprint(*parts)}.jsa", base=base)


def rehearse(spark: SparkSession) -> None:
    """Run what tasks run: the archive holds the classes that have been loaded when it is made."""
    from pyspark.sql import functions as f

    with tempfile.TemporaryDirectory() as place:
        rows = spark.range(1000).selectExpr("id", "id % 7 AS k", "CAST(id AS string) AS s")
        groups = rows.where("s > '1'").groupBy("k").agg(f.count("s").alias("n"))
        for data_format in ("csv", "parquet"):
            path = f"{place}/{data_format}"
            rows.write.format(data_format).save(path)
            read = spark.read.schema(rows.schema).format(data_format).load(path)
            joined = read.localCheckpoint().join(f.broadcast(groups), "k").orderBy("n")
            joined.select(f.to_json(f.struct("*"))).limit(3).collect()


def _dump(gateway: JavaGateway, file: Path) -> None:
    """Tell the JVM, through its own management interface, to write the classes it has loaded."""
    jvm = gateway.jvm
    name = jvm.javax.management.ObjectName("com.sun.management:type=DiagnosticCommand")
    words = _array(gateway, jvm.String, "dynamic_dump", str(file))
    given = _array(
        gateway,
        jvm.Object,
        *(name, "vmCds", _array(gateway, jvm.Object, words)),
        _array(gateway, jvm.String, "[Ljava.lang.String;"),
    )
    server = jvm.java.lang.management.ManagementFactory.getPlatformMBeanServer()
    # Called as the interface's: the class behind it is the runtime's own and closed to callers.
    methods = jvm.java.lang.Class.forName("javax.management.MBeanServer").getMethods()
    invoke = next(method for method in methods if method.getName() == "invoke")
    answer = str(invoke.invoke(server, given)).strip()
    if not file.exists():
        raise OSError(answer or "the runtime wrote nothing")


def _array(gateway: JavaGateway, kind: object, *members: object) -> JavaArray:
    array = gateway.new_array(kind, len(members))
    for at, member in enumerate(members):
        array[at] = member
    return array


def _runtime(java: Java) -> str:
    """Return what tells one Java runtime from another: its own release file, or its stand-in."""
    release = java.home / "release"
    told = release if release.exists() else java.home / "bin" / "java"
    return hashlib.sha256(told.read_bytes()).hexdigest()


def _base(directory: Path, java: Java, runtime: str) -> Path | None:
    """Make the archive of the runtime's own classes where it came without one."""
    if (java.home / "lib" / "server" / "classes.jsa").exists():
        return None
    base = directory / f"runtime-{_fingerprint(runtime)}.jsa"
    if base.exists():
        return base
    with _alone(base) as alone:
        if not alone:
            raise BlockingIOError("another worker is making that of the runtime's own classes")
        if not base.exists():
            with _written_aside(base) as aside:
                subprocess.run(
                    [
                        *(str(java.home / "bin" / "java"), "-Xshare:dump"),
                        f"-XX:SharedArchiveFile={aside}",
                    ],
                    capture_output=True,
                    timeout=_DUMP_WITHIN_S,
                    check=True,
                )
    return base


def _fingerprint(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


@contextmanager
def _alone(archive: Path) -> Iterator[bool]:
    """Hold the lock of an archive, if it is free."""
    lock_file = archive.with_suffix(".lock")
    descriptor = os.open(lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


@contextmanager
def _written_aside(archive: Path) -> Iterator[Path]:
    """Give a name to write to; what was written whole becomes the archive.

    The name is nobody else's, also where containers share the directory and all have one pid.
    """
    aside = archive.with_name(f"{archive.stem}-{uuid.uuid4().hex}{_ASIDE}")
    try:
        yield aside
        sync_file(aside)
        aside.replace(archive)
        sync_directory(archive.parent)
    finally:
        with suppress(OSError):
            aside.unlink()


def _forget_old(directory: Path, keep: Path | None = None) -> None:
    for archive in directory.glob("*.jsa"):
        if archive != keep and _age_s(archive) > _FORGOTTEN_AFTER_S:
            archive.unlink(missing_ok=True)


def _remove_left_behind(directory: Path) -> None:
    """Delete what killed workers had written aside; a folder that is only read stays as it is."""
    with suppress(OSError):
        for file in directory.iterdir():
            if _LEFT_BEHIND.fullmatch(file.name) and _age_s(file) > _LEFT_BEHIND_AFTER_S:
                file.unlink(missing_ok=True)


def _age_s(file: Path) -> float:
    """Return for how long nobody has touched it; 0 when it is gone."""
    try:
        return time.time() - file.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _say_not_made(error: Exception) -> None:
    logger.warning(
        "No class archive could be made",
        extra={"action": "class_archive_failed", "error": str(error).partition("\n")[0]},
    )
