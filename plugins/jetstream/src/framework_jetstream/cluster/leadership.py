"""Requests to lead no more: of streams, of consumers and of the meta group."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from framework_jetstream.api.answers import answer, refused
from framework_jetstream.api.errors import ErrCode, failure
from framework_jetstream.engine.verbs import CONTROL_GROUP, NOT_LEADER, NOT_NOW, GroupOf, Verb
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


_AGAIN_S: Final = 0.1
_TRIES: Final = 30
"""Clients wait for five seconds."""


class _HandOver(Struct, frozen=True):
    """A request that another server lead a group."""

    request: JetStream.ApiRequest
    kind: str
    number: int
    """By which the engine knows the group."""
    of: GroupOf
    to: str
    """Peer; empty: whoever has most."""
    tries: int = _TRIES
    """That are left."""


class Leadership:
    """Hands groups over that this server leads.

    Args:
        view: Of the cluster.
        book: The streams of this server.
        host: The server.
        ask: Asks the engine, as `EngineLink.ask` does.
        set_aside: Lets a request be answered later, and others go on.
        later: Calls something after so many seconds.
    """

    def __init__(
        self,
        *,
        view: ClusterView,
        book: StreamBook,
        host: Host,
        ask: Callable[..., object],
        set_aside: Callable[[JetStream.ApiRequest], JetStream.ApiRequest],
        later: Callable[[float, Callable[[], object]], object],
    ) -> None:
        self._view = view
        self._book = book
        self._host = host
        self._ask = ask
        self._set_aside = set_aside
        self._later = later

    def step_down(self, request: JetStream.ApiRequest, of: GroupOf, asset: Asset) -> None:
        """Let another server lead a stream or consumer."""
        kind = "consumer_leader_stepdown" if of is GroupOf.CONSUMER else "stream_leader_stepdown"
        entry = self._book.find(asset.account, asset.stream)
        found = self._view.machine.state.find(asset)
        number = entry.consumers[asset.consumer].number if asset.consumer else entry.number
        assert found is not None
        servers = self._view.machine.state.servers
        peers = dict.fromkeys((*found.group.peers, *found.group.target))
        members = {it: servers[it] for it in peers if it in servers}
        to = self._next_leader(request.payload, members)
        if len(peers) == 1:
            request.reply.set(answer(kind, {"success": True}))
        else:
            self._hand_over(_HandOver(request, kind, number, of, to))

    def step_down_meta(self, request: JetStream.ApiRequest, kind: str) -> None:
        """Let another server lead the meta group."""
        to = self._next_leader(request.payload, self._view.machine.state.servers)
        self._hand_over(_HandOver(request, kind, CONTROL_GROUP, GroupOf.CONTROL, to))

    def _next_leader(self, payload: bytes, members: Mapping[str, ServerRecord]) -> str:
        return next_leader(
            payload,
            self._view.peer,
            members,
            self._view.is_online,
            is_strict=self._host.is_strict,
        )

    def _hand_over(self, it: _HandOver) -> None:
        """Let another server lead a group.

        It is tried again while none can: others get what this server has alone, as after a restore.
        """

        def told(said: EngineAnswer) -> None:
            is_first = it.tries == _TRIES
            if said.status == NOT_NOW and it.tries > 1:
                request = self._set_aside(it.request) if is_first else it.request
                again = replace(it, request=request, tries=it.tries - 1)
                self._later(_AGAIN_S, partial(self._hand_over, again))
            elif said.status and (is_first or said.status != NOT_LEADER):
                error = failure(ErrCode.CLUSTER_NOT_AVAILABLE).error
                it.request.reply.set(refused(it.kind, error))
            else:
                it.request.reply.set(answer(it.kind, {"success": True}))

        numbers = (it.of, number_of(it.to) if it.to else 0)
        self._ask(Verb.STEP_DOWN, it.number, then=told, numbers=numbers)
