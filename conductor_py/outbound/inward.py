"""The addresses that are no part of the internet at large, each row with where it is written.

The table is this project's own: what ``ipaddress`` calls private changes with the version of
Python. An IPv6 address that stands for an IPv4 one is judged by that one.
"""

from __future__ import annotations

from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_network,
)
from typing import Final

from conductor_py.records import dataclass

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


@dataclass(frozen=True, slots=True)
class Row:
    """One network that is refused: what it is, and the document that says so."""

    network: Network
    meaning: str
    source: str


def _row(network: str, meaning: str, source: str) -> Row:
    return Row(ip_network(network), meaning, source)


#: After the IANA special-purpose registries (RFC 6890), and what clouds have added to them.
INWARD: Final = (
    _row("0.0.0.0/8", "this host, this network", "RFC 791"),
    _row("10.0.0.0/8", "private", "RFC 1918"),
    _row("100.64.0.0/10", "shared by carriers, metadata of a cloud", "RFC 6598"),
    _row("127.0.0.0/8", "loopback", "RFC 1122"),
    _row("168.63.129.16/32", "platform of a cloud", "Azure"),
    _row("169.254.0.0/16", "link-local, metadata of clouds", "RFC 3927"),
    _row("172.16.0.0/12", "private", "RFC 1918"),
    _row("192.0.0.0/24", "protocol assignments, metadata of a cloud", "RFC 6890"),
    _row("192.0.2.0/24", "documentation", "RFC 5737"),
    _row("192.88.99.0/24", "relays of 6to4, given up", "RFC 7526"),
    _row("192.168.0.0/16", "private", "RFC 1918"),
    _row("198.18.0.0/15", "benchmarks", "RFC 2544"),
    _row("198.51.100.0/24", "documentation", "RFC 5737"),
    _row("203.0.113.0/24", "documentation", "RFC 5737"),
    _row("224.0.0.0/4", "multicast", "RFC 5771"),
    _row("240.0.0.0/4", "reserved, broadcast", "RFC 1112, RFC 919"),
    _row("::/96", "unspecified, loopback, IPv4-compatible", "RFC 4291"),
    _row("64:ff9b:1::/48", "translation of a site's own", "RFC 8215"),
    _row("100::/64", "discarded", "RFC 6666"),
    _row("100:0:0:1::/64", "dummy prefix", "RFC 9780"),
    _row("2001::/23", "protocol assignments; Teredo is judged by its IPv4", "RFC 2928"),
    _row("2001:db8::/32", "documentation", "RFC 3849"),
    _row("3fff::/20", "documentation", "RFC 9637"),
    _row("5f00::/16", "segment routing", "RFC 9602"),
    _row("fc00::/7", "unique local, metadata of a cloud", "RFC 4193"),
    _row("fe80::/10", "link-local", "RFC 4291"),
    _row("fec0::/10", "site-local, given up", "RFC 3879"),
    _row("ff00::/8", "multicast", "RFC 4291"),
)
#: Of IPv6 only this is handed out; all else is refused, named above or not.
HANDED_OUT: Final = Row(IPv6Network("2000::/3"), "global unicast", "RFC 3513")
_NOT_HANDED_OUT: Final = Row(IPv6Network("::/0"), "not handed out", "RFC 3513")

_MAPPED: Final = IPv6Network("::ffff:0:0/96")
_TRANSLATED: Final = IPv6Network("::ffff:0:0:0/96")
_NAT64: Final = IPv6Network("64:ff9b::/96")
_SIX_TO_FOUR: Final = IPv6Network("2002::/16")
_TEREDO: Final = IPv6Network("2001::/32")
_LOW: Final = 0xFFFFFFFF


def meant(address: Address) -> tuple[IPv4Address, ...]:
    """The IPv4 addresses that an IPv6 one leads to: RFC 4291, 6052, 7915, 3056 and 4380."""
    if isinstance(address, IPv4Address):
        return ()
    number = int(address)
    if any(address in network for network in (_MAPPED, _TRANSLATED, _NAT64)):
        return (IPv4Address(number & _LOW),)
    if address in _SIX_TO_FOUR:
        return (IPv4Address(number >> 80 & _LOW),)
    if address in _TEREDO:
        # The server, and the client whose bits are turned over.
        return IPv4Address(number >> 64 & _LOW), IPv4Address(number & _LOW ^ _LOW)
    return ()


def why_refused(address: Address) -> Row | None:
    """The row that refuses an address; ``None`` when it belongs to the internet at large."""
    within = meant(address)
    if within:
        return next((row for each in within if (row := why_refused(each)) is not None), None)
    for row in INWARD:
        if address.version == row.network.version and address in row.network:
            return row
    if isinstance(address, IPv6Address) and address not in HANDED_OUT.network:
        return _NOT_HANDED_OUT
    return None
