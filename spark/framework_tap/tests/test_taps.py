"""What rules record of what clients publish, in whole servers."""

from __future__ import annotations

import subprocess
import sys

import pytest


def pub(subject, payload, reply=b""):
    return b"PUB %b %b %d\r\n%b\r\n" % (subject, reply, len(payload), payload)


def hpub(subject, header, payload):
    return b"HPUB %b %d %d\r\n%b%b\r\n" % (
        subject, len(header), len(header) + len(payload), header, payload,
    )  # fmt: skip


def test_messages_are_rows(tapped, keeper, talker):
    server = tapped('subjects: ["orders.>"]')
    kept = keeper(server)
    client = talker(server, name="till-1")
    header = b"NATS/1.0\r\nA: 1\r\n\r\n"
    client.send(pub(b"orders.1", b"one", b"answers") + pub(b"weather", b"-"))
    client.send(hpub(b"orders.2", header, b"\xff\x00"))
    first, second = kept.rows_until(lambda rows: len(rows) >= 2)

    columns = ("subject", "data", "size", "reply", "headers")
    assert ("orders.1", b"one", 3, "answers", None) == tuple(first[it] for it in columns)
    assert ("orders.2", b"\xff\x00", 2, None, header) == tuple(second[it] for it in columns)
    assert {"$G"} == {first["account"], second["account"]}
    assert ("till-1", "127.0.0.1", True) == (first["client"], first["host"], first["cid"] > 0)
    assert (None, None, None) == tuple(
        first[it] for it in ("request_subject", "latency_ns", "dropped")
    )
    [asked] = kept.asked
    assert ("TAP_r", ["$TAP.r.>"], "file") == (asked["name"], asked["subjects"], asked["storage"])


def test_nobody_notices_a_tap(tapped, keeper, talker):
    server = tapped()
    kept = keeper(server)
    client = talker(server)
    client.send(b"SUB answers 1\r\n" + pub(b"orders.get", b"", b"answers"))
    [answer] = client.messages()

    assert answer.body.startswith(b"NATS/1.0 503")
    assert ["orders.get"] == [it["subject"] for it in kept.rows_until(len)]


def test_own_and_reserved_subjects_are_left_out(tapped, keeper, talker):
    server = tapped()
    kept = keeper(server)
    client = talker(server)
    client.send(pub(b"$KV.b.k", b"x") * 5 + pub(b"a", b"1"))
    kept.next_frame()
    client.send(pub(b"$KV.b.k", b"x") + pub(b"a", b"2"))

    # Of the acknowledgement of the first frame there is nothing either, nor of the frame.
    assert ["a"] == [it["subject"] for it in kept.next_rows()]


def test_payloads_are_cut_and_headers_left_out(tapped, keeper, talker):
    server = tapped('subjects: ["a"], max_payload: 3, headers: false')
    kept = keeper(server)
    client = talker(server)
    client.send(hpub(b"a", b"NATS/1.0\r\nA: 1\r\n\r\n", b"123456") + pub(b"a", b"12"))
    client.send(pub(b"a", b"abcdef") * 5)
    rows = kept.rows_until(lambda rows: len(rows) >= 7)

    assert [(b"123", 6, None), (b"12", 2, None), *[(b"abc", 6, None)] * 5] == [
        (it["data"], it["size"], it["headers"]) for it in rows
    ]


def test_some_of_many(tapped, keeper, talker):
    server = tapped('subjects: ["a.*"], one_in: 10')
    kept = keeper(server)
    client = talker(server)
    client.send(pub(b"a.1", b"x") * 5000)
    client.send(b"".join(pub(b"a.%d" % it, b"x") for it in range(5000)))
    client.flush()
    rows = kept.rows_until(lambda rows: len(rows) >= 700)

    # 1,000 of 10,000 by chance: 300 away from it would be ten standard deviations.
    assert len(rows) <= 1300
    assert 100 < sum(it["subject"] != "a.1" for it in rows)


def test_what_is_nobodys_business_is_overwritten(tapped, keeper, talker):
    server = tapped('subjects: ["a"], redact: ["[0-9]{4}-[0-9]{4}"], redact_headers: ["x-key"]')
    kept = keeper(server)
    client = talker(server)
    client.send(pub(b"a", b"card 1234-5678.") + pub(b"a", b"12"))
    client.send(pub(b"a", b"34-5678") + hpub(b"a", b"NATS/1.0\r\nX-Key: abc\r\nB: 1\r\n\r\n", b""))
    rows = kept.rows_until(lambda rows: len(rows) >= 4)

    assert [b"card *********.", b"12", b"34-5678", b""] == [it["data"] for it in rows]
    assert b"NATS/1.0\r\nX-Key:****\r\nB: 1\r\n\r\n" == rows[3]["headers"]


def test_latencies_of_requests(tapped, keeper, talker):
    server = tapped('subjects: ["svc.*"], latency: true')
    kept = keeper(server)
    asking, serving = talker(server), talker(server, name="server-1")
    serving.send(b"SUB svc.* 1\r\n")
    serving.flush()
    asking.send(b"SUB _INBOX.me.* 1\r\n" + pub(b"svc.a", b"?", b"_INBOX.me.7"))
    serving.read_until(b"MSG")
    serving.send(pub(b"_INBOX.me.7", b"!") * 2 + pub(b"_INBOX.other", b"!"))
    rows = kept.rows_until(lambda rows: any(it["latency_ns"] for it in rows))

    [answer] = [it for it in rows if it["latency_ns"] is not None]
    assert ("svc.a", "_INBOX.me.7", "server-1", 1) == tuple(
        answer[it] for it in ("request_subject", "subject", "client", "size")
    )
    assert 0 < answer["latency_ns"]
    assert ["svc.a"] == [it["subject"] for it in rows if it["latency_ns"] is None]


def test_what_there_is_no_room_for_is_counted_in_rows(tapped, keeper, talker):
    server = tapped('subjects: ["a"], buffer: 1MB')
    client = talker(server)
    payload = b"x" * 1000
    for _ in range(4):
        client.send(pub(b"a", payload) * 1000)
        client.flush()
    kept = keeper(server)
    rows = kept.rows_until(lambda rows: any(it["dropped"] for it in rows))
    while len(rows) - 1 + sum(it["dropped"] or 0 for it in rows) < 4000:
        rows += kept.next_rows()

    [told] = [it for it in rows if it["dropped"] is not None]
    assert (None, None, None) == (told["subject"], told["data"], told["size"])
    assert 4000 == told["dropped"] + sum(it["subject"] == "a" for it in rows)
    [rule] = server.document("/tapz")["rules"]
    assert told["dropped"] == rule["dropped"]
    assert "stream TAP_r takes no more" in rule["why_dropped"]
    server.wait_log("Tap r drops messages")


def test_subjects_that_are_no_text(tapped, keeper, talker):
    server = tapped()
    kept = keeper(server)
    talker(server).send(pub(b"a.\xff\xc3", b"1") + pub(b"\xc3\xa9", b"2"))
    rows = kept.rows_until(lambda rows: len(rows) >= 2)

    assert ["a.\ufffd\ufffd", "\u00e9"] == [it["subject"] for it in rows]


def test_rules_of_accounts(tapped, keeper, talker):
    accounts = """
    accounts {
      A { users: [ { user: a, password: x } ] }
      B { users: [ { user: b, password: x } ] }
    }
    """
    server = tapped('accounts: ["A"]', accounts)
    kept = keeper(server, user="a", **{"pass": "x"})
    talker(server, user="b", **{"pass": "x"}).send(pub(b"theirs", b"1"))
    talker(server, user="a", **{"pass": "x"}).send(pub(b"mine", b"1"))
    rows = kept.rows_until(len)

    assert [("A", "mine", "a")] == [(it["account"], it["subject"], it["user"]) for it in rows]


def test_a_reload_follows_rules_and_leaves_others_alone(tapped, keeper, talker):
    server = tapped('subjects: ["a.*"]')
    kept = keeper(server)
    client = talker(server)
    client.send(pub(b"a.1", b"x") + pub(b"b.1", b"x"))
    first = kept.rows_until(len)
    more = 'other { subjects: ["b.*"] }'
    server.reload(f'tap {{ rules {{ r {{ subjects: ["a.*"] }}, {more} }} }}')
    client.send(pub(b"a.2", b"x") + pub(b"b.2", b"x"))
    second = kept.rows_until(lambda rows: len(rows) >= 2)
    server.reload('tap { rules { r { subjects: ["b.*"] } } }')
    client.send(pub(b"a.3", b"x") + pub(b"b.3", b"x"))
    third = kept.rows_until(len)

    assert [["a.1"], ["a.2", "b.2"], ["b.3"]] == [
        sorted(it["subject"] for it in rows) for rows in (first, second, third)
    ]


def test_reload_after_reload_nothing_is_lost_or_twice(tapped, keeper, talker):
    server = tapped('subjects: ["a.*"]')
    kept = keeper(server)
    client = talker(server)
    for turn in range(4):
        client.send(b"".join(pub(b"a.x", b"%d" % (100 * turn + at)) for at in range(100)))
        other = f'o {{ subjects: ["b.{turn}"] }}' if turn % 2 else ""
        server.reload(f'tap {{ rules {{ r {{ subjects: ["a.*"] }}, {other} }} }}')
    rows = kept.rows_until(lambda rows: len(rows) >= 400)

    assert [b"%d" % at for at in range(400)] == [it["data"] for it in rows]


def test_monitoring_shows_rules(tapped, keeper, talker):
    server = tapped('subjects: ["a", "b.*"]')
    kept = keeper(server)
    talker(server).send(pub(b"a", b"x") * 3)
    kept.next_frame()
    while not (rule := server.document("/tapz")["rules"][0])["rows"]:
        pass
    [plugin] = [it for it in server.document("/pluginz")["plugins"] if it["name"] == "tap"]

    assert {"name": "r", "account": "$G", "messages": 3, "dropped": 0, "rows": 3} == {
        it: rule[it] for it in ("name", "account", "messages", "dropped", "rows")
    }
    assert ("stream TAP_r", "", 0) == (rule["to"], rule["problem"], rule["lost"])
    assert [("ingress", "a"), ("ingress", "b.*")] == [
        (it["kind"], it["subject"]) for it in plugin["taps"] if it["kind"] == "ingress"
    ]


def test_without_a_rule_nothing_is_tapped(start_server):
    server = start_server("-m", "-1", config="tap {}")
    [plugin] = [it for it in server.document("/pluginz")["plugins"] if it["name"] == "tap"]

    assert ([], []) == (server.document("/tapz")["rules"], plugin["taps"])
    server.reload('tap { rules { r { subjects: ["a"] } } }')
    assert ["r"] == [it["name"] for it in server.document("/tapz")["rules"]]


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ('subjects: ["a.>", "a.b"]', "overlap"),
        ('subjects: ["a..b"]', "is no subject"),
        ('subjects: ["$TAP.>"]', "taps write themselves"),
        ('redact: ["("]', "is no regular expression"),
        ("latency: true, one_in: 2", "needs every message"),
        ("max_payload: 1MB", "max_payload"),
        ('sink: "nowhere"', "parquet"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused_with_its_place(tmp_path, rule, said):
    config = tmp_path / "wrong.conf"
    config.write_text(f"tap {{ rules {{ r {{\n{rule}\n}} }} }}")
    command = [sys.executable, "-m", "framework", "serve", "-t", "-c", str(config)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)

    assert result.returncode != 0
    assert "wrong.conf:" in result.stderr
    assert said in result.stderr
