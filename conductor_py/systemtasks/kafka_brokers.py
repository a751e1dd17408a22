"""Which brokers KAFKA_PUBLISH may speak to: those that the address rules allow, by their address.

The client is given addresses that were judged, never names: it would look them up again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from conductor_py.outbound.addresses import AddressRules
from conductor_py.outbound.deadline import Deadline, Late
from conductor_py.outbound.lookup import LOOKUPS, LookupLate

_BROKER: Final = re.compile(
    r"(?:PLAINTEXT://)?(?:\[([0-9A-Fa-f:.]+)\]|([\w.-]+))(?::([0-9]{1,5}))?", re.ASCII
)
_PORT: Final = 9092
_MOST: Final = 16


class UnknownBroker(Exception):
    """Brokers cannot be read or found; the message is a sentence."""


class BrokersLate(UnknownBroker):
    """They are not found in time."""


def judged(servers: str, rules: AddressRules, deadline: Deadline) -> str:
    """Write the brokers of ``host:port,host:port`` by addresses that may be reached.

    Raises ``AddressRefused`` when one of them may not be, and UnknownBroker.
    """
    brokers = [_read(each.strip()) for each in servers.split(",") if each.strip()]
    if not 0 < len(brokers) <= _MOST:
        raise UnknownBroker(f"bootStrapServers names {len(brokers)} brokers; 1 to {_MOST} may be")
    found = _looked_up(brokers, rules, deadline)
    if not found:
        raise UnknownBroker("none of bootStrapServers is known")
    return ",".join(_written(host, port) for host, port in found)


def judge_members(
    members: Iterable[tuple[str, int]], rules: AddressRules, deadline: Deadline
) -> None:
    """Raise AddressRefused when a cluster names a member that may not be reached."""
    _looked_up(tuple(members), rules, deadline)


def _looked_up(
    brokers: Iterable[tuple[str, int]], rules: AddressRules, deadline: Deadline
) -> list[tuple[str, int]]:
    def look_up() -> list[tuple[str, int]]:
        found = []
        for host, port in brokers:
            # Names that nobody waits for any more keep no thread.
            deadline.check()
            try:
                found += [(address, port) for address in rules.addresses(host, port)]
            except OSError:
                # Another one may lead to the cluster.
                continue
        return found

    try:
        return LOOKUPS.within(look_up, deadline.left(), deadline.check)
    except (LookupLate, Late):
        raise BrokersLate("the brokers were not found in time") from None


def _read(text: str) -> tuple[str, int]:
    found = _BROKER.fullmatch(text)
    port = int(found[3] or _PORT) if found else 0
    if found is None or not 0 < port < 1 << 16:
        raise UnknownBroker("bootStrapServers must be host:port, several with commas between")
    return found[1] or found[2], port


def _written(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
