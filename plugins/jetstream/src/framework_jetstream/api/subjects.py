"""Which request a subject is, behind `$JS.API.`.

Source: nats-server `jetstream_api.go`, subjects of the API.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct


class ApiSubject(Struct, frozen=True):
    """A request, by its subject."""

    kind: str
    """As its answer is called, such as `stream_info`."""
    stream: str
    """Empty: it names none."""
    rest: tuple[str, ...]
    """Tokens behind the stream's name."""
    is_durable: bool = False
    """It is the older request for durable consumers."""


_KINDS: Final[dict[tuple[str, ...], tuple[str, int, int]]] = {
    ("INFO",): ("account_info", 0, 0),
    ("STREAM", "NAMES"): ("stream_names", 0, 0),
    ("STREAM", "LIST"): ("stream_list", 0, 0),
    ("STREAM", "CREATE"): ("stream_create", 1, 1),
    ("STREAM", "UPDATE"): ("stream_update", 1, 1),
    ("STREAM", "INFO"): ("stream_info", 1, 1),
    ("STREAM", "DELETE"): ("stream_delete", 1, 1),
    ("STREAM", "PURGE"): ("stream_purge", 1, 1),
    ("STREAM", "MSG", "GET"): ("stream_msg_get", 1, 1),
    ("STREAM", "MSG", "DELETE"): ("stream_msg_delete", 1, 1),
    ("STREAM", "SNAPSHOT"): ("stream_snapshot", 1, 1),
    ("STREAM", "EXPORT"): ("stream_export", 1, 1),
    ("STREAM", "RESTORE"): ("stream_restore", 1, 1),
    ("STREAM", "LEADER", "STEPDOWN"): ("stream_leader_stepdown", 1, 1),
    ("STREAM", "PEER", "REMOVE"): ("stream_remove_peer", 1, 1),
    ("STREAM", "PEER", "EVACUATE"): ("stream_evacuate_peer", 1, 1),
    ("STREAM", "CANCEL_MOVE"): ("stream_cancel_move", 1, 1),
    ("CONSUMER", "CREATE"): ("consumer_create", 1, 1000),
    ("CONSUMER", "DURABLE", "CREATE"): ("consumer_create", 2, 2),
    ("CONSUMER", "NAMES"): ("consumer_names", 1, 1),
    ("CONSUMER", "LIST"): ("consumer_list", 1, 1),
    ("CONSUMER", "INFO"): ("consumer_info", 2, 2),
    ("CONSUMER", "DELETE"): ("consumer_delete", 2, 2),
    ("CONSUMER", "PAUSE"): ("consumer_pause", 2, 2),
    ("CONSUMER", "UNPIN"): ("consumer_unpin", 2, 2),
    ("CONSUMER", "RESET"): ("consumer_reset", 2, 2),
    ("CONSUMER", "LEADER", "STEPDOWN"): ("consumer_leader_stepdown", 2, 2),
    ("CONSUMER", "PEER", "REMOVE"): ("consumer_remove_peer", 2, 2),
    ("CONSUMER", "PEER", "EVACUATE"): ("consumer_evacuate_peer", 2, 2),
    ("META", "LEADER", "STEPDOWN"): ("meta_leader_stepdown", 0, 0),
    ("META", "RESCUE"): ("meta_rescue", 0, 0),
    ("SERVER", "REMOVE"): ("meta_server_remove", 0, 0),
    ("SERVER", "EVACUATE"): ("meta_server_evacuate", 0, 0),
    ("ACCOUNT", "PURGE"): ("account_purge", 1, 1),
    ("ACCOUNT", "STREAM", "MOVE"): ("stream_update", 2, 2),
    ("ACCOUNT", "STREAM", "CANCEL_MOVE"): ("stream_cancel_move", 2, 2),
}
"""What answers are called, and how many tokens follow at least and at most."""

SYSTEM_WORDS: Final = frozenset({"META", "SERVER", "ACCOUNT"})
"""Requests that begin with these are for users of the system account."""

SERVED: Final = (
    "$JS.API.INFO",
    "$JS.API.STREAM.>",
    *(
        f"$JS.API.CONSUMER.{word}.>"
        for word in dict.fromkeys(words[1] for words in _KINDS if words[0] == "CONSUMER")
    ),
    *(f"$JS.API.{word}.>" for word in ("META", "SERVER", "ACCOUNT")),
)
"""Subjects of all requests: without those that the engine takes, for messages of consumers and of
streams with direct access."""

CLUSTERED: Final = frozenset({
    "stream_leader_stepdown",
    "stream_remove_peer",
    "stream_evacuate_peer",
    "stream_cancel_move",
    "consumer_leader_stepdown",
    "consumer_remove_peer",
    "consumer_evacuate_peer",
})
"""Requests that only a cluster can carry out."""


def subject_of(tokens: tuple[str, ...]) -> ApiSubject | None:
    """Return the request that tokens behind `$JS.API.` are; None: none that this server knows."""
    for length in (3, 2, 1):
        known = _KINDS.get(tokens[:length])
        if known is None:
            continue
        kind, least, most = known
        rest = tokens[length:]
        if not least <= len(rest) <= most:
            return None
        is_durable = tokens[1:2] == ("DURABLE",)
        return ApiSubject(kind, rest[0] if rest else "", rest[1:], is_durable)
    return None
