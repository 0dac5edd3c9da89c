"""Keys and tokens to test with: an operator, its accounts, and their users."""

from __future__ import annotations

import base64
import json
from functools import partial

import pytest
from framework_auth.claims import AccountClaims, OperatorClaims, build_token, read_claims_of
from framework_auth.keys import CurvePair, KeyPair
from framework_auth.operator.known_accounts import KnownAccounts
from framework_auth.operator.trust import Trust
from framework_auth.operator.user_logins import UserLogins
from framework_auth.operator_settings import OperatorSettings
from framework_auth.resolver_options import ResolverKind, ResolverSettings

from framework.spec import LinkKind, LoginRequest
from framework.wire.info import ClientConnect
from framework.wire.nkey import NkeyKind

NOW_S = 1_800_000_000
UNLIMITED = {"subs": -1, "data": -1, "payload": -1}
ACCOUNT_LIMITS = {"imports": -1, "exports": -1, "wildcards": True, "conn": -1, "leaf": -1}


def key(kind, seed):
    """Return a key that is the same in every run."""
    return KeyPair(kind, seed.encode().ljust(32, b"."))


class Mint:
    """Makes tokens as the tools of an operator do."""

    now_s = NOW_S

    def __init__(self):
        self.operator = key(NkeyKind.OPERATOR, "operator")
        self.operator_signer = key(NkeyKind.OPERATOR, "operator signer")
        self.account = key(NkeyKind.ACCOUNT, "account")
        self.account_signer = key(NkeyKind.ACCOUNT, "account signer")
        self.other = key(NkeyKind.ACCOUNT, "other account")
        self.system = key(NkeyKind.ACCOUNT, "system account")
        self.user = key(NkeyKind.USER, "user")
        self.server = key(NkeyKind.SERVER, "server")
        self.curve = CurvePair(b"curve".ljust(32, b"."))

    key = staticmethod(key)

    def token(self, kind, subject, signer, nats=None, *, issued_s=NOW_S, **members):
        """Return a token of any kind."""
        claims = {"sub": subject, **members, "nats": {**(nats or {}), "type": kind}}
        return build_token(claims, signer, issued_s=issued_s)

    def operator_token(self, **nats):
        """Return the operator's own token."""
        nats = {"signing_keys": [self.operator_signer.public], **nats}
        return self.token("operator", self.operator.public, self.operator, nats, name="O")

    def account_token(self, account=None, *, signer=None, issued_s=NOW_S, exp=0, name="A", **nats):
        """Return the token of an account, with no limits unless some are given."""
        limits = {**UNLIMITED, **ACCOUNT_LIMITS, **nats.pop("limits", {})}
        return self.token(
            "account",
            (account or self.account).public,
            signer or self.operator_signer,
            {"limits": limits, **nats},
            issued_s=issued_s,
            exp=exp,
            name=name,
        )

    def user_token(self, user=None, *, signer=None, issued_s=NOW_S, exp=0, nbf=0, name="U", **nats):
        """Return the token of a user, with no limits unless some are given."""
        return self.token(
            "user",
            (user or self.user).public,
            signer or self.account,
            {**UNLIMITED, **nats},
            issued_s=issued_s,
            exp=exp,
            nbf=nbf,
            name=name,
        )

    def scoped_token(self, user=None, *, signer=None, account=None, name="U", **nats):
        """Return the token of a user of a signing key with a scope."""
        nats["issuer_account"] = (account or self.account).public
        subject = (user or self.user).public
        return self.token("user", subject, signer or self.account_signer, nats, name=name)

    def raw_token(self, header, payload, signer, *, old=False):
        """Return a token of whatever header and payload, well signed."""
        head, body = encode(header), encode(payload)
        signed = body if old else f"{head}.{body}"
        return f"{head}.{body}.{encode(signer.sign(signed.encode()))}"


def encode(part):
    """Return a part of a token."""
    data = part if isinstance(part, bytes) else json.dumps(part).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@pytest.fixture
def mint():
    """Return what makes tokens."""
    return Mint()


@pytest.fixture(scope="session")
def shared_mint():
    """Return what makes tokens, for tests that draw many examples."""
    return Mint()


def login_request(token="", *, host="127.0.0.1", connection_type="STANDARD", nonce=b"n", **connect):
    """Return what a client asks for."""
    return LoginRequest(
        link=1,
        kind=LinkKind.CLIENT,
        cid=7,
        host=host,
        port=4,
        connect=ClientConnect(jwt=token, **connect),
        nonce=nonce,
        connection_type=connection_type,
    )


def signature(signer, nonce=b"n"):
    """Return the `sig` of CONNECT."""
    return base64.urlsafe_b64encode(signer.sign(nonce)).rstrip(b"=").decode()


class Realm:
    """Operator mode without a server: whom it trusts, which accounts it knows, who may log in."""

    def __init__(self, mint, **settings):
        self.mint = mint
        operator = settings.pop("operator", None) or mint.operator_token()
        claims = read_claims_of(OperatorClaims, operator)
        self.settings = OperatorSettings(
            operators=(claims,),
            operator_jwts=(operator,),
            trusted_keys=frozenset(claims.trusted_keys),
            system_account=mint.system.public,
            resolver=settings.pop("resolver", ResolverSettings(kind=ResolverKind.MEMORY)),
            **settings,
        )
        self.trust = Trust(self.settings)
        self.known = KnownAccounts()
        sentinel = self.settings.default_sentinel
        self.logins = UserLogins(self.trust, self.known, sentinel=sentinel)
        self.now_s = NOW_S

    def put(self, token):
        """Put the token of an account in force; return what follows from it."""
        name = read_claims_of(AccountClaims, token).name
        return self.known.put(self.trust.check_account(token, name, self.now_s), self.now_s)

    def log_in(self, token, *, signer=None, **request):
        """Return what comes of a login whose nonce is signed."""
        if signer is not False:
            request["sig"] = signature(signer or self.mint.user)
        return self.logins.begin(login_request(token, **request), self.now_s)


@pytest.fixture
def realm(mint):
    """Return operator mode with one account."""
    realm = Realm(mint)
    realm.put(mint.account_token())
    return realm


@pytest.fixture
def make_realm(mint):
    """Return what makes operator mode with other settings."""
    return partial(Realm, mint)


@pytest.fixture
def make_request():
    """Return what makes a login."""
    return login_request


@pytest.fixture
def sign():
    """Return what makes a `sig`."""
    return signature
