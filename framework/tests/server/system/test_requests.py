from __future__ import annotations

import asyncio
import json
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from framework.errors import FrameworkError
from framework.server.system.outbox import Outbox
from framework.server.system.server_requests import ServerCommands, ServerRequests
from framework.server.system.subscriber_count import SubscriberCount
from framework.server.system.user_info import UserInfo
from framework.spec import (
    AccountSpec,
    ClientIdentity,
    Permissions,
    ResponsePermission,
    ServiceRequest,
    SubjectRules,
    SubscriptionRow,
)

if TYPE_CHECKING:
    from framework.server.system.server_stamp import ServerStamp
    from framework.spec import LinkRow


class Commands(ServerCommands):
    def __init__(self) -> None:
        self.done: list[object] = []
        self.problem: Exception | None = None

    async def reload(self) -> None:
        if self.problem:
            raise self.problem
        self.done.append("reload")

    async def kick(self, cid: int) -> bool:
        self.done.append(("kick", cid))
        return cid == 7

    def send_away(self, row: LinkRow) -> bool:
        self.done.append(("send away", row.cid))
        return row.cid == 7

    def broadcast_statsz(self) -> None:
        self.done.append("broadcast")


@dataclass
class Row:
    cid: int


class Statsz:
    async def make(self) -> dict[str, object]:
        return {"statsz": {}}


def ask(services: Any, subject: str, payload: bytes = b"", reply: str = "r", link: int = 1) -> Any:
    answer = next(it.answer for it in services if it.subject == subject)
    request = ServiceRequest(subject=subject, reply=reply, header=b"", payload=payload, link=link)
    data = asyncio.run(answer(request))
    return None if data is None else json.loads(data)


@pytest.fixture
def commands() -> Commands:
    return Commands()


@pytest.fixture
def services(stamp: ServerStamp, commands: Commands) -> Any:
    statsz: Any = Statsz()
    return ServerRequests(stamp, statsz, commands=commands).services()


PING = "$SYS.REQ.SERVER.PING"


@pytest.mark.parametrize("subject", [PING, f"{PING}.STATSZ", "$SYS.REQ.SERVER.NONE.STATSZ"])
def test_how_a_server_is(services: Any, commands: Commands, subject: str) -> None:
    assert ask(services, subject) == {"statsz": {}}
    assert ask(services, subject, b'{"server_name":"n2"}') is None
    assert ask(services, subject, b"{bad")["error"]["code"] == 400
    assert commands.done == []
    assert ask(services, subject, reply="") is None
    assert commands.done == ["broadcast"]


def test_who_a_server_is(services: Any) -> None:
    assert ask(services, f"{PING}.IDZ") == {"name": "n1", "host": "10.0.0.1", "id": "NONE"}


def test_a_reload(services: Any, commands: Commands) -> None:
    assert list(ask(services, "$SYS.REQ.SERVER.NONE.RELOAD", b"{}")) == ["server"]
    commands.problem = FrameworkError("config reload not supported for port")
    refused = ask(services, "$SYS.REQ.SERVER.NONE.RELOAD")

    assert refused["error"]["description"] == "config reload not supported for port"
    assert commands.done == ["reload"]


def test_a_client_is_kicked_before_it_is_answered(
    services: Any, commands: Commands, server: Any
) -> None:
    assert list(ask(services, "$SYS.REQ.SERVER.NONE.KICK", b'{"cid":7}')) == ["server"]
    assert commands.done == [("kick", 7)]
    assert server.commands == [("links",)]


@pytest.mark.parametrize(
    ("deed", "payload", "problem"),
    [
        ("KICK", b'{"cid":8}', "500 no such client or leafnode id"),
        ("KICK", b"{}", "400 cid must be the number of a connection"),
        ("LDM", b'{"cid":9}', "500 no such client id"),
        ("LDM", b'{"cid":8}', "500 client does not support Lame Duck Mode"),
        ("LDM", b'{"cid":"x"}', "400 cid must be the number of a connection"),
    ],
)
def test_commands_that_can_not_be_carried_out(
    services: Any, server: Any, deed: str, payload: bytes, problem: str
) -> None:
    server.link_rows = [Row(7), Row(8)]
    answer = ask(services, f"$SYS.REQ.SERVER.NONE.{deed}", payload)

    assert "{code} {description}".format(**answer["error"]).startswith(problem)


def test_a_client_is_told_to_go(services: Any, commands: Commands, server: Any) -> None:
    server.link_rows = [Row(7)]

    assert list(ask(services, "$SYS.REQ.SERVER.NONE.LDM", b'{"cid":7}')) == ["server"]
    assert commands.done == [("send away", 7)]


USER = "$SYS.REQ.USER.*.INFO"


def test_a_client_asks_who_it_is(stamp: ServerStamp, server: Any) -> None:
    server.accounts.specs["A"] = AccountSpec(name="A", name_tag="acme")
    permissions = Permissions(
        publish=SubjectRules(allow=("x", "y"), deny=("z",)),
        responses=ResponsePermission(max_msgs=5, expires_s=60.0),
    )
    identity = ClientIdentity(
        account="A",
        user="UKEY",
        name_tag="joe",
        permissions=permissions,
        expires_s=1_700_000_060.0,
    )
    services = UserInfo(stamp, {1: identity}.get, server.accounts).services()

    assert ask(services, USER)["data"] == {
        "user": "UKEY",
        "account": "A",
        "account_name": "acme",
        "user_name": "joe",
        "permissions": {
            "publish": {"allow": ["x", "y"], "deny": ["z"]},
            "subscribe": {},
            "responses": {"max": 5, "ttl": 60_000_000_000},
        },
        "expires": 60_000_000_000,
    }


def test_clients_of_other_servers_ask_there(stamp: ServerStamp, server: Any) -> None:
    identity = ClientIdentity(account="A", user="joe")
    services = UserInfo(stamp, {1: identity}.get, server.accounts).services()

    assert ask(services, USER, link=2) is None
    assert ask(services, USER, reply="") is None
    assert ask(services, USER)["data"] == {"user": "joe", "account": "A", "account_name": "A"}


def subscription(subject: str, queue: str = "", account: int = 1) -> SubscriptionRow:
    return SubscriptionRow(
        link=1,
        account=account,
        subject=subject.encode(),
        queue=queue.encode(),
        sid=b"1",
        msgs=0,
        max_msgs=0,
        weight=1,
    )


class Count:
    def __init__(self, server: Any, elsewhere: int = 0) -> None:
        server.subscription_rows = [
            subscription("a.b"),
            subscription("a.*", "q"),
            subscription(">"),
            subscription("a.b", account=0),
        ]
        identity = ClientIdentity(account="A", user="joe")
        self.services = SubscriberCount(
            server,
            accounts=server.accounts,
            identity_of={1: identity}.get,
            outbox=Outbox(server, server.accounts),
            servers_with=lambda _: elsewhere,
            rng=random.Random(1),
        ).services()


@pytest.mark.parametrize(
    ("question", "count"),
    [(b"a.b", 3), (b"a.c", 2), (b"b", 1), (b"a.b q", 1), (b"a.*", 2), (b">", 3), (b"  ", 0)],
)
def test_subscribers_here(server: Any, question: bytes, count: int) -> None:
    services = Count(server).services

    assert ask(services, "$SYS.DEBUG.SUBSCRIBERS", question) == count
    assert ask(services, "$SYS.DEBUG.SUBSCRIBERS", question, link=2) is None


@pytest.mark.parametrize(
    ("question", "count"),
    [
        (b'{"acc":"A","subject":"a.b"}', 3),
        (b'{"acc":"A","subject":"a.b","queue":"cQ=="}', 1),
        (b'{"acc":"NONE","subject":"a.b"}', None),
        (b'{"acc":1,"subject":"a.b"}', None),
        (b'{"acc":"A","subject":"a.b","queue":"%"}', None),
        (b"{bad", None),
        (b"", None),
    ],
)
def test_subscribers_for_another_server(server: Any, question: bytes, count: int | None) -> None:
    assert ask(Count(server).services, "$SYS.REQ.ACCOUNT.NSUBS", question) == count


def test_other_servers_count_along(server: Any) -> None:
    services = Count(server, elsewhere=2).services
    answers = {it.subject: it.answer for it in services}
    inbox = next(subject for subject in answers if subject.startswith("$SYS._INBOX."))

    async def run() -> bytes | None:
        question = ServiceRequest(
            subject="$SYS.DEBUG.SUBSCRIBERS", reply="r", header=b"", payload=b"a.b q", link=1
        )
        asking = asyncio.create_task(answers["$SYS.DEBUG.SUBSCRIBERS"](question))
        while not server.published:
            over = asyncio.get_running_loop().create_future()
            asyncio.get_running_loop().call_soon(over.set_result, None)
            await over
        _, (subject, reply, _, payload) = server.published[0]

        assert subject == b"$SYS.REQ.ACCOUNT.NSUBS"
        assert json.loads(payload) == {"acc": "A", "subject": "a.b", "queue": "cQ=="}

        for number in (b"4", b"nonsense", b"5"):
            answer = ServiceRequest(
                subject=reply.decode(), reply="", header=b"", payload=number, link=9
            )
            await answers[inbox](answer)
        return await asking

    assert asyncio.run(run()) == b"10"


def test_who_does_not_count_in_time_is_left_out(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("framework.server.system.subscriber_count.SUBSCRIBERS_WAIT_S", 0)

    assert ask(Count(server, elsewhere=1).services, "$SYS.DEBUG.SUBSCRIBERS", b"a.b") == 3
