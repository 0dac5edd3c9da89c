"""`/accstatz`: traffic and connections by account.

Source: nats-server `monitor.go`, `AccountStatz`; `events.go`, `statz`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from framework.dataplane.scopes import Scope
from framework.errors import NoAnswer
from framework.monitor.head import head
from framework.monitor.json_stream import Batches
from framework.monitor.limits import DOCUMENTS_A_TURN

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence

    from framework.dataplane.totals import AccountTraffic, PeerTraffic
    from framework.monitor.options import AccountStatzOptions
    from framework.monitor.source import MonitorSource


_NAMES: Final = {Scope.GATEWAY: "gateways", Scope.ROUTE: "routes", Scope.LEAF: "leafs"}


async def answer_accstatz(source: MonitorSource, options: AccountStatzOptions) -> dict[str, object]:
    """Return the document: accounts with connections, or all with `include_unused`."""
    asked = [it for it in options.accounts if source.accounts.get(it)]
    names = asked if options.accounts else source.accounts.names()
    connections, leafs = source.connection_counts(), source.leafnode_counts()
    unused = options.include_unused
    shown = [name for name in names if unused or connections.get(name) or leafs.get(name)]
    return {
        **head(source),
        "account_statz": Batches(_statistics(source, shown, connections), source.turns)
        if shown
        else [],
    }


async def _statistics(
    source: MonitorSource, names: Sequence[str], connections: Mapping[str, int]
) -> AsyncGenerator[Sequence[dict[str, object]], None]:
    for first in range(0, len(names), DOCUMENTS_A_TURN):
        yield [
            account_statistics(source, name, connections.get(name, 0))
            for name in names[first : first + DOCUMENTS_A_TURN]
            if source.accounts.get(name)
        ]


async def answer_accstatz_request(source: MonitorSource, options: AccountStatzOptions) -> object:
    """Return the document, if there is something in it or it was asked for all the same.

    Raises:
        NoAnswer: No client is in these accounts here.
    """
    document = await answer_accstatz(source, options)
    if document["account_statz"] == [] and not options.include_unused:
        raise NoAnswer("filtered response")
    return document


def account_statistics(source: MonitorSource, name: str, connections: int) -> dict[str, object]:
    """Return what passes through one account, as `$SYS.ACCOUNT.<name>.SERVER.CONNS` has it too."""
    index, leafnodes = source.accounts.index(name), source.leafnode_counts().get(name, 0)
    traffic, spec = source.account_traffic(index), source.accounts.get(name)
    return {
        "acc": name,
        "name": spec.name_tag if spec and spec.name_tag else name,
        "conns": connections,
        "leafnodes": leafnodes,
        "total_conns": connections + leafnodes,
        "num_subscriptions": source.sublist_counters(index).subscriptions,
        "sent": {
            **_messages(traffic.out_msgs, traffic.out_bytes),
            **{name: _messages(peer.out_msgs, peer.out_bytes) for name, peer in _by_name(traffic)},
        },
        "received": {
            **_messages(traffic.in_msgs, traffic.in_bytes),
            **{name: _messages(peer.in_msgs, peer.in_bytes) for name, peer in _by_name(traffic)},
        },
        "slow_consumers": traffic.slow_consumers,
    }


def _by_name(traffic: AccountTraffic) -> Iterator[tuple[str, PeerTraffic]]:
    for scope, name in _NAMES.items():
        yield name, traffic.peers[scope]


def _messages(messages: int, size_bytes: int) -> dict[str, int]:
    return {"msgs": messages, "bytes": size_bytes}
