"""Auth callout: what a service is told, and which of its answers count."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest
from framework_auth.callout import auth_callout
from framework_auth.callout.auth_callout import AuthCallout
from framework_auth.callout.gate import CalloutGate
from framework_auth.callout.judges import ConfigJudge, OperatorJudge
from framework_auth.callout_options import CalloutSettings
from framework_auth.claims import GenericClaims, build_token, read_claims_of
from framework_auth.keys import CurvePair, KeyPair
from framework_auth.server_key import ServerKeys
from msgspec.structs import replace

from framework.actors import ActorSystem, Reply, SimulatedDispatcher
from framework.spec import (
    Accepted,
    AccountSpec,
    Authenticator,
    Permissions,
    Refused,
    SubjectRules,
    TlsPeer,
)
from framework.wire.nkey import NkeyKind

SERVICE = CurvePair(b"service".ljust(32, b"."))


class Book(dict):
    """Accounts of the server, with their numbers."""

    def index(self, name):
        return list(self).index(name)


class Server:
    """What the actor needs of a server: it keeps what is published, and brings answers."""

    name = "s"
    cluster_name = "c"
    config = SimpleNamespace(values={"server_tags": ("a",)})

    def __init__(self, server_id, accounts):
        self.server_id = server_id
        self.accounts = Book({name: AccountSpec(name=name) for name in accounts})
        self.published = []
        self.taps = []
        self.lines = []
        self.plane = SimpleNamespace(publish=self.publish)
        self.log = SimpleNamespace(warning=lambda event, **fields: self.lines.append(fields))

    def publish(self, account, messages):
        self.published += [(account, *message) for message in messages]

    def add_tap(self, spec):
        self.taps.append(spec)
        return lambda: self.taps.remove(spec)

    def listening_address(self, _kind):
        return ("127.0.0.1", 4222)

    def answer(self, reply, payload):
        batch = SimpleNamespace(detach=lambda: [(reply, b"", b"", payload)])
        self.taps[0].receive(batch)


class World:
    """One actor in virtual time, and the service that it asks."""

    def __init__(self, mint, judge=None, *, xkey=""):
        self.mint = mint
        self.dispatcher = SimulatedDispatcher()
        self.system = ActorSystem(self.dispatcher, name="test")
        self.keys = ServerKeys(mint.server, mint.curve)
        self.server = Server(mint.server.public, ["$G", "AUTH", "APP"])
        settings = CalloutSettings(
            issuer=mint.account.public,
            account="AUTH",
            auth_users=("auth",),
            xkey=xkey,
            allowed_accounts=(),
        )
        self.judge = judge or ConfigJudge(settings, self.server.accounts)
        if judge:
            self.server.accounts[judge.account] = AccountSpec(name=judge.account)
        self.actor = self.system.spawn(
            AuthCallout,
            server=self.server,
            keys=self.keys,
            timeout_s=2.0,
            resolve=None,
            wall_s=lambda: mint.now_s,
        )

    def ask(self, request, token=""):
        reply = Reply()
        self.actor.tell(AuthCallout.Ask(request, self.judge, token, reply))
        self.dispatcher.run_ready()
        return reply

    def question(self, at=-1):
        """Return reply subject, header block and payload of what was published."""
        _, subject, reply, header, payload = self.server.published[at]
        assert subject == b"$SYS.REQ.USER.AUTH"
        return reply, header, payload

    def claims(self, at=-1):
        """Return what a service reads."""
        return read_claims_of(GenericClaims, self.question(at)[2].decode())

    def user_nkey(self, at=-1):
        return self.question(at)[0].decode().rpartition(".")[2]

    def user(self, *, signer=None, subject=None, aud="APP", **nats):
        """Return a user as a service lets it in."""
        members = {"exp": nats.pop("exp", 0), "name": nats.pop("name", "bob")}
        subject = subject or self.user_nkey()
        return self.mint.token(
            "user", subject, signer or self.mint.account, nats, aud=aud, **members
        )

    def response(self, jwt="", *, error="", signer=None, subject=None, aud=None, exp=0, **nats):
        nats = {**nats, **({"jwt": jwt} if jwt else {}), **({"error": error} if error else {})}
        return self.mint.token(
            "authorization_response",
            subject or self.user_nkey(),
            signer or self.mint.account,
            nats,
            aud=aud or self.mint.server.public,
            exp=exp,
        ).encode()

    def respond(self, payload, at=-1):
        self.server.answer(self.question(at)[0], payload)
        self.dispatcher.run_ready()

    def outcome(self, request, payload):
        """Ask, answer with what `payload` makes, and return what came of it."""
        reply = self.ask(request)
        self.respond(payload() if callable(payload) else payload)
        return reply.get(timeout=0)


@pytest.fixture
def world(mint):
    return World(mint)


@pytest.fixture
def request_(make_request):
    return make_request(user="bob", password="secret", lang="python")


def test_what_nobody_asked_for_is_dropped_where_it_comes(world, request_):
    reply = world.ask(request_)
    subject, _, _ = world.question()
    answer = world.response(world.user())
    told = []
    world.actor.tell = told.append
    for _ in range(3):
        world.server.answer(subject + b"x", b"of no question")
        world.server.answer(subject, answer)
    del world.actor.tell

    assert len(told) == 1
    world.actor.tell(told[0])
    world.dispatcher.run_ready()
    assert isinstance(reply.get(timeout=0), Accepted)


class TestRequest:
    def test_it_is_signed_by_the_server_and_says_who_asks(self, world, mint, request_):
        world.ask(request_)
        claims = world.claims()

        assert claims.standard.issuer == mint.server.public
        assert claims.standard.subject == mint.account.public
        assert claims.standard.audience == "nats-authorization-request"
        assert claims.standard.expires_s > mint.now_s
        assert claims.nats.text("type") == "authorization_request"
        server = claims.nats.nested("server_id")
        assert server.text("id") == mint.server.public
        assert (server.text("name"), server.text("cluster")) == ("s", "c")

    def test_it_shows_what_the_client_showed(self, world, request_):
        world.ask(request_)
        nats = world.claims().nats

        assert nats.text("user_nkey") == world.user_nkey()
        assert nats.nested("client_info").text("user") == "bob"
        assert nats.nested("client_info").number("id") == 7
        options = nats.nested("connect_opts")
        assert (options.text("user"), options.text("pass")) == ("bob", "secret")
        assert options.number("protocol") == 0
        assert not nats.nested("client_info").has("nonce")

    def test_a_signature_comes_with_its_nonce(self, world, make_request):
        world.ask(make_request(nkey="U", sig="x", nonce=b"abc"))

        assert world.claims().nats.nested("client_info").text("nonce") == "abc"

    def test_certificates_come_as_pem(self, world, make_request):
        peer = TlsPeer(version="1.3", cipher="C", certificates=(b"\0" * 100,))
        world.ask(replace(make_request(), tls=peer))
        tls = world.claims().nats.nested("client_tls")

        assert tls.text("version") == "1.3"
        assert tls.items("verified_chains")[0][0].startswith("-----BEGIN CERTIFICATE-----\nAAAA")

    def test_it_is_encrypted_when_the_service_has_an_xkey(self, mint, request_):
        world = World(mint, xkey=SERVICE.public)
        world.ask(request_)
        _, header, payload = world.question()

        assert header == b"NATS/1.0\r\nNats-Server-Xkey: %b\r\n\r\n" % mint.curve.public.encode()
        assert b"eyJ" not in payload
        token = SERVICE.open(payload, mint.curve.public).decode()
        claims = read_claims_of(GenericClaims, token)
        assert claims.nats.nested("server_id").text("xkey") == mint.curve.public


class TestAnswer:
    def test_who_is_let_in(self, world, mint, request_):
        def answer():
            return world.response(world.user(pub={"allow": ["a"]}, exp=mint.now_s + 60))

        accepted = world.outcome(request_, answer)

        assert isinstance(accepted, Accepted)
        assert (accepted.user, accepted.account) == ("bob", "APP")
        assert accepted.permissions == Permissions(publish=SubjectRules(allow=("a",)))
        assert accepted.expires_s == mint.now_s + 60
        assert accepted.limits is None

    def test_in_the_account_of_the_service_nobody_may_ask_it(self, world, request_):
        accepted = world.outcome(request_, lambda: world.response(world.user(aud="AUTH")))

        assert accepted.permissions.publish.deny == ("$SYS.REQ.USER.AUTH",)

    def test_who_is_refused(self, world, request_):
        answer = world.outcome(request_, lambda: world.response(error="no\nway"))

        assert answer == Refused("auth callout service returned an error: no\\nway")

    def test_an_encrypted_answer(self, mint, request_):
        world = World(mint, xkey=SERVICE.public)

        def answer(sealer=SERVICE):
            return sealer.seal(world.response(world.user()), mint.curve.public)

        assert isinstance(world.outcome(request_, answer), Accepted)
        assert isinstance(world.outcome(request_, lambda: world.response(world.user())), Accepted)
        alien = CurvePair(os.urandom(32))
        assert "decrypting" in world.outcome(request_, lambda: answer(alien)).detail
        assert "decrypting" in world.outcome(request_, b"\0" * 200).detail

    WRONG = {  # noqa: RUF012 - read only
        "nothing": lambda w, m: b"",
        "junk": lambda w, m: b"junk",
        "huge": lambda w, m: b"e" * 2_000_000,
        "not signed by the issuer": lambda w, m: w.response(w.user(), signer=m.other),
        "for another user": lambda w, m: w.response(w.user(), subject=m.user.public),
        "for another server": lambda w, m: w.response(
            w.user(), aud=KeyPair(NkeyKind.SERVER, bytes(32)).public
        ),
        "expired": lambda w, m: w.response(w.user(), exp=m.now_s - 1),
        "a user and an error": lambda w, m: w.response(w.user(), error="x"),
        "neither": lambda w, m: w.response(),
        "a user of another issuer": lambda w, m: w.response(w.user(signer=m.other)),
        "another user": lambda w, m: w.response(w.user(subject=m.user.public)),
        "an expired user": lambda w, m: w.response(w.user(exp=m.now_s - 1)),
        "an unknown account": lambda w, m: w.response(w.user(aud="NONE")),
        "no account": lambda w, m: w.response(w.user(aud="")),
        "an issuer account": lambda w, m: w.response(w.user(issuer_account=m.account.public)),
        "a user instead": lambda w, m: w.user().encode(),
        "other networks": lambda w, m: w.response(w.user(src=["10.0.0.0/8"])),
        "other connections": lambda w, m: w.response(w.user(allowed_connection_types=["MQTT"])),
        "a user without signature": lambda w, m: w.response(w.user().rpartition(".")[0] + ".AA"),
        "an issuer that is a user": lambda w, m: w.response(w.user(), signer=m.user),
    }

    @pytest.mark.parametrize("make", WRONG.values(), ids=WRONG)
    def test_what_does_not_count_refuses(self, world, mint, request_, make):
        answer = world.outcome(request_, lambda: make(world, mint))

        assert isinstance(answer, Refused)
        assert world.server.lines[-1]["detail"] == answer.detail
        assert "secret" not in answer.detail

    def test_an_answer_to_another_question_is_no_answer(self, world, request_):
        first = world.ask(request_)
        replayed = world.response(world.user())
        world.respond(replayed)
        second = world.ask(request_)
        world.respond(replayed)

        assert isinstance(first.get(timeout=0), Accepted)
        assert isinstance(second.get(timeout=0), Refused)

    def test_a_second_answer_changes_nothing(self, world, request_):
        reply = world.ask(request_)
        world.respond(world.response(error="no"))
        world.respond(world.response(world.user()))

        assert isinstance(reply.get(timeout=0), Refused)

    def test_a_service_that_is_silent_refuses_in_time(self, world, request_):
        reply = world.ask(request_)
        world.dispatcher.run_for(1.9)
        assert not reply.is_done
        world.dispatcher.run_for(0.2)

        assert "not received in time" in reply.get(timeout=0).detail
        assert world.server.lines[-1]["account"] == "AUTH"
        world.respond(world.response(world.user()))

    def test_too_many_questions_at_once_are_refused(self, world, request_, monkeypatch):
        monkeypatch.setattr(auth_callout, "CALLOUTS_MAX", 2)
        replies = [world.ask(request_) for _ in range(3)]

        assert [it.is_done for it in replies] == [False, False, True]
        world.respond(world.response(error="no"), at=0)
        assert not world.ask(request_).is_done

    def test_who_waits_when_the_server_stops_is_refused(self, world, request_):
        reply = world.ask(request_)
        world.actor.stop(block=False)
        world.dispatcher.run_for(1)

        assert reply.get(timeout=0) == Refused("the server stops")
        assert world.server.taps == []


class TestOperatorMode:
    @pytest.fixture
    def make(self, realm, mint):
        def world(**callout):
            callout = {"auth_users": [mint.user.public], **callout}
            keys = [mint.account_signer.public]
            realm.put(mint.account_token(authorization=callout, signing_keys=keys))
            realm.put(mint.account_token(mint.other))
            known = realm.known.get(mint.account.public)
            return World(mint, OperatorJudge(known, realm.known))

        return world

    def test_a_service_lets_users_into_its_account(self, make, mint, request_):
        world = make()
        accepted = world.outcome(request_, lambda: world.response(world.user()))

        assert accepted.account == mint.account.public
        assert accepted.permissions.publish.deny == ("$SYS.REQ.USER.AUTH",)

    def test_a_signing_key_may_sign_for_it(self, make, mint, request_):
        world = make()
        mine = {"signer": mint.account_signer, "issuer_account": mint.account.public}

        def answer():
            return world.response(world.user(**mine), **mine)

        assert isinstance(world.outcome(request_, answer), Accepted)

    @pytest.mark.parametrize(
        ("allowed", "expected"), [([], False), (["*"], True), (["other"], True)]
    )
    def test_into_other_accounts_only_when_it_is_allowed(
        self, make, mint, request_, allowed, expected
    ):
        names = [mint.other.public if it == "other" else it for it in allowed]
        world = make(allowed_accounts=names)

        def answer():
            return world.response(world.user(signer=mint.other))

        outcome = world.outcome(request_, answer)
        assert isinstance(outcome, Accepted) is expected
        if expected:
            assert outcome.account == mint.other.public

    def test_a_foreign_key_signs_nothing(self, make, mint, request_):
        world = make()
        foreign = world.outcome(request_, lambda: world.response(world.user(), signer=mint.system))
        asserted = world.outcome(
            request_, lambda: world.response(world.user(), issuer_account=mint.other.public)
        )

        assert isinstance(foreign, Refused)
        assert isinstance(asserted, Refused)


class TestGate:
    """Who is left to the service."""

    @pytest.fixture
    def make(self, mint):
        def gate(answer, **changes):
            settings = CalloutSettings(
                issuer=mint.account.public,
                account="AUTH",
                auth_users=("auth",),
                xkey="",
                allowed_accounts=changes.get("allowed", ()),
            )
            server = Server(mint.server.public, ["$G", "AUTH", "APP"])
            asked = []
            server.component = lambda _: SimpleNamespace(tell=asked.append)

            def authenticate(_request):
                reply = Reply()
                reply.set(answer)
                return reply

            inner = Authenticator(name="authorization", authenticate=authenticate)
            made = CalloutGate(settings, server, inner)
            made.asked = asked
            return made

        return gate

    def test_auth_users_log_in_as_configured(self, make, make_request):
        gate = make(Accepted("auth", account="AUTH"))
        accepted = gate.authenticate(make_request(user="auth")).get(timeout=0)

        assert accepted.permissions.publish.deny == ("$SYS.REQ.USER.AUTH",)
        assert gate.asked == []

    def test_auth_users_with_a_wrong_password_are_refused(self, make, make_request):
        gate = make(Refused())

        assert gate.authenticate(make_request(user="auth")).get(timeout=0) == Refused()
        assert gate.asked == []

    @pytest.mark.parametrize("answer", [Accepted("ann"), Refused(), None], ids=str)
    def test_about_everybody_else_the_service_is_asked(self, make, make_request, answer):
        gate = make(answer)
        reply = gate.authenticate(make_request(user="ann"))

        assert not reply.is_done
        assert len(gate.asked) == 1

    def test_users_of_other_accounts_may_be_left_out(self, make, make_request):
        gate = make(Accepted("ann", account="APP"), allowed=("$G",))

        assert gate.authenticate(make_request(user="ann")).get(timeout=0).account == "APP"
        assert gate.asked == []


def test_a_request_is_not_mistaken_for_another_kind(mint):
    token = build_token({"sub": "x", "nats": {}}, mint.server, issued_s=1)

    assert read_claims_of(GenericClaims, token).standard.issuer == mint.server.public
