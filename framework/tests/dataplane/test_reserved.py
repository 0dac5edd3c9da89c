"""Prefixes of subjects are treated as a table says, whatever they are called."""

from __future__ import annotations

import pytest

from framework.dataplane import Core, PlaneLimits
from framework.dataplane.reserved import ReservedPrefix
from framework.dataplane.tables import AccountTables, ResponseKind, ServiceImportRow
from framework.tests.dataplane.conftest import Talk


@pytest.mark.parametrize(
    ("prefix", "why"),
    [(b"_", "2 to 30 bytes"), (b"x" * 31, "2 to 30 bytes"), (b"a b", "without blanks")],
)
def test_a_prefix_that_cannot_be_is_refused(prefix: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Core(PlaneLimits(), reserved=(ReservedPrefix(prefix=prefix),))


def test_there_is_room_for_some(talk: Talk) -> None:
    rows = tuple(ReservedPrefix(prefix=b"p%d." % it) for it in range(17))

    with pytest.raises(ValueError, match="at most 16"):
        Core(PlaneLimits(), reserved=rows)


def test_a_prefix_of_a_plugin_is_refused_to_clients() -> None:
    rows = (
        ReservedPrefix(prefix=b"mine.", no_publish=True),
        ReservedPrefix(prefix=b"me.", no_reply=True),
    )
    talk = Talk(reserved=rows)
    client = talk.client()
    client.say(b"SUB > 1\r\n")

    assert b"-ERR 'Permissions Violation for Publish to" in client.ask(b"PUB mine.a 0\r\n\r\n")
    assert b"-ERR" in client.ask(b"PUB a me.b 0\r\n\r\n")
    # What is shorter or not a prefix is nobody's.
    assert b"MSG mine. 1 0" not in client.ask(b"PUB mine 0\r\n\r\n")
    assert b"-ERR" not in client.ask(b"PUB you.mine.a me 0\r\n\r\n")


def test_a_request_that_stays_in_its_account_does_not_go_to_the_system_account(talk: Talk) -> None:
    system = talk.core.add_account(b"SYS")
    talk.core.set_system_account(system)
    api = ServiceImportRow(
        account=system, subject="$JS.API.>", to="$JS.API.>", response=ResponseKind.SINGLETON
    )
    talk.core.set_account_tables(0, AccountTables(service_imports=(api,)))
    server, client = talk.client(account=system), talk.client(no_responders=True)
    server.say(b"SUB > 1\r\n")
    client.say(b"SUB _INBOX.> 1\r\n")
    subjects = (b"CONSUMER.MSG.NEXT.S.c", b"DIRECT.GET.S", b"STREAM.INFO.S")
    client.heard()
    client.say(b"".join(b"PUB $JS.API.%b _INBOX.a 0\r\n\r\n" % it for it in subjects))
    heard = server.heard()

    assert [b"STREAM.INFO.S"] == [
        line.split()[1].removeprefix(b"$JS.API.")
        for line in heard.split(b"\r\n")
        if line.startswith((b"MSG $JS", b"HMSG $JS"))
    ]
    assert 2 == client.heard().count(b"NATS/1.0 503")
