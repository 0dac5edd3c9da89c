"""Auth callout: a service written with nats-py decides on logins, here and with the real server."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import time
from contextlib import asynccontextmanager

import nats
import nats.errors
import pytest
from framework_auth.claims import build_token
from framework_auth.keys import CurvePair, KeyPair

from framework.wire.nkey import NkeyKind

ISSUER = KeyPair(NkeyKind.ACCOUNT, b"issuer".ljust(32, b"."))
ALIEN = KeyPair(NkeyKind.ACCOUNT, b"alien".ljust(32, b"."))
XKEY = CurvePair(b"xkey".ljust(32, b"."))
UNLIMITED = {"subs": -1, "data": -1, "payload": -1}


def config(*, xkey=""):
    encrypted = f"xkey: {xkey}" if xkey else ""
    return f"""
accounts {{
  AUTH {{ users: [{{ user: auth, password: auth }}] }}
  APP {{}}
}}
authorization {{
  timeout: 2
  auth_callout {{ issuer: {ISSUER.public}, account: AUTH, auth_users: [auth], {encrypted} }}
}}
"""


def claims_of(token):
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


class Service:
    """Lets in whose password is `right`, into the account APP; answers others as it is told."""

    def __init__(self, *, xkey=None, signer=ISSUER):
        self.xkey = xkey
        self.signer = signer
        self.asked = []

    async def answer(self, message):
        token, sender = message.data.decode("latin-1"), None
        if self.xkey:
            sender = message.headers["Nats-Server-Xkey"]
            token = self.xkey.open(message.data, sender).decode()
        claims = claims_of(token)
        asked = claims["nats"]
        self.asked.append(claims)
        is_right = asked["connect_opts"].get("pass") == "right"
        answer = {"jwt": self.user(asked)} if is_right else {"error": "wrong password"}
        response = build_token(
            {
                "sub": asked["user_nkey"],
                "aud": asked["server_id"]["id"],
                "nats": {**answer, "type": "authorization_response"},
            },
            self.signer,
            issued_s=time.time_ns() // 10**9,
        ).encode()
        await message.respond(self.xkey.seal(response, sender) if sender else response)

    def user(self, asked):
        nats = {**UNLIMITED, "pub": {"allow": ["hello", "_INBOX.>"]}, "type": "user"}
        members = {"sub": asked["user_nkey"], "aud": "APP", "name": "bob", "nats": nats}
        return build_token(members, self.signer, issued_s=time.time_ns() // 10**9)

    @asynccontextmanager
    async def running(self, server):
        client = await nats.connect(server.url, user="auth", password="auth")
        await client.subscribe("$SYS.REQ.USER.AUTH", cb=self.answer)
        await client.flush()
        try:
            yield
        finally:
            await client.close()


async def ignore(_error):
    pass


async def try_to_connect(server, *, is_limited=False, **options):
    """Return whether a client logs in and hears itself, and what it was told that was wrong.

    Who is limited publishes something forbidden, and waits until it is told.
    """
    problems = []
    told = asyncio.Event()

    async def note(error):
        problems.append(str(error))
        told.set()

    client = nats.NATS()
    try:
        options = {**options, "allow_reconnect": False, "connect_timeout": 10}
        await client.connect(server.url, error_cb=note, **options)
        subscription = await client.subscribe("hello")
        await client.publish("hello", b"there")
        message = await subscription.next_msg(timeout=10)
        if is_limited:
            await client.publish("forbidden", b"")
            await asyncio.wait_for(told.wait(), 10)
    except nats.errors.Error:
        return False, problems
    finally:
        await client.close()
    return message.data == b"there", problems


def run(session):
    return asyncio.run(asyncio.wait_for(session(), 25))


@pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "encrypted"])
def test_a_service_decides_on_logins(fleet, kind, encrypted):
    xkey = XKEY if encrypted else None
    server = fleet.start(kind=kind, config=config(xkey=XKEY.public if encrypted else ""))
    service = Service(xkey=xkey)

    async def session():
        async with service.running(server):
            right = await try_to_connect(server, is_limited=True, user="bob", password="right")
            wrong = await try_to_connect(server, user="bob", password="wrong")
            return right, wrong

    (is_in, problems), (is_wrong_in, _) = run(session)

    assert is_in
    assert not is_wrong_in
    assert ["forbidden" in it.lower() for it in problems] == [True]
    asked = service.asked[0]
    assert asked["sub"] == ISSUER.public
    assert asked["aud"] == "nats-authorization-request"
    assert asked["iss"] == asked["nats"]["server_id"]["id"]
    assert set(asked["nats"]) >= {"server_id", "user_nkey", "client_info", "connect_opts"}
    assert asked["nats"]["client_info"]["kind"] == "Client"
    assert asked["nats"]["client_info"]["type"] == "nats"


def test_what_a_service_is_told_has_the_same_members(fleet, kind):
    server = fleet.start(kind=kind, config=config())
    service = Service()

    async def session():
        async with service.running(server):
            await try_to_connect(server, user="bob", password="right", name="me")

    run(session)
    asked = service.asked[0]

    assert set(asked) == {"aud", "exp", "iat", "iss", "jti", "nats", "sub"}
    nats_part = asked["nats"]
    assert set(nats_part["server_id"]) - {"xkey"} == {"name", "host", "id", "version"}
    assert set(nats_part["client_info"]) == {"host", "id", "user", "name", "kind", "type"}
    assert set(nats_part["connect_opts"]) == {
        *("user", "pass", "name", "lang", "version", "protocol"),
    }


def test_a_service_of_another_key_lets_nobody_in(fleet, kind):
    server = fleet.start(kind=kind, config=config())

    async def session():
        async with Service(signer=ALIEN).running(server):
            return await try_to_connect(server, is_limited=True, user="bob", password="right")

    assert run(session)[0] is False


def test_without_a_service_nobody_logs_in_but_its_own_users(fleet, kind):
    server = fleet.start(kind=kind, config=config())

    async def session():
        own = await try_to_connect(server, user="auth", password="auth")
        other = await try_to_connect(server, is_limited=True, user="bob", password="right")
        return own[0], other[0]

    assert run(session) == (True, False)


def test_nobody_may_ask_the_service_in_the_name_of_a_server(fleet, kind):
    server = fleet.start(kind=kind, config=config())

    async def session():
        client = await nats.connect(server.url, user="auth", password="auth", error_cb=ignore)
        subscription = await client.subscribe("$SYS.REQ.USER.AUTH")
        await client.publish("$SYS.REQ.USER.AUTH", os.urandom(8))
        await client.flush()
        with pytest.raises(nats.errors.TimeoutError):
            await subscription.next_msg(timeout=0.2)
        await client.close()

    run(session)
