"""The `authorization` block, as files and flags write it."""

from __future__ import annotations

import pytest
from framework_auth.config import AUTHORIZATION_SECTION
from framework_auth.keys import KeyPair
from framework_auth.users import TOKEN_USER, users_from

from framework.topology import (
    Schema,
    TopologyErrors,
    diff_configs,
    explain_topology,
    parse_flags,
    read_server_conf,
    read_topology,
)
from framework.wire.nkey import NkeyKind

SCHEMA = Schema([AUTHORIZATION_SECTION])
HASH = "$2b$04$dL.VEGvkaLR.DVCs5LLAqOoJsu0CqbIP8Dcq20UGXovMYvBU8WHRu"
"""Of `secret`, at the lowest cost."""
HASH_A = HASH.replace("$2b$", "$2a$")
"""As nats-server makes it; the only version that needs no quotes in a file."""


@pytest.fixture
def read(tmp_path):
    def read_text(text):
        path = tmp_path / "server.conf"
        path.write_text(text)
        return users_from(read_server_conf(path, SCHEMA).values)

    return read_text


def from_flags(*flags):
    settings = parse_flags(flags, SCHEMA).settings
    return users_from(read_server_conf(None, SCHEMA, settings).values)


def secrets_of(users):
    return {name: user.secret for name, user in users.by_name.items()}


@pytest.mark.parametrize("text", ["", "authorization { }", "authorization { timeout: 3 }"])
def test_who_names_nobody_asks_for_no_login(read, text):
    assert read(text).is_empty


@pytest.mark.parametrize(
    ("inside", "secrets"),
    [
        ("user: a, password: b", {"a": "b"}),
        ("username: a, pass: b", {"a": "b"}),
        ("token: t", {TOKEN_USER: "t"}),
        ("users: [{user: a, password: b}, {user: c, pass: d}]", {"a": "b", "c": "d"}),
        (f'user: a, password: "{HASH}"', {"a": HASH}),
        (f"user: a, password: {HASH_A}", {"a": HASH_A}),
    ],
)
def test_what_nats_server_takes(read, inside, secrets):
    config = read(f"authorization {{ {inside} }}")

    assert secrets_of(config) == secrets
    assert config.is_token == (TOKEN_USER in secrets)
    assert config.has_hashes == any(secret.startswith("$2") for secret in secrets.values())
    assert config.timeout_s == 2.0


@pytest.mark.parametrize(
    ("text", "timeout_s"), [("0.5", 0.5), ('"1m"', 60.0), ("3", 3.0), ("0", 2.0)]
)
def test_the_time_that_a_client_has(read, text, timeout_s):
    assert read(f"authorization {{ token: t, timeout: {text} }}").timeout_s == timeout_s


@pytest.mark.parametrize(
    ("flags", "secrets"),
    [
        (("--user", "a", "--pass", "b"), {"a": "b"}),
        (("-username", "a", "-pass", "b"), {"a": "b"}),
        (("--auth", "t"), {TOKEN_USER: "t"}),
    ],
)
def test_flags(flags, secrets):
    assert secrets_of(from_flags(*flags)) == secrets


@pytest.mark.parametrize(
    ("inside", "warns"),
    [
        ("user: a, password: b", True),
        (f'user: a, password: "{HASH}"', False),
        (f'users: [{{user: a, password: "{HASH}"}}, {{user: b, password: c}}]', True),
        ("token: t", False),
    ],
)
def test_passwords_that_can_be_read_in_the_file(read, inside, warns):
    assert read(f"authorization {{ {inside} }}").has_plain_passwords == warns


REFUSED = {
    "user: a, password: b, token: c": "cannot have a user/pass and token",
    "user: a, users: [{user: b, password: c}]": "cannot have a single user/pass and a users array",
    "token: a, users: [{user: b, password: c}]": "cannot have a token and a users array",
    "users: [{password: b}]": "user entry requires a user",
    "users: [{user: b, password: c}, {user: b, password: d}]": 'duplicate user "b" detected',
    "users: {user: a, password: b}": "expected a list of blocks",
    "user: a, password: b, foo: 1": "unknown key `foo`",
    "users: [{user: b, password: c, foo: 1}]": "unknown key `foo`",
    # What follows nats-server takes, and lets everybody in, or nobody.
    "password: b": "needs a user, or everybody could log in",
    "user: a": "needs a password, or everybody could log in",
    'user: "", password: ""': "is empty",
    'token: ""': "is empty, which would let everybody in",
    "users: [{user: b}]": "user entry requires a password",
    'users: [{user: b, password: ""}]': "is empty, which would let everybody in",
    "users: []": "has no users",
    'user: a, password: "$2a$11$abc"': "malformed bcrypt hash",
    f'token: "{HASH[:-1]}"': "malformed bcrypt hash",
    f'token: "{HASH.replace("$04$", "$03$")}"': "malformed bcrypt hash",
    f'token: "{HASH.replace("$04$", "$32$")}"': "malformed bcrypt hash",
}


@pytest.mark.parametrize(("inside", "problem"), REFUSED.items(), ids=REFUSED)
def test_what_cannot_be_is_refused_with_its_place(read, inside, problem):
    with pytest.raises(TopologyErrors) as raised:
        read("authorization {\n " + inside + "\n}")

    assert problem in str(raised.value)
    for error in raised.value.errors:
        assert error.place.file.endswith("server.conf")
        assert error.place.line in {1, 2}


@pytest.mark.parametrize("text", ["proxies: x"])
def test_what_would_be_without_effect_is_refused(read, text):
    with pytest.raises(TopologyErrors, match="trusted proxies are not there yet"):
        read(text)


def test_flags_that_contradict_the_file_are_refused(tmp_path):
    path = tmp_path / "server.conf"
    path.write_text("authorization { token: t }")
    settings = parse_flags(["--user", "x", "--pass", "y"], SCHEMA).settings

    with pytest.raises(TopologyErrors, match="cannot have a user/pass and token"):
        read_server_conf(path, SCHEMA, settings)


@pytest.mark.parametrize(
    "text",
    ["user: a, password: 47114711", "token: {a: 47114711}", "users: [{user: a, pass: 47114711}]"],
)
def test_a_mistake_does_not_show_a_secret(read, text):
    with pytest.raises(TopologyErrors) as raised:
        read(f"authorization {{ {text} }}")

    assert "in quotes" in str(raised.value)
    assert "4711" not in str(raised.value)


def test_no_secret_is_shown(read, tmp_path):
    assert "hidden" not in repr(read("authorization { user: a, password: hidden }"))
    path = tmp_path / "one.toml"
    path.write_text(
        "[clusters.c]\nservers = 1\n"
        'authorization = { users = [{ user = "a", password = "hidden" }] }\n'
    )
    topology = read_topology(path, [AUTHORIZATION_SECTION])

    assert "hidden" not in repr(topology)
    assert "***" in explain_topology(topology)
    assert "hidden" not in explain_topology(topology)


def test_no_secret_of_an_account_is_shown(read, tmp_path):
    path = tmp_path / "one.toml"
    path.write_text(
        "[clusters.c]\nservers = 1\n"
        'accounts = { A = { users = [{ user = "a", password = "hidden" }] } }\n'
    )
    topology = read_topology(path, [AUTHORIZATION_SECTION])

    assert "hidden" not in repr(topology)
    assert "hidden" not in explain_topology(topology)
    assert "hidden" not in repr(read("accounts { A { users: [{user: a, password: hidden}] } }"))


ISSUER = KeyPair(NkeyKind.ACCOUNT, b"i" * 32).public
SERVICE = f"auth_callout {{ issuer: {ISSUER}, auth_users: [a] }}"
USERS = "users: [{user: a, password: b}]"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", f"authorization {{ {USERS}, {SERVICE} }}"),
        (f"authorization {{ {USERS} }}", f"authorization {{ {USERS}, {SERVICE} }}"),
        (f"authorization {{ {USERS}, {SERVICE} }}", ""),
    ],
)
def test_a_service_that_decides_on_logins_comes_and_goes_with_a_restart(tmp_path, old, new):
    def config(text):
        path = tmp_path / "server.conf"
        path.write_text(text)
        return read_server_conf(path, SCHEMA)

    changes = diff_configs(config(old), config(new)).restart

    assert [change.path for change in changes] == ["authorization.auth_callout"]
