"""A plugin that lets a consumer end only when it is asked to be there again: as late as can be."""

from __future__ import annotations

from framework_jetstream.consumer.consumer import Consumer
from framework_jetstream.stream.stream import Stream

_delete = Consumer._delete
_start = Stream._start_consumer
_put_off: list[tuple[Consumer, Consumer.Request]] = []


def delete(consumer: Consumer, request: Consumer.Request) -> None:
    """Remember a request for later."""
    _put_off.append((consumer, request))


def start(stream: Stream, request: Stream.StartConsumer) -> None:
    """Let what was put off be done behind this."""
    _start(stream, request)
    for consumer, late in _put_off:
        _delete(consumer, late)
    _put_off.clear()


Consumer._delete = delete  # type: ignore[method-assign]
Stream._start_consumer = start  # type: ignore[method-assign]
