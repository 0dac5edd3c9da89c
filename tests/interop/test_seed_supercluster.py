"""The documented supercluster: its files as they are but for streams, by servers of any kind.

Source: natsbyexample.com, "Supercluster with JetStream".
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from framework.testing import OURS, await_answer, free_port
from tests.interop.mixtures import parameters

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from framework.testing import Fleet, NatsCli, ServerProcess

REAL, OLD = "2.15.2", "2.9.10"
NAMES = ("east", "central", "west")
SYSTEM = """
accounts: {
  $SYS: {
    users: [{user: sys, password: pass}]
  }
}
"""
TEXT = """
port: 422{at}
http_port: 822{at}
server_name: n{number}

include sys.conf

cluster: {{
  name: {name},
  port: 622{at},
  routes: [
    "nats-route://0.0.0.0:622{at}"
  ],
}}

gateway: {{
  name: "{name}",
  port: 722{at},
  gateways: [
    {{name: "east", urls: ["nats://0.0.0.0:7222"]}},
    {{name: "central", urls: ["nats://0.0.0.0:7223"]}},
    {{name: "west", urls: ["nats://0.0.0.0:7224"]}},
  ]
}}
"""
MIXTURES = [
    (OURS, OURS, OURS),
    (OURS, REAL, OURS),
    (REAL, OURS, REAL),
    (OURS, REAL, OLD),
    (OLD, OURS, OURS),
    (REAL, REAL, REAL),
]


def write_files(folder: Path) -> Mapping[str, int]:
    """Write the files with ports that are free; return the ports of clients."""
    (folder / "sys.conf").write_text(SYSTEM)
    ports = {f"{kind}22{at}": free_port() for kind in (4, 6, 7, 8) for at in (2, 3, 4)}
    for number, name in enumerate(NAMES, 1):
        text = TEXT.format(name=name, number=number, at=number + 1)
        # In one pass: a port that is free may have one of the others in it.
        text = re.sub(r"\b[4678]22[234]\b", lambda found: str(ports[found[0]]), text)
        (folder / f"{name}.conf").write_text(text)
    return {name: ports[f"422{at}"] for at, name in enumerate(NAMES, 2)}


def gateways(server: ServerProcess) -> tuple[set[str], set[str]]:
    """Return the clusters that a server is connected with, out and in."""
    document: Mapping[str, Any] = server.document("/gatewayz")
    both = (document["outbound_gateways"], document["inbound_gateways"])
    return set(both[0]), {name for name, each in both[1].items() if each}


@pytest.mark.peer("nats")
@pytest.mark.parametrize("kinds", parameters(MIXTURES))
def test_the_documented_supercluster(
    fleet: Fleet, tmp_path: Path, nats_cli: NatsCli, kinds: tuple[str, ...]
) -> None:
    ports = write_files(tmp_path)
    servers = {
        name: fleet.start(
            "-c", str(tmp_path / f"{name}.conf"), kind=kind, clustered=True, port=None
        )
        for name, kind in zip(NAMES, kinds, strict=True)
    }
    for name, server in servers.items():
        others = set(NAMES) - {name}
        await_answer(server, lambda at=server: gateways(at), (others, others).__eq__)  # type: ignore[misc]
    with servers["west"].client() as responder, servers["east"].client() as requestor:
        responder.log_in()
        responder.send(b"SUB service 1\r\n")
        requestor.log_in(headers=True, no_responders=True)
        requestor.await_interest(b"service")
        responder.read_until(b"MSG service")
        requestor.send(b"SUB _INBOX.x 1\r\nPUB service _INBOX.x 2\r\nhi\r\n")
        asked = responder.read_until(b"MSG service")[-1]
        responder.send(b"PUB %b 5\r\nthere\r\n" % asked.line.split()[-2])

        assert requestor.read_until(b"MSG _INBOX.x")[-1].body == b"there"
    url = f"nats://sys:pass@127.0.0.1:{ports['east']}"
    listed = json.loads(nats_cli.run(url, "server", "list", "3", "--json"))
    assert sorted(it["server"]["name"] for it in listed) == ["n1", "n2", "n3"]
    table = nats_cli.run(url, "server", "list", "3")
    assert all(name in table for name in (*NAMES, "n1", "n2", "n3"))
    report = nats_cli.run(url, "server", "report", "gateways")
    assert all(name in report for name in NAMES)
