"""What operators see of gateways: documents and the nats command, beside the real server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from framework.testing import OURS
from tests.interop.gateways import Supercluster

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from framework.testing import Fleet, NatsCli

REAL = "2.15.2"


@pytest.fixture
def mixed(fleet: Fleet) -> Iterator[Supercluster]:
    """Two clusters that know each other alike: one ours, one real."""
    with Supercluster(fleet, [[OURS], [REAL]]) as both:
        both.check_all()
        yield both


def shape(value: Any) -> Any:
    """Return the names of fields, and what is the same for every server."""
    if isinstance(value, dict):
        return {
            name: shape(it) if name not in {"name", "kind", "interest_mode"} else type(it).__name__
            for name, it in value.items()
            if name not in {"num_subs", "num_queue_subs"}
        }
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return type(value).__name__


def by_other(document: Mapping[str, Any]) -> Any:
    """Return the shapes of a `/gatewayz` with the cluster at the other end left out."""
    return shape({
        **document,
        "outbound_gateways": list(document["outbound_gateways"].values()),
        "inbound_gateways": list(document["inbound_gateways"].values()),
    })


@pytest.mark.peer(REAL)
@pytest.mark.parametrize("query", ["", "?accs=1", "?acc_name=$G", "?accs=1&subs=1"])
def test_gatewayz_has_the_fields_of_the_real_one(mixed: Supercluster, query: str) -> None:
    with mixed.client("A0", b"seen 1"), mixed.client("B0", b"seen 1"):
        for name, other in (("A0", "B0"), ("B0", "A0")):
            with mixed.client(name) as client:
                client.await_interest(b"seen")
            assert other  # each has heard of the other's interest
        ours, real = mixed.gatewayz("A0", query), mixed.gatewayz("B0", query)

    assert by_other(ours) == by_other(real)
    assert set(ours["outbound_gateways"]) == {"B"}
    assert set(real["outbound_gateways"]) == {"A"}


@pytest.mark.peer(REAL)
def test_varz_has_the_block_of_the_real_one(mixed: Supercluster) -> None:
    blocks = [mixed.servers[name].document("/varz")["gateway"] for name in ("A0", "B0")]

    assert shape(blocks[0]) == shape(blocks[1])
    assert blocks[0]["gateways"] == blocks[1]["gateways"]


@pytest.mark.peer(REAL, "nats")
def test_the_nats_command_lists_servers_and_their_gateways(
    mixed: Supercluster, nats_cli: NatsCli
) -> None:
    url = f"nats://sys:pass@127.0.0.1:{mixed.servers['A0'].port}"
    listed = nats_cli.run(url, "server", "list")
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in listed.splitlines()]

    assert {(row[0], row[8]) for row in rows if row and row[0] in {"A0", "B0"}} == {
        ("A0", "1"),
        ("B0", "1"),
    }
    assert ["A", "1", "1", "1"] in [row[:4] for row in rows]
    assert ["B", "1", "1", "1"] in [row[:4] for row in rows]
    report = nats_cli.run(url, "server", "report", "gateways")
    assert report.count("Inbound") == report.count("Outbound") == 2
