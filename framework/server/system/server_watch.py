"""The actor that broadcasts STATSZ, and tracks other servers by theirs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from typing_extensions import override

from framework.actors import Component
from framework.errors import BadOptions
from framework.monitor.request_options import members_of_payload
from framework.server.system.limits import (
    EVENTS_BYTES_MAX,
    STATSZ_APART_S,
    STATSZ_FIRST_S,
    STATSZ_INTERVAL_S,
    SWEEP_INTERVAL_S,
)
from framework.server.system.listening import Listening
from framework.server.system.remote_counts import Counts
from framework.server.system.server_stamp import node_of
from framework.server.system.server_table import Heard
from framework.server.system.service_latencies import REMOTE_LATENCY_SUBJECT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from structlog.typing import FilteringBoundLogger

    from framework.actors import Timer
    from framework.server.system.listening import Arrival
    from framework.server.system.remote_counts import RemoteCounts
    from framework.server.system.server_table import ServerTable
    from framework.spec import ServerContext

SERVER_WATCH: Final = "server_watch"
"""Name of its ComponentSpec."""

_NS_PER_S: Final = 1_000_000_000
_SERVER_AT: Final = 2
"""Where the ID of a server stands in `$SYS.SERVER.<id>.SHUTDOWN`."""


class ServerWatch(Component):
    """Broadcast STATSZ, receive that of others, count servers and their clients.

    Args:
        server: This server.
        table: The other servers.
        counts: Their clients, by account.
        broadcast: Publishes STATSZ.
        take_remote_latency: Takes what another server tells of a sample.
        log: The server's logger.
    """

    class Begin(Struct, frozen=True):
        """Begin in a system account; after a reload it may be another one."""

    class Broadcast(Struct, frozen=True):
        """Broadcast STATSZ now."""

    class _Beat(Struct, frozen=True):
        pass

    class _Sweep(Struct, frozen=True):
        pass

    class _Arrived(Struct, frozen=True):
        receive: Callable[[Arrival], None]
        arrivals: Sequence[Arrival]

    def __init__(
        self,
        *,
        server: ServerContext,
        table: ServerTable,
        counts: RemoteCounts,
        broadcast: Callable[[], None],
        take_remote_latency: Callable[[bytes], None],
        log: FilteringBoundLogger,
    ) -> None:
        super().__init__()
        self._server = server
        self._listening = Listening(server)
        self._table = table
        self._counts = counts
        self._broadcast = broadcast
        self._take_remote_latency = take_remote_latency
        self._log = log
        self._interval_s = STATSZ_FIRST_S
        self._told_ns: int | None = None
        self._beat: Timer | None = None
        self._sweep: Timer | None = None

    @override
    def on_receive(self, message: object) -> None:
        match message:
            case self.Begin():
                self._begin()
            case self._Beat():
                self._receive_beat()
            case self.Broadcast():
                self._tell()
            case self._Sweep():
                self._receive_sweep()
            case self._Arrived(receive, arrivals):
                for arrival in arrivals:
                    receive(arrival)
            case _:
                super().on_receive(message)

    @override
    def on_stop(self) -> None:
        self._listening.close()

    def _begin(self) -> None:
        self._listening.close()
        account = self._server.accounts.system_account
        if not account:
            return
        for subject, receive in WATCHED.items():
            own = subject.format(id=self._server.server_id, node=node_of(self._server.name))
            hand_on = partial(self._hand_on, partial(receive, self))
            self._listening.open(account, own, hand_on, bytes_max=EVENTS_BYTES_MAX)
        self._interval_s = STATSZ_FIRST_S
        if self._beat is None:
            self._beat = self.tell_later(self._interval_s, self._Beat())
            self._sweep = self.tell_later(SWEEP_INTERVAL_S, self._Sweep())
        else:
            self._beat.reset(self._interval_s)

    def _hand_on(self, receive: Callable[[Arrival], None], arrivals: list[Arrival]) -> None:
        self.actor_ref.tell(self._Arrived(receive, arrivals))

    def _receive_beat(self) -> None:
        assert self._beat is not None
        self._interval_s = min(self._interval_s * 2, STATSZ_INTERVAL_S)
        self._beat.reset(self._interval_s)
        self._tell()

    def _tell(self) -> None:
        """Broadcast STATSZ, or soon if that was done just now."""
        now_ns, apart_s = self.now_ns(), min(STATSZ_APART_S, self._interval_s / 2)
        passed_s = apart_s if self._told_ns is None else (now_ns - self._told_ns) / _NS_PER_S
        if passed_s < apart_s:
            if self._beat is not None:
                self._beat.reset(apart_s - passed_s)
            return
        self._told_ns = now_ns
        self._broadcast()

    def receive_sign(self, arrival: Arrival) -> None:
        """Take the STATSZ of a server."""
        server = _server_of(_document(arrival))
        if server is not None:
            self._note(*server)

    def _note(self, server_id: str, seq: int) -> None:
        heard = self._table.receive_sign(server_id, seq, self.now_ns())
        if heard is Heard.NEW:
            self._tell()
        elif heard is Heard.LATE:
            self._log.debug(
                "Received out of order remote server update from: {detail}", detail=server_id
            )

    def receive_counts(self, arrival: Arrival) -> None:
        """Receive the connection counts of an account on another server."""
        document = _document(arrival)
        server, account = _server_of(document), document.get("acc")
        if server is None or server[0] == self._server.server_id or not isinstance(account, str):
            return
        # Accounts that are not known here may be many, and matter to nobody here.
        if self._server.accounts.get(account) is None:
            return
        counts = Counts(_number(document, "conns"), _number(document, "leafnodes"))
        self._counts.receive(account, server[0], counts)
        self._note(*server)

    def receive_leaving(self, arrival: Arrival) -> None:
        """Take that a server goes."""
        server_id = arrival.subject.split(".")[_SERVER_AT]
        if self._table.receive_leaving(server_id):
            self._counts.receive_leaving(server_id)

    def receive_remote_latency(self, arrival: Arrival) -> None:
        """Receive a remote latency."""
        self._take_remote_latency(arrival.payload)

    def _receive_sweep(self) -> None:
        assert self._sweep is not None
        self._sweep.reset(SWEEP_INTERVAL_S)
        for server_id in self._table.sweep(self.now_ns()):
            self._log.debug("Detected orphan remote server: {detail}", detail=server_id)
            self._counts.receive_leaving(server_id)


WATCHED: Final[Mapping[str, Callable[[ServerWatch, Arrival], None]]] = {
    "$SYS.SERVER.*.STATSZ": ServerWatch.receive_sign,
    "$SYS.SERVER.*.SHUTDOWN": ServerWatch.receive_leaving,
    "$SYS.SERVER.*.LAMEDUCK": ServerWatch.receive_leaving,
    "$SYS.SERVER.ACCOUNT.*.CONNS": ServerWatch.receive_counts,
    "$SYS._INBOX_.{id}": ServerWatch.receive_counts,
    REMOTE_LATENCY_SUBJECT % "{node}": ServerWatch.receive_remote_latency,
}
"""What it listens to in the system account; `{id}` and `{node}` are those of this server."""


def _document(arrival: Arrival) -> Mapping[str, object]:
    """Return what another server says; nothing when it makes no sense."""
    try:
        return members_of_payload(arrival.payload)
    except BadOptions:
        return {}


def _server_of(document: Mapping[str, object]) -> tuple[str, int] | None:
    """Return ID and number of who has said something."""
    server = document.get("server")
    if not isinstance(server, dict):
        return None
    server_id, seq = server.get("id"), server.get("seq")
    if isinstance(server_id, str) and isinstance(seq, int):
        return server_id, seq
    return None


def _number(document: Mapping[str, object], name: str) -> int:
    value = document.get(name)
    return value if isinstance(value, int) and value > 0 else 0
