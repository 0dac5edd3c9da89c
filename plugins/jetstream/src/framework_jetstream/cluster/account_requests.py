"""What the meta leader is asked of whole accounts and servers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from framework.wire.version import JETSTREAM_API_LEVEL
from framework_jetstream.api.answers import answer
from framework_jetstream.api.requests import check_account_name
from framework_jetstream.cluster.usage import account_stats, usage_subject
from framework_jetstream.meta.requests import remove_server

if TYPE_CHECKING:
    from framework_jetstream.api.subjects import ApiSubject
    from framework_jetstream.cluster.office import Office
    from framework_jetstream.jet_stream import JetStream


class AccountRequests:
    """Says what accounts take, purges them, and removes servers, as the meta leader.

    Args:
        office: By which it decides.
    """

    def __init__(self, office: Office) -> None:
        self._office = office

    def tell(self, request: JetStream.ApiRequest, found: ApiSubject) -> None:
        """Say what the streams of an account take on all servers that are there."""
        account, view = request.account, self._office.view

        def say(said: list[dict[str, Any]], _: list[str]) -> None:
            fields = account_stats(
                account,
                view.machine.state,
                self._office.host.limits(account) or {},
                said,
                domain=self._office.host.config.domain,
                level=JETSTREAM_API_LEVEL,
            )
            request.reply.set(answer(found.kind, fields))

        peers = [it for it in view.machine.state.servers if view.is_online(it)]
        self._office.gathering.ask(account, {it: usage_subject(it) for it in peers}, say)

    def purge(self, request: JetStream.ApiRequest, account: str) -> None:
        """Delete all streams of an account, one after the other; who asks hears that it begins."""
        check_account_name(account)
        for asset in list(self._office.leader.state.streams_of(account)):
            self._office.decisions.decide(partial(self._office.leader.remove, asset))
        request.reply.set(answer("account_purge", {"initiated": True}))

    def remove_server(self, request: JetStream.ApiRequest, found: ApiSubject) -> None:
        """Let a server belong to the meta group no more."""
        office, is_strict = self._office, self._office.host.is_strict
        office.confirm(
            request,
            found.kind,
            lambda: remove_server(office.leader, request.payload, is_strict=is_strict),
        )
