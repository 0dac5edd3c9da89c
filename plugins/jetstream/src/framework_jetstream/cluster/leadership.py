"""Requests to lead no more: of streams, of consumers and of the meta group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework_jetstream.api.answers import answer, refused
from framework_jetstream.api.errors import ErrCode, failure
from framework_jetstream.engine.verbs import CONTROL_GROUP, GroupOf, Verb
from framework_jetstream.meta.peers import number_of
from framework_jetstream.meta.requests import next_leader

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from framework_jetstream.engine.link import EngineAnswer
    from framework_jetstream.host import Host
    from framework_jetstream.jet_stream import JetStream
    from framework_jetstream.meta.assignments import Asset, ServerRecord
    from framework_jetstream.meta.view import ClusterView
    from framework_jetstream.stream.book import StreamBook


class Leadership:
    """Hands groups over that this server leads.

    Args:
        view: Of the cluster.
        book: The streams of this server.
        host: The server.
        ask: Asks the engine, as `EngineLink.ask` does.
    """

    def __init__(
        self,
        *,
        view: ClusterView,
        book: StreamBook,
        host: Host,
        ask: Callable[..., object],
    ) -> None:
        self._view = view
        self._book = book
        self._host = host
        self._ask = ask

    def step_down(self, request: JetStream.ApiRequest, of: GroupOf, asset: Asset) -> None:
        """Let another server lead a stream or consumer."""
        kind = "consumer_leader_stepdown" if of is GroupOf.CONSUMER else "stream_leader_stepdown"
        entry = self._book.find(asset.account, asset.stream)
        found = self._view.machine.state.find(asset)
        number = entry.consumers[asset.consumer].number if asset.consumer else entry.number
        assert found is not None
        servers = self._view.machine.state.servers
        members = {it: servers[it] for it in found.group.peers if it in servers}
        to = self._next_leader(request.payload, members)
        if len(found.group.peers) == 1:
            request.reply.set(answer(kind, {"success": True}))
        else:
            self._hand_over(request, kind, number, of, to)

    def step_down_meta(self, request: JetStream.ApiRequest, kind: str) -> None:
        """Let another server lead the meta group."""
        to = self._next_leader(request.payload, self._view.machine.state.servers)
        self._hand_over(request, kind, CONTROL_GROUP, GroupOf.CONTROL, to)

    def _next_leader(self, payload: bytes, members: Mapping[str, ServerRecord]) -> str:
        return next_leader(
            payload,
            self._view.peer,
            members,
            self._view.is_online,
            is_strict=self._host.is_strict,
        )

    def _hand_over(
        self, request: JetStream.ApiRequest, kind: str, number: int, of: GroupOf, to: str
    ) -> None:
        """Let another server lead a group; `to` is its peer, empty: whoever has most."""

        def told(said: EngineAnswer) -> None:
            error = failure(ErrCode.CLUSTER_NOT_AVAILABLE).error
            done = answer(kind, {"success": True})
            request.reply.set(refused(kind, error) if said.status else done)

        numbers = (of, number_of(to) if to else 0)
        self._ask(Verb.STEP_DOWN, number, then=told, numbers=numbers)
