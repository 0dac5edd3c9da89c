"""Acknowledgements by subjects with domain and account, beside the real server."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.interop

PLUGIN = ("-plugin", "framework_jetstream.plugin")
STREAM = {"name": "S", "subjects": ["s.*"]}


@pytest.fixture(params=["", "hub"])
def pair(fleet, log_in, tmp_path, request):
    """Return clients of a server of ours and of a real one, with or without a domain."""
    clients = []
    for name, kind, more in (("ours", None, PLUGIN), ("real", "2.15.2", ())):
        domain = f"domain: {request.param}" if request.param else ""
        store = f'jetstream {{ store_dir: "{tmp_path / name}", {domain} }}'
        config = f"{store}\nfeature_flags {{ js_ack_fc_v2: true, unheard_of: true }}\n"
        server = fleet.start(*more, config=config, **({"kind": kind} if kind else {}))
        clients.append(server.client())
    with clients[0] as mine, clients[1] as theirs:
        yield log_in(mine), log_in(theirs)


def without_time(reply):
    """Return the tokens without the time, and how many are pending.

    The real server counts a message as pending some time after it was acknowledged.
    """
    return reply.split(b".")[:9]


def test_messages_are_acknowledged_by_either_form(pair):
    told = []
    for client in pair:
        client.api("STREAM.CREATE.S", STREAM)
        config = {"durable_name": "D", "ack_policy": "explicit"}
        client.api("CONSUMER.DURABLE.CREATE.S.D", {"stream_name": "S", "config": config})
        for name in "abcd":
            client.ask(f"s.{name}", name.encode())
        got = client.fetch("S", "D", 4)
        replies = [reply.decode() for _, reply, _ in got]
        # As they are, with more behind, and as they were before there was this form.
        short = replies[2].split(".")
        answers = [
            client.ask(replies[0]),
            client.ask(f"{replies[1]}.more.of.it"),
            client.ask(".".join([*short[:2], *short[4:]])),
        ]
        info = client.api("CONSUMER.INFO.S.D")
        told.append(([without_time(it[1]) for it in got], answers, info["num_ack_pending"]))

    assert told[0] == told[1]
    assert told[0][2] == 1


def test_flow_control_has_that_form(pair):
    told = []
    for client in pair:
        client.api("STREAM.CREATE.S", {**STREAM, "max_msg_size": 0})
        inbox = client.subscribe("deliver")
        config = {"durable_name": "D", "ack_policy": "explicit", "deliver_subject": "deliver"}
        config |= {"flow_control": True, "idle_heartbeat": 10**9}
        client.api("CONSUMER.DURABLE.CREATE.S.D", {"stream_name": "S", "config": config})
        client.ask("s.a", b"x" * 500_000)
        client.ask("s.a", b"x" * 700_000)
        heard = [client.heard_with_reply(inbox) for _ in range(3)]
        asked = [reply for reply, header in heard if b"FlowControl" in header]
        told.append([it.rpartition(b".")[0] for it in asked])

    assert told[0] == told[1]
    assert len(told[0]) == 1
