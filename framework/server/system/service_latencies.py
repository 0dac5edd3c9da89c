"""The actor that publishes service latency samples. Source: ADR-3.

Where the responder is at another server, that server tells its latency; a sample without it is not
published.

Source: ADR-3; nats-server `accounts.go`, `ServiceLatency`, `sendTrackingLatency`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias

from msgspec import Struct
from typing_extensions import override

from framework.actors import Component, WhenFull
from framework.server.system.outbox import json_bytes
from framework.server.system.remote_latencies import (
    RemoteLatencies,
    read_remote_latency,
    remote_latency_document,
)
from framework.spec import LatencySampled, ResponderTimed
from framework.spec.formats import time_text
from framework.wire.subject import is_literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from framework.server.system.outbox import Outbox
    from framework.server.system.remote_latencies import RemoteLatency
    from framework.spec import AccountBook, LatencySampling
    from framework.wire.event_ids import EventIds

SERVICE_LATENCIES: Final = "service_latencies"
"""Name of its ComponentSpec."""

REMOTE_LATENCY_SUBJECT: Final = "$SYS.LATENCY.M2.%s"
"""Where a server, by its node, is told remotes of samples. Source: `remoteLatencyEventSubj`."""

_Found: TypeAlias = "defaultdict[int, list[tuple[bytes, bytes, bytes, bytes]]]"
"""Messages by the number of their account."""

_TYPE: Final = "io.nats.server.metric.v1.service_latency"
_OK: Final = 200
_PROBLEMS: Final = {
    400: "Bad Request",
    408: "Request Timeout",
    503: "Service Unavailable",
    504: "Service Timeout",
}
_TRIGGERS: Final = frozenset({
    "b3",
    "nats-trace-only",
    "traceparent",
    "tracestate",
    "uber-trace-id",
    "x-b3-parentspanid",
    "x-b3-sampled",
    "x-b3-spanid",
    "x-b3-traceid",
})
"""Headers by which a request asks to be sampled, in lower case."""


class ServiceLatencies(Component):
    """Publish samples of the data plane, a batch at a time.

    Args:
        accounts: Tell where samples of a service go.
        service_of: Returns account and subject of the service that a sample is about.
        account_name: Returns the name of the account of a number.
        outbox: Publishes.
        ids: Numbers events.
        wall_ns: Tells the time, in nanoseconds since 1970.
        monotonic_ns: The time in which samples count.
    """

    MAILBOX_MAX: ClassVar[int] = 10_000
    """Samples; they are statistics, and the rest of a burst is dropped."""
    WHEN_FULL: ClassVar[WhenFull] = WhenFull.DROP_NEWEST

    class RemoteLatencyArrived(Struct, frozen=True):
        """A server tells the latency that it has measured at its responder."""

        payload: bytes

    def __init__(
        self,
        *,
        accounts: AccountBook,
        service_of: Callable[[int], tuple[str, str] | None],
        account_name: Callable[[int], str],
        outbox: Outbox,
        ids: EventIds,
        wall_ns: Callable[[], int],
        monotonic_ns: Callable[[], int],
    ) -> None:
        super().__init__()
        self._accounts = accounts
        self._service_of = service_of
        self._account_name = account_name
        self._remote_latencies = RemoteLatencies()
        self._outbox = outbox
        self._ids = ids
        self._wall_ns = wall_ns
        self._monotonic_ns = monotonic_ns

    @override
    def on_batch(self, messages: list[object]) -> None:
        found: _Found = defaultdict(list)
        told: list[tuple[bytes, bytes, bytes, bytes]] = []
        for message in messages:
            match message:
                case LatencySampled():
                    self._receive_sample(message, found)
                case ResponderTimed():
                    told.append(self._remote_latency(message))
                case self.RemoteLatencyArrived(payload):
                    self._receive_remote_latency(payload, found)
        for account, batch in found.items():
            self._outbox.send(batch, account)
        self._outbox.send(told)

    def _receive_sample(self, sample: LatencySampled, found: _Found) -> None:
        service = self._service_of(sample.token)
        if service is None or self._sampling(*service) is None:
            return
        if not sample.reply:
            self._put(sample, None, found)
        elif whole := self._remote_latencies.take_sample(service[0], sample, self._monotonic_ns()):
            self._put(*whole, found)

    def _receive_remote_latency(self, payload: bytes, found: _Found) -> None:
        remote = read_remote_latency(payload)
        if remote and (
            whole := self._remote_latencies.take_remote_latency(*remote, self._monotonic_ns())
        ):
            self._put(*whole, found)

    def _remote_latency(self, timed: ResponderTimed) -> tuple[bytes, bytes, bytes, bytes]:
        account = self._account_name(timed.account)
        document = remote_latency_document(account, timed, self._wall_ns() - self._monotonic_ns())
        node = timed.reply.split(b".")[-2]
        return REMOTE_LATENCY_SUBJECT.encode() % node, b"", b"", json_bytes(document)

    def _put(self, sample: LatencySampled, remote: RemoteLatency | None, found: _Found) -> None:
        service = self._service_of(sample.token)
        sampling = self._sampling(*service) if service else None
        if service and sampling and is_literal(sampling.subject):
            payload = json_bytes(self._document(sample, remote))
            number = self._accounts.index(service[0])
            found[number].append((sampling.subject.encode(), b"", b"", payload))

    def _sampling(self, account: str, subject: str) -> LatencySampling | None:
        spec = self._accounts.get(account)
        exports = spec.service_exports if spec else ()
        return next((it.latency for it in exports if it.subject == subject), None)

    def _document(self, sample: LatencySampled, remote: RemoteLatency | None) -> dict[str, object]:
        wall_ns = self._wall_ns()
        began_ns = sample.started_ns - sample.requestor_rtt_ns
        document: dict[str, object] = {
            "type": _TYPE,
            "id": self._ids.next(),
            "timestamp": time_text(wall_ns),
            "status": sample.status,
        }
        optional = {
            "description": _PROBLEMS.get(sample.status, ""),
            "requestor": _party(sample.requestor),
            "responder": remote.responder if remote else _party(sample.responder),
            "header": _triggers(sample.header),
        }
        document |= {name: value for name, value in optional.items() if value}
        document["start"] = time_text(wall_ns - self._monotonic_ns() + began_ns)
        service_ns = system_ns = total_ns = 0
        if sample.status == _OK:
            passed_ns = sample.ended_ns - sample.started_ns
            service_ns = max(passed_ns - sample.responder_rtt_ns, 0)
            total_ns = passed_ns + sample.requestor_rtt_ns
        if remote:
            # What is left of the time here is that of the servers.
            system_ns = max(service_ns - remote.service_ns - remote.rtt_ns, 0)
            service_ns = max(remote.service_ns, 0)
        return document | {"service": service_ns, "system": system_ns, "total": total_ns}


def _party(document: bytes) -> Mapping[str, object]:
    """Return who took part, as the plane describes it."""
    if not document:
        return {}
    party: Mapping[str, object] = json.loads(document)
    return party


def _triggers(block: bytes) -> Mapping[str, list[str]]:
    """Return the headers that asked for the sample, as Go writes headers."""
    headers: defaultdict[str, list[str]] = defaultdict(list)
    for line in block.split(b"\r\n")[1:]:
        name, _, value = line.decode("utf-8", "replace").partition(":")
        if name.strip().lower() in _TRIGGERS:
            headers[name.strip()].append(value.strip())
    return headers
