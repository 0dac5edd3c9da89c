"""What the meta leader is asked of streams: to make, change, move and delete them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from framework_jetstream.api.answers import answer
from framework_jetstream.api.errors import ErrCode, api_error, failure
from framework_jetstream.api.records import StreamConfig, StreamConfigRequest
from framework_jetstream.api.requests import is_empty_request, read
from framework_jetstream.api.times import text_from_ns
from framework_jetstream.cluster.limits import check_stream_shared
from framework_jetstream.cluster.office import asked_of, consumer_of, unplaced
from framework_jetstream.meta.assignments import Asset, StreamAssignment
from framework_jetstream.meta.requests import remove_peer
from framework_jetstream.sourcing.rules import check_origins
from framework_jetstream.stream.account_limits import check_stream, fill_in_window
from framework_jetstream.stream.rules import check_create, settled, updated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework_jetstream.api.subjects import ApiSubject
    from framework_jetstream.cluster.office import Office
    from framework_jetstream.jet_stream import JetStream
    from framework_jetstream.meta.state import MetaState


class StreamRequests:
    """Decides on streams, as the meta leader.

    Args:
        office: By which it decides.
    """

    def __init__(self, office: Office) -> None:
        self._office = office

    def wanted(self, request: JetStream.ApiRequest, name: str) -> StreamConfig:
        """Return the stream that a request describes; raises ApiFailure."""
        wanted = read(StreamConfigRequest, request.payload, is_strict=self._office.host.is_strict)
        if wanted.name != name:
            raise failure(ErrCode.STREAM_MISMATCH)
        fill_in_window(self._office.host.config, wanted)
        config = settled(wanted)
        check_create(config, is_clustered=True)
        self.check_origins(request.account, config)
        return config

    def check_origins(self, account: str, config: StreamConfig) -> None:
        """Raise ApiFailure where a stream mirrors, or takes from, what makes no sense."""
        check_origins(config, partial(_config_of, self._office.view.machine.state, account))

    def create(self, request: JetStream.ApiRequest, found: ApiSubject) -> None:
        """Let there be a stream; who leads it answers."""
        config = self.wanted(request, found.stream)
        check_stream_shared(config)
        wanted = StreamAssignment(
            account=request.account,
            name=found.stream,
            created_ns=self._office.clock(),
            config=msgspec.json.encode(config),
            group=unplaced(config.storage),
            asked=asked_of(request),
            reserved_bytes=max(config.max_bytes, 0),
        )
        cluster = config.placement.cluster if config.placement else ""
        own = str(request.asker.client.get("cluster") or "")

        def decide() -> Any:
            self.check_room(wanted.asset, config, is_new=True)
            return self._office.leader.create_stream(wanted, [cluster or own])

        exists = partial(self._tell_existing, request, found.kind, wanted.asset)
        self._office.decide(request, found.kind, decide, exists)

    def _tell_existing(self, request: JetStream.ApiRequest, kind: str, asset: Asset) -> None:
        """Answer with a stream that there is, as who leads it knows it.

        That server alone may not have heard yet that it was deleted, and what it stores then is
        lost with it: so it is asked once it is certain here that the stream is to be there.
        """
        known = self._office.leader.state.stream(asset)
        created = text_from_ns(known.created_ns) if known is not None else ""

        def told(infos: list[dict[str, Any]], _: list[str]) -> None:
            if infos and infos[0].get("created") == created:
                request.reply.set(answer(kind, {**infos[0], "did_create": True}))
            else:
                self._office.refuse(request, kind, api_error(ErrCode.CLUSTER_NOT_AVAILABLE))

        subject = f"$JS.API.STREAM.INFO.{asset.stream}"
        self._office.gathering.ask(request.account, {asset.stream: subject}, told)

    def update(self, request: JetStream.ApiRequest, found: ApiSubject) -> None:
        """Change a stream, and who has it if that changes with it; who leads it answers."""
        wanted = read(StreamConfigRequest, request.payload, is_strict=self._office.host.is_strict)
        if wanted.name != found.stream:
            raise failure(ErrCode.STREAM_MISMATCH)
        fill_in_window(self._office.host.config, wanted)
        asset = Asset(request.account, found.stream)
        before, after = self._changed_stream(asset, wanted)

        def decide(order: Sequence[str] = ()) -> Any:
            before, config = self._changed_stream(asset, wanted)
            self.check_room(asset, config, is_new=False)
            known = self._office.leader.state.stream(asset)
            assert known is not None
            data, reply = msgspec.json.encode(config), request.subject
            changed = msgspec.structs.replace(known, config=data)
            if before.placement != config.placement and config.placement is not None:
                cluster = config.placement.cluster or known.group.cluster
                return self._office.leader.move(changed, [cluster], reply)
            if before.num_replicas != config.num_replicas:
                return self._office.leader.scale(changed, order, reply)
            return self._office.leader.configure(asset, data, known.level, reply)

        if before.num_replicas == after.num_replicas and before.placement == after.placement:
            self._office.decide(request, found.kind, decide)
        else:
            self._office.decide_by_leader(
                request, found.kind, f"STREAM.INFO.{asset.stream}", decide
            )

    def _changed_stream(
        self, asset: Asset, wanted: StreamConfig
    ) -> tuple[StreamConfig, StreamConfig]:
        """Return how a stream is configured, and will be; raises ApiFailure."""
        known = self._office.leader.state.stream(asset)
        if known is None:
            raise failure(ErrCode.STREAM_NOT_FOUND)
        before = msgspec.json.decode(known.config, type=StreamConfig)
        config = updated(before, wanted, is_clustered=True)
        check_origins(config, partial(_config_of, self._office.leader.state, asset.account))
        check_stream_shared(config)
        return before, config

    def remove_peer(self, request: JetStream.ApiRequest, found: ApiSubject) -> None:
        """Let another server have what one has."""
        asset = Asset(request.account, found.stream, consumer_of(found))
        is_strict = self._office.host.is_strict
        self._office.confirm(
            request,
            found.kind,
            lambda: remove_peer(self._office.leader, asset, request.payload, is_strict=is_strict),
        )

    def cancel_move(self, request: JetStream.ApiRequest, found: ApiSubject) -> None:
        """Let who had a stream keep it."""
        asset = Asset(request.account, found.stream)
        self._office.confirm(request, found.kind, lambda: self._office.leader.cancel_move(asset))

    def check_room(self, asset: Asset, config: StreamConfig, *, is_new: bool) -> None:
        """Raise ApiFailure where a stream takes subjects, or room, that its account has not."""
        kept = self._office.leader.state.account(asset.account)
        if kept.has_overlap(asset.stream, config):
            raise failure(ErrCode.STREAM_SUBJECTS_OVERLAP)
        tiers = self._office.host.limits(asset.account)
        if tiers is None:
            raise failure(ErrCode.NOT_ENABLED_FOR_ACCOUNT)
        check_stream(tiers, config, kept.reserved_without(asset.stream), is_new=is_new)

    def delete(self, request: JetStream.ApiRequest, found: ApiSubject) -> None:
        """Let there be a stream or consumer no more."""
        if not is_empty_request(request.payload):
            raise failure(ErrCode.NOT_EMPTY_REQUEST)
        asset = Asset(request.account, found.stream, consumer_of(found))
        self._office.confirm(request, found.kind, lambda: self._office.leader.remove(asset))


def _config_of(state: MetaState, account: str, name: str) -> StreamConfig | None:
    """Return the configuration of a stream of an account; None: there is none."""
    known = state.stream(Asset(account, name))
    return msgspec.json.decode(known.config, type=StreamConfig) if known is not None else None
