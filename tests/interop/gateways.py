"""Clusters of one or more servers each, joined by gateways: ours and real ones in any mixture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from framework.testing.fleet import free_port
from tests.interop.joined import Joined

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from framework.testing import Fleet
    from framework.testing.server_process import ServerProcess

SYSTEM_USER = "accounts { $SYS { users [ { user: sys, password: pass } ] } }\n"


class Supercluster(Joined):
    """Clusters A, B, C, ... of the kinds that are given; each knows all others unless told.

    Args:
        fleet: Starts and stops servers.
        clusters: The kinds of the servers of each cluster.
        known: By cluster, the names of those in its list; a cluster without entry knows all.
        gateway: More of the block `gateway`, for all.
        own: By cluster, more of the block `gateway` of its servers.
        remote: More of what one cluster says of another, by both names, such as `AB`.
        host: What others are dialed by.
        advertised: By cluster, the port that its servers advertise and others know, as of a proxy.
        more: More of the configuration, for all.
        order: Names of servers, such as `A0`, in the order of their start; those left out are not
            started.
    """

    def __init__(
        self,
        fleet: Fleet,
        clusters: Sequence[Sequence[str]],
        *,
        known: Mapping[str, Sequence[str]] | None = None,
        gateway: str = "",
        own: Mapping[str, str] | None = None,
        remote: Mapping[str, str] | None = None,
        host: str = "127.0.0.1",
        advertised: Mapping[str, int] | None = None,
        more: str = SYSTEM_USER,
        order: Sequence[str] | None = None,
    ) -> None:
        super().__init__()
        self._fleet, self._gateway, self._more = fleet, gateway, more
        self.known = dict(known or {})
        """By cluster; what is changed here counts for those that are started or reloaded later."""
        self._own, self._remote, self._host = own or {}, remote or {}, host
        self._advertised = advertised or {}
        self.kinds = {
            f"{chr(65 + at)}{number}": kind
            for at, kinds in enumerate(clusters)
            for number, kind in enumerate(kinds)
        }
        self.ports = {name: free_port() for name in self.kinds}
        """Of gateways."""
        self.routes = {name: free_port() for name in self.kinds}
        """Of routes."""
        self.clusters = dict.fromkeys(name[0] for name in self.kinds)
        for name in order if order is not None else self.kinds:
            self.start(name)

    def config(self, name: str) -> str:
        """Return the configuration of a server."""
        cluster = name[0]
        known = self.known.get(cluster, tuple(self.clusters))
        remotes = "".join(
            f"{{ name: {it}, urls: [{self._urls(it)}]\n{self._remote.get(cluster + it, '')} }}\n"
            for it in known
        )
        members = [it for it in self.kinds if it[0] == cluster]
        routes = ", ".join(f'"nats://127.0.0.1:{self.routes[it]}"' for it in members if it != name)
        listen = f'listen: "127.0.0.1:{self.routes[name]}"'
        port = self._advertised.get(cluster)
        advertise = f'advertise: "127.0.0.1:{port}"\n' if port else ""
        block = f"cluster {{ name: {cluster}, {listen}, routes: [{routes}] }}\n"
        return (
            f'server_name: {name}\nhttp: "127.0.0.1:-1"\n{self._more}'
            f'gateway {{ name: {cluster}, listen: "127.0.0.1:{self.ports[name]}"\n'
            f"gateways: [{remotes}]\n{advertise}{self._gateway}\n{self._own.get(cluster, '')} }}\n"
            + (block if len(members) > 1 else "")
        )

    def _urls(self, cluster: str) -> str:
        ports: Iterable[int] = (port for name, port in self.ports.items() if name[0] == cluster)
        if cluster in self._advertised:
            ports = [self._advertised[cluster]]
        return ", ".join(f'"nats://{self._host}:{port}"' for port in ports)

    def start(self, name: str, *flags: str) -> ServerProcess:
        """Start a server; it may have run before."""
        is_clustered = sum(it[0] == name[0] for it in self.kinds) > 1
        self.servers[name] = self._fleet.start(
            "-D", *flags, kind=self.kinds[name], config=self.config(name), clustered=is_clustered
        )
        return self.servers[name]

    def reload(self, name: str) -> None:
        """Let a server follow what its configuration is now."""
        self.servers[name].reload(self.config(name))

    def gatewayz(self, name: str, query: str = "") -> Mapping[str, Any]:
        """Return what a server says of its gateways."""
        return self.servers[name].document(f"/gatewayz{query}")

    def check_all(self) -> None:
        """Send a message from each server that runs to each in another cluster.

        Older servers tell nobody that a message found no gateway yet, so these are waited for.
        """
        for here in self.running:
            others = {there[0] for there in self.running} - {here[0]}
            while not others <= self.gatewayz(here)["outbound_gateways"].keys():
                pass  # it is on its way
        for here in self.running:
            for there in self.running:
                if here[0] != there[0]:
                    self.check(here, there)
