"""A hub and leaf nodes: ours and real ones in any mixture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from framework.testing.fleet import free_port
from tests.interop.joined import Joined

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from framework.testing import Fleet
    from framework.testing.server_process import ServerProcess


class Star(Joined):
    """A hub `hub`, and leaf nodes `leaf0`, `leaf1`, ... that dial it.

    Args:
        fleet: Starts and stops servers.
        hub: Kind of the hub.
        leafs: Kinds of the leaf nodes.
        block: More of the block `leafnodes` of the hub.
        remote: More of each remote of the leaf nodes; with a name in braces for theirs.
        login: Of the URL of remotes, with its `@`.
        more: More of the configuration, by server; `*`: of all.
        order: Names of servers in the order of their start; those left out are not started.
        websocket: Of the hub: more of the block `websocket`, by which leaf nodes come; None: they
            come by the port for leaf nodes.
        path: Behind the port in the URL of the hub.
    """

    def __init__(
        self,
        fleet: Fleet,
        hub: str,
        leafs: Sequence[str],
        *,
        block: str = "",
        remote: str = "",
        login: str = "",
        more: Mapping[str, str] | None = None,
        order: Sequence[str] | None = None,
        websocket: str | None = None,
        path: str = "",
    ) -> None:
        super().__init__()
        self._websocket, self._path = websocket, path
        self.websocket_port = free_port()
        self._fleet, self._block, self._remote, self._login = fleet, block, remote, login
        self._more = more or {}
        self.kinds = {"hub": hub, **{f"leaf{at}": kind for at, kind in enumerate(leafs)}}
        self.port = free_port()
        """Of the hub, for leaf nodes."""
        self._ports = {name: free_port() for name in self.kinds}
        for name in order if order is not None else self.kinds:
            self.start(name)

    def config(self, name: str) -> str:
        """Return the configuration of a server."""
        more = self._more.get("*", "") + self._more.get(name, "")
        head = f'server_name: {name}\nhttp: "127.0.0.1:-1"\n{more}\n'
        if name == "hub":
            return (
                f'{head}leafnodes {{ listen: "127.0.0.1:{self.port}"\n{self._block} }}\n'
                f"{self._websocket_block()}"
            )
        url = f'"nats-leaf://{self._login}127.0.0.1:{self.port}"'
        if self._websocket is not None:
            scheme = "wss" if "tls {" in self._websocket else "ws"
            url = f'"{scheme}://{self._login}127.0.0.1:{self.websocket_port}{self._path}"'
        remote = self._remote.replace("{name}", name)
        # 2.9.10 knows seconds only.
        pause = "1" if self.kinds[name] == "2.9.10" else "'100ms'"
        return f"{head}leafnodes {{ reconnect: {pause}\nremotes: [{{ url: {url}\n{remote} }}] }}\n"

    def _websocket_block(self) -> str:
        if self._websocket is None:
            return ""
        no_tls = "" if "tls {" in self._websocket else "no_tls: true\n"
        listen = f'listen: "127.0.0.1:{self.websocket_port}"\n{no_tls}'
        return f"websocket {{ {listen}{self._websocket} }}\n"

    def start(self, name: str, *flags: str) -> ServerProcess:
        """Start a server; it may have run before."""
        self.servers[name] = self._fleet.start(
            "-D", *flags, kind=self.kinds[name], config=self.config(name), port=self._ports[name]
        )
        return self.servers[name]

    def leafz(self, name: str, query: str = "") -> Mapping[str, Any]:
        """Return what a server says of its leaf nodes and hubs."""
        return self.servers[name].document(f"/leafz{query}")

    def check_all(self) -> None:
        """Send a message from each server that runs to each other one."""
        for here in self.running:
            for there in self.running:
                if here != there:
                    self.check(here, there)
