"""The requests by which a stream has a consumer elsewhere, and what their answers say.

Source: nats-server `stream.go`, `setupMirrorConsumer`, `trySetupSourceConsumer`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct

from framework_jetstream.api.errors import ApiError, ErrCode, api_error
from framework_jetstream.api.records import ConsumerConfig, CreateConsumerRequest, encode, plain
from framework_jetstream.api.requests import LEVEL_HEADER
from framework_jetstream.api.times import ns_from_text, text_from_ns
from framework_jetstream.sourcing.rules import API_PREFIX
from framework_jetstream.sourcing.served import IDENTITY_HEADER

if TYPE_CHECKING:
    from framework_jetstream.api.records import StreamSource

HEARTBEAT_NS: Final = 1_000_000_000
INACTIVE_NS: Final = 10_000_000_000
ACK_WAIT_NS: Final = 22 * 3600 * 1_000_000_000
MIRROR_LEVEL: Final = 4
SOURCE_LEVEL: Final = 5
"""From which on a stream says whether it was made anew."""


class Stored(Struct, frozen=True):
    """How far a source is stored, and what the stream has."""

    seq: int
    """The last one there; 0: nothing."""
    ident: str
    """Of the stream there; empty: it is not known."""
    messages: int
    first_seq: int
    last_ns: int


class Taker(Struct, frozen=True, kw_only=True):
    """Who takes the messages."""

    stream: str
    account: str
    domain: str
    consumer: str
    """Name of the consumer there."""
    is_mirror: bool


class ConsumerAsked(Struct, frozen=True):
    """A request."""

    subject: str
    header: bytes
    payload: bytes


class ConsumerMade(Struct, frozen=True):
    """What an answer says."""

    name: str = ""
    deliver: str = ""
    passed_seq: int = 0
    """The last sequence that the consumer has passed."""
    ident: str = ""
    error: ApiError | None = None


def create_request(
    source: StreamSource, taker: Taker, stored: Stored, deliver: str, *, level: int
) -> ConsumerAsked:
    """Return the request that makes a consumer.

    Args:
        source: Where, and of what.
        taker: For whom.
        stored: Where it is to begin.
        deliver: Where it is to deliver.
        level: Of the API; 0: a server before 2.14, to which a name of one's own is told.
    """
    config = ConsumerConfig(
        name=taker.consumer,
        deliver_subject=deliver,
        ack_policy="none",
        ack_wait=ACK_WAIT_NS,
        max_deliver=1,
        idle_heartbeat=HEARTBEAT_NS,
        flow_control=True,
        direct=True,
        sourcing=level > 0,
        inactive_threshold=INACTIVE_NS,
        metadata=_metadata(taker),
    )
    (_begin_mirror if taker.is_mirror else _begin_source)(config, source, stored)
    filters = [it.src for it in source.subject_transforms or ()]
    config.filter_subject = source.filter_subject or (filters[0] if len(filters) == 1 else "")
    config.filter_subjects = filters if len(filters) > 1 else None
    subject = f"{API_PREFIX}.CONSUMER.CREATE.{source.name}"
    if config.filter_subject:
        subject += f".{config.name}.{config.filter_subject}"
    request = CreateConsumerRequest(stream_name=source.name, config=config)
    headers = {LEVEL_HEADER: str(level)} if level else {}
    if level >= SOURCE_LEVEL and stored.ident:
        headers[IDENTITY_HEADER] = stored.ident
    return ConsumerAsked(_at(source, subject), _block(headers), encode(plain(request)))


def reset_request(source: StreamSource, *, level: int) -> ConsumerAsked:
    """Return the request that lets a consumer that is there already begin behind what it knows."""
    assert source.consumer is not None
    subject = f"{API_PREFIX}.CONSUMER.RESET.{source.name}.{source.consumer.name}"
    return ConsumerAsked(_at(source, subject), _block({LEVEL_HEADER: str(level)}), b"")


def delete_subject(source: StreamSource, consumer: str) -> str:
    """Return where a consumer is deleted that is needed no more."""
    return _at(source, f"{API_PREFIX}.CONSUMER.DELETE.{source.name}.{consumer}")


def _at(source: StreamSource, subject: str) -> str:
    """Return a subject of the API where the stream is."""
    if source.external is None:
        return subject
    return subject.replace(API_PREFIX, source.external.api, 1).replace("..", ".")


def _block(headers: dict[str, str]) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"NATS/1.0\r\n{lines}\r\n".encode() if lines else b""


def _metadata(taker: Taker) -> dict[str, str]:
    kind = "mirror" if taker.is_mirror else "src"
    shown = {"stream": taker.stream, "acc": taker.account, "domain": taker.domain}
    return {f"_nats.{kind}.{name}": text for name, text in shown.items() if text}


# -- where it begins -----------------------------------------------------------------------------


def _begin_mirror(config: ConsumerConfig, source: StreamSource, stored: Stored) -> None:
    config.deliver_policy = "by_start_sequence"
    config.opt_start_seq = stored.seq + 1
    if stored.messages or stored.first_seq or stored.seq:
        return
    config.opt_start_seq = source.opt_start_seq
    if not source.opt_start_seq and source.opt_start_time is not None:
        config.opt_start_time = source.opt_start_time
        config.deliver_policy = "by_start_time"
    elif not source.opt_start_seq:
        config.deliver_policy = "all"


def _begin_source(config: ConsumerConfig, source: StreamSource, stored: Stored) -> None:
    if stored.seq:
        config.deliver_policy = "by_start_sequence"
        config.opt_start_seq = stored.seq + 1
    elif source.opt_start_seq:
        config.deliver_policy = "by_start_sequence"
        config.opt_start_seq = source.opt_start_seq
    elif source.opt_start_time is not None:
        config.deliver_policy = "by_start_time"
        is_late = stored.last_ns > ns_from_text(source.opt_start_time)
        late = text_from_ns(stored.last_ns)
        config.opt_start_time = late if is_late else source.opt_start_time
    elif stored.first_seq > 1 and stored.last_ns:
        # What it had of this source may have been removed with the sequences before it.
        config.deliver_policy = "by_start_time"
        config.opt_start_time = text_from_ns(stored.last_ns)


# -- answers -------------------------------------------------------------------------------------


def read_answer(
    header: bytes, payload: bytes, source: StreamSource, *, is_mirror: bool
) -> ConsumerMade:
    """Return what an answer says; one that makes no sense is an error."""
    try:
        fields = msgspec.json.decode(payload, type=dict[str, Any])
        if error := fields.get("error"):
            return ConsumerMade(error=msgspec.convert(error, ApiError))
        config, delivered = fields["config"], fields["delivered"]
        made = ConsumerMade(
            name=fields["name"],
            deliver=config.get("deliver_subject", ""),
            passed_seq=int(delivered.get("stream_seq", 0)),
            ident=_identity(header),
        )
    except (msgspec.MsgspecError, ValueError, KeyError, TypeError, AttributeError):
        code = ErrCode.MIRROR_CONSUMER_SETUP if is_mirror else ErrCode.SOURCE_CONSUMER_SETUP
        return ConsumerMade(error=api_error(code, err="invalid consumer create response"))
    if source.consumer is not None and config.get("ack_policy") != "flow_control":
        code = ErrCode.SOURCE_CONSUMER_REQUIRES_FLOW_CONTROL
        if is_mirror:
            code = ErrCode.MIRROR_CONSUMER_REQUIRES_FLOW_CONTROL
        return ConsumerMade(error=api_error(code))
    return made


def _identity(header: bytes) -> str:
    for line in header.decode("utf-8", "replace").split("\r\n")[1:]:
        name, _, value = line.partition(":")
        if name == IDENTITY_HEADER:
            return value.strip()
    return ""
