"""Advisories: what happened to streams and consumers, published in the account whose they are.

The engine says what it sees alone: `engine/_advisories.pyx`.

Source: nats-server `jetstream_events.go`; `jetstream_api.go`, subjects of advisories.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from framework_jetstream.api.records import encode, plain
from framework_jetstream.api.times import text_from_ns

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from framework.wire.event_ids import EventIds
    from framework_jetstream.api.asker import Asker
    from framework_jetstream.api.records import ClusterInfo, MetaClusterInfo
    from framework_jetstream.host import Host

PREFIX: Final = "$JS.EVENT.ADVISORY."
AUDIT: Final = f"{PREFIX}API"
_TYPE: Final = "io.nats.jetstream.advisory.v1."


class Advisories:
    """Publishes them.

    Args:
        publish: Takes the name of an account, a subject and a payload.
        server: Name of the server.
        domain: Of JetStream; empty: none.
        ids: Draws the identifiers.
        clock: Returns the Unix time in nanoseconds.
        is_audited: Returns whether anybody may hear of requests in an account.
    """

    def __init__(
        self,
        publish: Callable[[str, str, bytes], object],
        *,
        server: str,
        domain: str,
        ids: EventIds,
        clock: Callable[[], int],
        is_audited: Callable[[str], bool],
    ) -> None:
        self._publish = publish
        self._server = server
        self._domain = {"domain": domain} if domain else {}
        self._ids = ids
        self._clock = clock
        self._is_audited = is_audited

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

    def say_leader(
        self, account: str, system_account: str, asset: tuple[str, str], cluster: ClusterInfo
    ) -> None:
        """Say that a stream or consumer is led by another server than before.

        Args:
            account: Whose it is; it is told there, and in the system account.
            system_account: Empty: there is none.
            asset: The stream, and the consumer; of a stream, no consumer.
            cluster: Who has it.

        Source: nats-server `jetstream_events.go`, `JSStreamLeaderElectedAdvisory`.
        """
        kind = "consumer" if asset[1] else "stream"
        names = [it for it in asset if it]
        fields = {
            **dict(zip(("stream", "consumer"), names, strict=False)),
            "leader": cluster.leader,
            "replicas": plain(cluster.replicas or []),
        }
        subject = ".".join((kind.upper(), "LEADER_ELECTED", *names))
        what = f"{kind}_leader_elected"
        if account != system_account:
            self.say(account, subject, what, fields)
        if system_account:
            self.say(system_account, subject, what, {"account": account, **fields})

    def say_quorum_lost(
        self, account: str, system_account: str, asset: tuple[str, str], cluster: ClusterInfo
    ) -> None:
        """Say that a stream or consumer stalls, since most of its servers are not heard.

        Args:
            account: As of `say_leader`, and so on.
            system_account: The same.
            asset: The same.
            cluster: The same.
        """
        kind = "consumer" if asset[1] else "stream"
        names = [it for it in asset if it]
        fields = {
            **dict(zip(("stream", "consumer"), names, strict=False)),
            "replicas": plain(cluster.replicas or []),
        }
        subject = ".".join((kind.upper(), "QUORUM_LOST", *names))
        if account != system_account:
            self.say(account, subject, f"{kind}_quorum_lost", fields)
        if system_account:
            self.say(system_account, subject, f"{kind}_quorum_lost", {"account": account, **fields})

    def say_meta_leader(self, system_account: str, meta: MetaClusterInfo) -> None:
        """Say in the system account who leads the meta group now."""
        fields = {
            "leader": meta.peer,
            "replicas": plain(meta.replicas or []),
            "cluster": meta.name,
        }
        if system_account:
            self.say(system_account, "DOMAIN.LEADER_ELECTED", "domain_leader_elected", fields)

    def say_out_of_storage(self, host: Host, stream: str) -> None:
        """Say in the system account that messages are refused, for the disk is full.

        Source: nats-server `jetstream_events.go`, `JSServerOutOfSpaceAdvisory`.
        """
        fields = {"server": host.name, "server_id": host.server_id, "stream": stream, "cluster": ""}
        account = host.system_account()
        if account:
            self.say(account, "SERVER.OUT_OF_STORAGE", "server_out_of_space", fields)

    def audit(self, asker: Asker, subject: str, request: bytes, response: bytes) -> None:
        """Say that a request of the API was answered, where somebody may hear it."""
        if not self._is_audited(asker.account):
            return
        asked = {"request": request.decode("utf-8", "replace")} if request else {}
        fields = {
            "server": self._server,
            "client": asker.client,
            "subject": subject,
            **asked,
            "response": response.decode(),
        }
        self.say(asker.account, AUDIT.removeprefix(PREFIX), "api_audit", fields)
