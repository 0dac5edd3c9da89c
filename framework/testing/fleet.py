"""Start servers of a test so that they find each other; stop them when it ends."""

from __future__ import annotations

import os
import random
import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from framework.testing import peers
from framework.testing.forked_server import PROGRAM
from framework.testing.server_process import ServerProcess
from framework.testing.watched_process import STOP_TIMEOUT_S

OURS = "ours"
"""Name of our own server, where a real one is named by its version."""

_EXIT_CODES = {"2.9.10": (1, 0), "2.8.4": (1, 0)}
"""After SIGTERM, where it is not always 0."""

_PORTS = range(16_384, 32_768)
"""Below what Linux gives to connections, by default, as do others."""
_CHANCE = random.SystemRandom()
"""Not the one that tests are shuffled by, and begin anew each time."""
_PORTS_LEFT: list[int] = []
"""In the order in which this process takes them."""


class Fleet:
    """Starts servers and remembers them.

    Args:
        folder: Holds configuration files, and is the servers' working directory.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.servers: list[ServerProcess] = []
        """In the order of their start, also those that ended."""

    def start(
        self,
        *flags: str,
        kind: str = OURS,
        config: str | None = None,
        clustered: bool = False,
        port: int | None = -1,
    ) -> ServerProcess:
        """Start one server and wait until it is ready.

        Args:
            flags: As nats-server takes them.
            kind: `OURS`, the version of a real nats-server, or the path of a program that takes
                its flags, such as the `nats-server` of another environment.
            config: Text of a configuration file.
            clustered: It will listen for routes.
            port: For clients, on 127.0.0.1: -1 for a free one; None when flags or config say it.

        Returns:
            The server, which this fleet stops.
        """
        command: list[str | Path] = [*self.program(kind), *flags]
        if port is not None:
            command += ["-a", "127.0.0.1", "-p", str(port)]
        name = f"{len(self.servers) + 1}-{Path(kind).name}"
        if config is not None:
            path = self._folder / f"{name}.conf"
            path.write_text(config, "utf-8")
            command += ["-c", path]
        server = ServerProcess(name, command, self._folder, exit_codes=_EXIT_CODES.get(kind, (0,)))
        self.servers.append(server)
        return server.start(clustered=clustered)

    @staticmethod
    def program(kind: str) -> list[str | Path]:
        """Return the words that run a server of this kind, before its flags."""
        if kind == OURS:
            return [*PROGRAM, "serve"]
        return [Path(kind) if os.sep in kind else peers.find(kind)]

    def start_cluster(self, *kinds: str, flags: tuple[str, ...] = ()) -> list[ServerProcess]:
        """Start servers that find each other: the first is the seed, the others route to it.

        Args:
            kinds: One per server, as for `start`.
            flags: For each of them.

        Returns:
            The servers, in the order of `kinds`, once each client port tells of all of them.
        """
        servers: list[ServerProcess] = []
        for kind in kinds:
            servers.append(self.join(*servers[:1], kind=kind, flags=flags))
        await_mesh(*servers)
        return servers

    def join(
        self,
        *seeds: ServerProcess,
        kind: str = OURS,
        flags: tuple[str, ...] = (),
        port: int = -1,
        cluster_port: int = -1,
    ) -> ServerProcess:
        """Start a server that routes to others; with no seed, a server that others can route to.

        Args:
            seeds: Servers to route to.
            kind: As for `start`.
            flags: More flags.
            port: For clients.
            cluster_port: For routes.
        """
        listen = (
            "-cluster",
            f"nats://127.0.0.1:{cluster_port}",
            "-cluster_name",
            "test",
        )
        urls = ",".join(f"nats://127.0.0.1:{seed.cluster_port}" for seed in seeds)
        routes = ("-routes", urls) if seeds else ()
        return self.start(*listen, *routes, *flags, kind=kind, clustered=True, port=port)

    def restart(self, server: ServerProcess) -> ServerProcess:
        """Start an ended server once more, with the same flags and the ports that it had."""
        assert not server.is_running()
        words = list(server.command)
        words[words.index("-p") + 1] = str(server.port)
        if server.cluster_port:
            words[words.index("-cluster") + 1] = f"nats://127.0.0.1:{server.cluster_port}"
        again = server.copy(f"{server.name}-again", words)
        self.servers.append(again)
        return again.start(clustered=bool(server.cluster_port))

    def stop(self, timeout_s: float = STOP_TIMEOUT_S) -> None:
        """Stop all servers, the last started first; of several failures the first is raised.

        Args:
            timeout_s: What each of them may take.
        """
        failures: list[BaseException] = []
        for server in reversed(self.servers):
            try:
                server.stop(timeout_s)
            except AssertionError as error:
                failures.append(error)
        if failures:
            raise failures[0]


def free_port() -> int:
    """Return a port that nobody has, for what must be written before a server starts.

    It is none of those that systems give to connections: one of these could have it until then.
    Nor is it one that was returned lately, here or in another worker of pytest-xdist: whoever got
    that may not have begun to listen.
    """
    while True:
        if not _PORTS_LEFT:
            ports = _own_ports(os.environ)
            _PORTS_LEFT.extend(_CHANCE.sample(ports, len(ports)))
        port = _PORTS_LEFT.pop()
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def _own_ports(environment: Mapping[str, str]) -> range:
    """Return the ports of this process: each worker of pytest-xdist has its own."""
    worker = environment.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    count = int(environment.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    return _PORTS[int(worker) % count :: count]  # a worker that replaces one has a new number


def await_mesh(*servers: ServerProcess) -> None:
    """Wait until each server tells its clients of exactly these servers, by INFO alone."""
    for server in servers:
        with server.client() as client:
            client.log_in()
            client.await_ports(*[other.port for other in servers])
