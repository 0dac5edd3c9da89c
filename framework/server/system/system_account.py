"""The parts of the system account, wired together."""

from __future__ import annotations

import asyncio
import random
import time
from functools import partial
from typing import TYPE_CHECKING, Final

from framework.server.system.account_events import ACCOUNT_EVENTS, AccountEvents
from framework.server.system.account_report import AccountReport
from framework.server.system.client_event_queue import ClientEventQueue
from framework.server.system.client_events import ClientEvents
from framework.server.system.documents import document_services
from framework.server.system.message_traces import MESSAGE_TRACES, MessageTraces
from framework.server.system.operator_commands import OperatorCommands
from framework.server.system.outbox import Outbox
from framework.server.system.server_requests import ServerRequests
from framework.server.system.server_stamp import ServerStamp
from framework.server.system.server_table import ServerTable
from framework.server.system.server_watch import SERVER_WATCH, WATCHED, ServerWatch
from framework.server.system.service_latencies import SERVICE_LATENCIES, ServiceLatencies
from framework.server.system.statsz import Statsz
from framework.server.system.subscriber_count import SubscriberCount
from framework.server.system.system_services import SYSTEM_SERVICES, SystemServices
from framework.server.system.user_info import UserInfo
from framework.spec import ComponentSpec, LinkKind
from framework.wire.event_ids import EventIds
from framework.wire.subject import is_literal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from framework.monitor import MonitorSource
    from framework.server.clients.client_info import ClientInfoDocument
    from framework.server.clients.client_notices import ClientWatcher
    from framework.server.clients.clients import Clients
    from framework.server.context import Context
    from framework.server.system.remote_counts import RemoteCounts
    from framework.server.system.server_stamp import ServerTraits
    from framework.spec import ConnectionInfo, LinkId, MonitorEndpoint, ServiceSpec


_OWN_IMPORTS: Final = 1
"""Subscriptions of the system account's import from itself, `$SYS.REQ.USER.INFO`."""


class SystemAccount:
    """Run the system account of a server, from start to stop.

    Args:
        context: The server.
        source: The server as its monitoring sees it.
        clients: Who is there.
        watchers: Those that hear of clients; it becomes one of them.
        remote_counts: Takes what other servers tell of their connections.
        client_info: What clients are told.
        traits: What the server is told about itself.
        reload: Reads the configuration anew and puts it in force.
        service_of: Returns account and subject of a service that is sampled, by its number.
    """

    def __init__(
        self,
        context: Context,
        *,
        source: MonitorSource,
        clients: Clients,
        watchers: list[ClientWatcher],
        remote_counts: RemoteCounts,
        client_info: ClientInfoDocument,
        traits: Callable[[], ServerTraits],
        reload: Callable[[], Awaitable[object]],
        service_of: Callable[[int], tuple[str, str] | None],
    ) -> None:
        self._queue = ClientEventQueue()
        watchers.append(self._queue)
        self._context = context
        context.leafnode_came = self._leafnode_came
        context.leafnode_went = self._queue.leafnode_went
        self._source = source
        self._clients = clients
        self._service_of = service_of
        self._remote_counts = remote_counts
        self._services: Sequence[ServiceSpec] | None = None
        self._served = ""
        """Name of the account in which all this happens; empty: in none."""
        self._stamp = ServerStamp(context, traits=traits, wall_ns=time.time_ns)
        self._table = ServerTable(context.server_id)
        self._outbox = Outbox(context.plane, context.accounts)
        self._statsz = Statsz(
            self._stamp,
            source,
            active_servers=lambda: self._table.active_count,
            active_accounts=lambda: self._queue.active_accounts,
        )
        self._ids = EventIds(random.SystemRandom())
        self._events = ClientEvents(self._stamp, self._ids, monotonic_ns=time.monotonic_ns)
        self._report = AccountReport(
            queue=self._queue,
            events=self._events,
            statistics=partial(_statistics, source),
            outbox=self._outbox,
        )
        self._broadcasts: set[asyncio.Task[None]] = set()
        self._makers = (
            ServerRequests(
                self._stamp,
                self._statsz,
                commands=OperatorCommands(
                    context, clients, client_info, reload=reload, broadcast=self._tell_all
                ),
            ),
            UserInfo(self._stamp, clients.identity_of, context.accounts),
            SubscriberCount(
                context,
                accounts=context.accounts,
                identity_of=clients.identity_of,
                outbox=self._outbox,
                servers_with=self._remote_counts.server_count,
                rng=random.SystemRandom(),
            ),
            self._report,
        )

    def components(self) -> Sequence[ComponentSpec]:
        """Return the actors; they do nothing before `begin`."""
        return (
            ComponentSpec(
                name=SYSTEM_SERVICES,
                factory=lambda server: (
                    SystemServices,
                    {
                        "outbox": self._outbox,
                        "stamp": self._stamp,
                        "turns": self._source.turns,
                        "asker_of": self._asker_of,
                        "log": server.log,
                    },
                ),
            ),
            ComponentSpec(
                name=SERVER_WATCH,
                factory=lambda server: (
                    ServerWatch,
                    {
                        "server": server,
                        "table": self._table,
                        "counts": self._remote_counts,
                        "broadcast": self._broadcast,
                        "take_remote_latency": self._take_remote_latency,
                        "log": server.log,
                    },
                ),
            ),
            ComponentSpec(
                name=ACCOUNT_EVENTS,
                factory=lambda _: (
                    AccountEvents,
                    {
                        "queue": self._queue,
                        "events": self._events,
                        "report": self._report,
                        "outbox": self._outbox,
                        "stamp": self._stamp,
                        "is_heard": self._is_heard,
                    },
                ),
            ),
            *self._measuring(),
        )

    def _measuring(self) -> Sequence[ComponentSpec]:
        """Return the actors that tell what became of messages, and how long services took."""
        return (
            ComponentSpec(
                name=MESSAGE_TRACES,
                factory=lambda _: (
                    MessageTraces,
                    {
                        "stamp": self._stamp,
                        "account_name": self._context.account_name,
                        "link_name": self._link_name,
                        "outbox": self._outbox,
                        "monotonic_ns": time.monotonic_ns,
                    },
                ),
            ),
            ComponentSpec(
                name=SERVICE_LATENCIES,
                factory=lambda server: (
                    ServiceLatencies,
                    {
                        "accounts": server.accounts,
                        "service_of": self._service_of,
                        "account_name": self._context.account_name,
                        "outbox": self._outbox,
                        "ids": self._ids,
                        "wall_ns": time.time_ns,
                        "monotonic_ns": time.monotonic_ns,
                    },
                ),
            ),
        )

    def services(self, endpoints: Iterable[MonitorEndpoint]) -> Sequence[ServiceSpec]:
        """Return the core's services in the system account.

        Args:
            endpoints: The documents of the core and of plugins.
        """
        own = [service for maker in self._makers for service in maker.services()]
        return [*document_services(self._stamp, endpoints), *own]

    def begin(self, services: Sequence[ServiceSpec]) -> None:
        """Answer `$SYS` requests and publish events from now on."""
        self._services = services
        self._served = self._context.accounts.system_account
        component = self._context.component
        component(SYSTEM_SERVICES).tell(SystemServices.Serve(services))
        component(SERVER_WATCH).tell(ServerWatch.Begin())
        component(ACCOUNT_EVENTS).tell(AccountEvents.Begin())

    def follow_accounts(self) -> None:
        """Move to another account, if that is the system account now."""
        if self._services is not None and self._served != self._context.accounts.system_account:
            self.begin(self._services)

    def tell_of_lame_duck(self) -> None:
        """Publish `LAMEDUCK` for other servers."""
        self._tell_of_going("LAMEDUCK")

    def end(self) -> None:
        """Publish `SHUTDOWN` for other servers, as the last message."""
        self._queue.close()
        self._tell_of_going("SHUTDOWN")
        for task in self._broadcasts:
            task.cancel()

    def _leafnode_came(self, leafnode: ConnectionInfo) -> None:
        """Count a leaf node that came; other clusters hear of it.

        Source: nats-server `events.go`, `sendLeafNodeConnect`: they tell all their interest then.
        """
        self._queue.leafnode_came(leafnode)
        account = leafnode.account
        has_gateways = self._context.listening_address(LinkKind.GATEWAY) is not None
        if has_gateways and self._queue.is_open and is_literal(account):
            document = {"server": self._stamp.make(), "acc": account}
            self._outbox.publish((f"$SYS.ACCOUNT.{account}.LEAFNODE.CONNECT", document))

    def _is_heard(self) -> bool:
        """Tell whether others than this server itself subscribe to the system account.

        Others are clients, other servers, plugins, and who imports its streams.
        """
        account = self._outbox.account
        if account is None:
            return False
        services = self._services or ()
        own = sum(1 for it in services if it.account in {"", self._served})
        return self._source.sublist_counters(account).count > own + len(WATCHED) + _OWN_IMPORTS

    def _asker_of(self, link: LinkId) -> str:
        """Return the account of a client, or the server at the other end of a link."""
        identity = self._clients.identity_of(link)
        return identity.account if identity else self._context.peers.get(link, "")

    def _link_name(self, link: LinkId, kind: LinkKind) -> str:
        if kind is not LinkKind.CLIENT:
            return self._context.peers.get(link, "")
        connect = self._clients.connect_of(link)
        return connect.name if connect else ""

    def _tell_of_going(self, how: str) -> None:
        subject = f"$SYS.SERVER.{self._context.server_id}.{how}"
        self._outbox.publish((subject, self._stamp.make()))

    def _tell_all(self) -> None:
        self._context.component(SERVER_WATCH).tell(ServerWatch.Broadcast())

    def _take_remote_latency(self, payload: bytes) -> None:
        latencies = self._context.component(SERVICE_LATENCIES)
        latencies.tell(ServiceLatencies.RemoteLatencyArrived(payload))

    def _broadcast(self) -> None:
        task = asyncio.get_running_loop().create_task(self._publish_statsz())
        self._broadcasts.add(task)
        task.add_done_callback(self._broadcasts.discard)

    async def _publish_statsz(self) -> None:
        document = await self._statsz.make()
        self._outbox.publish((f"$SYS.SERVER.{self._context.server_id}.STATSZ", document))


def _statistics(source: MonitorSource, account: str, connections: int) -> Mapping[str, object]:
    """Return what passes through an account that has so many clients here."""
    from framework.monitor.accstatz import account_statistics  # noqa: PLC0415 -- of the first client

    return account_statistics(source, account, connections)
