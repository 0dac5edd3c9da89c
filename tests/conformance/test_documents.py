"""Every monitoring document of ours beside that of the real server, field by field.

The same configuration, the same clients. Fields are named by their way from the top, items of
lists by what tells them apart. What may differ stands in `differences.toml`.
"""

from __future__ import annotations

import contextlib
import json
import re
import tomllib
import urllib.error
import urllib.request
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from framework.testing import OURS, Fleet

CURRENT = "2.15.2"
ALLOWED = tomllib.loads((Path(__file__).parent / "differences.toml").read_text("utf-8"))["document"]
CONFIG = """
server_name: one
http: "127.0.0.1:-1"
server_tags: [blue, "az:1"]
max_subscriptions: 900
accounts {
  $SYS { users: [ {user: sys, password: s} ] }
  A {
    users: [
      {user: a, password: a, permissions: {publish: {deny: "secret.>"}}}
      {user: a2, password: a}
    ]
    exports: [
      {stream: "st.>"}
      {stream: "only.b", accounts: [B]}
      {service: "svc.*", latency: {sampling: 50%, subject: lat}}
      {service: "str", response: stream}
      {service: "priv", accounts: [B]}
    ]
    mappings: {
      "foo": "bar"
      "m.*": [{destination: "n.$1", weight: 20%}, {destination: "o.{{wildcard(1)}}", weight: 30%}]
    }
  }
  B {
    users: [ {user: b, password: b} ]
    imports: [
      {stream: {account: A, subject: "st.>"}, prefix: "from.a"}
      {service: {account: A, subject: "svc.x"}, to: "mysvc", share: true}
      {service: {account: A, subject: "priv"}}
    ]
  }
}
system_account: "$SYS"
cluster { name: c1, listen: "127.0.0.1:-1", authorization { user: r, password: r, timeout: 3 } }
"""
PATHS = [
    "/varz",
    "/connz",
    "/connz?auth=1&subs=detail&sort=msgs_from",
    "/connz?auth=1&subs=1&state=all",
    "/connz?state=closed&auth=1&sort=stop",
    "/connz?acc=A&limit=1&offset=1",
    "/connz?user=b&auth=1",
    "/connz?mqtt_client=x",
    "/routez",
    "/routez?subs=detail",
    "/gatewayz?accs=1",
    "/leafz?subs=1",
    "/subsz?acc=B",
    "/subsz?subs=1&acc=A",
    "/subsz?subs=1&acc=A&test=t.1",
    "/accountz",
    "/accountz?acc=A",
    "/accountz?acc=B",
    "/accountz?acc=$SYS",
    "/accstatz",
    "/accstatz?unused=1",
    "/accstatz?unused=1&acc=A",
    "/jsz",
    "/jsz?accounts=1&streams=1&limit=5",
    "/healthz",
    "/healthz?details=1",
    "/healthz?js-enabled-only=1",
    "/healthz?js-server-only=1&details=1",
]
REQUESTS = [
    ("SERVER.PING.VARZ", {}),
    ("SERVER.PING.CONNZ", {"auth": True, "subscriptions_detail": True, "state": 2}),
    ("SERVER.PING.CONNZ", {"acc": "A", "limit": 1, "sort": "msgs_from"}),
    ("SERVER.PING.CONNZ", {"LIMIT": "x"}),
    ("SERVER.PING.CONNZ", {"cid": -1}),
    ("SERVER.PING.CONNZ", {"auth": 1}),
    ("SERVER.PING.CONNZ", {"state": 7}),
    ("SERVER.PING.CONNZ", {"sort": "x"}),
    ("SERVER.PING.SUBSZ", {"account": "A", "subscriptions": True, "test": "t.1"}),
    ("SERVER.PING.ROUTEZ", {"subscriptions": True}),
    ("SERVER.PING.ROUTEZ", {"subscriptions": 3}),
    ("SERVER.PING.GATEWAYZ", {"accounts": True}),
    ("SERVER.PING.LEAFZ", {"account": "A"}),
    ("SERVER.PING.ACCOUNTZ", {}),
    ("SERVER.PING.ACCOUNTZ", {"account": "A"}),
    ("SERVER.PING.ACCOUNTZ", {"account": "nope"}),
    ("SERVER.PING.JSZ", {"accounts": True}),
    ("SERVER.PING.HEALTHZ", {"details": True}),
    ("SERVER.PING.HEALTHZ", {"stream": "s"}),
    ("SERVER.PING.RAFTZ", {}),
    ("SERVER.PING.PROFILEZ", {"name": "nope"}),
    ("ACCOUNT.A.CONNZ", {"auth": True}),
    ("ACCOUNT.B.SUBSZ", {"test": "t.1"}),
    ("ACCOUNT.A.LEAFZ", {}),
    ("ACCOUNT.A.JSZ", {}),
    ("ACCOUNT.B.INFO", {}),
    ("ACCOUNT.A.STATZ", {}),
    ("ACCOUNT.A.STATZ", {"accounts": [1]}),
    ("ACCOUNT.PING.STATZ", {"accounts": ["B"], "include_unused": True}),
]
REFUSED = [
    "/connz?sort=x",
    "/connz?sort=stop",
    "/connz?state=half",
    "/connz?limit=x",
    "/connz?cid=-1",
    "/subsz?test=a.*",
    "/accountz?acc=nope",
    "/accstatz?unused=x",
    "/jsz?leader-only=1",
    "/jsz?limit=x",
    "/raftz",
    "/healthz?stream=s",
    "/healthz?account=A&consumer=c",
    "/leafz?subs=detail",
    "/gatewayz?subs=x",
    "/ipqueuesz?all=x",
    "/nosuchz",
]
IDENTITY = ("name", "acc", "local_subject", "subject")
"""What tells the items of a list apart, whatever their order: the first of these that they have."""

FIELD_OF_GO = re.compile(r"into (?:Go struct field )?\S+ of type")
"""In errors of JSON: 1.26 and 1.27 of Go name the same field in two ways."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("documents")


@pytest.fixture(scope="module")
def servers(folder):
    """Both servers, each with the same clients, and one that has gone."""
    with contextlib.ExitStack() as ends:
        fleet = Fleet(folder)
        ends.callback(fleet.stop)
        both = {}
        for kind in (OURS, CURRENT):
            both[kind] = server = fleet.start(kind=kind, config=CONFIG, clustered=True)
            _play(server, ends)
        yield both


def _play(server, ends):
    """Let clients come, subscribe and publish; one goes again."""
    clients = {}
    for name, user in (("first", "a"), ("second", "a2"), ("third", "b"), ("gone", "a")):
        clients[name] = client = ends.enter_context(server.client())
        client.log_in(user=user, **{"pass": user[0]}, name=name)
    clients["first"].send(b"SUB t.* 1\r\nSUB t.1 workers 2\r\nUNSUB 2 9\r\nSUB other 3\r\n")
    clients["second"].send(b"SUB t.> 1\r\n")
    clients["third"].send(b"SUB t.1 1\r\nSUB from.a.st.x 2\r\n")
    for name in ("first", "second", "third"):
        clients[name].flush()
    clients["gone"].send(b"SUB t.9 7\r\n" + b"PUB t.1 3\r\nabc\r\n" * 3)
    clients["gone"].flush()
    clients["first"].send(b"PUB st.x 2\r\nhi\r\n" + b"PUB none 4\r\nabcd\r\n" * 2)
    clients["first"].send(b"SUB inbox 4\r\nPUB nobody inbox 0\r\n\r\n")
    for name in ("first", "second", "third"):
        clients[name].flush()
    clients["gone"].close()
    while fetch(server, "/connz?state=closed")["total"] < 1:
        pass
    for name in ("first", "second", "third"):
        clients[name].flush()


def ask(server, request, options):
    """Return what the system account answers."""
    with server.client() as client:
        client.log_in(user="sys", **{"pass": "s"}, name="asking")
        subject, payload = f"$SYS.REQ.{request}".encode(), json.dumps(options).encode()
        client.send(b"SUB inbox 1\r\n")
        client.send(b"PUB %b inbox %d\r\n%b\r\n" % (subject, len(payload), payload))
        message = client.read_until(b"MSG")[-1]
    return json.loads(FIELD_OF_GO.sub("into a field of type", message.body.decode()))


def fetch(server, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{server.monitor_port}{path}") as answer:
        return json.load(answer)


def fields_of(value, way=""):
    """Return every value at the end of its way; empty objects and lists are values too."""
    if isinstance(value, dict) and value:
        pairs = value.items()
    elif isinstance(value, list) and value:
        pairs = [(f"[{_identity(item)}]", item) for item in value]
    else:
        return {way: value}
    found = {}
    for name, item in pairs:
        found |= fields_of(item, f"{way}.{name}" if way else name)
    return found


def _identity(item):
    if isinstance(item, dict):
        return next(item[name] for name in IDENTITY if item.get(name))
    return item


def kind_of(value):
    return "number" if type(value) in {int, float} else type(value).__name__


def differences(path, ours, theirs):
    """Return (how, field) of all that is not alike: `ours`, `theirs`, `type` or `value`."""
    found = []
    for field in {**theirs, **ours}:
        if field not in theirs or field not in ours:
            found.append(("ours" if field in ours else "theirs", field))
        elif kind_of(ours[field]) != kind_of(theirs[field]):
            found.append(("type", field))
        elif ours[field] != theirs[field]:
            found.append(("value", field))
    return [(path, how, field) for how, field in found]


def is_allowed(entry, path, how, field):
    return (
        entry["may"] == how
        and any(fnmatchcase(path, it) for it in entry.get("paths", ["*"]))
        and any(fnmatchcase(field, it) for it in entry["fields"])
    )


def title_of(request, options):
    return f"{request} {json.dumps(options)}"


@pytest.fixture(scope="module")
def found(servers):
    """All differences, whether they are allowed or not."""
    differing = []
    for path in PATHS:
        ours, theirs = (fields_of(fetch(servers[kind], path)) for kind in (OURS, CURRENT))
        differing += differences(path, ours, theirs)
    for asked in REQUESTS:
        ours, theirs = (fields_of(ask(servers[kind], *asked)) for kind in (OURS, CURRENT))
        differing += differences(title_of(*asked), ours, theirs)
    return differing


@pytest.mark.peer(CURRENT)
@pytest.mark.parametrize("title", [*PATHS, *(title_of(*it) for it in REQUESTS)])
def test_a_document_is_that_of_the_real_server(found, title):
    assert [
        it
        for it in found
        if it[0] == title and not any(is_allowed(entry, *it) for entry in ALLOWED)
    ] == []


@pytest.mark.peer(CURRENT)
def test_what_may_differ_does(found):
    certain = [it for it in ALLOWED if not it.get("by_chance")]
    unused = [it for it in certain if not any(is_allowed(it, *one) for one in found)]

    assert unused == []


@pytest.mark.peer(CURRENT)
@pytest.mark.parametrize("path", REFUSED)
def test_what_is_refused_is_refused_in_the_same_words(servers, path):
    answers = []
    for server in servers.values():
        with pytest.raises(urllib.error.HTTPError) as caught:
            fetch(server, path)
        answers.append((caught.value.code, caught.value.read().decode()))
        caught.value.close()

    assert answers[0] == answers[1]
