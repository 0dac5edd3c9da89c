"""Reads that other servers should have answered: refused once none of those is heard any more.

A server that dies takes the answers along that it owed. Who leads the meta group says it in its
place; what may have been carried out is left unanswered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from framework_jetstream.api.errors import ErrCode, api_error
from framework_jetstream.cluster.owed_answers import OWED_MAX, OWED_NS
from framework_jetstream.meta.answering import LATE_NS

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework_jetstream.api.errors import ApiError
    from framework_jetstream.jet_stream import JetStream
    from framework_jetstream.meta.view import ClusterView

_KEPT_NS: Final = 3_000_000_000
"""By then another server leads the meta group, if its leader died as well."""
_PAYLOAD_BYTES_MAX: Final = 4096


class _Read(Struct, frozen=True):
    request: JetStream.ApiRequest
    kind: str
    is_consumer: bool
    hosts: tuple[str, ...]
    since_ns: int
    due_ns: int


class UnansweredReads:
    """Looks after reads, until their servers have had the time to answer.

    Args:
        view: Of the cluster.
        refuse: Answers a request, of a kind, with an error.
    """

    def __init__(
        self,
        view: ClusterView,
        refuse: Callable[[JetStream.ApiRequest, str, ApiError], object],
    ) -> None:
        self._view = view
        self._refuse = refuse
        self._reads: list[_Read] = []

    def keep(
        self, request: JetStream.ApiRequest, kind: str, hosts: tuple[str, ...], *, is_consumer: bool
    ) -> None:
        """Look after a request that others answer; of those of servers, and of too many, none.

        Args:
            request: It has a subject for its answer.
            kind: As the answer is called.
            hosts: Who has what it is about.
            is_consumer: It is about a consumer.
        """
        is_servers = len(request.asker.client) <= 1
        if is_servers or not request.subject or len(self._reads) >= OWED_MAX:
            return
        if len(request.payload) > _PAYLOAD_BYTES_MAX:
            return
        now_ns = self._view.now_ns()
        late_ns = OWED_NS if any(map(self._view.is_heard, hosts)) else LATE_NS
        self._reads.append(_Read(request, kind, is_consumer, hosts, now_ns, now_ns + late_ns))

    def look(self, *, is_leader: bool) -> None:
        """Refuse, as who leads the meta group, what nobody can have answered."""
        now_ns, reads, self._reads = self._view.now_ns(), self._reads, []
        heard = {host: self._view.is_heard(host) for it in reads for host in it.hosts}
        for it in reads:
            if is_leader and now_ns >= it.due_ns and not any(heard[host] for host in it.hosts):
                code = ErrCode.CONSUMER_OFFLINE if it.is_consumer else ErrCode.STREAM_OFFLINE
                self._refuse(it.request, it.kind, api_error(code))
            elif now_ns - it.since_ns < _KEPT_NS:
                self._reads.append(it)
