"""What rows of a read can be beside messages: servers, connections, streams, consumers, events.

A view is data: what is asked, where its rows are in an answer, and where each column is in a row.
Names of columns are nats-server's, as far as they have a meaning of their own.
"""

from __future__ import annotations

from typing import NamedTuple

MESSAGES, TAP = "messages", "tap"


class View(NamedTuple):
    """A table."""

    columns: dict[str, tuple[str, str]]
    """Name to Spark's type, and the way to the value in a row: `server.name`."""
    request: str = ""
    """Subject that is asked; `{stream}` stands for each stream in turn. Empty: of a stream's
    messages."""
    body: str = ""
    """What it is asked with."""
    rows: str = ""
    """Way to the array of rows in an answer; empty: the answer is the row."""
    pages: bool = False
    """JetStream's API answers in pages."""
    is_of_servers: bool = False
    """Every server answers, to users of the system account alone."""


_SERVER = {
    "server": ("string", "server.name"),
    "server_id": ("string", "server.id"),
    "cluster": ("string", "server.cluster"),
}
_EVENT = {
    "stream": ("string", ""),
    "sequence": ("bigint", ""),
    "timestamp": ("timestamp", ""),
    "subject": ("string", ""),
    "type": ("string", "type"),
    "id": ("string", "id"),
}
_JSON = {"json": ("string", "")}
"""The whole of a row as it came."""

VIEWS: dict[str, View] = {
    "varz": View(
        _SERVER
        | {
            "version": ("string", "data.version"),
            "host": ("string", "data.host"),
            "port": ("int", "data.port"),
            "start": ("timestamp", "data.start"),
            "cpu": ("double", "data.cpu"),
            "mem": ("bigint", "data.mem"),
            "cores": ("int", "data.cores"),
            "connections": ("bigint", "data.connections"),
            "total_connections": ("bigint", "data.total_connections"),
            "routes": ("bigint", "data.routes"),
            "remotes": ("bigint", "data.remotes"),
            "leafnodes": ("bigint", "data.leafnodes"),
            "subscriptions": ("bigint", "data.subscriptions"),
            "slow_consumers": ("bigint", "data.slow_consumers"),
            "in_msgs": ("bigint", "data.in_msgs"),
            "out_msgs": ("bigint", "data.out_msgs"),
            "in_bytes": ("bigint", "data.in_bytes"),
            "out_bytes": ("bigint", "data.out_bytes"),
        }
        | _JSON,
        "$SYS.REQ.SERVER.PING.VARZ",
        is_of_servers=True,
    ),
    "connz": View(
        _SERVER
        | {
            "cid": ("bigint", "cid"),
            "kind": ("string", "kind"),
            "account": ("string", "account"),
            "user": ("string", "authorized_user"),
            "name": ("string", "name"),
            "lang": ("string", "lang"),
            "version": ("string", "version"),
            "ip": ("string", "ip"),
            "port": ("int", "port"),
            "start": ("timestamp", "start"),
            "last_activity": ("timestamp", "last_activity"),
            "rtt": ("string", "rtt"),
            "pending_bytes": ("bigint", "pending_bytes"),
            "subscriptions": ("bigint", "subscriptions"),
            "in_msgs": ("bigint", "in_msgs"),
            "out_msgs": ("bigint", "out_msgs"),
            "in_bytes": ("bigint", "in_bytes"),
            "out_bytes": ("bigint", "out_bytes"),
        }
        | _JSON,
        "$SYS.REQ.SERVER.PING.CONNZ",
        '{"auth": true, "limit": 1024}',
        "data.connections",
        is_of_servers=True,
    ),
    "jsz": View(
        _SERVER
        | {
            "disabled": ("boolean", "data.disabled"),
            "memory": ("bigint", "data.memory"),
            "storage": ("bigint", "data.storage"),
            "streams": ("bigint", "data.streams"),
            "consumers": ("bigint", "data.consumers"),
            "messages": ("bigint", "data.messages"),
            "bytes": ("bigint", "data.bytes"),
            "api_total": ("bigint", "data.api.total"),
            "api_errors": ("bigint", "data.api.errors"),
        }
        | _JSON,
        "$SYS.REQ.SERVER.PING.JSZ",
        is_of_servers=True,
    ),
    "accounts": View(
        _SERVER
        | {
            "account": ("string", "acc"),
            "connections": ("bigint", "conns"),
            "leafnodes": ("bigint", "leafnodes"),
            "total_connections": ("bigint", "total_conns"),
            "subscriptions": ("bigint", "num_subscriptions"),
            "sent_msgs": ("bigint", "sent.msgs"),
            "sent_bytes": ("bigint", "sent.bytes"),
            "received_msgs": ("bigint", "received.msgs"),
            "received_bytes": ("bigint", "received.bytes"),
            "slow_consumers": ("bigint", "slow_consumers"),
        }
        | _JSON,
        "$SYS.REQ.ACCOUNT.PING.STATZ",
        '{"include_unused": true}',
        "data.account_statz",
        is_of_servers=True,
    ),
    "streams": View(
        {
            "stream": ("string", "config.name"),
            "created": ("timestamp", "created"),
            "retention": ("string", "config.retention"),
            "storage": ("string", "config.storage"),
            "replicas": ("int", "config.num_replicas"),
            "leader": ("string", "cluster.leader"),
            "messages": ("bigint", "state.messages"),
            "bytes": ("bigint", "state.bytes"),
            "first_seq": ("bigint", "state.first_seq"),
            "last_seq": ("bigint", "state.last_seq"),
            "consumers": ("bigint", "state.consumer_count"),
        }
        | _JSON,
        "STREAM.LIST",
        rows="streams",
        pages=True,
    ),
    "consumers": View(
        {
            "stream": ("string", "stream_name"),
            "consumer": ("string", "name"),
            "created": ("timestamp", "created"),
            "leader": ("string", "cluster.leader"),
            "lag": ("bigint", "num_pending"),
            "ack_pending": ("bigint", "num_ack_pending"),
            "redelivered": ("bigint", "num_redelivered"),
            "waiting": ("bigint", "num_waiting"),
            "delivered_seq": ("bigint", "delivered.stream_seq"),
            "ack_floor_seq": ("bigint", "ack_floor.stream_seq"),
        }
        | _JSON,
        "CONSUMER.LIST.{stream}",
        rows="consumers",
        pages=True,
    ),
    "advisories": View(
        _EVENT
        | {
            "of_stream": ("string", "stream"),
            "of_consumer": ("string", "consumer"),
            "stream_seq": ("bigint", "stream_seq"),
            "deliveries": ("bigint", "deliveries"),
            "action": ("string", "action"),
        }
        | _JSON
    ),
    "events": View(
        _EVENT
        | {
            "server": ("string", "server.name"),
            "account": ("string", "client.acc"),
            "cid": ("bigint", "client.id"),
            "client": ("string", "client.name"),
            "user": ("string", "client.user"),
            "host": ("string", "client.host"),
            "reason": ("string", "reason"),
        }
        | _JSON
    ),
}
SNAPSHOTS = tuple(name for name, view in VIEWS.items() if view.request)
"""Views of what is now: each read, and each batch of a stream, asks again."""
OBSERVED = "observed"
"""First column of these: when it was so."""
EVENTS = tuple(name for name, view in VIEWS.items() if not view.request)
"""Views of messages that are JSON: of streams that keep `$JS.EVENT.ADVISORY.>` or `$SYS.>`."""


def view_columns(view: str) -> tuple[str, ...]:
    """Return the columns of a view of `VIEWS`."""
    first = (OBSERVED,) if view in SNAPSHOTS else ()
    return (*first, *VIEWS[view].columns)
