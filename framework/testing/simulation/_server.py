"""One server of a simulation, as a plugin sees it: a `ServerContext` around a real core."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Self

from framework.actors import ActorSystem
from framework.dataplane import Core, PlaneLimits, link_rows
from framework.server.link_kinds import LinkKinds
from framework.spec import Closed, Delivered, LinkEvents, LinkKind, Listed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from framework.spec import ConnectionInfo, DialHandshake, LinkId, LinkKindSpec, TlsSettings
    from framework.testing.simulation._network import End, SimulatedNetwork
    from framework.wire.closed_state import ClosedState

_TICK_S: Final = 1.0
_STOP_S: Final = 1.0


class SimulatedLog:
    """Keeps its lines, filled in."""

    def __init__(self, lines: list[str], prefix: str = "") -> None:
        self.lines = lines
        self._prefix = prefix

    def bind(self, **fields: object) -> SimulatedLog:
        """Return a log whose lines begin with a link."""
        remote = fields.pop("remote")
        ((name, number),) = fields.items()
        return SimulatedLog(self.lines, f"{remote} - {name}:{number} - ")

    def debug(self, event: str, **fields: object) -> None:
        """Keep a line."""
        self.lines.append(self._prefix + event.format(**fields))

    info = warning = error = debug


class SimulatedPlane:
    """The commands of a real core, with a turn soon after each."""

    def __init__(self, core: Core, pump_soon: Callable[[], None]) -> None:
        self._core = core
        self._pump_soon = pump_soon

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def command(*args: object, **kwargs: object) -> object:
            answer = getattr(self._core, name)(*args, **kwargs)
            self._pump_soon()
            return answer

        return command


class SimulatedAccounts:
    """The accounts that every server has."""

    system_account = "$SYS"

    def __init__(self, core: Core, names: Sequence[str]) -> None:
        self._indexes = {name: core.add_account(name.encode()) for name in names}
        self.index = self._indexes.__getitem__
        self.get = self._indexes.get

    def fetch(self, name: str) -> None:
        """Find none: there are no others."""


class SimulatedServer:
    """A server in virtual time. A plugin's test adds what else its plugin asks of the context.

    Args:
        network: Where it is from now on.
        host: Its address.
        name: Its name.
        server_id: Its ID.
        listeners: Kinds of links by the port that they are accepted on.
        seed: Of its core.
        accounts: Names, `$G` and `$SYS` among them.
        kinds: Rows of the kinds of links that its core knows, beside those of the core itself.
    """

    def __init__(
        self,
        network: SimulatedNetwork,
        host: str,
        *,
        name: str,
        server_id: str,
        listeners: Mapping[int, LinkKind],
        seed: int,
        accounts: Sequence[str] = ("$G", "$SYS"),
        kinds: Sequence[LinkKindSpec] = (),
    ) -> None:
        self.network = network
        self.host = host
        self.name = name
        self.server_id = server_id
        self.cluster_name = ""
        self.listeners = listeners
        known = LinkKinds.with_those(kinds)
        self.core = Core(PlaneLimits(), seed=seed, kinds=known.rows, reserved=known.reserved)
        self.plane = SimulatedPlane(self.core, self._pump_soon)
        self.accounts = SimulatedAccounts(self.core, accounts)
        self.system = ActorSystem(network.dispatcher, name=server_id)
        self.ends: dict[LinkId, End] = {}
        """Its links that are open."""
        self.lines: list[str] = []
        """Of its log."""
        self.log = SimulatedLog(self.lines)
        self.client_info: dict[str, object | None] = {}
        self.reports: list[tuple[str, str]] = []
        """What was reported of connections: `opened` or why it ended, then name and address."""
        self.delivered: list[bytes] = []
        """Payloads of what it subscribes to; see `subscribe`."""
        self.is_gone = False
        self._is_pumping_soon = False
        network.hosts[host] = self

    def start(self) -> Self:
        """Begin to turn; call it when the actors are there."""
        self._tick()
        return self

    def tell(self, message: object) -> None:
        """Hear of links and dials: hand it to the actor that owns them."""
        raise NotImplementedError

    # -- what a ServerContext has

    def set_cluster_name(self, name: str, *, dynamic: bool = False) -> None:
        """Take another name."""
        del dynamic
        self.cluster_name = name

    def listening_address(self, kind: LinkKind) -> tuple[str, int] | None:
        """Return where links of a kind are accepted."""
        ports = [port for port, its in self.listeners.items() if its is kind]
        return (self.host, ports[0]) if ports else None

    def reachable_hosts(self, host: str) -> tuple[str, ...]:
        """Return the one address."""
        return (host,)

    def tls_peer(self, _link: LinkId) -> None:
        """Return None: nothing is encrypted."""

    def update_client_info(self, fields: Mapping[str, object | None]) -> None:
        """Keep fields of the INFO of clients."""
        self.client_info.update(fields)

    def transport_of(self, link: LinkId) -> str:
        """Return nothing: all links are plain."""
        del link
        return ""

    def report_opened(self, connection: ConnectionInfo) -> None:
        """Keep a report."""
        self.reports.append(("opened", f"{connection.name} {connection.host}"))

    def report_closed(
        self, connection: ConnectionInfo, reason: ClosedState, event: Closed | None = None
    ) -> None:
        """Keep a report."""
        del event
        self.reports.append((reason.text, f"{connection.name} {connection.host}"))

    def dial(
        self,
        host: str,
        port: int,
        kind: LinkKind,
        token: int,
        timeout_s: float,
        *,
        tls: TlsSettings | None = None,
        tls_name: str = "",
        is_plain: bool = False,
        avoided: Collection[str] = (),
        turn: int = 0,
        tunnel: DialHandshake | None = None,
        handshake: DialHandshake | None = None,
    ) -> None:
        """Connect to another server; nothing is encrypted here, and nothing takes too long."""
        del kind, timeout_s, turn, is_plain
        assert (tls, tuple(avoided), tunnel, handshake) == (None, (), None, None)
        assert tls_name in {"", host}
        self.network.dial(self, host, port, token)

    def take_delivered(self, event: Delivered) -> None:
        """Keep what a subscription got."""
        self.delivered += [payload for *_, payload in event.batch.detach()]

    # -- what drives it

    def pump(self) -> None:
        """Turn the core once, and send what it says, to the network and to the actors."""
        self._is_pumping_soon = False
        if self.is_gone:
            return
        self.core.turn(self.network.dispatcher.now_ns())
        for end in list(self.ends.values()):
            data = self.core.take_output(end.link)
            if data and not end.pipe.is_cut:
                self.network.carry(end, end.other.server.receiving(end.other.link, data))
        others = []
        for event in self.core.take_events():
            if isinstance(event, Delivered):
                self.take_delivered(event)
                continue
            others.append(event)
            if isinstance(event, Closed) and event.link in self.ends:
                end = self.ends.pop(event.link)
                self.network.carry(end, end.other.server.hanging_up(end.other.link))
        if others and not self.is_gone:
            self.tell(LinkEvents(tuple(others)))

    def receiving(self, link: LinkId, data: bytes) -> Callable[[], None]:
        """Return what lets bytes arrive."""

        def receive() -> None:
            if not self.is_gone and link in self.ends and not self.ends[link].pipe.is_cut:
                self.core.feed(link, data, self.network.dispatcher.now_ns())
                self.pump()

        return receive

    def hanging_up(self, link: LinkId) -> Callable[[], None]:
        """Return what lets the end of a connection arrive."""

        def hang_up() -> None:
            if not self.is_gone and link in self.ends:
                self.core.hang_up(link)
                self.pump()

        return hang_up

    def subscribe(self, subject: bytes, accounts: Sequence[str]) -> None:
        """Take what is published there from now on, in each of the accounts."""
        for account in accounts:
            self.core.subscribe_sink(self.accounts.index(account), subject)

    def crash(self) -> None:
        """End without a word."""
        self.is_gone = True
        del self.network.hosts[self.host]
        for end in self.ends.values():
            end.pipe.is_cut = True
            delay_s = self.network.delay_s()
            self.network.dispatcher.call_later(delay_s, end.other.server.hanging_up(end.other.link))
        self.system.stop(_STOP_S)

    def open_links(self, kind: LinkKind) -> set[LinkId]:
        """Return the links of a kind that are open, as the plane sees it."""
        self.core.open_listing(1, links=True, kinds=[kind])
        self.core.next_rows(1, 1)
        self.core.turn(self.network.dispatcher.now_ns())
        (answer,) = [event for event in self.core.take_events() if isinstance(event, Listed)]
        return {row.link for row in link_rows(answer.data)}

    def _tick(self) -> None:
        if not self.is_gone:
            self.pump()
            self.network.dispatcher.call_later(_TICK_S, self._tick)

    def _pump_soon(self) -> None:
        if not self._is_pumping_soon:
            self._is_pumping_soon = True
            self.network.dispatcher.call_soon(self.pump)
