"""What servers of a cluster say of their routes, waited for; ours and real ones answer alike."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection
from typing import Any, TypeVar

from framework.testing.errors import ServerFailedError
from framework.testing.server_process import ServerProcess

_PAUSE_S = 0.02
_ATTEMPTS = 1_000

_Answer = TypeVar("_Answer")
RouteRow = dict[str, Any]
"""A row of `/routez`."""


def member_config(
    name: str,
    *,
    routes: Collection[int] = (),
    cluster: str = "",
    more: str = "",
    cluster_port: int = -1,
) -> str:
    """Return the configuration of a member of the cluster `test`, with monitoring.

    Args:
        name: Of the server.
        routes: Ports of servers, or of proxies before them.
        cluster: What else stands in its block `cluster`.
        more: What else stands beside that.
        cluster_port: For routes; -1 for a free one.
    """
    urls = ", ".join(f'"nats://127.0.0.1:{port}"' for port in routes)
    return (
        f'server_name: {name}\nlisten: "127.0.0.1:-1"\nhttp: "127.0.0.1:-1"\n'
        f'cluster {{\n name: test\n listen: "127.0.0.1:{cluster_port}"\n'
        f" routes: [{urls}]\n {cluster}\n}}\n"
        f"{more}\n"
    )


def route_rows(server: ServerProcess) -> list[RouteRow]:
    """Return the rows of its `/routez`, the oldest route first."""
    rows: list[RouteRow] = server.document("/routez")["routes"] or []
    return sorted(rows, key=lambda row: row["rid"])


def connections(rows: list[RouteRow]) -> Counter[tuple[str, str]]:
    """Count the connections to each server's ID, for each account that has its own or for none."""
    return Counter((row["remote_id"], row.get("account", "")) for row in rows)


def await_answer(
    server: ServerProcess, question: Callable[[], _Answer], condition: Callable[[_Answer], bool]
) -> _Answer:
    """Ask something of a server again and again until the answer is as wanted, and return it.

    Raises:
        ServerFailedError: It never became so.
    """
    pause = threading.Event()
    answer = question()
    for _ in range(_ATTEMPTS):
        if condition(answer):
            return answer
        pause.wait(_PAUSE_S)
        answer = question()
    raise ServerFailedError(server.name, f"it still answers {answer}", server.log())


def await_routes(
    server: ServerProcess, condition: Callable[[list[RouteRow]], bool]
) -> list[RouteRow]:
    """Ask a server for its routes until they are as wanted, and return them."""
    return await_answer(server, lambda: route_rows(server), condition)


def await_pools(
    *servers: ServerProcess, pool_size: int = 3, accounts: Collection[str] = ("$SYS",)
) -> None:
    """Wait until the servers have exactly these connections with each other, and say so.

    Args:
        servers: All of the cluster.
        pool_size: Connections between two of them that carry several accounts.
        accounts: Those with a connection of their own.
    """
    ids = [server.document("/varz")["server_id"] for server in servers]
    each = {"": pool_size, **dict.fromkeys(accounts, 1)}
    for here, server in zip(ids, servers, strict=True):
        wanted = {
            (there, account): count
            for there in ids
            if there != here
            for account, count in each.items()
        }
        await_answer(server, lambda at=server: connections(route_rows(at)), wanted.__eq__)  # type: ignore[misc]
