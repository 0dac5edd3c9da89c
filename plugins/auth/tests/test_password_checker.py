"""The actor: what it answers at once, what it has computed, and when that is too much."""

from __future__ import annotations

import pytest
from framework_auth import password_checker
from framework_auth.directory import Directory
from framework_auth.limits import CHECKS_AT_ONCE
from framework_auth.password_checker import PasswordChecker
from framework_auth.users import User, Users

from framework.actors import ActorSystem, Reply, SimulatedDispatcher
from framework.spec import Accepted, Refused

HASH = "$2b$04$dL.VEGvkaLR.DVCs5LLAqOoJsu0CqbIP8Dcq20UGXovMYvBU8WHRu"
"""Of `secret`, at the lowest cost."""
CHECK_S = 0.25


class SlowWorkers(SimulatedDispatcher):
    """Every work in a thread takes a quarter of a second."""

    def run_blocking(self, work):
        self.call_later(CHECK_S, work)


def users_of(secrets):
    by_name = {name: User(name, secret=secret) for name, secret in secrets.items()}
    return Users(by_name=by_name, by_nkey={})


def accepts(answer, user):
    return isinstance(answer, Accepted) and answer.user == user


class World:
    """One checker in virtual time; hashes are looked up, not computed."""

    def __init__(self, secrets):
        self.dispatcher = SlowWorkers()
        self.system = ActorSystem(self.dispatcher, name="test")
        self.computed = []
        self.directory = Directory(users_of(secrets), key=b"k" * 32)
        self.checker = self.system.spawn(PasswordChecker, matches=self.matches)

    def matches(self, given, expected, decoy):
        assert decoy is not None
        self.computed.append(given)
        if given == b"break":
            raise RuntimeError("hidden")
        return expected is not None and given == b"secret"

    def ask(self, user, given):
        reply = Reply()
        self.checker.tell(PasswordChecker.Check(self.directory, user, given, "STANDARD", reply))
        return reply

    def answer(self, user, given):
        reply = self.ask(user, given)
        self.dispatcher.run_for(CHECK_S)
        return reply.get(timeout=0)


def test_plain_passwords_need_no_thread():
    world = World({"a": "x"})

    assert accepts(world.answer("a", b"x"), "a")
    assert world.answer("a", b"y") == Refused()
    assert world.answer("nobody", b"x") is None


def test_a_hash_is_computed_once_for_who_knows_the_password():
    world = World({"a": HASH})

    assert world.answer("a", b"wrong") == Refused()
    assert accepts(world.answer("a", b"secret"), "a")
    assert accepts(world.answer("a", b"secret"), "a")
    assert world.computed == [b"wrong", b"secret"]


def test_a_hash_is_computed_also_for_nobody_and_for_who_has_none():
    world = World({"a": HASH, "b": "x"})

    assert world.answer("nobody", b"1") is None
    assert world.answer("b", b"2") == Refused()
    assert accepts(world.answer("b", b"x"), "b")
    assert world.computed == [b"1", b"2"]


def test_clients_that_come_at_once_with_one_password_wait_for_one_hash():
    world = World({"a": HASH})
    replies = [world.ask("a", b"secret") for _ in range(100)]
    world.dispatcher.run_for(CHECK_S)

    assert all(accepts(reply.get(timeout=0), "a") for reply in replies)
    assert len(world.computed) == CHECKS_AT_ONCE


def test_a_few_hashes_are_computed_at_a_time():
    world = World({"a": HASH})
    for number in range(10):
        world.ask("a", b"%d" % number)
    world.dispatcher.run_for(CHECK_S)

    assert len(world.computed) == CHECKS_AT_ONCE
    world.dispatcher.run_for(1.0)
    assert world.computed == [b"%d" % number for number in range(10)]


def test_more_than_may_wait_are_refused_at_once(monkeypatch):
    monkeypatch.setattr(password_checker, "CHECKS_WAITING_MAX", 3)
    world = World({"a": HASH})
    replies = [world.ask("a", b"secret") for _ in range(7)]
    world.dispatcher.run_ready()

    refused = Refused("too many logins at once")
    assert [reply.is_done for reply in replies] == [False] * 5 + [True] * 2
    assert {reply.get(timeout=0) for reply in replies[5:]} == {refused}


def test_who_knows_a_known_password_passes_the_queue():
    world = World({"a": HASH, "b": "x"})
    waiting = [world.ask("a", b"wrong") for _ in range(100)]
    world.dispatcher.run_ready()
    reply = world.ask("b", b"x")
    world.dispatcher.run_ready()

    assert accepts(reply.get(timeout=0), "b")
    assert not waiting[-1].is_done


def test_who_has_waited_longer_than_a_client_does_is_not_checked():
    world = World({"a": HASH})
    replies = [world.ask("a", b"wrong") for _ in range(100)]
    world.dispatcher.run_for(3.0)

    assert replies[-1].get(timeout=0) == Refused("the check took too long")
    assert len(world.computed) < 20
    assert accepts(world.answer("a", b"secret"), "a")


def test_a_check_that_fails_refuses_and_shows_no_text():
    world = World({"a": HASH})

    assert world.answer("a", b"break") == Refused("the check failed: RuntimeError")
    assert accepts(world.answer("a", b"secret"), "a")


def test_who_waits_when_the_server_stops_is_refused():
    world = World({"a": HASH})
    replies = [world.ask("a", b"wrong") for _ in range(3)]
    world.dispatcher.run_ready()
    world.checker.stop(block=False)
    world.dispatcher.run_for(1.0)

    assert replies[-1].get(timeout=0) == Refused("the server stops")


def test_a_message_does_not_show_its_secret():
    directory = Directory(users_of({"a": "x"}), key=b"k" * 32)
    check = PasswordChecker.Check(directory, "a", b"hidden", "STANDARD", Reply())

    assert "hidden" not in repr(check)


@pytest.mark.parametrize("secrets", [{"a": "x"}, {"a": HASH}], ids=["plain", "hash"])
def test_an_unknown_message_is_no_login(secrets):
    world = World(secrets)
    world.checker.tell("accept")
    world.dispatcher.run_ready()

    assert world.answer("a", b"wrong") == Refused()


def test_a_hash_that_a_reload_has_replaced_lets_nobody_in():
    world = World({"a": HASH})
    reply = world.ask("a", b"secret")
    world.dispatcher.run_ready()
    world.directory.replace(users_of({"a": HASH.replace("$04$", "$05$")}))
    world.dispatcher.run_for(CHECK_S)

    assert reply.get(timeout=0) == Refused()
    assert not world.directory.passwords.is_known("a", b"secret")


def test_hashes_that_a_reload_has_taken_away_are_not_computed():
    world = World({"a": HASH})
    replies = [world.ask("a", b"%d" % number) for number in range(5)]
    world.dispatcher.run_ready()
    world.directory.replace(users_of({"b": "x"}))
    world.dispatcher.run_for(3 * CHECK_S)

    assert [reply.get(timeout=0) for reply in replies] == [None] * 5
    assert len(world.computed) == CHECKS_AT_ONCE
