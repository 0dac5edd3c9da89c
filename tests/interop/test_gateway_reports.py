"""What operators see of gateways: documents and the nats command, beside the real server."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError

import pytest

from framework.server.assembly import Assembly
from framework.spec import LinkKind
from framework.testing import OURS, RawClient, free_port
from framework.testing.embedded import embedded_server
from tests.interop.gateways import Supercluster

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

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


ACCOUNTS = """
    accounts {
        $SYS { users: [{ user: s, password: x }] }
        A { users: [{ user: a, password: x }] }
    }
"""
OF_ONE_RUN = frozenset({
    "server_id",
    "now",
    "cid",
    "ip",
    "port",
    "start",
    "last_activity",
    "rtt",
    "uptime",
    "idle",
    "in_msgs",
    "out_msgs",
    "in_bytes",
    "out_bytes",
    "pending_bytes",
})


def shown(document: Mapping[str, Any], path: tuple[str, ...] = ()) -> Any:
    """Return a document with its fields in order; of what is of one run, the type alone."""
    return [(name, _inner(name, value, path)) for name, value in document.items()]


def _inner(name: str, value: Any, path: tuple[str, ...]) -> Any:
    if name in OF_ONE_RUN or (name == "name" and path[-1:] == ("connection",)):
        return type(value).__name__
    if isinstance(value, dict):
        return shown(value, (*path, name))
    if name == "accounts":
        return sorted(shown(it) for it in value if it["name"] != "$SYS")
    if isinstance(value, list):
        return (
            sorted(map(str, value)) if name == "subscriptions_list" else [shown(it) for it in value]
        )
    return value


@pytest.mark.peer(REAL)
@pytest.mark.parametrize("query", ["", "?accs=1", "?acc_name=A&subs=1", "?gw_name=B", "?gw_name=C"])
def test_gatewayz_is_that_of_the_real_one(fleet: Fleet, query: str) -> None:
    documents = []
    for kind in (OURS, REAL):
        with Supercluster(fleet, [[kind], [REAL]], more=ACCOUNTS) as both:
            login = {"user": "a", "pass": "x"}
            both.check("A0", "B0", user="a")
            both.check("B0", "A0", user="a")
            with (
                both.client("B0", b"seen.* 1", b"seen.* q 2", **login),
                both.client("A0", **login) as client,
            ):
                client.await_interest(b"seen.here")
                documents.append(shown(both.gatewayz("A0", query)))

    ours, real = documents
    assert ours == real


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


def test_probes_are_told_to_wait_until_gateways_are_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Monitoring is there before: who starts slowly says so."""
    port, run, told = free_port(), Assembly.run, []

    async def run_slowly(assembly: Assembly) -> None:
        await run(assembly)
        told.append(await asyncio.to_thread(probe, port))

    async def start() -> None:
        block = 'gateway { name: A, listen: "127.0.0.1:-1" }'
        config = f'http: "127.0.0.1:{port}"\n{block}'
        async with embedded_server(tmp_path, config, plugins=("gateway",)) as server:
            told.append(await asyncio.to_thread(probe, port))
            _, gateways = server.address(LinkKind.GATEWAY)  # type: ignore[misc]
            with RawClient(gateways) as peer:
                told.append(await asyncio.to_thread(peer.expect, b"INFO"))

    monkeypatch.setattr(Assembly, "run", run_slowly)
    asyncio.run(start())

    early, late, greeting = told
    assert early == (503, {"status": "unavailable", "error": "server: not accepting clients"})
    assert late == (200, {"status": "ok"})
    assert greeting.document["gateway"] == "A"


def probe(port: int) -> tuple[int, object]:
    """Return status and document of `/healthz`."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz") as answer:
            return answer.status, json.load(answer)
    except HTTPError as error:
        with error:
            return error.code, json.load(error)
