"""The actor that resolves accounts: who waits for what, and what follows from a change."""

from __future__ import annotations

import pytest
from framework_auth.operator import account_keeper
from framework_auth.operator.account_keeper import AccountKeeper

from framework.actors import ActorSystem, Reply, SimulatedDispatcher
from framework.spec import Accepted, Refused
from framework.wire.nkey import NkeyKind

LOAD_S = 0.25


class SlowWorkers(SimulatedDispatcher):
    """Every work in a thread takes a quarter of a second."""

    def run_blocking(self, work):
        self.call_later(LOAD_S, work)


class Book(dict):
    """The accounts of the server."""

    def put(self, specs):
        self.update({it.name: it for it in specs})

    def remove(self, names):
        for name in names:
            self.pop(name, None)


class Log:
    """Keeps what was logged."""

    def __init__(self):
        self.lines = []

    def warning(self, event, **fields):
        self.lines.append(event.format(**fields) if fields else event)

    error = warning


class World:
    """One keeper in virtual time."""

    def __init__(self, realm, *, others=None):
        self.dispatcher = SlowWorkers()
        self.system = ActorSystem(self.dispatcher, name="test")
        self.realm = realm
        self.tokens = {}
        self.loaded = []
        self.rechecked = []
        self.services = []
        self.book = Book()
        self.log = Log()
        self.keeper = self.system.spawn(
            AccountKeeper,
            trust=realm.trust,
            known=realm.known,
            logins=realm.logins,
            accounts=self.book,
            recheck=self.rechecked.append,
            load=self.load,
            ask_others=others,
            ask_service=lambda request, needed, reply: self.services.append(needed),
            wall_s=self.wall_s,
            log=self.log,
        )

    def wall_s(self):
        return self.realm.now_s + self.dispatcher.now_ns() / 1e9

    def load(self, name):
        self.loaded.append(name)
        token = self.tokens.get(name)
        if isinstance(token, Exception):
            raise token
        return token

    def tell(self, kind, *arguments):
        reply = Reply()
        self.keeper.tell(kind(*arguments, reply))
        return reply

    def answer(self, reply, seconds=2 * LOAD_S):
        self.dispatcher.run_for(seconds)
        return reply.get(timeout=0)


@pytest.fixture
def world(make_realm):
    return World(make_realm())


@pytest.fixture
def log_in(world, mint, make_request, sign):
    def begin(token=None):
        request = make_request(token or mint.user_token(), sig=sign(mint.user))
        return world.tell(AccountKeeper.LogIn, request)

    return begin


def test_an_unknown_account_is_resolved_once_for_all_who_wait(world, mint, log_in):
    world.tokens[mint.account.public] = mint.account_token()
    replies = [log_in() for _ in range(5)]
    world.dispatcher.run_for(LOAD_S)

    assert all(isinstance(it.get(timeout=0), Accepted) for it in replies)
    assert world.loaded == [mint.account.public]
    assert list(world.book) == [mint.account.public]
    assert isinstance(world.answer(log_in()), Accepted)
    assert world.loaded == [mint.account.public]


def test_an_account_that_is_nowhere_refuses_its_users(world, log_in):
    assert world.answer(log_in()).detail == "its account is unknown"


@pytest.mark.parametrize("found", [OSError("no route"), RuntimeError("hidden"), "junk"])
def test_what_cannot_be_resolved_refuses_and_is_logged(world, mint, log_in, found):
    world.tokens[mint.account.public] = found

    assert isinstance(world.answer(log_in()), Refused)
    assert len(world.log.lines) == 1
    assert "hidden" not in world.log.lines[0]


def test_other_servers_are_asked_for_what_is_not_here(make_realm, mint, make_request, sign):
    asked = []

    def others(name):
        asked.append(name)
        reply = Reply()
        reply.set(mint.account_token())
        return reply

    world = World(make_realm(), others=others)
    request = make_request(mint.user_token(), sig=sign(mint.user))

    assert isinstance(world.answer(world.tell(AccountKeeper.LogIn, request)), Accepted)
    assert asked == [mint.account.public]


def test_a_login_waits_for_the_accounts_that_its_account_imports_from(world, mint, log_in):
    wanted = {"account": mint.other.public, "subject": "s", "type": "stream"}
    back = {"account": mint.account.public, "subject": "t", "type": "stream"}
    world.tokens[mint.account.public] = mint.account_token(imports=[wanted])
    world.tokens[mint.other.public] = mint.account_token(mint.other, imports=[back])
    reply = log_in()
    world.dispatcher.run_for(LOAD_S)

    assert not reply.is_done
    assert isinstance(world.answer(reply), Accepted)
    assert set(world.book) == {mint.account.public, mint.other.public}


def test_an_exporter_that_is_nowhere_keeps_nobody_waiting_for_ever(world, mint, log_in):
    wanted = {"account": mint.other.public, "subject": "s", "type": "stream"}
    world.tokens[mint.account.public] = mint.account_token(imports=[wanted])

    assert isinstance(world.answer(log_in()), Accepted)
    assert any("cannot be found" in line for line in world.log.lines)


def test_too_many_unknown_accounts_at_once_are_refused(world, mint, log_in, monkeypatch):
    monkeypatch.setattr(account_keeper, "FETCHES_MAX", 2)
    signers = [mint.key(NkeyKind.ACCOUNT, f"unknown {number}") for number in range(3)]
    replies = [log_in(mint.user_token(signer=it)) for it in signers]
    world.dispatcher.run_ready()

    assert [it.is_done for it in replies] == [False, False, True]
    assert replies[2].get(timeout=0) == Refused("too many accounts are being resolved")


def test_too_many_who_wait_for_one_account_are_refused(world, log_in, monkeypatch):
    monkeypatch.setattr(account_keeper, "FETCH_WAITERS_MAX", 3)
    replies = [log_in() for _ in range(5)]
    world.dispatcher.run_ready()

    assert [it.is_done for it in replies] == [False] * 3 + [True] * 2
    world.dispatcher.run_for(LOAD_S)
    assert isinstance(world.answer(log_in()), Refused)
    assert len(world.loaded) == 2


def test_an_update_of_a_known_account_is_in_force_before_it_is_answered(world, mint, log_in):
    name = mint.account.public
    world.tokens[name] = mint.account_token()
    world.answer(log_in())
    world.answer(world.tell(AccountKeeper.Update, name, mint.account_token(limits={"conn": 3})))

    assert world.book[name].limits.max_connections == 3
    assert world.rechecked == [name]


def test_an_update_that_does_not_count_changes_nothing(world, mint, log_in):
    name = mint.account.public
    world.tokens[name] = mint.account_token()
    world.answer(log_in())
    forged = mint.account_token(signer=mint.key(NkeyKind.OPERATOR, "alien"), limits={"conn": 3})
    world.answer(world.tell(AccountKeeper.Update, name, forged))

    assert world.book[name].limits.max_connections == -1
    assert world.rechecked == []


def test_an_update_of_an_account_that_nobody_uses_waits_for_its_users(world, mint):
    name = mint.account.public
    world.answer(world.tell(AccountKeeper.Update, name, mint.account_token()))

    assert world.book == {}


def test_a_reload_finds_what_has_changed(world, mint, log_in):
    name = mint.account.public
    world.tokens[name] = mint.account_token()
    world.answer(log_in())
    world.keeper.tell(AccountKeeper.Reload())
    world.dispatcher.run_for(2 * LOAD_S)
    assert world.rechecked == []
    world.tokens[name] = mint.account_token(limits={"conn": 3})
    world.keeper.tell(AccountKeeper.Reload())
    world.dispatcher.run_for(2 * LOAD_S)
    del world.tokens[name]
    world.keeper.tell(AccountKeeper.Reload())
    world.dispatcher.run_for(2 * LOAD_S)

    assert world.book[name].limits.max_connections == 3
    assert world.rechecked == [name]


def test_a_removed_account_is_gone(world, mint, log_in):
    name = mint.account.public
    world.tokens[name] = mint.account_token()
    world.answer(log_in())
    del world.tokens[name]
    world.answer(world.tell(AccountKeeper.Remove, name))

    assert world.book == {}
    assert isinstance(world.answer(log_in()), Refused)


def test_users_are_asked_again_when_their_account_ends(world, mint, log_in):
    name = mint.account.public
    world.tokens[name] = mint.account_token(exp=mint.now_s + 60)
    world.answer(log_in())
    world.dispatcher.run_for(59)
    assert world.rechecked == []
    world.dispatcher.run_for(3)

    assert world.rechecked == [name]


def test_the_core_may_ask_for_an_account(world, mint):
    world.tokens[mint.account.public] = mint.account_token()
    found = world.tell(AccountKeeper.Resolve, mint.account.public)
    missing = world.tell(AccountKeeper.Resolve, mint.other.public)
    strange = world.tell(AccountKeeper.Resolve, "$G")

    assert world.answer(found).name == mint.account.public
    assert missing.get(timeout=0) is None
    assert strange.get(timeout=0) is None
