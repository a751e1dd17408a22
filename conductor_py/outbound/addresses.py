"""Which addresses a call may reach: public ones, and what the operator allows.

A name is judged by what it resolves to, at each connection anew, and the connection is made to the
very address that was judged. So neither a name that points inward nor one whose answer changes in
between reaches the network that the server stands in.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from ipaddress import ip_address, ip_network

from conductor_py.outbound.inward import Address, Network, meant, why_refused
from conductor_py.records import dataclass

Resolve = Callable[[str, int], Iterable[str]]


class AddressRefused(Exception):
    """A host may not be reached; the message is a sentence."""


def resolve(host: str, port: int) -> tuple[str, ...]:
    """Look a host up; OSError when there is none."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in found))


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressRules:
    """``hosts``: names that are allowed wherever they point, ``*`` stands for any characters;
    ``networks``: addresses that are allowed; ``callers`` and ``settings``: who asks, and the prefix
    of the settings that allow more, for the sentence of a refusal.
    """

    hosts: tuple[str, ...] = ()
    networks: tuple[Network, ...] = ()
    resolve: Resolve = resolve
    callers: str = "HTTP tasks"
    settings: str = "conductor.tasks.http"

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
                f"{host} is an address of this network ({found[0]}), which {self.callers} may not "
                f"reach; {self.settings}.allowedHosts or allowedNetworks can allow it"
            )
        return allowed

    def _allows(self, text: str) -> bool:
        written, _, zone = text.partition("%")
        address = ip_address(written)
        leads_to: tuple[Address, ...] = meant(address)
        for judged in (address,), leads_to:
            if judged and all(any(each in n for n in self.networks) for each in judged):
                return True
        # A zone is a link of this machine, whatever the number before it.
        return not zone and why_refused(address) is None


def networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Read networks such as ``10.0.0.0/8`` or single addresses; ValueError names a wrong one."""
    return tuple(ip_network(text, strict=False) for text in texts)
