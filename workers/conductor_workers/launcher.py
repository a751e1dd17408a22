"""``conductor-spark-worker``: one worker process with one Spark session.

The session starts before the first poll; SIGTERM and SIGINT stop the polling, let running tasks
finish within the grace and end the JVM. A worker whose JVM dies ends as well, with exit code 1, so
that whoever supervises it starts a fresh one. What cannot start at all says why in one sentence and
exits with code 2.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import click

from conductor_py.errors import ConfigurationError, MissingExtra
from conductor_py.sdk import Client, Worker
from conductor_workers.paths import AllowedPaths

logger = logging.getLogger(__name__)

_TASK_TYPES = ("SPARK_SQL", "SPARK_PYTHON", "SPARK_PIPELINE")
_LOOK_AT_JVM_EVERY_S = 1.0
_JVM_DIED = 1
_CANNOT_START = 2


def default_work_dir() -> Path:
    """Return where a worker of this user keeps its temporary files when nothing else is said."""
    state = os.environ.get("XDG_STATE_HOME")
    base = Path(state) if state else Path.home() / ".local" / "state"
    return base / "conductor-spark-worker"


def default_archive_dir() -> Path:
    """Return where all workers of this user keep the archives of the JVM's classes."""
    cache = os.environ.get("XDG_CACHE_HOME")
    base = Path(cache) if cache else Path.home() / ".cache"
    return base / "conductor-spark-worker"


@click.command(context_settings={"show_default": True, "max_content_width": 100})
@click.option("--server", envvar="CONDUCTOR_SERVER_URL", help="URL ending in /api.  [required]")
@click.option(
    "--master",
    default="local[*]",
    help="Spark master: local[n], spark://host:port, yarn or k8s://….",
)
@click.option("--task-types", default=",".join(_TASK_TYPES), help="Task types, comma separated.")
@click.option(
    "--concurrency", default=2, type=click.IntRange(1, 64), help="Tasks of a type at a time."
)
@click.option("--domain", default=None, help="Task domain to poll for.")
@click.option(
    "--python-path",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Directory with modules for SPARK_PYTHON and python transforms; repeatable.",
)
@click.option(
    "--allow-module",
    multiple=True,
    help="Prefix of modules that SPARK_PYTHON and python transforms may call; none are allowed by "
    "default; repeatable.",
)
@click.option(
    "--allow-path",
    multiple=True,
    metavar="FOLDER|s3://BUCKET/PREFIX",
    help="Where tasks may read and write files; nowhere by default; repeatable, / is all disks.",
)
@click.option(
    "--pass-env",
    multiple=True,
    metavar="NAME",
    help="Variable of the worker that Spark's processes on this machine get, too, beside those "
    "that Java, Spark, Python and AWS clients read; repeatable.",
)
@click.option(
    "--any-sql",
    is_flag=True,
    help="Let tasks run all that Spark's SQL can do: programs, files and tables by name, methods "
    "of the JVM. Whoever may register a definition can then do here what the worker can.",
)
@click.option(
    "--work-dir",
    default=None,
    type=click.Path(file_okay=False, path_type=Path),
    help="Temporary files of the session.  [default: in the user's state directory]",
)
@click.option(
    "--class-archive",
    default=None,
    type=click.Path(file_okay=False, path_type=Path),
    help="Archives of the JVM's classes: a second start takes half the time.  "
    "[default: in the user's cache directory]",
)
@click.option("--no-class-archive", is_flag=True, help="Make and use no such archive.")
@click.option(
    "--prepare", is_flag=True, help="Make the class archive and end; for the build of an image."
)
@click.option("--conf", multiple=True, metavar="KEY=VALUE", help="Spark setting; repeatable.")
@click.option(
    "--lease", default=30, type=click.IntRange(5, 3600), help="Lease on a task, in seconds."
)
@click.option(
    "--grace", default=30.0, type=click.FloatRange(0), help="Seconds for running tasks at the end."
)
@click.option("--log-level", default="INFO", type=click.Choice(["DEBUG", "INFO", "WARNING"]))
def main(
    *,
    server: str | None,
    master: str,
    task_types: str,
    concurrency: int,
    domain: str | None,
    python_path: tuple[Path, ...],
    allow_module: tuple[str, ...],
    allow_path: tuple[str, ...],
    pass_env: tuple[str, ...],
    any_sql: bool,
    work_dir: Path | None,
    class_archive: Path | None,
    no_class_archive: bool,
    prepare: bool,
    conf: tuple[str, ...],
    lease: int,
    grace: float,
    log_level: str,
) -> None:
    """Poll Spark task types from a Conductor server and run them in one Spark session."""
    if server is None and not prepare:
        raise click.MissingParameter(param_type="option", param_hint="'--server'")
    logging.basicConfig(
        level=log_level, format="%(asctime)s %(levelname)s %(name)s: %(message)s", stream=sys.stderr
    )
    logging.getLogger("py4j").setLevel(logging.WARNING)
    # Until the worker takes over the signals, an end is an ordinary exit: it must stop the JVM.
    before = signal.signal(signal.SIGTERM, _exit_on)
    try:
        code = _serve(
            server=None if prepare else server,
            master=master,
            types=_chosen(task_types),
            concurrency=concurrency,
            domain=domain,
            python_path=python_path,
            allowed_modules=allow_module,
            paths=AllowedPaths.below(allow_path),
            pass_env=pass_env,
            any_sql=any_sql,
            work_dir=work_dir or default_work_dir(),
            archive_dir=None if no_class_archive else class_archive or default_archive_dir(),
            settings=_settings(conf),
            lease_s=lease,
            grace_s=grace,
        )
    except ConfigurationError as error:
        click.echo(f"conductor-spark-worker: {error.message}", err=True)
        sys.exit(_CANNOT_START)
    finally:
        signal.signal(signal.SIGTERM, before)
    sys.exit(code)


def _serve(
    *,
    server: str | None,
    master: str,
    types: tuple[str, ...],
    concurrency: int,
    domain: str | None,
    python_path: tuple[Path, ...],
    allowed_modules: tuple[str, ...],
    paths: AllowedPaths,
    pass_env: tuple[str, ...],
    any_sql: bool,
    work_dir: Path,
    archive_dir: Path | None,
    settings: dict[str, str],
    lease_s: int,
    grace_s: float,
) -> int:
    try:
        from conductor_workers.polled import SparkWorkerOptions, spark_worker_tasks
        from conductor_workers.session import WorkerSession, chosen_settings
    except ImportError as error:
        raise MissingExtra("The worker needs PySpark", extra="spark") from error
    _make_importable(python_path)
    session = WorkerSession(
        work_dir=work_dir.resolve(),
        settings=chosen_settings(master=master, concurrency=concurrency, given=settings),
        archive_dir=archive_dir,
        pass_env=pass_env,
    )
    options = SparkWorkerOptions(
        task_types=types,
        concurrency=concurrency,
        domain=domain,
        lease_s=lease_s,
        allowed_modules=allowed_modules,
        paths=paths,
        any_sql=any_sql,
        pipelines_dir=str(work_dir.resolve() / "pipelines"),
    )
    try:
        session.start()
        if server is None:  # only the archive was wanted
            return 0
        with Client(server) as client:
            worker = Worker(
                client,
                spark_worker_tasks(client, session, options),
                version=f"spark-{session.spark.version}",
                grace_s=grace_s,
            )
            died = _watch_jvm(session.alive, worker)
            worker.run()
        return _JVM_DIED if died.is_set() else 0
    finally:
        session.stop()


def _watch_jvm(alive: Callable[[], bool], worker: Worker) -> threading.Event:
    died = threading.Event()

    def watch() -> None:
        pause = threading.Event()
        while alive():
            pause.wait(_LOOK_AT_JVM_EVERY_S)
        died.set()
        logger.error("The driver JVM has died", extra={"action": "jvm_died"})
        worker.stop(0)

    threading.Thread(target=watch, name="jvm-watch", daemon=True).start()
    return died


def _make_importable(directories: tuple[Path, ...]) -> None:
    """Let this process and Spark's Python workers import from there."""
    for directory in reversed(directories):
        place = str(directory.resolve())
        sys.path.insert(0, place)
        inherited = os.environ.get("PYTHONPATH")
        os.environ["PYTHONPATH"] = f"{place}{os.pathsep}{inherited}" if inherited else place


def _chosen(task_types: str) -> tuple[str, ...]:
    chosen = tuple(dict.fromkeys(name.strip() for name in task_types.split(",") if name.strip()))
    unknown = [name for name in chosen if name not in _TASK_TYPES]
    if unknown or not chosen:
        raise ConfigurationError(
            f"--task-types must name some of {', '.join(_TASK_TYPES)}, not {task_types!r}."
        )
    return chosen


def _settings(pairs: tuple[str, ...]) -> dict[str, str]:
    settings = {}
    for pair in pairs:
        key, separator, value = pair.partition("=")
        if not separator or not key.startswith("spark."):
            raise ConfigurationError(f"--conf must look like spark.key=value, not {pair!r}.")
        settings[key] = value
    return settings


def _exit_on(number: int, _frame: FrameType | None) -> None:
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
