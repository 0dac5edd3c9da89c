"""Operator mode: which tokens log in, held beside the real server token by token."""

from __future__ import annotations

import base64
import json
import time
import urllib.request

import pytest
from framework_auth.claims import build_token
from framework_auth.keys import KeyPair

from framework.testing.client import CONNECT_DEFAULTS
from framework.wire.nkey import NkeyKind

NOW_S = time.time_ns() // 1_000_000_000
UNLIMITED = {"subs": -1, "data": -1, "payload": -1}
LIMITS = {**UNLIMITED, "imports": -1, "exports": -1, "wildcards": True, "conn": -1, "leaf": -1}


def key(kind, seed):
    return KeyPair(kind, seed.encode().ljust(32, b"."))


OPERATOR, SIGNER = key(NkeyKind.OPERATOR, "o"), key(NkeyKind.OPERATOR, "signer")
FOREIGN = key(NkeyKind.OPERATOR, "foreign")
SYSTEM, PLAIN, STRICT = (key(NkeyKind.ACCOUNT, it) for it in ("system", "plain", "strict"))
EXPIRED, FORGED = (key(NkeyKind.ACCOUNT, it) for it in ("expired", "forged"))
ACCOUNT_SIGNER, SCOPED, UNKNOWN = (
    key(NkeyKind.ACCOUNT, it) for it in ("account signer", "scoped", "unknown")
)
USER, REVOKED = key(NkeyKind.USER, "user"), key(NkeyKind.USER, "revoked")


def token(kind, subject, signer, nats, *, issued_s=NOW_S, **members):
    claims = {"sub": subject, **members, "nats": {**nats, "type": kind}}
    return build_token(claims, signer, issued_s=issued_s)


def account(who, *, signer=SIGNER, exp=0, limits=None, **nats):
    nats = {"limits": {**LIMITS, **(limits or {})}, "tags": ["zone:eu"], **nats}
    return token("account", who.public, signer, nats, exp=exp, name="acme")


def user(who=USER, signer=PLAIN, *, exp=0, nbf=0, issued_s=NOW_S, **nats):
    members = {"exp": exp, "nbf": nbf, "name": "ann", "issued_s": issued_s}
    return token("user", who.public, signer, {**UNLIMITED, **nats}, **members)


def scoped(**nats):
    nats = {"issuer_account": PLAIN.public, **nats}
    return token("user", USER.public, SCOPED, nats, name="ann")


def tampered():
    header, claims, signature = user().split(".")
    other = user(pub={"allow": ["x"]}).split(".")[1]
    assert other != claims
    return f"{header}.{other}.{signature}"


def with_header(**header):
    _, claims, _ = user().split(".")
    head = base64.urlsafe_b64encode(json.dumps(header).encode()).rstrip(b"=").decode()
    signature = PLAIN.sign(f"{head}.{claims}".encode())
    return f"{head}.{claims}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


@pytest.fixture
def config():
    """Return a configuration with some accounts in memory."""
    nats = {"signing_keys": [SIGNER.public], "system_account": SYSTEM.public}
    operator = token("operator", OPERATOR.public, OPERATOR, nats, name="O")
    template = {**UNLIMITED, "pub": {"allow": ["u.{{name()}}", "z.{{account-tag(zone)}}"]}}
    plain = account(
        PLAIN,
        signing_keys=[
            ACCOUNT_SIGNER.public,
            {"kind": "user_scope", "key": SCOPED.public, "template": template},
        ],
        revocations={REVOKED.public: NOW_S},
    )
    accounts = {
        SYSTEM: account(SYSTEM),
        PLAIN: plain,
        STRICT: account(STRICT, limits={"disallow_bearer": True}),
        EXPIRED: account(EXPIRED, exp=NOW_S - 100),
        FORGED: account(FORGED, signer=FOREIGN),
    }
    preload = "\n".join(f"{who.public}: {text}" for who, text in accounts.items())
    return f"operator: {operator}\nresolver: MEMORY\nresolver_preload: {{\n{preload}\n}}\n"


def verdict(server, jwt, *, signer=USER, sig=None):
    """Log in, and return what the server says then: PONG, or an error."""
    with server.client() as client:
        client.expect(b"INFO")
        if signer is not None:
            signed = signer.sign(client.info["nonce"].encode())
            sig = base64.urlsafe_b64encode(signed).rstrip(b"=").decode()
        options = {**CONNECT_DEFAULTS, "jwt": jwt, "sig": sig or ""}
        client.send(b"CONNECT " + json.dumps(options).encode() + b"\r\nPING\r\n")
        return client.read().line


ACCEPTED = {
    "a user of an account": {"jwt": user()},
    "a user of a signing key": {
        "jwt": user(signer=ACCOUNT_SIGNER, issuer_account=PLAIN.public)
    },
    "a user of a scope": {"jwt": scoped()},
    "a bearer": {"jwt": user(bearer_token=True), "signer": None},
    "a user who expires later": {"jwt": user(exp=NOW_S + 1_000)},
    "from an allowed network": {"jwt": user(src=["10.0.0.0/8", "127.0.0.0/8"])},
    "networks as a text": {"jwt": user(src="127.0.0.0/8,10.0.0.0/8")},
    "an allowed type beside an unknown one": {
        "jwt": user(allowed_connection_types=["standard", "PIGEON"])
    },
    "revoked before it was issued": {"jwt": user(REVOKED, issued_s=NOW_S + 5), "signer": REVOKED},
    "the system account": {"jwt": user(signer=SYSTEM)},
    "at all hours": {
        "jwt": user(times=[{"start": "00:00:00", "end": "23:59:59"},
                           {"start": "23:59:58", "end": "00:00:02"}], times_location="UTC")
    },
}  # fmt: skip
REFUSED = {
    "nothing": {"jwt": ""},
    "no token": {"jwt": "abc"},
    "an account": {"jwt": account(PLAIN)},
    "no signature": {"jwt": user(), "signer": None},
    "another signature": {"jwt": user(), "signer": REVOKED},
    "a malformed signature": {"jwt": user(), "signer": None, "sig": "äöü"},
    "an expired user": {"jwt": user(exp=NOW_S - 10)},
    "a user of later": {"jwt": user(nbf=NOW_S + 1_000)},
    "a tampered token": {"jwt": tampered()},
    "alg none": {"jwt": with_header(typ="JWT", alg="none")},
    "alg HS256": {"jwt": with_header(typ="JWT", alg="HS256")},
    "another type": {"jwt": with_header(typ="JWS", alg="ed25519-nkey")},
    "an unknown account": {"jwt": user(signer=UNKNOWN)},
    "an account of a foreign operator": {"jwt": user(signer=FORGED)},
    "an expired account": {"jwt": user(signer=EXPIRED)},
    "a foreign key for an account": {"jwt": user(signer=STRICT, issuer_account=PLAIN.public)},
    "signed by the operator": {"jwt": user(signer=OPERATOR)},
    "a revoked user": {"jwt": user(REVOKED), "signer": REVOKED},
    "a bearer where none may be": {"jwt": user(signer=STRICT, bearer_token=True)},
    "from another network": {"jwt": user(src=["10.0.0.0/8"])},
    "a malformed network": {"jwt": user(src=["10.0.0.0"])},
    "another kind of connection": {"jwt": user(allowed_connection_types=["WEBSOCKET"])},
    "an unknown kind of connection": {"jwt": user(allowed_connection_types=["PIGEON"])},
    "a scoped user with permissions": {"jwt": scoped(pub={"allow": [">"]})},
    "a malformed hour": {"jwt": user(times=[{"start": "soon", "end": "12:00:00"}])},
    "an unknown zone": {"jwt": user(times_location="Moon/Crater")},
    "a malformed permission": {"jwt": user(pub={"allow": ["a..b"]})},
    "a user that needs a proxy": {"jwt": user(proxy_required=True)},
}


def test_who_logs_in(fleet, kind, config):
    server = fleet.start(kind=kind, config=config)
    said = {what: verdict(server, **shown) for what, shown in ACCEPTED.items()}

    assert said == dict.fromkeys(ACCEPTED, b"PONG")


def test_who_does_not(fleet, kind, config):
    server = fleet.start(kind=kind, config=config)
    said = {what: verdict(server, **shown) for what, shown in REFUSED.items()}

    assert said == dict.fromkeys(REFUSED, b"-ERR 'Authorization Violation'")


def logged_in(client, jwt):
    """Send the CONNECT of a user who signs."""
    client.expect(b"INFO")
    signed = USER.sign(client.info["nonce"].encode())
    sig = base64.urlsafe_b64encode(signed).rstrip(b"=").decode()
    client.send(
        b"CONNECT " + json.dumps({**CONNECT_DEFAULTS, "jwt": jwt, "sig": sig}).encode() + b"\r\n"
    )
    client.flush()


def test_monitoring_shows_the_operator(fleet, kind):
    nats = {
        "signing_keys": [SIGNER.public],
        "account_server_url": "http://127.0.0.1:1/jwt/v1",
        "operator_service_urls": ["nats://127.0.0.1:4222"],
        "system_account": SYSTEM.public,
        "assert_server_version": "2.0.1",
        "strict_signing_key_usage": True,
        "tags": ["zone:eu"],
    }
    operator = token("operator", OPERATOR.public, OPERATOR, nats, name="O", nbf=NOW_S, aud="all")
    preload = f"{SYSTEM.public}: {account(SYSTEM)}"
    server = fleet.start(
        kind=kind,
        config=f"operator: {operator}\nresolver: MEMORY\nresolver_preload {{\n{preload}\n}}\n"
        'http: "127.0.0.1:-1"\n',
    )
    with urllib.request.urlopen(f"http://127.0.0.1:{server.monitor_port}/varz") as answer:
        document = json.load(answer)
    claims = operator.split(".")[1]

    assert document["trusted_operators_jwt"] == [operator]
    assert document["trusted_operators_claim"] == [
        json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
    ]


def test_a_scope_is_filled_in(fleet, kind, config):
    server = fleet.start(kind=kind, config=config)
    with server.client() as client:
        logged_in(client, scoped())
        client.send(b"PUB u.ann 0\r\n\r\nPUB z.eu 0\r\n\r\nPUB u.bob 0\r\n\r\n")
        line = client.read_until(b"-ERR")[-1].line

    assert line == b"-ERR 'Permissions Violation for Publish to \"u.bob\"'"


def test_who_may_only_answer_publishes_nothing_else(fleet, kind, config):
    server = fleet.start(kind=kind, config=config)
    with server.client() as client:
        logged_in(client, user(resp={"max": 1, "ttl": 0}))
        client.send(b"PUB a 0\r\n\r\n")
        line = client.read_until(b"-ERR")[-1].line

    assert line == b"-ERR 'Permissions Violation for Publish to \"a\"'"


def test_a_connection_ends_with_its_claim(fleet, kind, config):
    server = fleet.start(kind=kind, config=config)
    with server.client() as client:
        logged_in(client, user(exp=time.time_ns() // 1_000_000_000 + 2))
        line = client.read_until(b"-ERR")[-1].line

    assert line == b"-ERR 'User Authentication Expired'"


LIMITED = {
    b"-ERR 'maximum subscriptions exceeded'": ({"subs": 1}, b"SUB a 1\r\nSUB b 2\r\n"),
    b"-ERR 'Maximum Payload Violation'": ({"payload": 2}, b"PUB a 3\r\nabc\r\n"),
}


@pytest.mark.parametrize("expected", LIMITED)
def test_limits_of_a_user_hold(fleet, kind, config, expected):
    server = fleet.start(kind=kind, config=config)
    limit, lines = LIMITED[expected]
    with server.client() as client:
        logged_in(client, user(**limit))
        client.send(lines)
        line = client.read_until(b"-ERR")[-1].line

    assert line == expected


def test_who_is_revoked_goes_at_once(fleet, kind, config):
    server = fleet.start(kind=kind, config=config)
    revoking = account(PLAIN, revocations={"*": NOW_S + 1_000})
    with server.client() as client, server.client() as operator:
        logged_in(client, user())
        logged_in(operator, user(signer=SYSTEM))
        subject = f"$SYS.REQ.ACCOUNT.{PLAIN.public}.CLAIMS.UPDATE"
        update = f"PUB {subject} answer {len(revoking)}\r\n{revoking}\r\n"
        operator.send(b"SUB answer 1\r\n" + update.encode())
        answer = json.loads(operator.read_until(b"MSG")[-1].body)
        line = client.read_until(b"-ERR")[-1].line

    assert answer["data"] == {"account": PLAIN.public, "code": 200, "message": "jwt updated"}
    assert line == b"-ERR 'User Authentication Revoked'"
