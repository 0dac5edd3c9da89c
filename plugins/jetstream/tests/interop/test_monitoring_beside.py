"""What operators see beside the real server: documents, and the CLI that reads them."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request

import pytest

from framework.testing import Fleet

pytestmark = pytest.mark.interop

CONFIG = """
server_name: one
http: 127.0.0.1:-1
accounts {
  A { jetstream: { max_mem: 100M, max_file: 1G, max_streams: 3 }
      users: [{ user: a, password: a }] }
  B { jetstream: enabled, users: [{ user: b, password: b }] }
  C { users: [{ user: c, password: c }] }
  SYS { users: [{ user: sys, password: sys }] }
}
system_account: SYS
jetstream { store_dir: "%s", domain: hub, max_mem: 1G, max_file: 10G,
            limits: { max_ack_pending: 500, duplicate_window: "2m", batch: { max_msgs: 7 } } }
"""
QUERIES = [
    "",
    "?accounts=true",
    "?acc=A",
    "?acc=A&streams=true",
    "?acc=C",
    "?acc=no",
    "?consumers=true&config=true",
    "?consumers=1&raft=1",
    "?accounts=1&offset=1&limit=1",
    "?accounts=1&offset=9",
    "?streams=true&stream-leader-only=true",
    "?leader-only=true",
    "?acc=A&consumers=true",
]
HEALTH = [
    "",
    "?js-enabled=true",
    "?js-enabled-only=true",
    "?js-server-only=true",
    "?js-meta-only=true",
    "?account=no",
    "?account=no&js-server-only=true",
    "?account=no&js-enabled-only=true",
    "?account=no&details=true",
    "?stream=S",
    "?account=A&consumer=C",
    "?account=A&consumer=C&details=true",
]
_VARYING = {"now", "server_id", "created", "ts", "first_ts", "last_ts", "store_dir", "id", "time"}
_DIFFERENT = {"sync_always", "feature_flags", "flags", "seq", "update_time", "sublist_stats"}
"""Ours syncs before each acknowledgement; it has no Raft groups to have features of."""


def same(document):
    """Return a document with what differs between any two servers taken out."""
    if isinstance(document, dict):
        gone = _VARYING | _DIFFERENT
        return {name: same(it) for name, it in document.items() if name not in gone}
    if isinstance(document, list):
        return [same(it) for it in document]
    return document


@pytest.fixture(scope="module")
def servers(tmp_path_factory, log_in):
    """Return both servers, with two streams in memory, one with a consumer, in account A."""
    plugin = ("-plugin", "framework_jetstream.plugin")
    folder = tmp_path_factory.mktemp("servers")
    fleet = Fleet(folder)
    ours = fleet.start(*plugin, config=CONFIG % (folder / "ours"))
    real = fleet.start(config=CONFIG % (folder / "real"), kind="2.15.2")
    for server in (ours, real):
        with server.client() as client:
            user = log_in(client, user="a", **{"pass": "a"})
            for name, room in (("S", 5000), ("T", -1)):
                stream = {"name": name, "subjects": [f"{name}.>"], "storage": "memory"}
                user.api(f"STREAM.CREATE.{name}", {**stream, "max_bytes": room})
            consumer = {"durable_name": "C", "ack_policy": "explicit"}
            user.api("CONSUMER.CREATE.S.C", {"stream_name": "S", "config": consumer})
            user.ask("S.x", b"hello")
            user.api("STREAM.INFO.no")
    yield ours, real
    fleet.stop()


def answered(server, path):
    """Return status and document, whatever the status is."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.monitor_port}{path}") as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code, json.load(refusal)


def ask_system(server, log_in, subject, payload=b""):
    with server.client() as client:
        system = log_in(client, user="sys", **{"pass": "sys"})
        return json.loads(system.ask(subject, payload)[1])


@pytest.mark.parametrize("query", QUERIES)
def test_jsz(servers, query):
    ours, theirs = (it.document(f"/jsz{query}") for it in servers)
    for it in (ours, theirs):
        for account in it.get("account_details", ()):
            account.get("stream_detail", []).sort(key=lambda stream: stream["name"])

    assert same(theirs) == same(ours)


@pytest.mark.parametrize(
    "options",
    [{}, {"account": "A", "streams": True}, {"leader_only": True}, {"consumer": True}],
)
def test_jsz_by_message(servers, log_in, options):
    payload = json.dumps(options).encode()
    told = [ask_system(it, log_in, "$SYS.REQ.SERVER.PING.JSZ", payload) for it in servers]
    for it in told:
        for account in it["data"].get("account_details", ()):
            account.get("stream_detail", []).sort(key=lambda stream: stream["name"])

    assert same(told[1]) == same(told[0])
    assert told[0]["server"]["domain"] == "hub"
    assert told[0]["server"]["jetstream"] is True


@pytest.mark.parametrize("account", ["A", "B", "C", "no"])
def test_jsz_of_an_account(servers, log_in, account):
    told = [ask_system(it, log_in, f"$SYS.REQ.ACCOUNT.{account}.JSZ") for it in servers]

    assert same(told[1]) == same(told[0])


def test_varz_and_statsz(servers, log_in):
    ours, theirs = (it.document("/varz")["jetstream"] for it in servers)
    told = [ask_system(it, log_in, "$SYS.REQ.SERVER.PING")["statsz"] for it in servers]

    assert same(theirs) == same(ours)
    assert same(told[1]["jetstream"]) == same(told[0]["jetstream"])
    assert "store_dir" not in told[0]["jetstream"]["config"]


@pytest.mark.parametrize("query", HEALTH)
def test_healthz(servers, query):
    ours, theirs = (answered(it, f"/healthz{query}") for it in servers)

    assert theirs == ours


@pytest.mark.parametrize("account", ["A", "C"])
def test_accountz(servers, account):
    found = []
    for server in servers:
        detail = server.document(f"/accountz?acc={account}")["account_detail"]
        imports = {it["to"]: it for it in detail["imports"]}
        found.append((detail["jetstream_enabled"], detail["mappings"], imports["$JS.API.>"]))

    assert found[1] == found[0]


def lines(text):
    """Return what the CLI printed, without times, addresses and sizes of columns."""
    text = re.sub("\\d+(\\.\\d+)?(n|\xb5|m)?s\\b", "TIME", text)
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "TIME", text)
    return [re.sub(r"[─╭╮╰╯├┤┬┴┼│╞╪╡═ ]+", " ", line).strip() for line in text.splitlines()]


@pytest.mark.parametrize(
    ("user", "words"),
    [
        ("sys", ("server", "report", "jetstream")),
        ("sys", ("server", "list", "--json")),
        ("a", ("account", "info")),
        ("a", ("stream", "report")),
        ("a", ("consumer", "report", "S")),
        ("a", ("stream", "info", "S")),
        ("a", ("consumer", "info", "S", "C")),
        ("a", ("stream", "ls")),
    ],
)
def test_the_cli_shows_the_same(servers, nats_cli, user, words):
    told = []
    for server in servers:
        url = f"nats://{user}:{user}@127.0.0.1:{server.port}"
        told.append(nats_cli.run(url, *words))

    if "--json" in words:
        assert [bool(json.loads(it)[0]["server"]["jetstream"]) for it in told] == [True, True]
        return
    shown = [[it for it in lines(text) if _is_shown(it)] for text in told]
    assert shown[1] == shown[0]


def _is_shown(line):
    """Whether both servers have to show a line alike."""
    return line and not re.search(r"RTT|ID:|Connected|Client|Created|TIME|Reserved Storage", line)


@pytest.mark.parametrize(
    "words",
    [
        ("server", "check", "jetstream"),
        ("server", "check", "stream", "--stream", "S"),
        ("server", "check", "consumer", "--stream", "S", "--consumer", "C"),
    ],
)
def test_the_cli_finds_it_well(servers, nats_cli, words):
    for server in servers:
        assert "OK" in nats_cli.run(f"nats://a:a@127.0.0.1:{server.port}", *words)
