"""Who gets in by what, and who stays after a reload."""

from __future__ import annotations

import base64

import pytest
from framework_auth.config import AUTHORIZATION_SECTION
from framework_auth.directory import Directory, Proof, Way
from framework_auth.keys import KeyPair
from framework_auth.login import Login
from framework_auth.users import users_from

from framework.spec import (
    Accepted,
    LinkKind,
    LoginRequest,
    Permissions,
    Refused,
    SubjectRules,
)
from framework.topology import Schema, read_server_conf
from framework.wire.info import ClientConnect
from framework.wire.nkey import NkeyKind

SCHEMA = Schema([AUTHORIZATION_SECTION])
ANN, BOB = (KeyPair(NkeyKind.USER, bytes([n]) * 32) for n in (1, 2))
NONCE = b"of this connection"


class World:
    """A directory as a file describes it; secrets are compared at once."""

    def __init__(self, tmp_path):
        self._path = tmp_path / "server.conf"
        self.directory = None

    def read(self, text):
        self._path.write_text(text)
        users = users_from(read_server_conf(self._path, SCHEMA).values)
        if self.directory:
            self.directory.replace(users)
        else:
            self.directory = Directory(users, key=b"k" * 32)
            self.login = Login(self.directory, check_secret=self.check)
        return users

    def check(self, user, given, connection_type, reply):
        reply.set(("checked", user, given, connection_type))

    def ask(self, *, nonce=NONCE, connection_type="STANDARD", **connect):
        reply = self.login.authenticate(request(nonce, connection_type, **connect))
        return reply.get(timeout=0)

    def recheck(self, accepted, **connect):
        return self.login.recheck(request(b"", "STANDARD", **connect), accepted)


def request(nonce, connection_type, **connect):
    return LoginRequest(
        link=None,
        kind=LinkKind.CLIENT,
        cid=1,
        host="127.0.0.1",
        port=1,
        connect=ClientConnect(**connect),
        nonce=nonce,
        connection_type=connection_type,
    )


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def url_safe(signature):
    return base64.urlsafe_b64encode(signature).decode().rstrip("=")


def standard(signature):
    return base64.b64encode(signature).decode()


NKEYS = (
    f"accounts {{ A {{ users: [{{nkey: {ANN.public}, permissions: {{publish: a}}}}] }}, B {{}} }}"
)


@pytest.mark.parametrize("encode", [url_safe, standard])
def test_who_signs_the_nonce_gets_in(world, encode):
    world.read(NKEYS)
    answer = world.ask(nkey=ANN.public, sig=encode(ANN.sign(NONCE)))

    assert answer.user == ANN.public
    assert answer.account == "A"
    assert answer.permissions == Permissions(publish=SubjectRules(allow=("a",)))


@pytest.mark.parametrize(
    "sig",
    [
        "",
        "x",
        "?" * 86,
        url_safe(b"0" * 64),
        url_safe(BOB.sign(NONCE)),
        url_safe(ANN.sign(b"of another connection")),
        url_safe(ANN.sign(NONCE))[:-2],
        "A" * 10_000,
    ],
    ids=["none", "short", "no base64", "zeros", "foreign", "replayed", "cut", "long"],
)
def test_a_bad_signature_is_refused(world, sig):
    world.read(NKEYS)

    assert isinstance(world.ask(nkey=ANN.public, sig=sig), Refused)


def test_without_a_nonce_no_signature_is_good(world):
    world.read(NKEYS)

    assert isinstance(world.ask(nkey=ANN.public, sig=url_safe(ANN.sign(b"")), nonce=b""), Refused)


def test_an_unknown_key_is_left_to_others(world):
    world.read(NKEYS)

    assert world.ask(nkey=BOB.public, sig=url_safe(BOB.sign(NONCE))) is None
    assert world.ask(nkey="no key", sig="x") is None


def test_names_and_passwords_are_checked(world):
    world.read("accounts { A { users: [{user: a, password: x}] } }")

    assert world.ask(user="a", password="x") == ("checked", "a", b"x", "STANDARD")
    assert world.ask() == ("checked", "", b"", "STANDARD")


def test_a_token_is_checked_without_a_name(world):
    world.read("authorization { token: t }")

    assert world.ask(user="a", auth_token="t") == ("checked", "[REDACTED]", b"t", "STANDARD")


NOBODY = "no_auth_user: a\naccounts { A { users: [{user: a, password: x}] } }"


def test_who_says_nothing_is_the_user_that_was_named(world):
    users = world.read(NOBODY)
    answer = world.ask()

    assert (answer.user, answer.account) == ("a", "A")
    assert not users.asks_for_login


@pytest.mark.parametrize(
    "said", [{"user": "a"}, {"password": "x"}, {"auth_token": "t"}, {"nkey": "k"}]
)
def test_who_says_anything_is_not(world, said):
    world.read(NOBODY)

    assert world.ask(**said)[0] == "checked"


def test_an_nkey_may_be_who_says_nothing(world):
    world.read(f"no_auth_user: {ANN.public}\n{NKEYS}")

    assert world.ask().user == ANN.public
    assert isinstance(world.ask(nkey=ANN.public), Refused)


@pytest.mark.parametrize(
    ("text", "gets_in"),
    [
        ("accounts { $SYS { users: [{user: a, password: x}] } }", True),
        ("accounts { S { users: [{user: a, password: x}] } }\nsystem_account: S", True),
        ("accounts { $SYS {} }", True),
        ("accounts { $SYS { users: [{user: a, password: x}] }, A {} }", False),
        ("authorization {}\naccounts { $SYS { users: [{user: a, password: x}] } }", False),
    ],
)  # fmt: skip
def test_beside_users_of_the_system_account_alone_everybody_gets_in(world, text, gets_in):
    users = world.read(text)
    answer = world.ask()

    assert (isinstance(answer, Accepted) and answer.account == "$G") is gets_in
    assert users.asks_for_login


@pytest.mark.parametrize(
    ("types", "connection_type", "gets_in"),
    [
        ("standard", "STANDARD", True),
        ("[MQTT, Standard]", "STANDARD", True),
        ("WEBSOCKET", "STANDARD", False),
        ("WEBSOCKET", "WEBSOCKET", True),
        ("[]", "MQTT", True),
    ],
)
def test_a_user_may_be_held_to_types_of_connections(world, types, connection_type, gets_in):
    world.read(
        f"accounts {{ A {{ users: [{{nkey: {ANN.public}, connection_types: {types} }}] }} }}"
    )
    answer = world.ask(
        nkey=ANN.public, sig=url_safe(ANN.sign(NONCE)), connection_type=connection_type
    )

    assert isinstance(answer, Accepted if gets_in else Refused)


def test_permissions_of_the_account_are_of_users_without_any(world):
    users = world.read(
        "accounts { A { default_permissions: {publish: a}, users: [ {user: a, password: x},"
        " {user: b, password: x, permissions: {subscribe: b}}, {user: c, password: x} ] } }"
    )
    by_name = users.by_name

    assert by_name["a"].permissions == Permissions(publish=SubjectRules(allow=("a",)))
    assert by_name["a"].permissions is by_name["c"].permissions
    assert by_name["b"].permissions == Permissions(subscribe=SubjectRules(allow=("b",)))


def test_default_permissions_are_of_listed_users_alone(world):
    single = world.read("authorization { user: a, password: x, permissions: {publish: a} }")
    listed = world.read(
        "authorization { users: [{user: a, password: x}], default_permission: {publish: a} }"
    )

    assert single.by_name["a"].permissions is None
    assert listed.by_name["a"].permissions == Permissions(publish=SubjectRules(allow=("a",)))


USER = (
    "accounts {{ {account} {{ users: [{{user: {user}, password: {password}{more}}}] }}, Z {{}} }}"
)


def user_conf(account="A", user="a", password="x", more=""):
    return USER.format(account=account, user=user, password=password, more=more)


def accept(world, user, given):
    proof = Proof(Way.SECRET, user, world.directory.passwords.digest(given))
    return world.directory.accept_again(proof, "STANDARD")


def test_after_a_reload_who_is_the_same_stays_with_new_permissions(world):
    world.read(user_conf())
    accepted = accept(world, "a", b"x")
    world.read(user_conf(more=", permissions: {publish: a}"))

    assert world.recheck(accepted).permissions == Permissions(publish=SubjectRules(allow=("a",)))


@pytest.mark.parametrize(
    "after",
    [
        user_conf(password="y"),
        user_conf(user="b"),
        user_conf(more=", allowed_connection_types: MQTT"),
        "",
        "authorization { token: x }",
    ],
)
def test_after_a_reload_who_may_not_any_more_goes(world, after):
    world.read(user_conf())
    accepted = accept(world, "a", b"x")
    world.read(after)

    assert isinstance(world.recheck(accepted), Refused)


def test_after_a_reload_the_account_may_be_another(world):
    world.read(user_conf())
    accepted = accept(world, "a", b"x")
    world.read(user_conf(account="B"))

    assert world.recheck(accepted).account == "B"


def test_after_a_reload_nkeys_and_who_says_nothing_stay_as_long_as_they_are_there(world):
    world.read(f"no_auth_user: {ANN.public}\n{NKEYS}")
    signed = world.ask(nkey=ANN.public, sig=url_safe(ANN.sign(NONCE)))
    silent = world.ask()
    world.read(NKEYS)

    assert isinstance(world.recheck(signed), Accepted)
    assert isinstance(world.recheck(silent), Refused)
    world.read("")
    assert isinstance(world.recheck(signed), Refused)


def test_no_proof_shows_a_digest(world):
    world.read(user_conf())

    assert "digest" not in repr(accept(world, "a", b"x"))


def test_who_came_while_nobody_was_asked_is_who_says_nothing(world):
    world.read("no_auth_user: n\nauthorization { users: [{user: n, password: x}] }\n")

    assert world.recheck(Accepted("")).user == "n"
    assert isinstance(world.recheck(Accepted("ann"), user="ann"), Refused)

    world.read("authorization { users: [{user: n, password: x}] }\n")
    assert isinstance(world.recheck(Accepted("")), Refused)


def test_what_another_way_of_logging_in_has_found_does_not_count(world):
    world.read("no_auth_user: n\nauthorization { users: [{user: n, password: x}] }\n")

    assert isinstance(world.recheck(Accepted("n", proof="of a service")), Refused)
