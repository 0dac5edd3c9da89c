"""Addresses that are refused at accept: beside the ranges of `ipaddress`, and through sockets."""

from __future__ import annotations

import socket
from ipaddress import IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.dataplane import AddressRefused, Core, LinkKind, Opened, Plane, PlaneLimits
from framework.tests.dataplane.watched import next_events
from framework.tests.sockets import WAIT_S, line
from framework.wire.address import packed_range

if TYPE_CHECKING:
    from ipaddress import IPv4Network

CLIENTS = (LinkKind.CLIENT,)


def core() -> Core:
    made = Core(PlaneLimits(), seed=7)
    made.turn(0)
    return made


def refuse(to: Core, *add: str, remove: tuple[str, ...] = (), table: int = 0) -> None:
    ranges = [packed_range(it) for it in add]
    to.refuse_addresses(table, CLIENTS, add=ranges, remove=[packed_range(it) for it in remove])
    to.turn(0)
    while to.is_busy:
        to.turn(0)


def is_refused(by: Core, host: str, kind: LinkKind = LinkKind.CLIENT) -> bool:
    return by.open(kind, host, 1, accepted=True) == 0


# ---- beside the ranges of ipaddress


def contains(network: IPv4Network | IPv6Network, host: str) -> bool:
    """Return what a range means: one of IPv4 in IPv6's clothes is of IPv4."""
    address = ip_address(host)
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    if isinstance(network, IPv6Network) and network.network_address.ipv4_mapped:
        mapped, bits = network.network_address.ipv4_mapped, network.prefixlen - 96
        if bits >= 0:
            return address in ip_network(f"{mapped}/{bits}")
    return address in network


few_bits = st.integers(0, 255).map(lambda it: it & 0b11000011)
v4 = st.lists(few_bits, min_size=4, max_size=4).map(lambda it: ".".join(map(str, it)))
v6 = st.lists(few_bits, min_size=8, max_size=8).map(lambda it: ":".join(f"{x:x}" for x in it))
hosts = st.one_of(v4, v6, v4.map("::ffff:{}".format))


@st.composite
def ranges(draw: st.DrawFn) -> str:
    host = draw(hosts)
    bits = draw(st.integers(0, 128 if ":" in host else 32))
    return str(ip_network(f"{host}/{bits}", strict=False))


@given(st.lists(ranges(), max_size=8), st.lists(ranges(), max_size=4), st.lists(hosts, max_size=8))
def test_refuses_what_the_ranges_hold(
    added: list[str], removed: list[str], asked: list[str]
) -> None:
    table = core()
    refuse(table, *added)
    refuse(table, remove=(*removed, *added[:2]))
    gone = {packed_range(it) for it in (*removed, *added[:2])}
    left = [ip_network(it) for it in added if packed_range(it) not in gone]

    expected = [any(contains(it, host) for it in left) for host in asked]
    assert expected == [is_refused(table, host) for host in asked]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("10.0.0.1/8", "has host bits set"),
        ("2001:db8::1/32", "has host bits set"),
        ("10.0.0.0/33", "does not appear to be"),
        ("::/129", "does not appear to be"),
        ("10.0.0.0/", "does not appear to be"),
        ("10.0.0.0/-1", "does not appear to be"),
        ("10.0.0.0/8/8", "does not appear to be"),
        ("10.0.0.0/٨", "does not appear to be"),
        ("10.0.0", "does not appear to be"),
        ("example.com", "does not appear to be"),
        ("fe80::1%eth0", "is no IP address"),
        ("10.0.0.\0", "does not appear to be"),
        ("", "does not appear to be"),
    ],
)
def test_what_is_no_range_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        packed_range(text)


# ---- tables


def test_a_table_is_for_the_kinds_that_it_names() -> None:
    table = core()
    refuse(table, "0.0.0.0/0")

    assert is_refused(table, "10.1.2.3")
    assert not is_refused(table, "10.1.2.3", LinkKind.ROUTE)
    assert not is_refused(table, "::1")


def test_each_table_counts_for_itself_and_the_first_one_has_it() -> None:
    both = core()
    refuse(both, "10.0.0.0/8", table=3)
    refuse(both, "10.1.0.0/16", "11.0.0.1", table=15)
    for host in ("10.1.0.0", "10.2.0.0", "11.0.0.1", "11.0.0.2"):
        is_refused(both, host)

    assert (2, 1, 0) == (both.refused_count(3), both.refused_count(15), both.refused_count(0))


def test_who_is_there_stays() -> None:
    table = core()
    link = table.open(LinkKind.CLIENT, "10.0.0.1", 1, accepted=True)
    refuse(table, "10.0.0.1")
    table.turn(0)

    assert is_refused(table, "10.0.0.1")
    assert not any(it.link == link for it in table.take_events() if hasattr(it, "reason"))


def test_some_refusals_are_reported_with_how_many_were_not() -> None:
    table = core()
    refuse(table, "10.0.0.0/8")
    for second in range(2):
        table.turn(second * 1_000_000_000)
        for number in range(5):
            is_refused(table, f"10.0.{second}.{number}")
    table.turn(2_000_000_000)
    reports = [it for it in table.take_events() if isinstance(it, AddressRefused)]

    assert [("10.0.0.0", 0), ("10.0.1.0", 4)] == [(it.host, it.missed) for it in reports]


def test_a_large_change_goes_over_several_turns() -> None:
    table = core()
    many = [packed_range(f"10.{it >> 16}.{it >> 8 & 255}.{it & 255}") for it in range(65_536)]
    table.refuse_addresses(0, CLIENTS, add=many)
    before, turns = table.work, 0
    while turns == 0 or table.is_busy:
        at = table.work
        table.turn(0)
        turns += 1

        assert table.work - at <= 8_192 + 64
    assert table.work - before >= 65_536 * 8
    assert turns >= 64
    assert is_refused(table, "10.0.255.255")


@pytest.mark.parametrize("table", [-1, 16])
def test_there_are_sixteen_tables(table: int) -> None:
    with pytest.raises(ValueError, match="16 tables"):
        core().refuse_addresses(table, CLIENTS)
    with pytest.raises(ValueError, match="16 tables"):
        core().refused_count(table)


def test_ranges_have_seventeen_bytes() -> None:
    with pytest.raises(ValueError, match="17 bytes"):
        core().refuse_addresses(0, CLIENTS, add=[b"\x0a\x00\x00\x01"])


# ---- sockets


@pytest.mark.parametrize("poller", ["epoll", "poll"])
def test_who_is_refused_hears_nothing_and_is_no_link(poller: str) -> None:
    plane = Plane(PlaneLimits(), poller=poller)  # type: ignore[arg-type]
    plane.set_info(LinkKind.CLIENT, b'{"server_id":"S"}')
    with socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True) as listener:
        port = listener.getsockname()[1]
        plane.listen(listener, LinkKind.CLIENT)
    plane.start()
    try:
        plane.refuse_addresses(0, CLIENTS, add=[packed_range("127.0.0.2/31")])
        refused = socket.create_connection(("127.0.0.1", port), WAIT_S, ("127.0.0.2", 0))
        welcome = socket.create_connection(("127.0.0.1", port), WAIT_S)
        with refused, welcome:
            assert refused.recv(1) == b""
            assert line(welcome).startswith(b"INFO {")
            plane.refuse_addresses(0, CLIENTS, remove=[packed_range("127.0.0.2/31")])
        again = socket.create_connection(("127.0.0.1", port), WAIT_S, ("127.0.0.3", 0))
        with again:
            assert line(again).startswith(b"INFO {")
        events: list[object] = []
        while sum(isinstance(it, Opened) for it in events) < 2:
            events += next_events(plane, "two that were let in")

        assert ["127.0.0.1", "127.0.0.3"] == [it.host for it in events if isinstance(it, Opened)]
        assert ["127.0.0.2"] == [it.host for it in events if isinstance(it, AddressRefused)]
        assert 1 == plane.refused_count(0)
    finally:
        plane.stop(WAIT_S)
