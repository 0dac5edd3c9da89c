from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from structlog.testing import CapturingLogger

from framework.dataplane import Listed
from framework.server.system.listening import Arrival
from framework.server.system.server_stamp import ServerStamp, ServerTraits
from framework.spec import AccountSpec, LinkKind
from framework.tests.account_book import Book
from framework.tests.monitor.sources import packed
from framework.wire.overlap import overlaps

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


ARRIVED_NS = 1_000


class Batch:
    """Messages as the plane hands them on."""

    def __init__(self, *messages: tuple[bytes, bytes, bytes, bytes], link: int = 1) -> None:
        self._messages = messages
        self._link = link

    def __len__(self) -> int:
        return len(self._messages)

    def subject(self, index: int) -> memoryview:
        return memoryview(self._messages[index][0])

    def reply(self, index: int) -> memoryview:
        return memoryview(self._messages[index][1])

    def header(self, index: int) -> memoryview:
        return memoryview(self._messages[index][2])

    def payload(self, index: int) -> memoryview:
        return memoryview(self._messages[index][3])

    def link(self, _index: int) -> int:
        return self._link

    def arrived_ns(self, index: int) -> int:
        return ARRIVED_NS + index


class FakeServer:
    """A server as the system account sees it: taps are remembered, publications kept."""

    name, server_id, cluster_name = "n1", "NONE", "c1"

    def __init__(self, *accounts: str, system_account: str = "$SYS") -> None:
        names = ("$G", *accounts, system_account)
        specs = (AccountSpec(name=name) for name in names if name)
        self.accounts: Any = Book(*specs, system_account=system_account)
        self.plane: Any = self
        self.log = CapturingLogger()
        self.taps: dict[str, Any] = {}
        self.published: list[tuple[int, tuple[bytes, bytes, bytes, bytes]]] = []
        self.commands: list[tuple[object, ...]] = []
        self.link_rows: list[Any] = []
        self.subscription_rows: list[Any] = []

    def add_tap(self, spec: Any) -> Any:
        self.taps[spec.subject] = spec
        return lambda: self.taps.pop(spec.subject)

    def publish(self, account: int, messages: Any) -> None:
        self.published += [(account, message) for message in messages]

    def close(self, *arguments: object) -> None:
        self.commands.append(("close", *arguments))

    async def links(self, _kind: object = None) -> list[Any]:
        self.commands.append(("links",))
        return self.link_rows

    async def list_subscriptions(
        self, *, kinds: Any, account: int, subject: str
    ) -> AsyncGenerator[Any, None]:
        assert kinds == (LinkKind.CLIENT,)
        for row in self.subscription_rows:
            if row.account == account and overlaps(subject.encode(), row.subject):
                yield Listed(0, packed(row), 1, more=True)

    def deliver(self, subject: str, *messages: tuple[bytes, bytes, bytes, bytes]) -> None:
        """Hand messages to who has subscribed to `subject`."""
        self.taps[subject].receive(Batch(*messages))

    def documents(self) -> list[tuple[str, Any]]:
        """Return subject and document of all that was published."""
        return [(it[0].decode(), json.loads(it[3])) for _, it in self.published]


@pytest.fixture
def server() -> FakeServer:
    return FakeServer("A")


@pytest.fixture
def make_server() -> type[FakeServer]:
    return FakeServer


@pytest.fixture
def stamp(server: Any) -> ServerStamp:
    traits = ServerTraits(host="10.0.0.1", tags=("blue", "ssd"), metadata={"rack": "7"})
    return ServerStamp(server, traits=lambda: traits, wall_ns=lambda: 1_700_000_000_000_000_000)


@pytest.fixture
def arrival() -> Any:
    def make(document: object, subject: str = "s", reply: str = "", link: int = 1) -> Arrival:
        payload = document if isinstance(document, bytes) else json.dumps(document).encode()
        return Arrival(subject, reply, b"", payload, link, ARRIVED_NS)

    return make
