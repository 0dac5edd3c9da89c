"""Requests to `$SYS`: many of them, or large ones, of one account."""

from __future__ import annotations

import json

ACCOUNTS = """
http: "127.0.0.1:-1"
accounts {
  $SYS { users: [{user: sys, password: sys}] }
  A { users: [{user: many, password: many}] }
  B { users: [{user: other, password: other}] }
}
"""


def log_in(server, user):
    client = server.client()
    client.log_in(user=user, **{"pass": user})
    return client


def ask(client, subject, count, payload=b""):
    request = b"PUB %b answers %d\r\n%b\r\n" % (subject, len(payload), payload)
    client.send(b"SUB answers 1\r\n" + request * count)


def answers(client, count):
    return [json.loads(client.read_until(b"MSG")[-1].body) for _ in range(count)]


def test_all_requests_of_a_burst_are_answered(kind, fleet):
    server = fleet.start(kind=kind, config=ACCOUNTS)
    with log_in(server, "sys") as client:
        ask(client, b"$SYS.REQ.SERVER.PING.IDZ", 3_000)

        assert len(answers(client, 3_000)) == 3_000


def test_a_burst_of_many_kinds_is_answered(kind, fleet):
    server = fleet.start(kind=kind, config=ACCOUNTS)
    kinds = (b"VARZ", b"CONNZ", b"SUBSZ", b"ACCOUNTZ", b"ROUTEZ", b"HEALTHZ", b"STATSZ", b"IDZ")
    with log_in(server, "sys") as client:
        for name in kinds:
            ask(client, b"$SYS.REQ.SERVER.PING." + name, 200)

        assert len(answers(client, 200 * len(kinds))) == 200 * len(kinds)


def test_an_account_that_asks_much_leaves_others_their_turn(fleet):
    """Four hundred large questions of one user: the next one of another is not the 401st."""
    server = fleet.start(config=ACCOUNTS)
    subscriptions = b"".join(b"SUB held.%d %d\r\n" % (it, it + 2) for it in range(20_000))
    with log_in(server, "many") as many, log_in(server, "other") as other:
        many.send(subscriptions)
        many.flush()
        ask(many, b"$SYS.REQ.ACCOUNT.PING.CONNZ", 400, b'{"subscriptions": true}')
        ask(other, b"$SYS.REQ.ACCOUNT.PING.CONNZ", 1)
        (document,) = answers(other, 1)

        assert document["data"]["num_connections"] == 1
        waiting = server.document("/connz?cid=1")["connections"][0]
        assert waiting["out_msgs"] < 390
