"""What the meta leader is asked of consumers: to make, change and pause them."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import msgspec

from framework_jetstream.api.answers import answer
from framework_jetstream.api.errors import ApiFailure, ErrCode, failure
from framework_jetstream.api.records import ConsumerConfig, ConsumerPauseRequest, StreamConfig
from framework_jetstream.api.requests import read
from framework_jetstream.api.times import text_from_ns
from framework_jetstream.cluster.changes import ConsumerChanges
from framework_jetstream.cluster.office import asked_of, consumer_of, unplaced
from framework_jetstream.consumer.consumer import time_from_request
from framework_jetstream.consumer.rules import replicas_of, settle_metadata
from framework_jetstream.meta.assignments import Asset, ConsumerAssignment
from framework_jetstream.meta.effects import Outcome
from framework_jetstream.sourcing.served import check_identity
from framework_jetstream.stream.account_limits import limits_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework_jetstream.api.subjects import ApiSubject
    from framework_jetstream.cluster.office import Office
    from framework_jetstream.jet_stream import JetStream
    from framework_jetstream.meta.assignments import StreamAssignment
    from framework_jetstream.meta.leader import Existing, Proposal

_CONFIGS_KNOWN = 8192
"""Of some hundred bytes each."""


@lru_cache(_CONFIGS_KNOWN)
def _config_of(config: bytes) -> ConsumerConfig:
    """Return the configuration of a consumer, as of its assignment; nobody changes it.

    A stream may have thousands, and each that is added is compared with all others.
    """
    return msgspec.json.decode(config, type=ConsumerConfig)


class ConsumerRequests:
    """Decides on consumers, as the meta leader.

    Args:
        office: By which it decides.
    """

    def __init__(self, office: Office) -> None:
        self._office = office

    def _changes(self, account: str, stream: StreamConfig) -> ConsumerChanges:
        return ConsumerChanges(
            self._office.host.config,
            stream,
            limits=limits_for(self._office.host.limits(account) or {}, stream.num_replicas),
            is_strict=self._office.host.is_strict,
        )

    def create(self, request: JetStream.ApiRequest, found: ApiSubject) -> None:
        """Let a stream have a consumer, or one that it has be another way."""
        decide = partial(self._decide, request, found)
        if self._is_scaled(request, found):
            info = f"CONSUMER.INFO.{found.stream}.{consumer_of(found)}"
            self._office.decide_by_leader(request, found.kind, info, decide)
        else:
            self._office.decide(request, found.kind, decide)

    def _decide(
        self, request: JetStream.ApiRequest, found: ApiSubject, order: Sequence[str] = ()
    ) -> Proposal | Existing:
        """Decide on a request, with the peers of a consumer that is there: who leads it first."""
        stream, config, wanted = self._wanted(request, found)
        if wanted.direct or wanted.sourcing:
            check_identity(request.headers, stream.created_ns)
        target = Asset(request.account, found.stream, wanted.name)
        known = self._office.leader.state.find(target)
        replicas, text = replicas_of(wanted, config), msgspec.json.encode(wanted)
        if isinstance(known, ConsumerAssignment):
            # Who leads it answers when it has heard of this, and so of all that was before.
            if known.replicas == replicas:
                return self._office.leader.configure(target, text, 0, request.subject)
            return self._office.leader.scale_consumer(
                target, text, replicas, order, request.subject
            )
        is_in_memory = config.storage == "memory" or wanted.mem_storage
        return self._office.leader.create_consumer(
            target,
            ConsumerAssignment(
                name=wanted.name,
                created_ns=self._office.clock(),
                config=text,
                group=unplaced("memory" if is_in_memory else "file"),
                asked=asked_of(request),
                replicas=replicas,
            ),
        )

    def _wanted(
        self, request: JetStream.ApiRequest, found: ApiSubject
    ) -> tuple[StreamAssignment, StreamConfig, ConsumerConfig]:
        """Return a stream, and what a request wants a consumer of it to be; raises ApiFailure."""
        asset = Asset(request.account, found.stream)
        stream = self._office.leader.state.stream(asset)
        if stream is None:
            raise failure(ErrCode.STREAM_NOT_FOUND)
        config = msgspec.json.decode(stream.config, type=StreamConfig)
        known = {
            name: _config_of(it.config)
            for name, it in self._office.leader.state.consumers(asset).items()
        }
        return (
            stream,
            config,
            self._changes(request.account, config).wanted(request.payload, found, known),
        )

    def _is_scaled(self, request: JetStream.ApiRequest, found: ApiSubject) -> bool:
        """Return whether a consumer that is there is to have more replicas, or fewer."""
        asset = Asset(request.account, found.stream, consumer_of(found))
        known = self._office.leader.state.find(asset) if asset.consumer else None
        if known is None:
            return False
        try:
            _, stream, wanted = self._wanted(request, found)
        except ApiFailure:
            return False  # it is refused when it is to be decided
        return (replicas_of(wanted, stream) or stream.num_replicas) != len(known.group.peers)

    def pause(self, request: JetStream.ApiRequest, found: ApiSubject) -> None:
        """Let a consumer deliver nothing until some time, or again."""
        wanted = read(ConsumerPauseRequest, request.payload, is_strict=self._office.host.is_strict)
        until_ns = time_from_request(wanted.pause_until)
        asset = Asset(request.account, found.stream, consumer_of(found))

        def decide() -> Any:
            if self._office.leader.state.stream(asset) is None:
                raise failure(ErrCode.STREAM_NOT_FOUND)
            known = self._office.leader.state.find(asset)
            if known is None:
                raise failure(ErrCode.CONSUMER_NOT_FOUND)
            config = msgspec.json.decode(known.config, type=ConsumerConfig)
            config.pause_until = text_from_ns(until_ns) if until_ns else None
            settle_metadata(config)
            return self._office.leader.configure(asset, msgspec.json.encode(config), 0)

        def done(outcome: Outcome | Existing | None) -> None:
            if outcome is not Outcome.DONE:
                self._office.say_outcome(request, found.kind, outcome)
                return
            left_ns = max(until_ns - self._office.clock(), 0)
            fields = {"paused": left_ns > 0, "pause_until": text_from_ns(until_ns)}
            also = {"pause_remaining": left_ns} if left_ns else {}
            request.reply.set(answer(found.kind, {**fields, **also}))

        self._office.decisions.decide(
            decide, done, partial(self._office.refuse, request, found.kind)
        )
