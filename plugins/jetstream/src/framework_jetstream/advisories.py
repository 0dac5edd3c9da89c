"""Advisories: what happened to streams and consumers, published in the account whose they are.

The engine says what it sees alone: `engine/_advisories.pyx`.

Source: nats-server `jetstream_events.go`; `jetstream_api.go`, subjects of advisories.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from framework_jetstream.api.records import encode
from framework_jetstream.api.times import text_from_ns

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from framework.wire.event_ids import EventIds
    from framework_jetstream.api.asker import Asker
    from framework_jetstream.host import Host

PREFIX: Final = "$JS.EVENT.ADVISORY."
_TYPE: Final = "io.nats.jetstream.advisory.v1."


class Advisories:
    """Publishes them.

    Args:
        publish: Takes the name of an account, a subject and a payload.
        server: Name of the server.
        domain: Of JetStream; empty: none.
        ids: Draws the identifiers.
        clock: Returns the Unix time in nanoseconds.
    """

    def __init__(
        self,
        publish: Callable[[str, str, bytes], object],
        *,
        server: str,
        domain: str,
        ids: EventIds,
        clock: Callable[[], int],
    ) -> None:
        self._publish = publish
        self._server = server
        self._domain = {"domain": domain} if domain else {}
        self._ids = ids
        self._clock = clock

    def next_id(self) -> str:
        """Return 22 characters that no other server draws."""
        return self._ids.next()

    def say(self, account: str, subject: str, kind: str, fields: Mapping[str, Any]) -> None:
        """Publish an advisory.

        Args:
            account: Where.
            subject: Behind `$JS.EVENT.ADVISORY.`.
            kind: As its type is called, such as `stream_action`.
            fields: Behind those that all have.
        """
        event = {
            "type": f"{_TYPE}{kind}",
            "id": self._ids.next(),
            "timestamp": text_from_ns(self._clock()),
            **fields,
            **self._domain,
        }
        self._publish(account, f"{PREFIX}{subject}", encode(event))

    def say_stream(self, account: str, stream: str, action: str) -> None:
        """Say that a stream was made, changed or deleted: `create`, `modify`, `delete`."""
        word = {"create": "CREATED", "modify": "UPDATED", "delete": "DELETED"}[action]
        fields = {"stream": stream, "action": action}
        self.say(account, f"STREAM.{word}.{stream}", "stream_action", fields)

    def say_out_of_storage(self, host: Host, stream: str) -> None:
        """Say in the system account that messages are refused, for the disk is full.

        Source: nats-server `jetstream_events.go`, `JSServerOutOfSpaceAdvisory`.
        """
        fields = {"server": host.name, "server_id": host.server_id, "stream": stream, "cluster": ""}
        account = host.system_account()
        if account:
            self.say(account, "SERVER.OUT_OF_STORAGE", "server_out_of_space", fields)

    def audit(self, asker: Asker, subject: str, request: bytes, response: bytes) -> None:
        """Say that a request of the API was answered."""
        asked = {"request": request.decode("utf-8", "replace")} if request else {}
        fields = {
            "server": self._server,
            "client": asker.client,
            "subject": subject,
            **asked,
            "response": response.decode(),
        }
        self.say(asker.account, "API", "api_audit", fields)
