"""Merge latency samples of services whose requestor and responder are at different servers.

The requestor's server has the sample, the responder's sends its remote latency (`m2`). Either may
come first: they take different connections.
Source: nats-server `accounts.go`, `sendTrackingLatency`, `merge`; `events.go`,
`remoteLatencyUpdate`.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import Struct

from framework.server.system.limits import (
    REMOTE_LATENCIES_MAX,
    REMOTE_LATENCY_BYTES_MAX,
    REMOTE_LATENCY_KEPT_S,
)
from framework.spec import LatencySampled
from framework.spec.formats import time_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.spec import ResponderTimed

_NS_PER_S: Final = 1_000_000_000
_NEVER: Final = "0001-01-01T00:00:00Z"
_OK: Final = 200
_INT64_END: Final = 1 << 63


class RemoteLatency(Struct, frozen=True):
    """What the responder's server has measured."""

    responder: Mapping[str, object]
    rtt_ns: int
    """Between that server and the responder; 0: not known."""
    service_ns: int
    """Without the round trip."""


_Key: TypeAlias = "tuple[str, str]"
"""Name of the exporter's account, and subject of the answer."""

Whole: TypeAlias = "tuple[LatencySampled, RemoteLatency]"


class RemoteLatencies:
    """Keep a sample or a remote latency, until the other comes or its time is over."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[_Key, tuple[int, LatencySampled | RemoteLatency]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._waiting)

    def take_sample(self, account: str, sample: LatencySampled, now_ns: int) -> Whole | None:
        """Take a sample of this server; return both, if its remote latency is there."""
        key = (account, sample.reply.decode())
        self._sweep(now_ns)
        other = self._waiting.get(key)
        if other is None or isinstance(other[1], LatencySampled):
            self._keep(key, sample, now_ns)
            return None
        del self._waiting[key]
        return sample, other[1]

    def take_remote_latency(self, key: _Key, remote: RemoteLatency, now_ns: int) -> Whole | None:
        """Take what the responder's server has measured; return both, if the sample is there."""
        self._sweep(now_ns)
        other = self._waiting.get(key)
        if other is None:
            self._keep(key, remote, now_ns)
        # Of several responders, the first one has answered.
        if other is None or isinstance(other[1], RemoteLatency):
            return None
        del self._waiting[key]
        return other[1], remote

    def _keep(self, key: _Key, remote: LatencySampled | RemoteLatency, now_ns: int) -> None:
        self._waiting[key] = (now_ns, remote)
        if len(self._waiting) > REMOTE_LATENCIES_MAX:
            self._waiting.popitem(last=False)

    def _sweep(self, now_ns: int) -> None:
        while self._waiting:
            kept_ns, _ = next(iter(self._waiting.values()))
            if now_ns - kept_ns < REMOTE_LATENCY_KEPT_S * _NS_PER_S:
                break
            self._waiting.popitem(last=False)


def remote_latency_document(
    account: str, timed: ResponderTimed, since_ns: int
) -> dict[str, object]:
    """Return what the requestor's server is told.

    Args:
        account: Name of the exporter's account.
        timed: What was measured here.
        since_ns: When monotonic time was 0, in nanoseconds since 1970.
    """
    passed_ns = timed.ended_ns - timed.started_ns
    responder = {"responder": json.loads(timed.responder)} if timed.responder else {}
    remote = {
        "type": "",
        "id": "",
        "timestamp": _NEVER,
        "status": _OK,
        **responder,
        "start": time_text(since_ns + timed.started_ns),
        "service": max(passed_ns - timed.responder_rtt_ns, 0),
        "system": 0,
        "total": passed_ns,
    }
    return {"account": account, "req_id": timed.reply.decode(), "m2": remote}


def read_remote_latency(payload: bytes) -> tuple[_Key, RemoteLatency] | None:
    """Return what another server tells; None, if it makes no sense."""
    if len(payload) > REMOTE_LATENCY_BYTES_MAX:
        return None
    try:
        document = json.loads(payload)
        key = document["account"], document["req_id"]
        responder = document["m2"].get("responder", {})
        numbers = responder.get("rtt", 0), document["m2"]["service"]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    if not all(isinstance(it, str) for it in key):
        return None
    if not all(isinstance(it, int) and abs(it) < _INT64_END for it in numbers):
        return None
    return key, RemoteLatency(responder, *numbers)
