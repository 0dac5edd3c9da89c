"""What nats-server refuses in accounts is refused, with its place."""

from __future__ import annotations

import pytest
from framework_auth.config import AUTHORIZATION_SECTION

from framework.topology import Schema, TopologyErrors, read_server_conf

SCHEMA = Schema([AUTHORIZATION_SECTION])
NKEY = "UBO2MQV67TQTVIRV3XFTEZOACM4WLOCMCDMAWN5QVN5PI2N6JHTVDRON"


@pytest.fixture
def read(tmp_path):
    def read_text(text):
        path = tmp_path / "server.conf"
        path.write_text(text)
        return read_server_conf(path, SCHEMA)

    return read_text


REFUSED = {
    # Of domains:
    "default_js_domain { B: hub }\naccounts { A {} }": ("1:24", 'there is no account "B"'),
    'default_js_domain { "$SYS": hub }': ("1:29", 'system account "$SYS" can not be in'),
    "default_js_domain { A: hub }\naccounts { A { jetstream: enabled } }": (
        "1:24",
        "has JetStream enabled",
    ),
    'default_js_domain { A: "a.*" }\naccounts { A {} }': ("1:24", "is no name of a domain"),
    # Of users:
    "accounts {\nA { users: [{user: a, password: b}] }\nB { users: [{user: a, password: c}] } }": (
        "3:20",
        'duplicate user "a" detected',
    ),
    f"accounts {{ A {{ users: [{{nkey: {NKEY}}}] }},\nB {{ users: [{{nkey: {NKEY}}}] }} }}": (
        "2:20",
        "duplicate nkey",
    ),
    "authorization { users: [{user: a, password: b}] }\n"
    "accounts { A { users: [{user: a, password: c}] } }": ("2:31", 'duplicate user "a"'),
    "accounts { A { users: [{nkey: UABC}] } }": ("1:31", "not a valid public nkey for a user"),
    f"accounts {{ A {{ users: [{{nkey: {NKEY}, password: b}}] }} }}": (
        "1:31",
        "nkey users do not take usernames or passwords",
    ),
    "accounts { A { users: [{user: a, password: b, connection_types: [STANDARD, FOO]}] } }": (
        "1:65",
        "invalid connection types ['FOO']",
    ),
    "accounts { A { users: [{user: a, password: b, proxy_required: true}] } }": (
        "1:63",
        "proxies are not supported",
    ),
    "authorization { user: a, password: b }\naccounts { A { users: [{user: c, password: d}] } }": (
        "1:23",
        "can not have a single user/pass and accounts",
    ),
    "authorization { token: a }\naccounts { A { users: [{user: c, password: d}] } }": (
        "1:24",
        "can not have a token and accounts",
    ),
    "no_auth_user: a": ("1:15", "no users are"),
    "no_auth_user: x\naccounts { A { users: [{user: a, password: b}] } }": (
        "1:15",
        "not present as user or nkey",
    ),
    "accounts { A { users: [{user: a, password: b, permissions: {pub: a..b}}] } }": (
        "1:66",
        'subject "a..b" is not a valid subject',
    ),
    'accounts { A { default_permissions: {sub: {deny: ["a b c"]}} } }': (
        "1:50",
        'subject "a b c" is not a valid subject',
    ),
    'accounts { A { default_permissions: {sub: "a b..c"} } }': (
        "1:43",
        'queue "b..c" is not a valid queue',
    ),
    'accounts { A { default_permissions: {pub: "a q"} } }': ("1:43", "is not a valid subject"),
    "accounts { A { default_permissions: {foo: a} } }": ("1:38", "unknown key `foo`"),
    "accounts { A { default_permissions: {allow_responses: 5} } }": (
        "1:55",
        "expected a block, found 5",
    ),
    # Of accounts:
    "accounts { $G {} }": ("1:15", "reserved account"),
    "accounts: [A, A]": ("1:11", "duplicate account entry: A"),
    "accounts: [A, 5 ]": ("1:11", "expected account names"),
    "accounts { A: 5 }": ("1:15", "expected a block, found 5"),
    "accounts { A { foo: 1 } }": ("1:16", "unknown key `foo`"),
    "system_account: X": ("1:17", 'there is no account "X"'),
    "accounts { A { nkey: UABC } }": ("1:22", "not a valid public nkey for an account"),
    "accounts { A { trace_dest: a.* } }": ("1:28", "must have no wildcards"),
    "accounts { A { trace_dest: {sampling: 5} } }": ("1:39", "names no subject"),
    "accounts { A { trace_dest: {dest: a, sampling: 101} } }": ("1:48", "at most 100"),
    # Of exports:
    "accounts { A { exports: [{stream: x, service: y}] } }": ("1:47", "already saw a stream"),
    "accounts { A { exports: [{accounts: [A]}] } }": ("1:37", "neither a stream nor a service"),
    "accounts { A { exports: [{stream: x, accounts: [B]}] } }": (
        "1:48",
        '"B" account not defined for stream export',
    ),
    "accounts { A { exports: [{service: x, accounts: [B]}] } }": (
        "1:49",
        '"B" account not defined for service export',
    ),
    "accounts { A { exports: [{stream: x, response: stream}] } }": ("1:48", "is of services"),
    "accounts { A { exports: [{stream: x, latency: y}] } }": ("1:47", "is of services"),
    'accounts { A { exports: [{service: x, threshold: "x"}] } }': ("1:50", "duration"),
    "accounts { A { exports: [{service: x, response: many}] } }": ("1:49", "expected single"),
    "accounts { A { exports: [{service: x, response: stream, latency: y}] } }": (
        "1:66",
        "bad service response type",
    ),
    "accounts { A { exports: [{service: x, latency: {sampling: 0, subject: y}}] } }": (
        "1:59",
        "bad sampling percentage",
    ),
    "accounts { A { exports: [{service: x, latency: {sampling: 101, subject: y}}] } }": (
        "1:59",
        "at most 100",
    ),
    "accounts { A { exports: [{service: x, latency: {sampling: 5}}] } }": (
        "1:59",
        "latency subject required",
    ),
    "accounts { A { exports: [{service: x, latency: x}] } }": ("1:48", "an exported service"),
    "no_system_account: true\naccounts { A { exports: [{service: x, latency: y}] } }": (
        "2:48",
        "system account not setup",
    ),
    "accounts { A { exports: [{service: a.b, account_token_position: 2}] } }": (
        "1:65",
        "token 2 of the subject must be `*`",
    ),
    "accounts { A { exports: [{stream: a..b}] } }": ("1:35", "is not a valid subject"),
    "accounts { A { exports: x } }": ("1:25", "expected a list of blocks"),
    # Of imports:
    "accounts { A { imports: [{stream: {account: B, subject: x}}] } }": (
        "1:26",
        '"B" account not defined for stream import',
    ),
    "accounts { B {}, A { imports: [{stream: {account: B, subject: x}}] } }": (
        "1:32",
        "stream import not authorized: that account does not export it",
    ),
    "accounts { B { exports: [{service: x}] }, A { imports: [{stream: {account: B, subject: x}}]"
    " } }": ("1:57", "stream import not authorized"),
    "accounts { C {}, B { exports: [{service: x, accounts: [C]}] },\n"
    "A { imports: [{service: {account: B, subject: x}}] } }": (
        "2:15",
        "service import not authorized: that account does not export it to this one",
    ),
    "accounts { B { exports: [{service: x.*, account_token_position: 2}] },\n"
    "A { imports: [{service: {account: B, subject: x.C}}] } }": ("2:15", "not authorized"),
    "accounts { A { imports: [{stream: {account: B}}] } }": (
        "1:45",
        "expect an account name and a subject",
    ),
    "accounts { A { imports: [{to: x}] } }": ("1:31", "neither a stream nor a service"),
    "accounts { A { imports: [{stream: x}] } }": ("1:35", "expected a block"),
    "accounts { B { exports: [{stream: >}] }, A { imports: [{stream: {account: B, subject: x},"
    " to: y, prefix: z}] } }": ("1:95", "can not have a 'prefix' and a 'to'"),
    "accounts { B { exports: [{stream: >}] }, A { imports: [{stream: {account: B, subject: x},"
    " prefix: y.*}] } }": ("1:99", "must have no wildcards"),
    "accounts { B { exports: [{stream: >}] }, A { imports: [{stream: {account: B, subject: a.*.*},"
    ' to: "b.$1"}] } }': ("1:56", "does not use each"),
    "accounts { B { exports: [{stream: >}] },\nA { imports: [{stream: {account: B, subject: x}},\n"
    "{stream: {account: B, subject: x}, to: y}] } }": ("3:1", "stream import already exists"),
    "accounts { B { exports: [{service: >}] },\nA { imports: [{service: {account: B, subject: x}"
    "},\n{service: {account: B, subject: y}, to: x}] } }": ("3:1", "service import already exists"),
    "accounts { B { exports: [{service: >}] }, A { imports: [{service: {account: B, subject: x},"
    " prefix: y}] } }": ("1:101", "is of streams"),
    # Of cycles:
    "accounts {\nA { exports: [{service: q.*}], imports: [{service: {account: B, subject: x.*},"
    ' to: "y.$1"}] }\nB { exports: [{service: x.*}],\n'
    'imports: [{service: {account: A, subject: q.*}, to: "x.$1"}] } }': (
        "4:11",
        "import forms a cycle",
    ),
    "accounts {\nA { exports: [{stream: x}], imports: [{stream: {account: B, subject: x}}] }\n"
    "B { exports: [{stream: x}],\nimports: [{stream: {account: A, subject: x}}] } }": (
        "4:11",
        "import forms a cycle",
    ),
    "accounts {\nA { exports: [{service: q}], imports: [{service: {account: B, subject: q}}] }\n"
    "B { exports: [{service: q}], imports: [{service: {account: C, subject: q}}] }\n"
    "C { exports: [{service: q}],\nimports: [{service: {account: A, subject: q}}] } }": (
        "5:11",
        "import forms a cycle",
    ),
    # Of mappings:
    "mappings { a: {dest: b} }": ("1:22", "missing weight"),
    "mappings { a: {weight: 5} }": ("1:24", "names no subject"),
    "mappings { a: {dest: b, weight: 101} }": ("1:33", "at most 100"),
    "mappings { a: {dest: b, weight: x} }": ("1:33", "expected a number"),
    "mappings { a: [{dest: b, weight: 60}, {dest: c, weight: 50}] }": ("1:39", "total weight"),
    "mappings { a: [{dest: b, weight: 60}, {dest: b, weight: 20}] }": ("1:39", "duplicate entry"),
    'mappings { a.*: "b.$2" }': ("1:17", "there is no wildcard 2"),
    'mappings { a.*: "b.{{foo(1)}}" }': ("1:17", "no such function"),
    'mappings { "a..b": b }': ("1:12", "is not a valid subject"),
    "mappings: 5": ("1:11", "expected a list of blocks"),
    "mappings { a: {dest: b, weight: 5, foo: 1} }": ("1:36", "unknown key `foo`"),
}


@pytest.mark.parametrize(("text", "expected"), REFUSED.items(), ids=REFUSED)
def test_what_cannot_be_is_refused_at_its_place(read, text, expected):
    place, problem = expected
    with pytest.raises(TopologyErrors) as raised:
        read(text)

    assert [str(error.place).partition("server.conf:")[2] for error in raised.value.errors] == [
        place
    ]
    assert problem in str(raised.value)


TAKEN = {
    "an account imports its own service under another name": """accounts { A {
        exports: [{service: q.*}],
        imports: [{service: {account: A, subject: q.*}, to: "y.$1"}] } }""",
    "streams go both ways": """accounts {
        A { exports: [{stream: x}], imports: [{stream: {account: B, subject: y}}] }
        B { exports: [{stream: y}], imports: [{stream: {account: A, subject: x}}] } }""",
    "two streams under one name": """accounts { B { exports: [{stream: >}] }, A { imports: [
        {stream: {account: B, subject: x}}, {stream: {account: B, subject: y}, to: x}] } }""",
    "a token names the importer": """accounts {
        B { exports: [{service: x.*, account_token_position: 2}] }
        A { imports: [{service: {account: B, subject: x.A}}] } }""",
    "who says nothing needs no password": """no_auth_user: a
        accounts { A { users: [{user: a}] } }""",
    "the usual system account": 'system_account: "$SYS"',
    "a variable among accounts": "accounts { who: ann, A { users: [{user: $who, pass: b}] } }",
}


@pytest.mark.parametrize("text", TAKEN.values(), ids=TAKEN)
def test_what_nats_server_takes_is_taken(read, text):
    read(text)
