"""Three servers of one kind with a stream of three replicas."""

from __future__ import annotations

import base64
import json
import math
import threading
import time
from itertools import permutations
from typing import TYPE_CHECKING, Any

from framework.testing import TcpProxy
from framework.testing.fleet import OURS, Fleet, free_port
from tests.torture.disks import Disks
from tests.torture.history import Stored
from tests.torture.publisher import Asker

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from framework.testing.server_process import ServerProcess

NAMES = ("n1", "n2", "n3")
STREAM = "T"
OURS_CONFIG = """jetstream {{ store_dir: "{store}", replication: true }}
accounts {{ $SYS {{ users: [ {{ user: sys, password: x }} ] }} }}
"""
REAL_CONFIG = """jetstream {{ store_dir: "{store}" }}
accounts {{ $SYS {{ users: [ {{ user: sys, password: x }} ] }} }}
"""
WAIT_S = 60.0
ASKED_AT_ONCE = 100
"""Messages of the stream."""
AGAIN_S = 0.02


class NotSoError(AssertionError):
    """Something did not come about in time."""


def rest(seconds: float) -> None:
    """Let so much time pass: as a part of a fault, or between two questions."""
    threading.Event().wait(seconds)


def until(what: str, is_so: Callable[[], Any], wait_s: float = WAIT_S) -> Any:
    """Ask until it is so; raises NotSoError when it takes too long."""
    end = time.perf_counter() + wait_s
    while not (found := is_so()):
        if time.perf_counter() > end:
            raise NotSoError(f"not in {wait_s:.0f} s: {what}")
        rest(AGAIN_S)
    return found


class TorturedCluster:
    """Servers that can be killed, paused and started again.

    Args:
        kind: As `Fleet.start` takes it.
        folder: Of their files.
        has_wires: They reach each other by proxies, one for each of two and direction.
        has_disks: Each has a file system of its own.
    """

    def __init__(
        self, kind: str, folder: Path, *, has_wires: bool = False, has_disks: bool = False
    ) -> None:
        self._fleet = Fleet(folder)
        self._folder = folder
        self.servers: dict[str, ServerProcess] = {}
        self.disks = Disks(folder, NAMES) if has_disks else None
        self.damaged: list[str] = []
        """Servers whose files were damaged, with each time."""
        self._wires = {it: TcpProxy() for it in permutations(NAMES, 2)} if has_wires else {}
        plugin = ("-plugin", "framework_jetstream.plugin") if kind == OURS else ()
        text = OURS_CONFIG if kind == OURS else REAL_CONFIG
        ports = {name: free_port() for name in NAMES}
        for (_, target), wire in self._wires.items():
            wire.target_port = ports[target]
        for name, port in ports.items():
            routes = [self._wires[name, it].port for it in NAMES if (name, it) in self._wires]
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

    def create(self) -> None:
        """Make the stream, when somebody can."""
        self._configure("CREATE", len(NAMES))
        until("all replicas are current", self.is_current)

    def scale(self, replicas: int) -> None:
        """Let the stream have so many replicas."""
        self._configure("UPDATE", replicas)

    def _configure(self, verb: str, replicas: int) -> None:
        config = {"name": STREAM, "subjects": ["t.>"], "num_replicas": replicas, "storage": "file"}
        config |= {"duplicate_window": 120_000_000_000}
        wanted = json.dumps(config).encode()

        def done() -> bool:
            return "config" in self.asker.ask(f"$JS.API.STREAM.{verb}.{STREAM}", wanted)

        until(f"{verb} for {replicas} replicas is done", done)

    def info(self) -> dict[str, Any]:
        """Return what who leads the stream says of it; nothing: nobody says anything."""
        return self.asker.ask(f"$JS.API.STREAM.INFO.{STREAM}")

    def leader(self) -> str:
        """Return who leads the stream."""
        return str(until("somebody leads", lambda: self._leader_of(self.info())))

    @staticmethod
    def _leader_of(info: dict[str, Any]) -> str:
        return str((info.get("cluster") or {}).get("leader") or "")

    def is_current(self) -> bool:
        """Whether all replicas have all that the leader has."""
        replicas = (self.info().get("cluster") or {}).get("replicas") or ()
        good = [it for it in replicas if it.get("current") and not it.get("offline")]
        return len(good) == len(NAMES) - 1

    def restart(self, name: str) -> None:
        """Start a server again that was killed, on the same ports."""
        self.servers[name] = self._fleet.restart(self.servers[name])

    def messages(self) -> list[Stored]:
        """Return what who leads the stream has."""
        state = until("the state is known", lambda: self.info().get("state"))
        found = []
        for first in range(state["first_seq"], state["last_seq"] + 1, ASKED_AT_ONCE):
            seqs = range(first, min(first + ASKED_AT_ONCE, state["last_seq"] + 1))
            wanted = [json.dumps({"seq": it}).encode() for it in seqs]

            def get(wanted: Sequence[bytes] = wanted) -> list[dict[str, Any]]:
                said = self.asker.ask_all(f"$JS.API.STREAM.MSG.GET.{STREAM}", wanted)
                codes = [(it.get("error") or {}).get("code") for it in said]
                return said if all(said) and 503 not in codes else []

            told = until(f"messages from {first} on are told", get)
            for seq, said in zip(seqs, told, strict=True):
                if "message" not in said:
                    continue
                message = said["message"]
                headers = base64.b64decode(message.get("hdrs", "")).decode()
                name = headers.partition("Nats-Msg-Id: ")[2].partition("\r\n")[0]
                found.append(Stored(seq, name, base64.b64decode(message.get("data", ""))))
        return found

    def replicas(self) -> list[list[Stored]]:
        """Return what each server has, when it leads the stream."""
        found: dict[str, list[Stored]] = {}

        def another_leads() -> str:
            leader = self.leader()
            if leader not in found:
                return leader
            left = next(it for it in NAMES if it not in found)
            wanted = json.dumps({"placement": {"preferred": left}}).encode()
            self.asker.ask(f"$JS.API.STREAM.LEADER.STEPDOWN.{STREAM}", wanted)
            return ""

        while len(found) < len(NAMES):
            leader = until("a server leads the stream that has not yet", another_leads)
            read = self.messages()
            if self.leader() == leader:  # else it was read from two of them
                found[leader] = read
        return [found[it] for it in NAMES]

    def stop(self) -> None:
        """End all servers."""
        self.asker.close()
        for server in self.servers.values():
            server.kill()
        for wire in self._wires.values():
            wire.stop()
        if self.disks is not None:
            self.disks.stop()
