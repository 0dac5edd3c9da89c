"""A cluster of one kind, under faults, and a client of it."""

from __future__ import annotations

import json
import math
from itertools import permutations
from typing import TYPE_CHECKING, Any

from framework.testing import TcpProxy
from framework.testing.fleet import OURS, Fleet, free_port
from tests.torture.disks import Disks
from tests.torture.publisher import Asker
from tests.torture.stream import TorturedStream
from tests.torture.waiting import until

if TYPE_CHECKING:
    from pathlib import Path

    from framework.testing.server_process import ServerProcess

NAMES = ("n1", "n2", "n3")
SYSTEM = {"user": "sys", "pass": "x"}
"""Who may ask what concerns all accounts."""
OURS_CONFIG = """jetstream {{ store_dir: "{store}", replication: true }}
accounts {{ $SYS {{ users: [ {{ user: sys, password: x }} ] }} }}
"""
REAL_CONFIG = """jetstream {{ store_dir: "{store}" }}
accounts {{ $SYS {{ users: [ {{ user: sys, password: x }} ] }} }}
"""


class TorturedCluster:
    """Servers that can be killed, paused and started again.

    Args:
        kind: As `Fleet.start` takes it.
        folder: Of their files.
        names: Of the servers.
        has_wires: They reach each other by proxies, one for each of two and direction.
        has_disks: Each has a file system of its own.
    """

    def __init__(
        self,
        kind: str,
        folder: Path,
        names: tuple[str, ...] = NAMES,
        *,
        has_wires: bool = False,
        has_disks: bool = False,
    ) -> None:
        self._fleet = Fleet(folder)
        self._folder = folder
        self.servers: dict[str, ServerProcess] = {}
        self.disks = Disks(folder, names) if has_disks else None
        self.damaged: list[str] = []
        """Servers whose files were damaged, with each time."""
        self._wires = {it: TcpProxy() for it in permutations(names, 2)} if has_wires else {}
        plugin = ("-plugin", "framework_jetstream.plugin") if kind == OURS else ()
        text = OURS_CONFIG if kind == OURS else REAL_CONFIG
        ports = {name: free_port() for name in names}
        for (_, target), wire in self._wires.items():
            wire.target_port = ports[target]
        for name, port in ports.items():
            routes = [self._wires[name, it].port for it in names if (name, it) in self._wires]
            # Who learns of a server from another one comes to nobody: only wires lead to it.
            advertised = 'cluster { advertise: "127.0.0.1:1" }\n' if routes else ""
            urls = [f"nats://127.0.0.1:{it}" for it in routes or ports.values()]
            self.servers[name] = self._fleet.start(
                *("-cluster", f"nats://127.0.0.1:{port}", "-cluster_name", "torture", "-n", name),
                *("-routes", ",".join(urls)),
                *plugin,
                kind=kind,
                config=text.format(store=self.store(name)) + advertised,
                clustered=True,
            )
        self.ports = [it.port for it in self.servers.values()]
        self.asker = Asker(self.ports)
        self.system = Asker(self.ports, login=SYSTEM)
        self.stream = TorturedStream(self.asker)

    def store(self, name: str) -> Path:
        """Return where a server keeps its streams."""
        return self.disks.path(name) / "store" if self.disks is not None else self._folder / name

    def hold(self, name: str) -> None:
        """Let nothing pass between a server and the others; connections stay open."""
        for ends, wire in self._wires.items():
            if name in ends:
                wire.delay_s = math.inf

    def heal(self) -> None:
        """Let everything pass, also what was held."""
        for wire in self._wires.values():
            wire.delay_s = 0.0
            wire.release()

    def restart(self, name: str) -> None:
        """Start a server again that was killed, on the same ports."""
        self.servers[name] = self._fleet.restart(self.servers[name])

    def servers_of(self, stream: TorturedStream) -> list[str]:
        """Return who says that it has a stream; raises NotSoError where one says nothing."""
        return [it for it in self.servers if stream.name in self._streams_at(it)]

    def are_together(self) -> bool:
        """Whether who leads the meta group has all servers in it, with all entries."""
        for server in self.servers:
            cluster = self._jsz(server).get("meta_cluster") or {}
            if cluster.get("leader") == server:
                others = [it for it in cluster.get("replicas") or () if it["current"]]
                is_there = [it for it in others if not it.get("offline")]
                return len(is_there) == len(self.servers) - 1
        return False

    def _streams_at(self, server: str) -> set[str]:
        accounts = self._jsz(server).get("account_details", ())
        return {it["name"] for account in accounts for it in account.get("stream_detail", ())}

    def _jsz(self, server: str) -> dict[str, Any]:
        wanted = {"server_name": server, "exact_match": True, "accounts": True, "streams": True}
        asked = json.dumps(wanted).encode()

        def told() -> dict[str, Any]:
            return self.system.ask("$SYS.REQ.SERVER.PING.JSZ", asked)

        data: dict[str, Any] = until(f"{server} tells of its streams", told)["data"]
        return data

    def write_logs(self) -> None:
        """Write what each server has said since its last start, beside the stores."""
        for name, server in self.servers.items():
            (self._folder / f"{name}.log").write_text(server.log(), "utf-8")

    def stop(self) -> None:
        """End all servers."""
        self.asker.close()
        self.system.close()
        for server in self.servers.values():
            server.kill()
        for wire in self._wires.values():
            wire.stop()
        if self.disks is not None:
            self.disks.stop()
