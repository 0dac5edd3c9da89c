"""Streams belong to accounts: each has its own names, subjects and messages."""

from __future__ import annotations

import json

CONFIG = """
jetstream { store_dir: "%s" }
accounts {
  A { jetstream: enabled, users: [{ user: a, password: a }] }
  B { jetstream: enabled, users: [{ user: b, password: b }] }
}
"""
IMPORTED = """
jetstream { store_dir: "%s" }
accounts {
  A {
    jetstream: enabled, users: [{ user: a, password: a }]
    exports: [{ service: "$JS.API.>", response_type: stream }]
  }
  B {
    users: [{ user: b, password: b }]
    imports: [{ service: { account: A, subject: "$JS.API.>" } }]
  }
}
"""
PLUGIN = ("-plugin", "framework_jetstream.plugin")


def test_accounts_have_streams_of_their_own(fleet, log_in, tmp_path):
    server = fleet.start(*PLUGIN, config=CONFIG % tmp_path)
    with server.client() as one, server.client() as other:
        a = log_in(one, user="a", **{"pass": "a"})
        b = log_in(other, user="b", **{"pass": "b"})
        stream = {"name": "S", "subjects": ["s"], "storage": "memory"}
        for client in (a, b):
            client.api("STREAM.CREATE.S", stream)
        a.ask("s", b"of a")
        a.ask("s", b"of a")

        seq_of_b = json.loads(b.ask("s", b"of b")[1])["seq"]
        held = [it.api("STREAM.INFO.S")["state"]["messages"] for it in (a, b)]
        b.api("STREAM.DELETE.S")
        names = [it.api("STREAM.NAMES")["streams"] for it in (a, b)]

        assert seq_of_b == 1
        assert held == [2, 1]
        assert names == [["S"], None]


def test_messages_keep_their_subjects_on_the_way_to_another_account(fleet, log_in, tmp_path):
    server = fleet.start(*PLUGIN, config=IMPORTED % tmp_path)
    with server.client() as one, server.client() as other:
        a = log_in(one, user="a", **{"pass": "a"})
        a.api("STREAM.CREATE.S", {"name": "S", "subjects": ["s"], "storage": "memory"})
        a.ask("s", b"of a")
        config = {"durable_name": "C", "ack_policy": "none"}
        a.api("CONSUMER.DURABLE.CREATE.S.C", {"stream_name": "S", "config": config})
        [(subject, _, body)] = log_in(other, user="b", **{"pass": "b"}).fetch("S", "C", 1)

    assert (subject, body) == (b"s", b"of a")


def test_a_stream_of_an_account_that_is_gone_is_kept_and_comes_back_with_it(
    fleet, log_in, tmp_path
):
    without_b = "\n".join(line for line in CONFIG.splitlines() if not line.startswith("  B"))

    def start(config):
        return fleet.start(*PLUGIN, config=config % tmp_path)

    def api(server, user, kind):
        with server.client() as client:
            return log_in(client, user=user, **{"pass": user}).api(*kind)

    server = start(CONFIG)
    for user in "ab":
        api(server, user, ("STREAM.CREATE.S", {"name": "S", "subjects": ["s"]}))
    server.stop()
    server = start(without_b)
    streams = api(server, "a", ("STREAM.NAMES",))["streams"]
    api(server, "a", ("STREAM.CREATE.T", {"name": "T", "subjects": ["t"]}))
    log = server.log()
    server.stop()
    server = start(CONFIG)

    assert streams == ["S"]
    assert "Stream S is kept, and not served: there is no account B" in log
    assert [api(server, it, ("STREAM.NAMES",))["streams"] for it in "ab"] == [["S", "T"], ["S"]]


def test_a_block_that_is_a_word_starts_streams_and_one_that_is_off_does_not(
    fleet, tmp_path, monkeypatch
):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    on = fleet.start(*PLUGIN, config="jetstream: enabled")
    off = fleet.start(*PLUGIN, config="jetstream: disabled")

    with on.client() as one, off.client() as other:
        assert one.log_in().get("jetstream") is True
        assert not other.log_in().get("jetstream")


def test_bad_requests_are_answered_and_nothing_breaks(fleet, log_in, tmp_path):
    server = fleet.start("-js", "-sd", str(tmp_path), *PLUGIN)
    with server.client() as client:
        ask = log_in(client)
        ask.api("STREAM.CREATE.S", {"name": "S", "subjects": ["s"], "storage": "memory"})
        ask.api("CONSUMER.CREATE.S.C", {"stream_name": "S", "config": {"durable_name": "C"}})
        for payload in (b"[" * 100_000, b'{"name":' * 1_000, b'{"name":"\xff"}', b"{" * 9):
            assert "error" in ask.api("STREAM.CREATE.S", payload)
        for subject in (
            "$JS.ACK.S.C.1.1.1",
            "$JS.ACK.S.C.1." + "9" * 30 + ".1.1.1",
            "$JS.ACK.S.C.x.y",
        ):
            ask.send(subject, b"-NAK {" + b"[" * 100)
        ask.send("$JS.API.CONSUMER.MSG.NEXT.S.C", b'{"batch":' + b"9" * 40)

        assert ask.api("STREAM.PURGE.S", {"seq": 2**64 - 1})["success"]
        assert ask.api("STREAM.CREATE.x", {"name": 'x"y\n'})["error"]["err_code"] == 10056
        assert ask.api("CONSUMER.INFO.S.C")["num_ack_pending"] == 0
