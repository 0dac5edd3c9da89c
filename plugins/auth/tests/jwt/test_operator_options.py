"""Operator mode and auth callout in the configuration."""

from __future__ import annotations

import pytest
from framework_auth.callout_options import CalloutSettings, callout_settings
from framework_auth.config import AUTHORIZATION_SECTION
from framework_auth.operator_options import names_operators
from framework_auth.operator_settings import operator_settings
from framework_auth.resolver_options import ResolverKind, ResolverSettings

from framework.topology import CORE_SECTION, Schema, TopologyErrors, read_server_conf
from framework.wire.nkey import NkeyKind

SCHEMA = Schema([CORE_SECTION, AUTHORIZATION_SECTION])


@pytest.fixture
def read(tmp_path):
    def read_text(text):
        path = tmp_path / "server.conf"
        path.write_text(text)
        return read_server_conf(path, SCHEMA)

    return read_text


@pytest.fixture
def settings(read, mint):
    def from_text(text, **operator):
        token = mint.operator_token(**operator)
        return operator_settings(read(f"operator: {token}\n{text}").values)

    return from_text


def test_without_an_operator_there_is_no_operator_mode(read):
    assert not names_operators(read("port: 4222").values)


def test_an_operator_is_a_token_or_a_file_or_several(read, mint, tmp_path):
    token = mint.operator_token()
    file = tmp_path / "op.jwt"
    file.write_text(
        f"-----BEGIN NATS OPERATOR JWT-----\n{token}\n------END NATS OPERATOR JWT------\n"
    )
    for given in (token, f'"{file}"', f'["{file}", "{token}"]'):
        config = read(f"operator: {given}\nresolver: MEMORY")
        settings = operator_settings(config.values)

        assert settings.trusted_keys == {mint.operator.public, mint.operator_signer.public}


def test_trusted_keys_stand_for_an_operator(read, mint):
    config = read(f"trusted_keys: [{mint.operator.public}]\nresolver: MEM")

    assert operator_settings(config.values).trusted_keys == {mint.operator.public}


def test_the_system_account_is_configured_or_the_operators(settings, mint):
    name = mint.system.public

    assert settings("resolver: MEMORY").system_account == ""
    assert settings("resolver: MEMORY", system_account=name).system_account == name
    assert settings(f"resolver: MEMORY\nsystem_account: {name}").system_account == name


def test_what_goes_with_accounts(settings, mint):
    name, token = mint.account.public, mint.account_token()
    sentinel = mint.user_token(bearer_token=True)
    got = settings(
        f"resolver: MEMORY\nresolver_preload: {{ {name}: {token} }}\n"
        f"resolver_pinned_accounts: [{name}]\ndefault_sentinel: {sentinel}"
    )

    assert got.preload == {name: token}
    assert got.pinned_accounts == {name}
    assert got.default_sentinel == sentinel


RESOLVERS = {
    "MEMORY": ResolverSettings(kind=ResolverKind.MEMORY),
    "mem": ResolverSettings(kind=ResolverKind.MEMORY),
    "{ type: memory }": ResolverSettings(kind=ResolverKind.MEMORY),
    "URL(http://a:1/jwt/v1/accounts)": ResolverSettings(
        kind=ResolverKind.URL, url="http://a:1/jwt/v1/accounts/"
    ),
    '"url("https://a/")"'.replace('"url("', "'URL(").replace('")"', ")'"): ResolverSettings(
        kind=ResolverKind.URL, url="https://a/"
    ),
    '{ type: full, dir: "d" }': ResolverSettings(kind=ResolverKind.FULL, folder="d"),
    '{ type: FULL, dir: d, allow_delete: true, interval: "2m", limit: 5, timeout: "1.5s" }': (
        ResolverSettings(
            kind=ResolverKind.FULL,
            folder="d",
            limit=5,
            allow_delete=True,
            interval_s=120.0,
            timeout_s=1.5,
        )
    ),
    "{ type: cache, dir: d, ttl: 1h30m }": ResolverSettings(
        kind=ResolverKind.CACHE,
        folder="d",
        limit=1_000,
        allow_delete=True,
        hard_delete=True,
        ttl_s=5_400.0,
    ),
}


@pytest.mark.parametrize(("text", "expected"), RESOLVERS.items(), ids=RESOLVERS)
def test_resolvers(settings, mint, text, expected):
    got = settings(f"resolver: {text}", system_account=mint.system.public)

    assert got.resolver == expected


def test_an_operator_may_say_where_its_accounts_are(settings):
    got = settings("", account_server_url="http://a/jwt/v1/")

    assert got.resolver == ResolverSettings(kind=ResolverKind.URL, url="http://a/jwt/v1/accounts/")


REFUSED = {
    "resolver: MEMORY\nauthorization { user: a, password: b }": "operators do not allow users",
    "": "operators require an account resolver",
    "resolver: SOMEWHERE": "expected MEMORY",
    "resolver: 7": "expected MEMORY",
    "resolver: URL(ftp://a)": "http",
    "resolver: { type: full }": "`dir` has no value",
    "resolver: { type: half, dir: d }": "`type` is not full",
    "resolver: { type: full, dir: d, ttl: 1h }": "FULL does not accept `ttl`",
    "resolver: { type: cache, dir: d, interval: 1h }": "CACHE does not accept `interval`",
    "resolver: { type: full, dir: d, hard_delete: true }": "no effect without",
    "resolver: { type: full, dir: d, interval: soon }": "not a duration",
    "resolver: { type: full, dir: d, limit: -1 }": "not a number",
    "resolver: { type: full, dir: d, foo: 1 }": "unknown key `foo`",
    "resolver: { type: full, dir: d }": "needs a system account",
    "resolver: MEMORY\nresolver_tls: {}": "not supported",
    "resolver: MEMORY\nresolver_preload: { A: eyJ }": "invalid account JWT",
    "resolver: MEMORY\nresolver_pinned_accounts: [A]": "not a valid public nkey",
    "resolver: MEMORY\ndefault_sentinel: eyJ": "default sentinel JWT not valid",
    "resolver: MEMORY\ntrusted_keys: [O]": "not a valid public nkey",
}


@pytest.mark.parametrize(("text", "problem"), REFUSED.items(), ids=REFUSED)
def test_what_makes_no_sense_is_refused(settings, text, problem):
    with pytest.raises(TopologyErrors, match=problem.replace("`", ".")):
        settings(text)


def test_a_sentinel_must_be_a_bearer(settings, mint):
    with pytest.raises(TopologyErrors, match="must be a bearer token"):
        settings(f"resolver: MEMORY\ndefault_sentinel: {mint.user_token()}")


def test_a_url_takes_no_preloaded_accounts(settings, mint):
    text = f"resolver: URL(http://a/)\nresolver_preload: {{ {mint.account.public}: "
    with pytest.raises(TopologyErrors, match="URL resolver takes no accounts"):
        settings(f"{text}{mint.account_token()} }}")


def test_a_preloaded_account_must_be_the_one_it_is_named(settings, mint):
    text = f"resolver_preload: {{ {mint.other.public}: {mint.account_token()} }}"
    with pytest.raises(TopologyErrors, match="of another account"):
        settings(f"resolver: MEMORY\n{text}")


def test_two_system_accounts_are_one_too_many(settings, mint):
    with pytest.raises(TopologyErrors, match="must be identical"):
        settings(
            f"resolver: MEMORY\nsystem_account: {mint.other.public}",
            system_account=mint.system.public,
        )


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("/nowhere/op.jwt", "cannot be read"),
        ("eyJabc", "error parsing operator JWT"),
        ("[]", "names no operator"),
    ],
)
def test_an_operator_that_is_none_is_refused(read, given, problem):
    with pytest.raises(TopologyErrors, match=problem):
        read(f"operator: {given}\nresolver: MEMORY")


def test_an_operator_that_wants_a_newer_server_is_refused(settings):
    with pytest.raises(TopologyErrors, match="expects version 99"):
        settings("resolver: MEMORY", assert_server_version="99.0.0")


def test_what_needs_an_operator_is_refused_without_one(read, mint):
    for text in ("resolver: MEMORY", f"resolver_pinned_accounts: [{mint.account.public}]"):
        with pytest.raises(TopologyErrors, match="requires an operator"):
            read(text)


class TestCallout:
    def test_a_block(self, read, mint):
        xkey = mint.curve.public
        text = f"issuer: {mint.account.public}, account: C, auth_users: [s], xkey: {xkey}"
        config = read(
            f"authorization {{ users: [{{user: s, password: p}}], auth_callout {{ {text} }} }}"
        )

        assert callout_settings(config.section("authorization")) == CalloutSettings(
            issuer=mint.account.public,
            account="C",
            auth_users=("s",),
            xkey=xkey,
            allowed_accounts=(),
        )

    @pytest.mark.parametrize(
        ("inside", "problem"),
        [
            ("auth_users: [s]", "require an issuer"),
            ("issuer: ISSUER", "require authorized users"),
            ("issuer: UABC, auth_users: [s]", "valid public nkey of kind account"),
            ("issuer: ISSUER, auth_users: [s], xkey: ISSUER", "kind curve"),
            ("issuer: ISSUER, auth_users: [s], foo: 1", "unknown key"),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, read, mint, inside, problem):
        inside = inside.replace("ISSUER", mint.account.public)
        with pytest.raises(TopologyErrors, match=problem):
            read(f"authorization {{ auth_callout {{ {inside} }} }}")


def test_keys_are_of_their_kind(read, mint):
    user = mint.key(NkeyKind.USER, "u").public
    with pytest.raises(TopologyErrors, match="not a valid public nkey"):
        read(f"trusted_keys: [{user}]\nresolver: MEM")
