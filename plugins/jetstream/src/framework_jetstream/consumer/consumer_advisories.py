"""Advisories on one consumer: that it came and went, is paused, and which client is pinned.

Source: nats-server `consumer.go`, `sendCreateAdvisory`, `sendPauseAdvisoryLocked`,
`sendPinnedAdvisoryLocked`, `sendUnpinnedAdvisoryLocked`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from framework_jetstream.api.times import ZERO, ns_from_text

if TYPE_CHECKING:
    from framework_jetstream.advisories import Advisories
    from framework_jetstream.api.records import ClusterInfo


class ConsumerAdvisories:
    """Publishes them.

    Args:
        advisories: Of the server.
        account: Whose the consumer is.
        stream: Name of its stream.
        consumer: Its name.
    """

    def __init__(self, advisories: Advisories, account: str, stream: str, consumer: str) -> None:
        self._advisories = advisories
        self._account = account
        self._stream = stream
        self._consumer = consumer

    def created(self) -> None:
        """It was made."""
        self._say("CREATED", "consumer_action", {"action": "create"})

    def deleted(self) -> None:
        """It is gone."""
        self._say("DELETED", "consumer_action", {"action": "delete"})

    def elected(self, system_account: str, cluster: ClusterInfo) -> None:
        """Another server leads it than before."""
        asset = (self._stream, self._consumer)
        self._advisories.say_leader(self._account, system_account, asset, cluster)

    def paused(self, until: str | None, now_ns: int) -> None:
        """It is paused up to a time, or delivers again: that is over, or there is none."""
        is_paused = until is not None and ns_from_text(until) > now_ns
        fields = {"paused": is_paused, "pause_until": until or ZERO}
        self._say("PAUSE", "consumer_pause", fields)

    def pinned(self, group: str, client_id: str) -> None:
        """A client of a priority group is served alone."""
        fields = {"account": self._account, "group": group, "pinned_id": client_id}
        self._say("PINNED", "consumer_group_pinned", fields)

    def unpinned(self, group: str, reason: str) -> None:
        """Clients of a group are served again: the pinned one was silent, or somebody wants it.

        Args:
            group: Its name.
            reason: `timeout` or `admin`.
        """
        fields = {"account": self._account, "group": group, "reason": reason}
        self._say("UNPINNED", "consumer_group_unpinned", fields)

    def _say(self, word: str, kind: str, fields: dict[str, Any]) -> None:
        stream, consumer = self._stream, self._consumer
        about = {"stream": stream, "consumer": consumer, **fields}
        self._advisories.say(self._account, f"CONSUMER.{word}.{stream}.{consumer}", kind, about)
