"""Two servers and the wire between them: the second dials the first through a proxy."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Self

from framework.testing import TcpProxy, member_config

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework.testing import Fleet, RawClient, ServerProcess
    from framework.testing.tcp_proxy import ProxiedConnection

NOWHERE = "127.0.0.1:1"
NAMES = ("A", "B", "ACME", "RED", "P", "Q")
INDEXES = {"A": 0, "B": 0, "ACME": 1, "RED": 2}
"""FNV-1a-32 of the name, modulo three connections; P and Q are pinned where anything is."""

ACCOUNTS = (
    "accounts {\n"
    + "".join(f"  {name} {{ users: [ {{ user: {name}, password: x }} ] }}\n" for name in NAMES)
    + "}\n"
)


def log_in(server: ServerProcess, account: str = "A", *subscriptions: bytes) -> RawClient:
    """Return a client of an account of `ACCOUNTS`, whose subscriptions its server has."""
    client = server.client()
    client.log_in(user=account, **{"pass": "x"})
    client.send(b"".join(b"SUB %b\r\n" % each for each in subscriptions))
    client.flush()
    return client


def check_passes(here: ServerProcess, there: ServerProcess, account: str = "A") -> None:
    """Send `pass.<account>` both ways, each once the other server's interest is known."""
    subject = b"pass." + account.lower().encode()
    for publishing, subscribing in ((here, there), (there, here)):
        with (
            log_in(subscribing, account, b"pass.* 1") as subscriber,
            log_in(publishing, account) as publisher,
        ):
            publisher.await_interest(b"pass.try")
            publisher.send(b"PUB %b 2\r\nhi\r\n" % subject)

            assert subscriber.read_until(b"MSG " + subject)[-1].body == b"hi"


class Pair:
    """Two servers of a cluster.

    Args:
        fleet: Starts and stops them.
        kinds: Of the server that is dialed, and of the one that dials.
        cluster: Of the block `cluster`, for both; or one text for each.
        more: Of the rest of the configuration.
        flags: For both.
        delay_s: Of the wire.
        is_hidden: Nobody can dial the second one: ours, when a route is lost or an account is
            pinned, dials back, and would find a way around the proxy.
    """

    def __init__(
        self,
        fleet: Fleet,
        kinds: Sequence[str],
        cluster: str | Sequence[str] = "",
        *,
        more: str = ACCOUNTS,
        flags: Sequence[str] = ("-D",),
        delay_s: float = 0.0,
        is_hidden: bool = True,
    ) -> None:
        self.kinds = tuple(kinds)
        self._fleet = fleet
        self._more = more
        self._flags = flags
        self._is_hidden = is_hidden
        texts = (cluster, cluster) if isinstance(cluster, str) else cluster
        self._texts = texts
        self.dialed = fleet.start(
            *flags, kind=kinds[0], config=self._config(0, texts[0]), clustered=True, port=None
        )
        self.proxy = TcpProxy(self.dialed.cluster_port, delay_s=delay_s)
        self.dialing = fleet.start(
            *flags, kind=kinds[1], config=self._config(1, texts[1]), clustered=True, port=None
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.proxy.stop()

    def __iter__(self):
        return iter(self.servers)

    @property
    def servers(self) -> tuple[ServerProcess, ServerProcess]:
        return self.dialed, self.dialing

    def join(self, kind: str, cluster: str | None = None) -> ServerProcess:
        """Start a third server, which dials the first one directly."""
        config = member_config(
            f"S{len(self._fleet.servers)}",
            routes=[self.dialed.cluster_port],
            cluster=self._texts[0] if cluster is None else cluster,
            more=self._more,
        )
        return self._fleet.start(*self._flags, kind=kind, config=config, clustered=True, port=None)

    def reload(self, at: int, cluster: str) -> None:
        """Give one of them another text for `cluster`, and wait until it says that it has it."""
        self.servers[at].reload(self._config(at, cluster))

    def _config(self, at: int, cluster: str) -> str:
        if at == 0:
            return member_config("S0", cluster=cluster, more=self._more)
        if self._is_hidden:
            cluster = f'advertise: "{NOWHERE}"\n{cluster}'
        return member_config("S1", routes=[self.proxy.port], cluster=cluster, more=self._more)

    # -- the wire, where nothing is compressed

    def connection(self, *, index: int | None = None, account: str = "") -> ProxiedConnection:
        """Return the open connection with an index, or of an account."""
        (found,) = [
            each for each in self.proxy.open_connections() if slot_of(each) == (account or index)
        ]
        return found


def slot_of(connection: ProxiedConnection) -> int | str | None:
    """Return the index of a connection in the pool, or its account; None before it was said."""
    for line in bytes(connection.dialed).split(b"\r\n")[:-1]:
        if line.startswith(b"INFO "):
            info: dict[str, Any] = json.loads(line[5:])
            return info.get("route_account") or info.get("route_pool_idx", 0)
    return None
