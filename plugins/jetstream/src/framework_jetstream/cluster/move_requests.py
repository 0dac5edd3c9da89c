"""Streams that operators move away from a server, and moves that are given up.

A user of the system account says whose stream it is; a user of an account may move its own.

Source: nats-server `jetstream_api.go`, `jsLeaderServerStreamMoveRequest`,
`jsLeaderServerStreamCancelMoveRequest`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from framework_jetstream.api.errors import ErrCode, failure
from framework_jetstream.api.records import MoveRequest
from framework_jetstream.api.requests import check_level, read
from framework_jetstream.meta.assignments import Asset

if TYPE_CHECKING:
    from framework_jetstream.api.subjects import ApiSubject
    from framework_jetstream.cluster.office import Office
    from framework_jetstream.jet_stream import JetStream

_WORDS: Final = ("ACCOUNT", "STREAM")


def is_move(request: JetStream.ApiRequest, system_account: str) -> bool:
    """Return whether a request is to move a stream, or to give that up, and may be made."""
    account, asked = request.tokens[3:4], request.account
    return request.tokens[:2] == _WORDS and (asked == system_account or account == (asked,))


class MoveRequests:
    """Moves streams of any account, as the meta leader.

    Args:
        office: By which it decides.
    """

    def __init__(self, office: Office) -> None:
        self._office = office

    def take(self, request: JetStream.ApiRequest, found: ApiSubject) -> None:
        """Move a stream, or give that up; raises ApiFailure."""
        check_level(request.headers)
        asset = Asset(found.stream, found.rest[0])
        if found.kind == "stream_update":
            self._move(request, found, asset)
            return
        self._check_account(asset)
        leader = self._office.leader
        self._office.confirm(request, found.kind, lambda: leader.cancel_move(asset))

    def _move(self, request: JetStream.ApiRequest, found: ApiSubject, asset: Asset) -> None:
        """Let another server have a stream in place of one; who leads it answers."""
        office = self._office
        wanted = read(MoveRequest, request.payload, is_strict=office.host.is_strict)
        self._check_account(asset)
        if office.leader.state.stream(asset) is None:
            raise failure(ErrCode.STREAM_NOT_FOUND)
        peer = self._peer(wanted)
        tags, reply = wanted.tags or [], request.subject
        office.decide(request, found.kind, lambda: office.leader.evacuate(asset, peer, tags, reply))

    def _peer(self, wanted: MoveRequest) -> str:
        """Return who is meant, empty: nobody in particular; raises ApiFailure."""
        if not wanted.server:
            return ""
        for it in self._office.leader.state.servers.values():
            is_in = wanted.cluster in {"", it.cluster} and wanted.domain in {"", it.domain}
            if it.name == wanted.server and is_in:
                return it.peer
        raise failure(ErrCode.CLUSTER_SERVER_NOT_MEMBER)

    def _check_account(self, asset: Asset) -> None:
        try:
            self._office.host.account_number(asset.account)
        except KeyError:
            raise failure(ErrCode.NO_ACCOUNT) from None
