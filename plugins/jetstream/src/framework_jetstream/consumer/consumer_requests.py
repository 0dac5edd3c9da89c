"""Requests that make and find the consumers of one stream.

Source: nats-server `jetstream_api.go`, `jsConsumerCreateRequest`.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Final

import msgspec

from framework_jetstream.api.errors import ErrCode, failure
from framework_jetstream.api.pedantic import check_consumer
from framework_jetstream.api.records import CreateConsumerRequest
from framework_jetstream.api.requests import read
from framework_jetstream.consumer.bounds import ConsumerBounds
from framework_jetstream.consumer.rules import check_replicas, settled

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework_jetstream.api.records import ConsumerConfig, StreamConfig

_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_NAME_LETTERS: Final = 8
_ANY: Final = ConsumerBounds()


def new_name() -> str:
    """Return a name for a consumer that was given none."""
    return "".join(secrets.choice(_LETTERS) for _ in range(_NAME_LETTERS))


def wanted_consumer(
    payload: bytes,
    rest: tuple[str, ...],
    stream: StreamConfig,
    *,
    is_durable: bool,
    is_strict: bool = True,
    is_clustered: bool = False,
    bounds: ConsumerBounds = _ANY,
    settle: Callable[[ConsumerConfig, StreamConfig], None] = lambda _config, _stream: None,
) -> tuple[ConsumerConfig, str]:
    """Return the configuration that a request asks for, with its defaults, and the action.

    Args:
        payload: Of the request.
        rest: Tokens behind the name of the stream: the consumer's, and a filter.
        stream: Of the stream.
        is_durable: It is the older request for durable consumers.
        is_strict: Fields that nobody knows are errors.
        is_clustered: Servers share streams.
        bounds: Of the server and the account.
        settle: Changes what was asked for before it is checked.

    Raises:
        ApiFailure: It makes no sense.
    """
    request = read(CreateConsumerRequest, payload, is_strict=is_strict)
    if request.stream_name != stream.name:
        raise failure(ErrCode.STREAM_MISMATCH)
    if request.pedantic:
        check_consumer(request.config, stream, bounds.max_request_batch)
    config = msgspec.structs.replace(request.config)
    named = rest[0] if rest else ""
    if is_durable and not config.durable_name:
        raise failure(ErrCode.CONSUMER_DURABLE_NAME_NOT_SET)
    if not rest and config.durable_name:
        raise failure(ErrCode.CONSUMER_EPHEMERAL_WITH_DURABLE_NAME)
    if named and config.durable_name and named != config.durable_name:
        raise failure(ErrCode.CONSUMER_DURABLE_NAME_NOT_MATCH_SUBJECT)
    if len(rest) > 1:
        if config.filter_subjects:
            raise failure(ErrCode.CONSUMER_MULTIPLE_FILTERS_NOT_ALLOWED)
        if ".".join(rest[1:]) != config.filter_subject:
            raise failure(ErrCode.CONSUMER_CREATE_FILTER_SUBJECT_MISMATCH)
    config.name = named or config.name or new_name()
    settle(config, stream)
    check_replicas(config, stream, is_clustered=is_clustered)
    bounds.fill_in(config, stream)
    config = settled(config, stream)
    bounds.check(config)
    return config, request.action
