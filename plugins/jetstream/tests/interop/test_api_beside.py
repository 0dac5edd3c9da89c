"""Every subject of the API beside the real server's: answered or refused alike, never silent.

The real server is silent on what an account may not ask, and on what is for clusters: ours says so.
"""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.interop

CONFIG = """
accounts {
  A { jetstream: enabled, users: [{ user: a, password: a }] }
  C { users: [{ user: c, password: c }] }
  SYS { users: [{ user: sys, password: sys }] }
}
system_account: SYS
jetstream { store_dir: "%s", domain: hub, max_mem: 1G, max_file: 1G }
"""
SUBJECTS = [
    "INFO",
    "STREAM.CREATE.X",
    "STREAM.UPDATE.X",
    "STREAM.NAMES",
    "STREAM.LIST",
    "STREAM.INFO.X",
    "STREAM.DELETE.X",
    "STREAM.PURGE.X",
    "STREAM.SNAPSHOT.X",
    "STREAM.RESTORE.X",
    "STREAM.MSG.GET.X",
    "STREAM.MSG.DELETE.X",
    "STREAM.PEER.REMOVE.X",
    "STREAM.PEER.EVACUATE.X",
    "STREAM.CANCEL_MOVE.X",
    "STREAM.LEADER.STEPDOWN.X",
    "CONSUMER.CREATE.X",
    "CONSUMER.CREATE.X.C",
    "CONSUMER.CREATE.X.C.f",
    "CONSUMER.DURABLE.CREATE.X.C",
    "CONSUMER.NAMES.X",
    "CONSUMER.LIST.X",
    "CONSUMER.INFO.X.C",
    "CONSUMER.DELETE.X.C",
    "CONSUMER.PAUSE.X.C",
    "CONSUMER.UNPIN.X.C",
    "CONSUMER.LEADER.STEPDOWN.X.C",
    "CONSUMER.PEER.REMOVE.X.C",
    "CONSUMER.PEER.EVACUATE.X.C",
    "CONSUMER.MSG.NEXT.X.C",
    "DIRECT.GET.X",
    "DIRECT.GET.X.s",
]
OURS_ALONE = {
    "META.LEADER.STEPDOWN": 10010,
    "META.RESCUE": 10010,
    "SERVER.REMOVE": 10010,
    "SERVER.EVACUATE": 10010,
    "ACCOUNT.STREAM.MOVE.A.X": 10010,
    "ACCOUNT.STREAM.CANCEL_MOVE.A.X": 10010,
}
"""For a cluster, of users of the system account; the real server says nothing."""


@pytest.fixture
def servers(fleet, tmp_path):
    """Return a server of ours and a real one with three accounts."""
    ours = fleet.start("-plugin", "framework_jetstream.plugin", config=CONFIG % (tmp_path / "o"))
    return ours, fleet.start(config=CONFIG % (tmp_path / "r"), kind="2.15.2")


def answers(server, log_in, user, subjects, payloads):
    """Return what each subject is answered, by (subject, payload)."""
    with server.client() as client:
        asking = log_in(client, user=user, **{"pass": user})
        found = {}
        for subject in subjects:
            for payload in payloads:
                header, body = asking.ask(f"$JS.API.{subject}", payload)
                found[subject, payload] = (header.split(b"\r\n")[0], shown(body))
        return found


def shown(body):
    if not body:
        return None
    document = json.loads(body)
    document.pop("ts", None)
    return document


@pytest.mark.parametrize("user", ["a", "c"])
def test_each_subject_is_answered_as_by_the_real_server(servers, log_in, user):
    payloads = [b"", b"{}", b"{", b"[]", b'{"no":1}']
    ours, theirs = (answers(it, log_in, user, SUBJECTS, payloads) for it in servers)

    # The words of what is wrong with JSON are a parser's own.
    for found in (ours, theirs):
        for _, document in found.values():
            error = (document or {}).get("error", {})
            if error.get("err_code") == 10025:
                error["description"] = ""
    assert theirs == ours


def test_users_of_the_system_account_are_told_that_it_has_no_streams(servers, log_in):
    subjects = [it for it in SUBJECTS if it != "DIRECT.GET.X.s"]
    served = [it for it in subjects if not it.startswith(("DIRECT", "CONSUMER.MSG"))]
    ours, theirs = (answers(it, log_in, "sys", served, [b""]) for it in servers)

    assert theirs == ours


def test_what_is_for_clusters_is_refused_rather_than_passed_over(servers, log_in):
    found = answers(servers[0], log_in, "sys", OURS_ALONE, [b""])

    assert OURS_ALONE == {
        subject: document["error"]["err_code"] for (subject, _), (_, document) in found.items()
    }


@pytest.mark.parametrize("subject", ["META.RESCUE", "ACCOUNT.PURGE.A", "STREAM.NO", "STREAM.X.Y"])
def test_what_an_account_may_not_ask_or_nobody_knows_is_a_bad_request(servers, log_in, subject):
    found = answers(servers[0], log_in, "a", [subject], [b""])
    ((_, document),) = found.values()

    assert document["type"] == "io.nats.jetstream.api.v1.system_response"
    assert document["error"]["err_code"] == 10003


def test_accounts_are_purged_by_users_of_the_system_account(servers, log_in):
    told = []
    for server in servers:
        with server.client() as one, server.client() as other:
            user = log_in(one, user="a", **{"pass": "a"})
            system = log_in(other, user="sys", **{"pass": "sys"})
            for name in ("S", "T"):
                user.api(f"STREAM.CREATE.{name}", {"name": name, "storage": "memory"})
            done = [system.api(f"ACCOUNT.PURGE.{it}") for it in ("A", "C", "no", "a/b")]
            told.append((done, user.api("STREAM.NAMES")))

    assert told[1] == told[0]
    assert told[0][1]["streams"] is None


def test_the_domain_is_another_name_of_the_api(servers, log_in):
    told = []
    for server in servers:
        with server.client() as client:
            user = log_in(client, user="a", **{"pass": "a"})
            stream = {"name": "S", "subjects": ["s"], "storage": "memory"}
            made = json.loads(user.ask("$JS.hub.API.STREAM.CREATE.S", stream)[1])
            acked = json.loads(user.ask("s", b"x")[1])
            listed = user.api("STREAM.LIST")["streams"][0]["domain"]
            named = json.loads(user.ask("$JS.hub.API.INFO")[1])["domain"]
            told.append((made.get("domain"), acked, listed, named))

    assert told[1] == told[0]
    assert told[0][1]["domain"] == "hub"


@pytest.mark.parametrize("value", ["0", "5", "6", "-1", "+3", "x", "", "99999999999999999999"])
def test_requests_may_need_a_level_of_the_api(pair, value):
    headers = [("Nats-Required-Api-Level", value)]
    told = [it.api("STREAM.NAMES", headers=headers) for it in pair]

    assert told[1] == told[0]
