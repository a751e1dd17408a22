"""Which addresses an HTTP task may reach: public ones, and what the operator allows.

A name is judged by what it resolves to, at each connection anew, and the connection is made to the
very address that was judged. So neither a name that points inward nor one whose answer changes in
between reaches the network that the server stands in.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import Final

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
Resolve = Callable[[str, int], Iterable[str]]

_TRANSLATED: Final = ip_network("64:ff9b::/96")
#: Public by its number, and yet the inside of a cloud: Azure's platform resources.
_INWARD: Final = frozenset({ip_address("168.63.129.16")})


class AddressRefused(Exception):
    """A host may not be reached; the message is a sentence."""


def resolve(host: str, port: int) -> tuple[str, ...]:
    """Look a host up; OSError when there is none."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in found))


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressRules:
    """``hosts``: names that are allowed wherever they point, ``*`` stands for any characters;
    ``networks``: addresses that are allowed.
    """

    hosts: tuple[str, ...] = ()
    networks: tuple[Network, ...] = ()
    resolve: Resolve = resolve

    def addresses(self, host: str, port: int) -> tuple[str, ...]:
        """Return the addresses to try for a host.

        Raises AddressRefused when none may be reached, OSError when it has none.
        """
        host = host.strip("[]").rstrip(".").lower()
        found = tuple(self.resolve(host, port))
        if any(fnmatchcase(host, pattern.lower()) for pattern in self.hosts):
            return found
        allowed = tuple(each for each in found if self._allows(each))
        if found and not allowed:
            raise AddressRefused(
                f"{host} is an address of this network ({found[0]}), which HTTP tasks may not "
                "reach; conductor.tasks.http.allowedHosts or allowedNetworks can allow it"
            )
        return allowed

    def _allows(self, text: str) -> bool:
        address = ip_address(text.partition("%")[0])
        meant = _meant(address)
        if any(each in network for each in {address, meant} for network in self.networks):
            return True
        return is_public(meant)


def networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Read networks such as ``10.0.0.0/8`` or single addresses; ValueError names a wrong one."""
    return tuple(ip_network(text, strict=False) for text in texts)


def is_public(address: Address) -> bool:
    """Whether an address belongs to the internet at large."""
    if address.is_multicast or address.is_unspecified or address in _INWARD:
        return False
    if isinstance(address, IPv6Address) and address.is_site_local:
        return False
    return address.is_global


def _meant(address: Address) -> Address:
    """The IPv4 address that an IPv6 one stands for, else the address itself."""
    if isinstance(address, IPv4Address):
        return address
    if address in _TRANSLATED:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    teredo = address.teredo
    return address.ipv4_mapped or address.sixtofour or (teredo[1] if teredo else None) or address
