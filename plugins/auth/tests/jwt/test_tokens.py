"""Tokens: which are read, which are refused, and that nothing but a refusal comes out."""

from __future__ import annotations

import base64
import json

import pytest
from framework_auth.claims import (
    AccountClaims,
    ActivationClaims,
    ClaimsError,
    GenericClaims,
    OperatorClaims,
    UserClaims,
    read_claims,
    read_claims_of,
    undecorate,
)
from hypothesis import given
from hypothesis import strategies as st

HEADER = {"typ": "JWT", "alg": "ed25519-nkey"}

# Made by nsc of version 1; from the tests of the jwt library.
OLD_ACTIVATION = (
    "eyJ0eXAiOiJqd3QiLCJhbGciOiJlZDI1NTE5In0."
    "eyJqdGkiOiJGQ1lZRjJLR0EzQTZHTlZQR0pIVjNUSExYR1VZWkFUREZLV1JTT1czUUo1T0k3QlJST0ZRIiwiaWF0Ijox"
    "NTQzOTQzNjc1LCJpc3MiOiJBQ1NKWkhOWlI0QUFUVE1KNzdUV1JONUJHVUZFWFhUS0gzWEtGTldDRkFCVzJRWldOUTRD"
    "QkhRRSIsInN1YiI6IkFEVEFHWVZYRkpPRENRM0g0VUZQQU43R1dXWk1BVU9FTTJMMkRWQkFWVFdLM01TU0xUS1JUTzVG"
    "IiwidHlwZSI6ImFjdGl2YXRpb24iLCJuYXRzIjp7InN1YmplY3QiOiJmb28iLCJ0eXBlIjoic2VydmljZSJ9fQ."
    "HCZTCF-7wolS3Wjx3swQWMkoDhoo_4gp9EsuM5diJfZrH8s6NTpO0iT7_fKZm7dNDeEoqjwU--3ebp8j-Mm_Aw"
)


def test_each_kind_is_read_as_what_it_is(mint):
    operator = read_claims(mint.operator_token(system_account=mint.system.public))
    account = read_claims(mint.account_token())
    user = read_claims(mint.user_token())
    nats = {"accounts": ["x"]}
    generic = read_claims(mint.token("", mint.operator.public, mint.operator, nats))

    assert isinstance(operator, OperatorClaims)
    assert operator.trusted_keys == (mint.operator.public, mint.operator_signer.public)
    assert operator.system_account == mint.system.public
    assert isinstance(account, AccountClaims)
    assert account.standard.issuer == mint.operator_signer.public
    assert isinstance(user, UserClaims)
    assert user.account == mint.account.public
    assert user.standard.issued_s == mint.now_s
    assert isinstance(generic, GenericClaims)
    assert generic.nats.texts("accounts") == ("x",)


def test_a_token_of_version_1_is_read():
    claims = read_claims_of(ActivationClaims, OLD_ACTIVATION)

    assert (claims.subject, claims.kind) == ("foo", "service")
    assert claims.standard.version == 1


def test_users_of_version_1_are_unlimited_unless_they_say_so(mint):
    nats = {"pub": {"allow": ["a"]}, "subs": 7}
    payload = {"type": "user", "sub": mint.user.public, "iss": mint.account.public, "nats": nats}
    token = mint.raw_token({"typ": "jwt", "alg": "ed25519"}, payload, mint.account, old=True)
    claims = read_claims_of(UserClaims, token)

    assert claims.rules.max_subscriptions == 7
    assert claims.rules.max_payload == -1
    assert claims.rules.publish.allow == ("a",)


def test_a_strict_operator_does_not_sign_itself(mint):
    claims = read_claims_of(OperatorClaims, mint.operator_token(strict_signing_key_usage=True))

    assert claims.trusted_keys == (mint.operator_signer.public,)


def test_another_kind_than_asked_for_is_refused(mint):
    with pytest.raises(ClaimsError, match="token has UserClaims and not AccountClaims"):
        read_claims_of(AccountClaims, mint.user_token())


def test_a_file_may_have_decorations(mint):
    token = mint.user_token()
    text = (
        f"-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n"
        "-----BEGIN USER NKEY SEED-----\nSUA\n------END USER NKEY SEED------\n"
    )

    assert undecorate(text) == token
    assert undecorate(f" {token}\n") == token
    assert undecorate(text.replace("\n", "\r\n")) == token


REFUSED_HEADERS = {
    "alg none": {"typ": "JWT", "alg": "none"},
    "alg HS256": {"typ": "JWT", "alg": "HS256"},
    "alg of another curve": {"typ": "JWT", "alg": "ed25519-x"},
    "alg is a list": {"typ": "JWT", "alg": ["ed25519-nkey"]},
    "no alg": {"typ": "JWT"},
    "another type": {"typ": "JWS", "alg": "ed25519-nkey"},
    "no object": [],
    "null": None,
}


@pytest.mark.parametrize("header", REFUSED_HEADERS.values(), ids=REFUSED_HEADERS)
def test_a_header_that_says_something_else_is_refused(mint, header):
    payload = {"sub": mint.user.public, "iss": mint.account.public, "nats": {"type": "user"}}

    with pytest.raises(ClaimsError):
        read_claims(mint.raw_token(header, payload, mint.account))


def test_what_was_changed_is_refused(mint):
    header, claims, signature = mint.user_token(pub={"deny": [">"]}).split(".")
    members = json.loads(base64.urlsafe_b64decode(claims + "=="))
    members["nats"]["pub"] = {}
    forged = base64.urlsafe_b64encode(json.dumps(members).encode()).rstrip(b"=").decode()

    with pytest.raises(ClaimsError, match="not signed by its issuer"):
        read_claims(f"{header}.{forged}.{signature}")


def test_an_issuer_that_did_not_sign_is_refused(mint):
    nats = {"type": "user", "version": 2}
    payload = {"sub": mint.user.public, "iss": mint.other.public, "nats": nats}

    with pytest.raises(ClaimsError, match="not signed by its issuer"):
        read_claims(mint.raw_token(HEADER, payload, mint.account))


def test_claims_of_version_2_under_a_signature_of_version_1_are_refused(mint):
    nats = {"type": "user", "version": 2}
    payload = {"sub": mint.user.public, "iss": mint.account.public, "nats": nats}

    with pytest.raises(ClaimsError, match="not signed by its issuer"):
        read_claims(mint.raw_token(HEADER, payload, mint.account, old=True))


@pytest.mark.parametrize("version", [0, 1, 3, -1, 2**62, "2", None])
def test_another_version_is_refused(mint, version):
    nats = {"type": "user", "version": version}
    payload = {"sub": mint.user.public, "iss": mint.account.public, "nats": nats}

    with pytest.raises(ClaimsError):
        read_claims(mint.raw_token(HEADER, payload, mint.account))


MALFORMED = {
    "empty": "",
    "no dots": "abc",
    "two parts": "a.b",
    "four parts": "a.b.c.d",
    "empty parts": "..",
    "no base64": "ä.b.c",
    "padding": "eyJ0eXAiOiJKV1QifQ==.e30.e30",
    "huge": "a" * 2_000_000,
    "huge header": "a" * 5_000 + ".e30.e30",
    "dots": "." * 100_000,
    "control characters": "e30\n.e30.e30",
}


@pytest.mark.parametrize("text", MALFORMED.values(), ids=MALFORMED)
def test_what_is_no_token_is_refused_in_a_line(text):
    with pytest.raises(ClaimsError) as raised:
        read_claims(text)

    assert len(str(raised.value)) < 200
    assert str(raised.value).isprintable()


PAYLOADS = {
    "deep": b"[" * 100_000,
    "deep objects": b'{"nats":' * 50_000,
    "digits": b'{"exp":' + b"9" * 500_000 + b"}",
    "beyond 64 bits": b'{"iat":9223372036854775808}',
    "infinity": b'{"iat":Infinity}',
    "a fraction": b'{"iat":1.5}',
    "a boolean": b'{"iat":true}',
    "text for a list": b'{"nats":{"tags":"x"}}',
    "no object": b'{"nats":[]}',
    "no UTF-8": b'{"sub":"\xff"}',
    "UTF-16": '{"sub":"x"}'.encode("utf-16"),
    "a number for the type": b'{"type":7}',
    "nothing": b"",
}


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
def test_a_payload_that_makes_no_sense_is_refused(mint, payload):
    with pytest.raises(ClaimsError):
        read_claims(mint.raw_token(HEADER, payload, mint.account))


def test_half_a_surrogate_harms_nobody(mint):
    payload = {"sub": mint.user.public, "iss": mint.account.public, "name": "\ud800"}
    payload["nats"] = {"type": "user", "version": 2}
    claims = read_claims(mint.raw_token(HEADER, payload, mint.account))

    assert claims.standard.name == "\ufffd"


@given(data=st.data())
def test_a_token_with_other_bytes_is_refused(shared_mint, data):
    token = shared_mint.user_token()
    at = data.draw(st.integers(0, len(token) - 2))
    changed = token[:at] + data.draw(st.characters(max_codepoint=0x2000)) + token[at + 1 :]
    if changed == token:
        return

    with pytest.raises(ClaimsError):
        read_claims(changed)


MEMBERS = """
sub pub allow deny resp src times start limits imports exports signing_keys key kind type account
subject local_subject to token revocations mappings authorization auth_users xkey template tags
tiered_limits trace dest sampling service_latency results jwt error
"""
NAMES = st.sampled_from(MEMBERS.split())
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=6),
    max_leaves=25,
)


@given(kind=st.sampled_from(["user", "account", "operator", "activation", "x"]), nats=JSON)
def test_whatever_is_signed_is_read_or_refused(shared_mint, kind, nats):
    mint = shared_mint
    subject = getattr(mint, kind, mint.account).public
    payload = {"sub": subject, "iss": mint.account.public}
    payload["nats"] = {**nats, "type": kind, "version": 2} if isinstance(nats, dict) else nats
    problem = ""
    try:
        read_claims(mint.raw_token(HEADER, payload, mint.account))
    except ClaimsError as error:
        problem = str(error)

    assert not problem or problem.isprintable()
