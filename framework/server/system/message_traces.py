"""The actor that publishes message traces. Source: ADR-41.

Source: ADR-41; nats-server `msgtrace.go`, `MsgTraceEvent`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, ClassVar, Final

from typing_extensions import override

from framework.actors import Component, WhenFull
from framework.server.system.encoding import encode_answer
from framework.server.system.outbox import json_bytes
from framework.spec import MessageTraced, StepKind, TraceFault
from framework.spec.formats import time_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from framework.server.system.outbox import Outbox
    from framework.server.system.server_stamp import ServerStamp
    from framework.spec import LinkId, LinkKind, TraceStep

MESSAGE_TRACES: Final = "message_traces"
"""Name of its ComponentSpec."""

_FAULTS: Final = {
    TraceFault.NO_ECHO: "Not delivered because of no echo",
    TraceFault.DENIED: "Not delivered because subscription denies this subject",
    TraceFault.ENDED: "Not delivered because subscription is closed",
    TraceFault.CLOSED: "Not delivered because client is closed",
    TraceFault.NO_SUPPORT: (
        "Message delivered but remote does not support message tracing "
        "so no trace event generated from there"
    ),
    TraceFault.ONLY_NO_SUPPORT: ("Not delivered because remote does not support message tracing"),
    TraceFault.PUBLISH: "Permissions Violation for Publish to ",
    TraceFault.REPLY: "Permissions Violation for Publish with Reply of ",
}


class MessageTraces(Component):
    """Publish traces of the data plane as nats-server words them, a batch at a time.

    Args:
        stamp: Names this server.
        account_name: Returns the name of an account by its number.
        link_name: Returns how the client or server at the other end is called, or nothing.
        outbox: Publishes.
        monotonic_ns: The time in which traces count.
    """

    MAILBOX_MAX: ClassVar[int] = 10_000
    """Traces; the rest of a burst is dropped."""
    WHEN_FULL: ClassVar[WhenFull] = WhenFull.DROP_NEWEST

    def __init__(
        self,
        *,
        stamp: ServerStamp,
        account_name: Callable[[int], str],
        link_name: Callable[[LinkId, LinkKind], str],
        outbox: Outbox,
        monotonic_ns: Callable[[], int],
    ) -> None:
        super().__init__()
        self._stamp = stamp
        self._account_name = account_name
        self._link_name = link_name
        self._outbox = outbox
        self._monotonic_ns = monotonic_ns

    @override
    def on_batch(self, messages: list[object]) -> None:
        found: defaultdict[int, list[tuple[bytes, bytes, bytes, bytes]]] = defaultdict(list)
        for message in messages:
            if isinstance(message, MessageTraced):
                payload = json_bytes(self._document(message))
                header, payload = encode_answer(message.header, payload)
                found[message.account].append((message.destination, b"", header, payload))
        for account, batch in found.items():
            self._outbox.send(batch, account)

    def _document(self, traced: MessageTraced) -> dict[str, object]:
        wall_ns = self._stamp.wall_ns() - self._monotonic_ns() + traced.at_ns
        when = time_text(wall_ns)
        document: dict[str, object] = {
            "server": self._stamp.make(),
            "request": {"header": headers_of(traced.header), "msgsize": traced.size},
        }
        if traced.hops:
            document["hops"] = traced.hops
        steps = [self._step(step, when) for step in traced.steps]
        return document | {"events": [self._ingress(traced, when), *steps]}

    def _ingress(self, traced: MessageTraced, when: str) -> dict[str, object]:
        error = _FAULTS.get(traced.fault, "")
        if error:
            error += json.dumps(_text(traced.refused), ensure_ascii=False)
        return _without_empty(
            {
                "type": "in",
                "ts": when,
                "kind": traced.kind.names.trace_number,
                "cid": traced.cid,
                "name": self._link_name(traced.link, traced.kind),
                "acc": self._account_name(traced.account),
                "subj": _text(traced.subject),
                "error": error,
            },
            "name",
            "error",
        )

    def _step(self, step: TraceStep, when: str) -> Mapping[str, object]:
        subject, other = _text(step.subject), _text(step.other)
        account = "" if step.account is None else self._account_name(step.account)
        match step.kind:
            case StepKind.MAPPED:
                return {"type": "sm", "ts": when, "to": subject}
            case StepKind.STREAM:
                return {"type": "se", "ts": when, "acc": account, "to": subject}
            case StepKind.SERVICE:
                return {"type": "si", "ts": when, "acc": account, "from": subject, "to": other}
            case StepKind.SENT:
                return _without_empty(
                    {
                        "type": "eg",
                        "ts": when,
                        "kind": step.link_kind.names.trace_number,
                        "cid": step.cid,
                        "name": self._link_name(step.link, step.link_kind),
                        "hop": _text(step.hop),
                        "acc": account,
                        "sub": subject,
                        "queue": other,
                        "error": _FAULTS.get(step.fault, ""),
                    },
                    *("name", "hop", "acc", "sub", "queue", "error"),
                )


def headers_of(block: bytes) -> dict[str, list[str]]:
    """Return the fields of a header block, their names as they are, without those that are empty.

    Source: nats-server `msgtrace.go`, `genHeaderMapIfTraceHeadersPresent`.
    """
    headers: defaultdict[str, list[str]] = defaultdict(list)
    for line in block.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        value = value.strip(b" \t")
        if name and value:
            headers[_text(name)].append(_text(value))
    return dict(headers)


def _text(chars: bytes) -> str:
    return chars.decode("utf-8", "replace")


def _without_empty(document: dict[str, object], *optional: str) -> dict[str, object]:
    return {name: it for name, it in document.items() if it or name not in optional}
