"""Addresses that are no part of the internet, in every spelling that leads to them."""

from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor_py.outbound.addresses import AddressRefused, AddressRules, networks
from conductor_py.outbound.inward import HANDED_OUT, INWARD, Address, Row, meant, why_refused

SECURITY = Path(__file__).parents[2] / "docs" / "explanation" / "security.md"


def within(row: Row) -> st.SearchStrategy[Address]:
    return st.ip_addresses(network=row.network)


def forms(number: int) -> dict[str, IPv6Address]:
    """The IPv6 addresses that lead to an IPv4 one."""
    return {
        "mapped": IPv6Address(0xFFFF << 32 | number),
        "translated": IPv6Address(0xFFFF << 48 | number),
        "NAT64": IPv6Address(0x64FF9B << 96 | number),
        "6to4": IPv6Address(0x2002 << 112 | number << 80),
        "Teredo client": IPv6Address(0x20010000 << 96 | 0x01010101 << 64 | (number ^ 0xFFFFFFFF)),
        "Teredo server": IPv6Address(0x20010000 << 96 | number << 64 | (0x01010101 ^ 0xFFFFFFFF)),
    }


@pytest.mark.parametrize("row", INWARD, ids=lambda row: str(row.network))
@given(data=st.data())
def test_no_address_of_a_refused_network_is_public(row: Row, data: st.DataObject) -> None:
    network = row.network
    drawn = data.draw(within(row))
    for address in (drawn, network[0], network[-1]):
        # Some of the IPv6 networks hold addresses that stand for IPv4 ones.
        if not meant(address):
            assert why_refused(address) == row


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_has_one_verdict_in_every_form(address: IPv4Address) -> None:
    refused = why_refused(address)
    for form, written in forms(int(address)).items():
        assert why_refused(written) == refused, form


@given(st.ip_addresses(v=6))
def test_ipv6_that_is_not_handed_out_is_refused(address: IPv6Address) -> None:
    if not meant(address) and address not in HANDED_OUT.network:
        assert why_refused(address) is not None


@pytest.mark.parametrize(
    "address",
    [
        "192.0.0.192",
        "198.19.255.255",
        "192.88.99.1",
        "::127.0.0.1",
        "::8.8.8.8",
        "::ffff:0:127.0.0.1",
        "::ffff:0:169.254.169.254",
        "64:ff9b:1::7f00:1",
        "64:ff9b:1:7f00:0:100::",
        "2001:0:7f00:1::",
        "2001:0:101:101::80ff:fffe",
        "2001:2::1",
        "2001:20::1",
        "2001:db8::1",
        "3fff::1",
        "3fff:fff:ffff::1",
        "5f00::1",
        "100::1",
        "100:0:0:1::1",
        "4000::1",
        "fdff::1",
        "febf::1",
        "2606:4700::1111%eth0",
        "fe80::1%1",
    ],
)
def test_address_that_leads_inward_is_refused(address: str) -> None:
    with pytest.raises(AddressRefused):
        AddressRules(resolve=lambda *_: (address,)).addresses("any.example", 80)


@pytest.mark.parametrize(
    "address",
    [
        "8.8.8.8",
        "100.63.255.255",
        "100.128.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "192.0.1.0",
        "198.17.255.255",
        "198.20.0.0",
        "223.255.255.255",
        "2001:200::1",
        "2001:4860:4860::8888",
        "2a00:1450::1",
        "3fff:1000::1",
        "2002:808:808::1",
    ],
)
def test_address_next_to_a_refused_network_is_public(address: str) -> None:
    assert why_refused(ip_address(address)) is None


def test_a_link_of_this_machine_is_reached_where_its_network_is_allowed() -> None:
    rules = AddressRules(networks=networks(["fe80::/10"]), resolve=lambda *_: ("fe80::1%eth0",))
    assert rules.addresses("printer.example", 80) == ("fe80::1%eth0",)


def test_a_tunnel_is_allowed_only_when_both_its_ends_are() -> None:
    teredo = str(forms(int(IPv4Address("127.0.0.1")))["Teredo client"])
    rules = AddressRules(networks=networks(["127.0.0.0/8"]), resolve=lambda *_: (teredo,))
    with pytest.raises(AddressRefused):
        rules.addresses("any.example", 80)


def test_every_row_is_documented_with_its_source() -> None:
    lines = SECURITY.read_text().splitlines()
    for row in INWARD:
        assert f"| `{row.network}` | {row.meaning} | {row.source} |" in lines
