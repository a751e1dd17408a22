"""Which Spark masters a worker can have, and what each needs of its session.

The driver is always the worker's own: its end is the end of the job's executors, and a worker that
lost its task stops what it had begun. So a master is a thread pool of this machine (``local``), or
a cluster manager that gives executors to a driver (``spark://``, ``yarn``, ``k8s://``). A Spark
Connect server (``sc://``) owns the driver and would go on without the worker; it is refused.

On a cluster the executors look for the driver often, and end when it is silent for half a minute:
a frozen worker's executors are gone about when its lease is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import Final

from conductor_py.errors import ConfigurationError
from conductor_py.records import dataclass

LOOPBACK: Final = "127.0.0.1"
_LOCAL: Final = re.compile(r"local(\[.*\])?")
_THIS_MACHINE: Final = re.compile(r"spark://(localhost|127\.[\d.]+|\[::1\])(:\d+)?(,|$)")
_ON_A_CLUSTER: Final = {
    # Executors end when the driver is gone; these end them when it only stands still.
    "spark.executor.heartbeatInterval": "5s",
    "spark.executor.heartbeat.maxFailures": "6",
}
_CONNECT: Final = (
    "A worker cannot use Spark Connect ({master}): the server owns the driver, so a task that was "
    "given to another worker would go on there, and it has no job groups to stop it by. "
    "Give the master of the server's cluster instead: spark://, yarn or k8s://."
)


class Manager(Enum):
    """Who gives a session its cores."""

    LOCAL = "local"
    STANDALONE = "standalone"
    YARN = "yarn"
    KUBERNETES = "kubernetes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Master:
    """A master that a worker can have. ``on_this_machine``: nothing of it leaves the loopback
    interface, and executors share this interpreter and its files.
    """

    address: str
    manager: Manager
    on_this_machine: bool

    @property
    def is_cluster(self) -> bool:
        """Whether executors are processes of their own."""
        return self.manager is not Manager.LOCAL


def read_master(text: str) -> Master:
    """Read what ``--master`` says.

    Raises:
        ConfigurationError: no worker can have such a master.
    """
    if _LOCAL.fullmatch(text):
        return Master(address=text, manager=Manager.LOCAL, on_this_machine=True)
    if text.startswith("spark://"):
        near = _THIS_MACHINE.match(text) is not None
        return Master(address=text, manager=Manager.STANDALONE, on_this_machine=near)
    if text == "yarn":
        return Master(address=text, manager=Manager.YARN, on_this_machine=False)
    if text.startswith("k8s://"):
        return Master(address=text, manager=Manager.KUBERNETES, on_this_machine=False)
    if text.startswith("sc://"):
        raise ConfigurationError(_CONNECT.format(master=text))
    raise ConfigurationError(
        f"--master must be local[n], spark://host:port, yarn or k8s://address, not {text!r}."
    )


def master_settings(master: Master, *, cores: int) -> dict[str, str]:
    """Return the settings that follow from the master; ``cores`` are this machine's."""
    settings = {"spark.master": master.address, "spark.submit.deployMode": "client"}
    if master.on_this_machine:
        settings |= {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
    if not master.is_cluster:
        return settings | {"spark.sql.shuffle.partitions": str(max(2, cores))}
    settings |= _ON_A_CLUSTER
    if master.manager is Manager.YARN:
        # Another try of the application would be one without a driver.
        settings["spark.yarn.maxAppAttempts"] = "1"
    return settings


def lacking(
    master: Master, settings: Mapping[str, str], environment: Mapping[str, str]
) -> str | None:
    """Return what is missing for that master in a sentence; None when nothing is."""
    if settings.get("spark.submit.deployMode", "client") != "client":
        return (
            "spark.submit.deployMode must be client: the driver of a worker's session is the "
            "worker's own process."
        )
    if settings.get("spark.remote"):
        return _CONNECT.format(master=settings["spark.remote"])
    if master.manager is Manager.YARN and not (
        environment.get("HADOOP_CONF_DIR") or environment.get("YARN_CONF_DIR")
    ):
        return "With --master yarn HADOOP_CONF_DIR or YARN_CONF_DIR must name YARN's configuration."
    if master.manager is Manager.KUBERNETES and not any(
        settings.get(f"spark.kubernetes.{part}container.image") for part in ("", "executor.")
    ):
        return (
            "With a Kubernetes master, --conf spark.kubernetes.container.image=… must name the "
            "image of the executors."
        )
    return None


def task_python(
    master: Master, settings: Mapping[str, str], environment: Mapping[str, str], own: str
) -> str | None:
    """Return which Python runs tasks; None leaves it to Spark. ``own`` is this interpreter."""
    for chosen in (settings.get("spark.pyspark.python"), environment.get("PYSPARK_PYTHON")):
        if chosen:
            return chosen
    # Not whichever `python3` is on PATH, where this one is to be had.
    return own if master.on_this_machine else None
