"""What the engine and the log are told of a consumer: its configuration."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from framework_jetstream.api.saved import SavedConsumer, text_of
from framework_jetstream.consumer.terms import filters_of, terms_of
from framework_jetstream.engine.link import replica_numbers

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework.actors import ActorRef
    from framework_jetstream.consumer.entry import ConsumerEntry
    from framework_jetstream.engine.link import EngineAnswer, EngineLink
    from framework_jetstream.engine.verbs import Verb


def tell_engine(
    entry: ConsumerEntry,
    verb: Verb,
    link: EngineLink,
    owner: ActorRef[Any],
    then: Callable[[EngineAnswer], object],
) -> None:
    """Let the engine have the configuration of a consumer, to open or to change it.

    Args:
        entry: The consumer.
        verb: OPEN_CONSUMER or UPDATE_CONSUMER.
        link: The way to the engine.
        owner: In whose turn `then` gets the answer.
        then: Called with it.
    """
    config = entry.config
    backoff = config.backoff or []
    targets = "\n".join([config.deliver_subject, *(config.priority_groups or ())])
    link.ask(
        owner,
        verb,
        entry.number,
        then=then,
        numbers=(
            entry.stream_number,
            len(backoff),
            0,
            0,
            *replica_numbers(entry.replicas, may_have_been=entry.is_repaired),
        ),
        terms=terms_of(config, entry.burst_bytes),
        first="\n".join([config.name, *filters_of(config)]).encode(),
        second=targets.encode() + struct.pack(f"={len(backoff)}q", *backoff),
        third=_saved(entry),
    )


def is_logged(entry: ConsumerEntry) -> bool:
    """Return whether the log knows of a consumer; else it is in memory only."""
    is_in_memory = entry.stream.config.storage != "file" or entry.config.mem_storage
    return not is_in_memory or bool(entry.replicas) or entry.is_logged


def _saved(entry: ConsumerEntry) -> bytes:
    """Return what the log is to know of a consumer; empty: it is in memory only."""
    stream = entry.stream
    if not is_logged(entry):
        return b""
    return text_of(
        SavedConsumer(
            stream.account,
            entry.stream_name,
            stream.created_ns,
            entry.created_ns,
            entry.config,
            entry.replicas,
            entry.group,
        )
    )
