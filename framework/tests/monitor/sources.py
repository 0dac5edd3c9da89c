"""A server as endpoints see it, made up: two accounts, three clients, two that are gone."""

from __future__ import annotations

import asyncio
import json
import struct
from collections import Counter
from typing import TYPE_CHECKING, Any

from framework.dataplane import (
    AccountTraffic,
    LinkKind,
    LinkRow,
    Listed,
    SublistCounters,
    SubscriptionRow,
)
from framework.dataplane.scopes import Scope
from framework.dataplane.totals import PeerTraffic
from framework.monitor import ClosedClient, Turns
from framework.monitor.json_stream import json_whole
from framework.spec import AccountSpec, ClientIdentity, ServiceExport, TlsPeer
from framework.tests.account_book import Book
from framework.wire.closed_state import ClosedState
from framework.wire.info import ClientConnect
from framework.wire.overlap import overlaps

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Coroutine

    from framework.spec import HealthProblem, HealthQuestion, SubjectMapping

SECOND_NS = 1_000_000_000


def row(cid: int, **changes: int) -> LinkRow:
    fields: dict[str, Any] = dict.fromkeys(LinkRow.__slots__, 0)
    fields |= {"link": cid, "kind": LinkKind.CLIENT, "cid": cid, "host": "127.0.0.1", "port": cid}
    return LinkRow(**{**fields, **changes})


def subscription(link: int, subject: bytes, **changes: Any) -> SubscriptionRow:
    fields: dict[str, Any] = {"queue": b"", "sid": b"1", "msgs": 0, "max_msgs": 0, "weight": 1}
    return SubscriptionRow(**{"link": link, "account": 0, "subject": subject, **fields, **changes})


def shown(answer: Coroutine[Any, Any, object]) -> Any:
    """Return what an answer says as JSON, with all its rows."""

    async def go() -> bytes:
        return await json_whole(await answer)

    return json.loads(asyncio.run(go()))


def packed(it: SubscriptionRow) -> bytes:
    """Return a row as the plane writes it: the struct `SubscriptionRecord`, and its texts."""
    sizes = (len(it.subject), len(it.queue), len(it.sid))
    head = struct.pack("QQqqIIIII4x", it.link, it.link, it.msgs, it.max_msgs, it.account, 1, *sizes)
    return head + it.subject + it.queue + it.sid


class Facts:
    """What `/accountz` looks at."""

    config_loaded_ns = 4 * SECOND_NS


class Source:
    """Three open clients, and two that are gone."""

    server_id, name = "N1", "n1"
    user_kinds = (LinkKind.CLIENT,)
    problems: tuple[str, ...] = ()
    found: tuple[HealthProblem, ...] = ()
    facts = Facts()

    def __init__(self) -> None:
        self.rows = [
            row(
                1,
                in_msgs=5,
                out_bytes=1,
                opened_ns=1,
                last_activity_ns=9 * SECOND_NS,
                subscriptions=1,
            ),
            row(2, in_msgs=7, out_bytes=9, opened_ns=2, last_activity_ns=2 * SECOND_NS, stalls=3),
            row(
                3,
                in_msgs=6,
                out_bytes=4,
                opened_ns=3,
                last_activity_ns=5 * SECOND_NS,
                subscriptions=2,
            ),
        ]
        self.identities = {1: ClientIdentity(user="joe", jwt="e.e.e", issuer_key="OK")}
        self.gone = [
            ClosedClient(row(4), None, ClosedState.STALE_CONNECTION, 6 * SECOND_NS),
            ClosedClient(
                row(5),
                ClientConnect(name="me"),
                ClosedState.CLIENT_CLOSED,
                7 * SECOND_NS,
                ClientIdentity(account="A", user="ann", tags=("t",)),
            ),
        ]
        self.subscribed = [
            subscription(1, b"a.*", queue=b"q"),
            subscription(3, b"a.b", max_msgs=4),
            subscription(3, b"\xff"),
        ]
        self.accounts = Book(
            AccountSpec(name="$G"), AccountSpec(name="$SYS"), AccountSpec(name="A", name_tag="Aa")
        )
        self.turns = Turns()
        self.waiting = {"client_listener": 0, "route_manager": 3}

    def join(self, cid: int, account: str, **changes: Any) -> None:
        """Let a client be of an account."""
        self.identities[cid] = ClientIdentity(account=account, **changes)

    def join_by_tls(self, cid: int) -> None:
        """Let a client have shaken hands."""
        peer = TlsPeer(version="1.3", cipher="TLS_AES_128_GCM_SHA256", is_first=True)
        self.identities[cid] = ClientIdentity(tls=peer, connection_type="WEBSOCKET")

    def monotonic_ns(self) -> int:
        return 10 * SECOND_NS

    def wall_ns(self, monotonic_ns: int) -> int:
        return monotonic_ns

    async def links(self, kind: LinkKind, *, account: int | None = None) -> list[LinkRow]:
        assert kind is LinkKind.CLIENT
        return [row for row in self.rows if account in {None, self._number(self._account(row))}]

    async def list_subscriptions(
        self,
        *,
        link: int | None = None,
        account: int | None = None,
        subject: str = "",
        once: bool = False,
        offset: int = 0,
        limit: int | None = None,
    ) -> AsyncGenerator[Listed, None]:
        """Yield two rows at a time, as the plane does with some hundred."""
        rows = [
            it
            for it in self.subscribed
            if link in {None, it.link}
            and account in {None, it.account}
            and (not subject or overlaps(subject.encode(), it.subject))
        ]
        if once:
            rows = list({it.link: it for it in rows}.values())
        page = rows[offset:] if limit is None else rows[offset : offset + limit]
        for first in range(0, len(page) + 1, 2):
            data = b"".join(packed(it) for it in page[first : first + 2])
            yield Listed(0, data, len(rows), first + 2 < len(page))

    def connection_counts(self) -> Counter[str]:
        return Counter(map(self._account, self.rows))

    def leafnode_counts(self) -> Counter[str]:
        return Counter()

    def _account(self, it: LinkRow) -> str:
        identity = self.client_identity(it)
        return identity.account if identity else "$G"

    def _number(self, account: str) -> int:
        return list(self.accounts.specs).index(account)

    def client_connect(self, it: LinkRow) -> ClientConnect | None:
        return ClientConnect(name="first", user="joe", lang="c") if it.cid == 1 else None

    def client_identity(self, it: LinkRow) -> ClientIdentity | None:
        return self.identities.get(it.cid)

    def closed_clients(self) -> list[ClosedClient]:
        return self.gone

    def account_name(self, account: int) -> str:
        return list(self.accounts.specs)[account]

    def invalid_imports(self, account: str) -> set[tuple[str, str]]:
        return {("gone", "s")} if account == "A" else set()

    def system_imports(self, account: str) -> list[tuple[str, str, bool]]:
        return [("$SYS.REQ.USER.INFO", f"$SYS.REQ.USER.{account}.INFO", True)]

    def system_mappings(self, account: str) -> list[SubjectMapping]:
        return []

    def system_exports(self, account: str) -> list[ServiceExport]:
        return [ServiceExport(subject="$SYS.DEBUG.SUBSCRIBERS")] if account == "$SYS" else []

    def account_traffic(self, account: int) -> AccountTraffic:
        own = [account + it for it in (0, 1, 2, 3, 8)]
        routes = PeerTraffic(*(account + it for it in (4, 5, 6, 7)))
        none = PeerTraffic(0, 0, 0, 0)
        return AccountTraffic(*own, {Scope.ROUTE: routes, Scope.GATEWAY: none, Scope.LEAF: none})

    def sublist_counters(self, account: int | None = None) -> SublistCounters:
        count = (
            3 if account is None else len([it for it in self.subscribed if it.account == account])
        )
        return SublistCounters(
            count=count, inserts=9, removes=2, hits=3, misses=1, cached=1, fanout=5, fanout_max=5
        )

    def mailboxes(self) -> dict[str, int]:
        return self.waiting

    def health_problems(self) -> tuple[str, ...]:
        return self.problems

    def examine_health(self, question: HealthQuestion) -> tuple[HealthProblem, ...]:
        return () if question.is_shallow else self.found
