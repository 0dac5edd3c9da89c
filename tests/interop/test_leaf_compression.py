"""Compression between hubs and leaf nodes: who settles on what, and that everything arrives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from framework.testing import OURS
from framework.testing.client import RawClient
from tests.interop.leafnodes import Star
from tests.interop.mixtures import parameters

if TYPE_CHECKING:
    from framework.testing import Fleet

REAL = "2.15.2"
PAIRS = [(OURS, OURS), (OURS, REAL), (REAL, OURS), (REAL, REAL)]
MODES = ("off", "accept", "s2_best", "s2_auto")


@pytest.fixture(params=parameters(PAIRS))
def kinds(request: pytest.FixtureRequest) -> tuple[str, str]:
    return request.param


def shown(star: Star, name: str) -> str:
    """Return what a server says of its only leaf node, or hub."""
    row = star.leafz(name)["leafs"][0]
    said: str = row.get("compression", "")
    return said


def level(mode: str, said: str) -> str:
    """Return what an end shows, without what depends on how fast the machine is."""
    return "by round trip" if mode == "s2_auto" and said.startswith("s2_") else said


@pytest.mark.parametrize("leaf_mode", MODES)
@pytest.mark.parametrize("hub_mode", MODES)
def test_both_ends_show_what_they_settle_on(fleet: Fleet, hub_mode: str, leaf_mode: str) -> None:
    said = set()
    for hub, leaf in PAIRS:
        with Star(
            fleet, hub, [leaf], block=f"compression: {hub_mode}", remote=f"compression: {leaf_mode}"
        ) as star:
            star.check_all()
            ends = ((hub_mode, "hub"), (leaf_mode, "leaf0"))
            said.add(tuple(level(mode, shown(star, name)) for mode, name in ends))

    assert len(said) == 1, said


def test_it_is_on_where_nothing_is_said(kinds: tuple[str, str], fleet: Fleet) -> None:
    hub, leaf = kinds
    with Star(fleet, hub, [leaf]) as star:
        star.check_all()

        for name in ("hub", "leaf0"):
            assert level("s2_auto", shown(star, name)) == "by round trip"


@pytest.mark.parametrize("size", [0, 5, 64 << 10, (1 << 20) - 64])
def test_messages_arrive_whole(kinds: tuple[str, str], fleet: Fleet, size: int) -> None:
    hub, leaf = kinds
    payload = b"all the same, or nearly so %d" * (size // 28 + 1)
    payload = payload[:size]
    with Star(fleet, hub, [leaf], block="compression: s2_best") as star:
        for here, there in (("hub", "leaf0"), ("leaf0", "hub")):
            star.check(here, there)
            with star.client(there, b"whole 1") as far, star.client(here) as publisher:
                publisher.await_interest(b"whole")
                far.read_until(b"MSG whole")
                publisher.send(b"PUB whole %d\r\n%b\r\n" % (len(payload), payload) * 3)

                for _ in range(3):
                    assert far.read_until(b"MSG whole")[-1].body == payload


@pytest.mark.parametrize("kind", parameters([(OURS,), (REAL,)]))
def test_a_hub_is_changed_by_reload(fleet: Fleet, kind: tuple[str]) -> None:
    with Star(fleet, OURS, kind, block="compression: s2_fast") as star:
        star.check_all()
        assert shown(star, "hub") == "s2_fast"
        hub = star.servers["hub"]
        hub.reload(star.config("hub").replace("s2_fast", "s2_better"))
        star.check_all()

        assert shown(star, "hub") == "s2_better"


def test_a_leaf_node_may_introduce_itself_once(fleet: Fleet) -> None:
    with Star(fleet, OURS, []) as star, RawClient(star.port) as client:
        info = b'INFO {"server_id":"N","compression":"off"}\r\n'
        client.send(info)
        client.send(info)
        said = [it.line for it in client.read_to_end() if it.verb == b"-ERR"]

        assert said == [b"-ERR 'Authorization Violation'"]


def test_an_unheard_of_mode_is_refused(fleet: Fleet) -> None:
    said = []
    for kind in (OURS, REAL):
        with Star(fleet, kind, []) as star, RawClient(star.port) as client:
            client.send(b'INFO {"server_id":"N","compression":"s3"}\r\n')
            said.append([it.line for it in client.read_to_end() if it.verb == b"-ERR"])

    assert said[0] == said[1]
    assert said[0]
