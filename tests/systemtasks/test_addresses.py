"""Which addresses HTTP tasks may reach."""

import pytest

from conductor_py.model.status import TaskStatus
from conductor_py.outbound.addresses import AddressRefused, AddressRules, networks
from tests.systemtasks.conftest import WebServer, ask, response_of

PUBLIC = "93.184.216.34"


def rules(
    *resolved: str, hosts: tuple[str, ...] = (), allowed: tuple[str, ...] = ()
) -> AddressRules:
    return AddressRules(hosts=hosts, networks=networks(allowed), resolve=lambda *_: resolved)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.8.8.8",
        "0.0.0.0",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "100.100.100.200",
        "168.63.129.16",
        "224.0.0.1",
        "239.1.1.1",
        "240.0.0.1",
        "255.255.255.255",
        "192.0.2.1",
        "::",
        "::1",
        "fe80::1%eth0",
        "fc00::1",
        "fd00:ec2::254",
        "fec0::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::",
    ],
)
def test_addresses_inside_are_refused(address: str) -> None:
    with pytest.raises(AddressRefused, match="allowedHosts"):
        rules(address).addresses("any.example", 80)


@pytest.mark.parametrize("address", [PUBLIC, "2606:4700::1111", "64:ff9b::5db8:d822"])
def test_public_addresses_are_reached(address: str) -> None:
    assert rules(address).addresses("any.example", 80) == (address,)


def test_only_the_public_addresses_of_a_host_are_tried() -> None:
    assert rules("10.0.0.1", PUBLIC, "::1").addresses("any.example", 80) == (PUBLIC,)


@pytest.mark.parametrize("host", ["inner.example", "INNER.example.", "a.b.lan"])
def test_allowed_hosts_are_reached_wherever_they_point(host: str) -> None:
    assert rules("10.0.0.1", hosts=("Inner.example", "*.lan")).addresses(host, 80) == ("10.0.0.1",)


def test_other_hosts_are_not() -> None:
    with pytest.raises(AddressRefused):
        rules("10.0.0.1", hosts=("inner.example",)).addresses("x.inner.example", 80)


@pytest.mark.parametrize("address", ["10.0.0.1", "::ffff:10.0.0.1"])
def test_allowed_networks_are_reached(address: str) -> None:
    assert rules(address, allowed=("10.0.0.0/8",)).addresses("any.example", 80) == (address,)


def test_a_refused_address_fails_the_task_for_good_and_nothing_is_sent(web: WebServer) -> None:
    result = ask({"uri": web.answer("/a"), "method": "GET"}, AddressRules())
    assert result.status is TaskStatus.FAILED_WITH_TERMINAL_ERROR
    assert "127.0.0.1" in str(response_of(result))
    assert not web.seen


@pytest.mark.parametrize("number", ["2130706433", "0x7f.1", "127.1", "017700000001"])
def test_other_spellings_of_an_address_are_refused_too(web: WebServer, number: str) -> None:
    result = ask({"uri": f"http://{number}:{web.port}/", "method": "GET"}, AddressRules())
    assert result.status.terminal
    assert not result.status.successful
    assert not web.seen


def test_a_redirect_inward_is_refused(web: WebServer) -> None:
    url = web.answer("/a", "", 302, Location="http://inner.example/latest/meta-data")
    found = {"127.0.0.1": "127.0.0.1", "inner.example": "169.254.169.254"}
    guarded = AddressRules(
        networks=networks(["127.0.0.0/8"]), resolve=lambda host, _: (found[host],)
    )
    result = ask({"uri": url, "method": "GET"}, guarded)
    assert result.status is TaskStatus.FAILED_WITH_TERMINAL_ERROR
    assert "169.254.169.254" in str(result.reason)


def test_a_name_whose_answer_changes_is_reached_at_the_address_that_was_judged(
    web: WebServer,
) -> None:
    asked: list[str] = []

    def resolve(host: str, _port: int) -> tuple[str, ...]:
        asked.append(host)
        return ("127.0.0.1",) if len(asked) == 1 else ("169.254.169.254",)

    web.answer("/a", "1")
    guarded = AddressRules(networks=networks(["127.0.0.0/8"]), resolve=resolve)
    result = ask({"uri": f"http://rebound.example:{web.port}/a", "method": "GET"}, guarded)
    assert response_of(result)["body"] == 1.0
    assert asked == ["rebound.example"]
    assert web.seen[0].headers["Host"] == f"rebound.example:{web.port}"
