"""Auth callout in operator mode, with a service written with nats-py, here and in nats-server."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from contextlib import asynccontextmanager

import nats
import pytest
from framework_auth.claims import build_token
from framework_auth.keys import CurvePair, KeyPair

from framework.testing.client import CONNECT_DEFAULTS
from framework.wire.nkey import NkeyKind

UNLIMITED = {"subs": -1, "data": -1, "payload": -1}
LIMITS = {**UNLIMITED, "imports": -1, "exports": -1, "wildcards": True, "conn": -1, "leaf": -1}
WAIT_S = 25
REFUSED = b"-ERR 'Authorization Violation'"


def key(kind, seed):
    return KeyPair(kind, seed.encode().ljust(32, b"."))


OPERATOR = key(NkeyKind.OPERATOR, "operator")
SYSTEM, AUTH, APP, OTHER = (key(NkeyKind.ACCOUNT, it) for it in ("system", "auth", "app", "other"))
AUTH_SIGNER = key(NkeyKind.ACCOUNT, "auth signer")
SERVICE, SENTINEL, OPERATORS = (
    key(NkeyKind.USER, it) for it in ("service", "sentinel", "operators")
)
XKEY = CurvePair(b"xkey".ljust(32, b"."))


def token(kind, subject, signer, nats_part, **members):
    claims = {"sub": subject, **members, "nats": {**nats_part, "type": kind}}
    return build_token(claims, signer, issued_s=time.time_ns() // 10**9)


def account(who, **nats_part):
    return token("account", who.public, OPERATOR, {"limits": LIMITS, **nats_part}, name="account")


def user(subject, signer, *, name, **nats_part):
    return token("user", subject, signer, {**UNLIMITED, **nats_part}, name=name)


def auth_account(*, xkey=""):
    authorization = {"auth_users": [SERVICE.public], "allowed_accounts": [APP.public]}
    if xkey:
        authorization["xkey"] = xkey
    return account(AUTH, authorization=authorization, signing_keys=[AUTH_SIGNER.public])


def config(*, xkey=""):
    operator = token("operator", OPERATOR.public, OPERATOR, {"system_account": SYSTEM.public})
    accounts = {
        SYSTEM: account(SYSTEM),
        AUTH: auth_account(xkey=xkey),
        APP: account(APP),
        OTHER: account(OTHER),
    }
    preload = "\n".join(f"{who.public}: {text}" for who, text in accounts.items())
    # More than the usual 2 s: a service on a busy machine may take that.
    patience = "authorization { timeout: 5 }\n"
    return (
        f"operator: {operator}\nresolver: MEMORY\nresolver_preload: {{\n{preload}\n}}\n{patience}"
    )


def login(jwt, signer):
    """Return the options of nats-py to log in by a JWT."""

    def sign(nonce):
        return base64.b64encode(signer.sign(nonce.encode()))

    return {"user_jwt_cb": lambda: bytearray(jwt.encode()), "signature_cb": sign}


def log_in(client, jwt, signer, secret=""):
    """Log in by a JWT, and return what the server says then: PONG, or an error."""
    client.expect(b"INFO")
    signed = signer.sign(client.info["nonce"].encode())
    signature = base64.urlsafe_b64encode(signed).rstrip(b"=").decode()
    options = {**CONNECT_DEFAULTS, "jwt": jwt, "sig": signature, "auth_token": secret}
    client.send(b"CONNECT " + json.dumps(options).encode() + b"\r\nPING\r\n")
    return client.read().line


async def ask(client, secret="right"):
    """Log in by a JWT that is good for nothing but to have the service asked."""
    nothing = {"deny": [">"]}
    jwt = user(SENTINEL.public, AUTH, name="all", bearer_token=True, pub=nothing, sub=nothing)
    return await asyncio.to_thread(log_in, client, jwt, SENTINEL, secret)


def claims_of(jwt):
    part = jwt.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


class Service:
    """Lets those in whose token is `right`, as users whose JWTs `account` signs."""

    def __init__(self, *, account=APP, signer=AUTH, xkey=None):
        self.account = account
        self.signer = signer
        self.xkey = xkey
        self.asked = []

    async def answer(self, message):
        jwt, sender = message.data.decode("latin-1"), None
        if self.xkey:
            sender = message.headers["Nats-Server-Xkey"]
            jwt = self.xkey.open(message.data, sender).decode()
        claims = claims_of(jwt)
        self.asked.append(claims)
        asked = claims["nats"]
        answer = {"error": "wrong token"}
        if asked["connect_opts"].get("auth_token") == "right":
            allowed = {"allow": ["hello"]}
            answer = {"jwt": user(asked["user_nkey"], self.account, name="bob", pub=allowed)}
        if self.signer is not AUTH:
            answer["issuer_account"] = AUTH.public
        server = asked["server_id"]["id"]
        response = token(
            "authorization_response", asked["user_nkey"], self.signer, answer, aud=server
        ).encode()
        await message.respond(self.xkey.seal(response, sender) if sender else response)

    @asynccontextmanager
    async def running(self, server):
        jwt = user(SERVICE.public, AUTH, name="service")
        client = await nats.connect(server.url, error_cb=ignore, **login(jwt, SERVICE))
        await client.subscribe("$SYS.REQ.USER.AUTH", cb=self.answer)
        await client.flush()
        try:
            yield client
        finally:
            await client.close()


async def ignore(_error):
    pass


async def verdict(server, secret="right"):
    """Return what is said to somebody who logs in by way of the service."""
    with server.client() as client:
        return await ask(client, secret)


def run(session):
    return asyncio.run(asyncio.wait_for(session(), WAIT_S))


@pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "encrypted"])
@pytest.mark.parametrize("signer", [AUTH, AUTH_SIGNER], ids=["account", "signing key"])
def test_a_service_lets_users_into_another_account(fleet, kind, encrypted, signer):
    server = fleet.start(kind=kind, config=config(xkey=XKEY.public if encrypted else ""))
    service = Service(signer=signer, xkey=XKEY if encrypted else None)

    async def session():
        async with service.running(server) as outsider:
            overheard = await outsider.subscribe("hello")
            await outsider.flush()
            assert await verdict(server, "wrong") == REFUSED
            with server.client() as client:
                assert await ask(client) == b"PONG"
                client.send(b"SUB hello 1\r\nPUB hello 5\r\nthere\r\nPUB other 0\r\n\r\n")
                heard = client.read_until(b"MSG")
                assert client.read_until(b"-ERR")[-1].line.startswith(b"-ERR 'Permissions")
            await outsider.flush()
            assert overheard.pending_msgs == 0
            return heard[-1].body

    assert run(session) == b"there"
    options = service.asked[0]["nats"]["connect_opts"]
    assert claims_of(options["jwt"])["sub"] == SENTINEL.public


@pytest.mark.parametrize(
    "service",
    [
        {"account": OTHER},
        {"account": key(NkeyKind.ACCOUNT, "unknown")},
        {"signer": APP},
    ],
    ids=["an account that is not its own to fill", "an account that nobody knows", "not its key"],
)
def test_what_a_service_may_not_say(fleet, kind, service):
    server = fleet.start(kind=kind, config=config())

    async def session():
        async with Service(**service).running(server):
            return await verdict(server)

    assert run(session) == REFUSED


def test_a_service_that_is_not_there_lets_nobody_in(fleet, kind):
    server = fleet.start(kind=kind, config=config())

    assert run(lambda: verdict(server)) == REFUSED


def test_who_was_let_in_goes_when_the_account_is_limited_to_nobody(fleet, kind):
    server = fleet.start(kind=kind, config=config())
    closed = token(
        "account", APP.public, OPERATOR, {"limits": {**LIMITS, "conn": 0}}, name="account"
    )
    update = f"PUB $SYS.REQ.ACCOUNT.{APP.public}.CLAIMS.UPDATE answer {len(closed)}\r\n{closed}\r\n"

    async def session():
        async with Service().running(server):
            with server.client() as client, server.client() as operator:
                assert await ask(client) == b"PONG"
                jwt = user(OPERATORS.public, SYSTEM, name="operators")
                assert log_in(operator, jwt, OPERATORS) == b"PONG"
                operator.send(b"SUB answer 1\r\n" + update.encode())
                operator.read_until(b"MSG")
                told = [it.line for it in client.read_to_end()]
            return told, await verdict(server)

    full = b"-ERR 'maximum account active connections exceeded'"
    told, later = run(session)

    assert told[-1] == full
    assert later == full
