"""How long messages stay away when routes are cut, or when a server is killed and started again.

    python -m bench.healing [--rounds 5] [--only cut]

Three servers with pools. One message a millisecond goes from a client of one to a client of
another, which comes back as soon as it can. Shown are the messages that a break costs, the time
without any, and the time until /routez of each server has all connections again; both begin when
it is possible again.
"""

from __future__ import annotations

import argparse
import bisect
import contextlib
import itertools
import json
import socket
import statistics
import tempfile
import threading
import time
import urllib.error
import urllib.request
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bench.clusters import compile_all
from bench.contest import add_contestants, contest
from framework.testing import Fleet, free_port
from framework.testing.server_process import ServerProcess
from framework.testing.tcp_proxy import TcpProxy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench.contest import Contestant

EVERY_S = 0.001
"""From one message to the next."""
LOOK_EVERY_S = 0.01
TIMEOUT_S = 60.0
QUIET_S = 3.0
"""Before a break: routes that have just come are treated otherwise."""
CONNECTIONS = 4
"""Between two servers: a pool of three, and that of the system account."""
FIGURES = ("lost", "silent_ms", "mesh_ms")
COME_BACK_EVERY_S = 0.005
CONNECT = b'CONNECT {"verbose":false,"pedantic":false}\r\n'


class Member:
    """One server; others reach it through a proxy, also those that it is told to by gossip."""

    def __init__(self, contestant: Contestant, folder: Path, name: str) -> None:
        self.name = name
        self.port, self._http, self._cluster = (free_port() for _ in range(3))
        self.proxy = TcpProxy(self._cluster)
        self._contestant = contestant
        self._folder = folder
        self._command: list[str | Path] = []
        self.process: ServerProcess | None = None

    def configure(self, others: Sequence[Member]) -> None:
        """Write its configuration: it routes to these."""
        urls = ", ".join(f'"nats://127.0.0.1:{other.proxy.port}"' for other in others)
        path = self._folder / f"{self.name}.conf"
        path.write_text(
            f'server_name: {self.name}\nlisten: "127.0.0.1:{self.port}"\n'
            f'http: "127.0.0.1:{self._http}"\ncluster {{\n name: bench\n'
            f' listen: "127.0.0.1:{self._cluster}"\n advertise: "127.0.0.1:{self.proxy.port}"\n'
            f" routes: [{urls}]\n {self._contestant.settings}\n}}\n",
            "utf-8",
        )
        self._command = [*Fleet.program(self._contestant.kind), "-c", path]

    def start(self) -> None:
        """Start the process, and wait for nothing."""
        self.process = ServerProcess(self.name, self._command, self._folder)
        self.process.run()

    def kill(self) -> None:
        """End the process as a crash would."""
        if self.process:
            self.process.kill()

    def connections(self) -> int:
        """Return how many it has with other servers; 0 while it does not answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._http}/routez") as answer:
                return len(json.load(answer)["routes"] or ())
        except (urllib.error.URLError, OSError):
            return 0


class Stream:
    """Numbered messages from a client of one server to a client of another."""

    def __init__(self, source: Member, sink: Member) -> None:
        self.sent_s: list[float] = []
        """When each message was sent; its number is its index."""
        self.received: list[tuple[float, int]] = []
        """When each came, and its number."""
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._receive, args=(sink.port,), daemon=True),
            threading.Thread(target=self._send, args=(source.port,), daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def await_next(self, after_s: float) -> float:
        """Return when the first of the messages came that were sent after a moment."""
        seen = len(self.received)
        while time.perf_counter() - after_s < TIMEOUT_S:
            for came_s, number in self.received[seen:]:
                seen += 1
                if self.sent_s[number] > after_s:
                    return came_s
            time.sleep(LOOK_EVERY_S)
        raise SystemExit(f"no message for {TIMEOUT_S:g} s")

    def silence_s(self, since_s: float) -> float:
        """Return how much of the longest time without a message was after a moment."""
        came_s = [at_s for at_s, _ in self.received]
        begin = bisect.bisect(came_s, since_s) - 1
        before, after = max(itertools.pairwise(came_s[begin:]), key=lambda pair: pair[1] - pair[0])
        return after - max(before, since_s)

    def end(self) -> int:
        """Return how many messages were lost, once one has come that was sent after this call."""
        last = len(self.sent_s)
        self.await_next(time.perf_counter())
        self._over.set()
        for thread in self._threads:
            thread.join()
        return last - len({number for _, number in self.received if number < last})

    def _send(self, port: int) -> None:
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(CONNECT)
            begin_s = time.perf_counter()
            while not self._over.is_set():
                number = len(self.sent_s)
                time.sleep(max(0.0, begin_s + number * EVERY_S - time.perf_counter()))
                self.sent_s.append(time.perf_counter())
                client.sendall(b"PUB seq %d\r\n%d\r\n" % (len(str(number)), number))

    def _receive(self, port: int) -> None:
        while not self._over.is_set():
            with contextlib.suppress(OSError), socket.socket() as client:
                client.settimeout(COME_BACK_EVERY_S)
                client.connect(("127.0.0.1", port))
                client.sendall(CONNECT + b"SUB seq 1\r\n")
                self._read(client)
            self._over.wait(COME_BACK_EVERY_S)

    def _read(self, client: socket.socket) -> None:
        rest = b""
        while not self._over.is_set():
            with contextlib.suppress(TimeoutError):
                data = client.recv(1 << 16)
                if not data:
                    return
                *lines, rest = (rest + data).split(b"\r\n")
                now_s = time.perf_counter()
                self.received += ((now_s, int(line)) for line in lines if line.isdigit())


def await_mesh(members: Sequence[Member], begin_s: float) -> float:
    """Return when all have every connection; they are asked one after the other."""
    for member in members:
        while member.connections() != CONNECTIONS * (len(members) - 1):
            if time.perf_counter() - begin_s > TIMEOUT_S:
                raise SystemExit(f"no full mesh after {TIMEOUT_S:g} s")
            time.sleep(LOOK_EVERY_S)
    return time.perf_counter()


def cut(dialed: Sequence[int], members: Sequence[Member]) -> float:
    """Cut every connection for which somebody has dialed one of these servers; return when."""
    begin_s = time.perf_counter()
    for at in dialed:
        members[at].proxy.cut_all()
    return begin_s


def part(for_s: float, dialed: Sequence[int], members: Sequence[Member]) -> float:
    """Let nobody reach these servers for a time, and return when that was over."""
    for is_refusing in (True, False):
        for at in dialed:
            members[at].proxy.is_refusing = is_refusing
        if is_refusing:
            cut(dialed, members)
            time.sleep(for_s)
    return time.perf_counter()


def kill(at: int, members: Sequence[Member]) -> float:
    """Kill a server and start it again at once; return when."""
    begin_s = time.perf_counter()
    members[at].kill()
    members[at].start()
    return begin_s


class Scenario(NamedTuple):
    """What is broken, and who is there."""

    routes: tuple[tuple[int, ...], ...]
    """Whom each server has in its configuration."""
    happens: Callable[[Sequence[Member]], float]
    """Returns the moment from which on time counts."""
    sink: int = 2
    """The server with the subscription."""


ONE_SEED = ((), (0,), (0,))
ALL = ((1, 2), (0, 2), (0, 1))
SCENARIOS = {
    "cut, known by gossip": Scenario(ONE_SEED, partial(cut, (1, 2))),
    "cut, one seed": Scenario(ONE_SEED, partial(cut, (0, 1, 2))),
    "cut, all configured": Scenario(ALL, partial(cut, (0, 1, 2))),
    "part for 0.5 s, known by gossip": Scenario(ONE_SEED, partial(part, 0.5, (1, 2))),
    "part for 3 s, known by gossip": Scenario(ONE_SEED, partial(part, 3.0, (1, 2))),
    "part for 3 s, all configured": Scenario(ALL, partial(part, 3.0, (0, 1, 2))),
    "kill the last, one seed": Scenario(ONE_SEED, partial(kill, 2)),
    "kill the last, all configured": Scenario(ALL, partial(kill, 2)),
    "kill the seed": Scenario(ONE_SEED, partial(kill, 0), sink=0),
}
SOURCE = 1
"""The server with the publisher."""


def measure(scenario: Scenario, times: int, contestant: Contestant) -> list[float]:
    """Break a mesh of three a few times, and return what was lost, and means."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        members = [Member(contestant, Path(folder), name) for name in "abc"]
        for member, others in zip(members, scenario.routes, strict=True):
            stack.callback(member.proxy.stop)
            stack.callback(member.kill)
            member.configure([members[other] for other in others])
            member.start()
        await_mesh(members, time.perf_counter())
        stream = Stream(members[SOURCE], members[scenario.sink])
        stream.await_next(time.perf_counter())
        silent_s, mesh_s = [], []
        for _ in range(times):
            time.sleep(QUIET_S)
            begin_s = scenario.happens(members)
            mesh_s.append(await_mesh(members, begin_s) - begin_s)
            stream.await_next(time.perf_counter())
            silent_s.append(stream.silence_s(begin_s))
        lost = stream.end() / times
        return [lost, 1e3 * statistics.mean(silent_s), 1e3 * statistics.mean(mesh_s)]


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_contestants(parser)
    parser.add_argument("--only", default="", help="part of the name of what happens")
    parser.add_argument("--times", type=int, default=3, help="breaks in each round")
    options = parser.parse_args()
    compile_all()
    for name, scenario in SCENARIOS.items():
        if options.only in name:
            contest(name, options, FIGURES, partial(measure, scenario, options.times))


if __name__ == "__main__":
    main()
