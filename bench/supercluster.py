"""How long clusters take to become one supercluster, and what a lost server or cluster costs.

    python -m bench.supercluster [--clusters 3] [--servers 3] [--rounds 5]

All are started at once. `complete_s` is from the start of their processes until /gatewayz of each
server has a connection to each other cluster. Then a server is killed that others are connected to:
`replaced_s` is until those have connections to servers that run. Then all servers of the last
cluster are killed and started again: `again_s` is from the moment that the last of them answers
until all are connected, `known_s` until a subject that is wanted there is known elsewhere.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import urllib.error
import urllib.request
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.clusters import compile_all
from bench.contest import add_contestants, contest
from bench.interest import Watch
from framework.testing import Fleet, RawClient, free_port
from framework.testing.server_process import ServerProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bench.contest import Contestant

FIGURES = ("complete_s", "replaced_s", "again_s", "known_s")
LOOK_EVERY_S = 0.01
TIMEOUT_S = 60.0
QUIET_S = 3.0
"""Before a server is killed: connections that have just come are treated otherwise."""
SUBJECT = "wanted.there"


class Member:
    """One server, which can be started again with its ports."""

    def __init__(self, cluster: str, number: int) -> None:
        self.cluster, self.name = cluster, f"{cluster}{number}"
        self.port, self.routes, self.gateways, self._http = (free_port() for _ in range(4))
        self.server_id = ""
        self.process: ServerProcess | None = None

    def configure(
        self, contestant: Contestant, folder: Path, all_of_them: Sequence[Member]
    ) -> None:
        """Write its configuration: it knows all others."""
        by_cluster: dict[str, list[str]] = {}
        for it in all_of_them:
            by_cluster.setdefault(it.cluster, []).append(f'"nats://127.0.0.1:{it.gateways}"')
        remotes = "".join(
            f"{{ name: {name}, urls: [{', '.join(urls)}] }}\n" for name, urls in by_cluster.items()
        )
        mates = [it for it in all_of_them if it.cluster == self.cluster and it is not self]
        routes = ", ".join(f'"nats://127.0.0.1:{it.routes}"' for it in mates)
        path = folder / f"{self.name}.conf"
        path.write_text(
            f'server_name: {self.name}\nlisten: "127.0.0.1:{self.port}"\n'
            f'http: "127.0.0.1:{self._http}"\n'
            f'cluster {{ name: {self.cluster}, listen: "127.0.0.1:{self.routes}"'
            f"\n routes: [{routes}] }}\n"
            f'gateway {{ name: {self.cluster}, listen: "127.0.0.1:{self.gateways}"\n'
            f" gateways: [{remotes}]\n {contestant.settings} }}\n",
            "utf-8",
        )
        self._folder = folder
        self._command = [*Fleet.program(contestant.kind), "-c", path]

    def start(self) -> None:
        """Start the process, and wait for nothing."""
        self.process = ServerProcess(self.name, self._command, self._folder)
        self.process.run()

    def kill(self) -> None:
        """End the process as a crash would."""
        self.server_id = ""
        if self.process is not None:
            self.process.kill()

    def outbound(self) -> Mapping[str, str]:
        """Return the servers that it sends to, by cluster; nothing while it does not answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._http}/gatewayz") as answer:
                document: dict[str, Any] = json.load(answer)
        except (urllib.error.URLError, OSError):
            return {}
        self.server_id = document["server_id"]
        return {
            name: each["connection"]["name"] for name, each in document["outbound_gateways"].items()
        }

    def client(self) -> RawClient:
        """Return a client that has logged in."""
        client = RawClient(self.port)
        client.log_in()
        return client


def timed(is_done: Callable[[], bool]) -> float:
    """Return how many seconds pass until something is so."""
    begin_s = time.perf_counter()
    while not is_done():
        if time.perf_counter() - begin_s > TIMEOUT_S:
            raise SystemExit(f"no supercluster after {TIMEOUT_S:g} s")
        time.sleep(LOOK_EVERY_S)
    return time.perf_counter() - begin_s


def are_joined(members: Sequence[Member]) -> bool:
    """Tell whether each has a connection to each other cluster, to a server that runs."""
    names = {it.cluster for it in members}
    found = [(it, it.outbound()) for it in members]
    running = {it.server_id for it in members}
    return all(
        set(outbound) == names - {it.cluster} and set(outbound.values()) <= running
        for it, outbound in found
    )


def measure(clusters: int, servers: int, contestant: Contestant) -> list[float]:
    """Start a supercluster, and return the figures."""
    names = [chr(ord("A") + at) for at in range(clusters)]
    members = [Member(name, number) for name in names for number in range(servers)]
    with tempfile.TemporaryDirectory() as folder:
        for it in members:
            it.configure(contestant, Path(folder), members)
        try:
            for it in members:
                it.start()
            figures = [timed(partial(are_joined, members))]
            time.sleep(QUIET_S)
            members[0].kill()
            left = members[1:]
            figures.append(timed(partial(are_joined, left)))
            return figures + after_a_restart(left, names[-1])
        finally:
            for it in members:
                it.kill()


def after_a_restart(members: Sequence[Member], cluster: str) -> list[float]:
    """Kill a whole cluster, start it again, and return how long others miss it."""
    gone = [it for it in members if it.cluster == cluster]
    for it in gone:
        it.kill()
    for it in gone:
        it.start()
    timed(lambda: all(it.outbound() or it.server_id for it in gone))
    assert all(it.process is not None for it in gone)
    begin_s = time.perf_counter()
    with gone[0].client() as client:
        client.send(f"SUB {SUBJECT} 1\r\n".encode())
        client.flush()
        process = members[0].process
        assert process is not None
        process.port = members[0].port
        watch = Watch(process, SUBJECT)
        watch.await_known(known=True)
        known_s = time.perf_counter() - begin_s
        watch.close()
        timed(partial(are_joined, members))
    return [time.perf_counter() - begin_s, known_s]


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_contestants(parser)
    parser.add_argument("--clusters", type=int, default=3)
    parser.add_argument("--servers", type=int, default=3)
    options = parser.parse_args()
    compile_all()
    title = f"{options.clusters} clusters of {options.servers}"
    contest(title, options, FIGURES, partial(measure, options.clusters, options.servers))


if __name__ == "__main__":
    main()
