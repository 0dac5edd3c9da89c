"""Requests about accounts: what operators and servers are answered."""

from __future__ import annotations

import asyncio
import json

import pytest
from framework_auth.claims import build_token
from framework_auth.operator.claims_services import ClaimsServices
from framework_auth.resolver.directory import AccountDirectory
from framework_auth.resolver_options import ResolverKind, ResolverSettings

from framework.spec import ServiceRequest
from framework.wire.nkey import NkeyKind


class World:
    """Services on a directory, without a server."""

    def __init__(self, realm, folder, *, has_store=True, is_cache=False, known=()):
        self.updated = []
        self.removed = []
        self.known = set(known)
        self.store = None
        if has_store:
            self.store = AccountDirectory(
                folder,
                check=lambda token, name: realm.trust.check_signed(token, name).claims,
                wall_s=lambda: realm.now_s,
            )
            self.store.open()
        self.services = ClaimsServices(
            realm.settings,
            realm.trust,
            store=self.store,
            is_cache=is_cache,
            is_known=self.known.__contains__,
            update=self.update,
            remove=self.remove,
            server=lambda: {"name": "s"},
        )

    async def update(self, name, token):
        self.updated.append((name, token))

    async def remove(self, name):
        self.removed.append(name)

    def ask(self, subject, payload=b""):
        """Send a request, and return what the one service answers that takes it."""
        payload = payload.encode() if isinstance(payload, str) else payload
        request = ServiceRequest(subject=subject, reply="r", header=b"", payload=payload)
        (spec,) = [it for it in self.services.specs() if matches(it.subject, subject)]
        return asyncio.run(spec.answer(request))

    def json(self, subject, payload=b""):
        return json.loads(self.ask(subject, payload))


def matches(pattern, subject):
    pairs = zip(pattern.split("."), subject.split("."), strict=False)
    return pattern.count(".") == subject.count(".") and all(a in {"*", b} for a, b in pairs)


@pytest.fixture
def make_world(make_realm, tmp_path):
    settings = ResolverSettings(kind=ResolverKind.FULL, folder="x", allow_delete=True)
    realm = make_realm(resolver=settings)
    return lambda **options: World(realm, tmp_path, **options)


@pytest.mark.parametrize(
    "subject",
    [
        "$SYS.REQ.CLAIMS.UPDATE",
        "$SYS.REQ.ACCOUNT.{}.CLAIMS.UPDATE",
        "$SYS.ACCOUNT.{}.CLAIMS.UPDATE",
    ],
)
def test_an_account_that_is_pushed_is_kept_and_used(make_world, mint, subject):
    world, name, token = make_world(), mint.account.public, mint.account_token()
    answer = world.json(subject.format(name), token)

    assert answer == {
        "server": {"name": "s"},
        "data": {"account": name, "code": 200, "message": "jwt updated"},
    }
    assert world.store.load(name) == token
    assert world.updated == [(name, token)]


def test_what_does_not_count_is_refused(make_world, mint):
    world = make_world()
    alien = mint.key(NkeyKind.OPERATOR, "alien")
    subject = f"$SYS.REQ.ACCOUNT.{mint.account.public}.CLAIMS.UPDATE"
    pushed = [
        mint.account_token(signer=alien),
        mint.account_token(mint.other),
        mint.account_token(exports=[{"subject": "a", "type": "stream"}] * 2),
        mint.user_token(),
        "junk",
        b"\xff\x00",
        b"",
    ]
    answers = [world.json(subject, it) for it in pushed]

    assert [it["error"]["code"] for it in answers] == [500] * len(pushed)
    assert all("jwt update resulted in error - " in it["error"]["description"] for it in answers)
    assert world.store.names() == ()
    assert world.updated == []


def test_a_strict_operator_does_not_push_itself(make_realm, mint, tmp_path):
    realm = make_realm(
        operator=mint.operator_token(strict_signing_key_usage=True),
        resolver=ResolverSettings(kind=ResolverKind.FULL, folder="x"),
    )
    world = World(realm, tmp_path)
    answer = world.json("$SYS.REQ.CLAIMS.UPDATE", mint.account_token(signer=mint.operator))

    assert "operator requires issuer to be a signing key" in answer["error"]["description"]


def test_a_cache_takes_only_what_somebody_uses(make_world, mint):
    name, token = mint.account.public, mint.account_token()
    unused = make_world(is_cache=True)
    used = make_world(is_cache=True, known=[name])

    assert unused.json("$SYS.REQ.CLAIMS.UPDATE", token)["data"]["message"] == (
        "jwt update cache skipped"
    )
    assert unused.updated == []
    assert used.json("$SYS.REQ.CLAIMS.UPDATE", token)["data"]["message"] == "jwt updated cache"
    assert used.store.load(name) == token


def test_without_a_directory_known_accounts_are_updated(make_world, mint):
    name, token = mint.account.public, mint.account_token()
    subject = f"$SYS.REQ.ACCOUNT.{name}.CLAIMS.UPDATE"

    assert make_world(has_store=False).json(subject, token)["data"]["message"] == (
        "jwt update skipped"
    )
    world = make_world(has_store=False, known=[name])
    assert world.json(subject, token)["data"]["message"] == "jwt updated"
    assert world.updated == [(name, token)]


def test_look_ups_give_the_token_or_nothing(make_world, mint):
    world, token = make_world(), mint.account_token()
    world.ask("$SYS.REQ.CLAIMS.UPDATE", token)

    assert world.ask(f"$SYS.REQ.ACCOUNT.{mint.account.public}.CLAIMS.LOOKUP") == token.encode()
    assert world.ask(f"$SYS.REQ.ACCOUNT.{mint.other.public}.CLAIMS.LOOKUP") == b""
    assert world.ask("$SYS.REQ.ACCOUNT.junk.CLAIMS.LOOKUP") == b""


def test_a_list_of_all(make_world, mint):
    world = make_world()
    for account in (mint.account, mint.other):
        world.ask("$SYS.REQ.CLAIMS.UPDATE", mint.account_token(account))

    assert world.json("$SYS.REQ.CLAIMS.LIST")["data"] == sorted([
        mint.account.public,
        mint.other.public,
    ])


class TestDelete:
    def request(self, mint, accounts, *, signer=None, subject=None):
        signer = signer or mint.operator
        claims = {"sub": subject or signer.public, "nats": {"accounts": accounts}}
        return build_token(claims, signer, issued_s=mint.now_s)

    def test_an_operator_deletes(self, make_world, mint):
        world, name = make_world(), mint.account.public
        world.ask("$SYS.REQ.CLAIMS.UPDATE", mint.account_token())
        answer = world.json("$SYS.REQ.CLAIMS.DELETE", self.request(mint, [name]))

        assert answer["data"] == {"code": 200, "message": "deleted 1 accounts"}
        assert world.store.names() == ()
        assert world.removed == [name]

    def test_nobody_else_does(self, make_world, mint):
        world, name = make_world(), mint.account.public
        world.ask("$SYS.REQ.CLAIMS.UPDATE", mint.account_token())
        alien = mint.key(NkeyKind.OPERATOR, "alien")
        requests = {
            self.request(mint, [name], signer=alien): "not trusted",
            self.request(mint, [name], subject=alien.public): "not self signed",
            self.request(mint, [mint.system.public]): "system account",
            self.request(mint, []): "malformed request",
            self.request(mint, ["../x"]): "malformed request",
            self.request(mint, [name, 7]): "not a string",
            "junk": "three parts",
        }
        for request, why in requests.items():
            answer = world.json("$SYS.REQ.CLAIMS.DELETE", request)
            assert why in answer["error"]["description"]
        assert world.store.names() == (name,)
        assert world.removed == []

    def test_it_must_be_allowed(self, make_realm, mint, tmp_path):
        world = World(make_realm(), tmp_path)
        answer = world.json("$SYS.REQ.CLAIMS.DELETE", self.request(mint, [mint.account.public]))

        assert "must be enabled" in answer["error"]["description"]
