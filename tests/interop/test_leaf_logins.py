"""Leaf nodes that log in by what they sign: nkeys, and credentials of an operator's account."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from framework_auth.claims import build_token
from framework_auth.keys import KeyPair

from framework.testing import OURS
from framework.wire.nkey import NkeyKind
from tests.interop.leafnodes import Star
from tests.interop.mixtures import parameters

if TYPE_CHECKING:
    from pathlib import Path

    from framework.testing import Fleet

REAL, OLD = "2.15.2", "2.9.10"
PAIRS = [(OURS, OURS), (OURS, REAL), (REAL, OURS), (REAL, REAL)]
WITH_OLD = [*PAIRS, (OURS, OLD), (OLD, OURS)]
"""Remotes of 2.9.10 have credentials, but no nkeys."""
NOW_S = time.time_ns() // 1_000_000_000
LIMITS = dict.fromkeys(("subs", "data", "payload", "imports", "exports", "conn", "leaf"), -1)


def key(kind: NkeyKind, seed: str) -> KeyPair:
    return KeyPair(kind, seed.encode().ljust(32, b"."))


OPERATOR, SYSTEM = key(NkeyKind.OPERATOR, "o"), key(NkeyKind.ACCOUNT, "system")
SHOPS = key(NkeyKind.ACCOUNT, "shops")
USER, STRANGER = key(NkeyKind.USER, "user"), key(NkeyKind.USER, "stranger")
LOCAL = "accounts { A { users [ { user: a, password: x } ] } }\n"
AT_HUB = f"""
accounts {{
  A {{ users [ {{ user: a, password: x }} ] }}
  B {{ users [ {{ user: b, password: x }}, {{ nkey: {USER.public} }} ] }}
}}
"""


@pytest.fixture(params=parameters(WITH_OLD))
def kinds(request: pytest.FixtureRequest) -> tuple[str, str]:
    return request.param


@pytest.mark.parametrize("pair", parameters(PAIRS))
@pytest.mark.parametrize("users", ["of clients", "of leaf nodes"])
def test_an_nkey(pair: tuple[str, str], fleet: Fleet, users: str) -> None:
    hub, leaf = pair
    block = f"authorization {{ nkey: {USER.public}, account: B }}"
    with Star(
        fleet,
        hub,
        [leaf],
        block=block if users == "of leaf nodes" else "",
        remote=f"account: A, nkey: {USER.seed}",
        more={"hub": AT_HUB, "leaf0": LOCAL},
    ) as star:
        star.check("hub", "leaf0", to="a", by="b")
        star.check("leaf0", "hub", to="b", by="a")


def token(kind: str, of: KeyPair, signer: KeyPair, **nats: object) -> str:
    claims = {"sub": of.public, "name": kind, "nats": {**nats, "type": kind}}
    return build_token(claims, signer, issued_s=NOW_S)


def credentials(path: Path, user: KeyPair, signed_as: KeyPair) -> str:
    """Write a file as `nsc` does: a user's token, and a seed."""
    jwt = token("user", user, SHOPS, subs=-1, data=-1, payload=-1)
    parts = (("NATS USER JWT", jwt), ("USER NKEY SEED", signed_as.seed))
    path.write_text(
        "".join(f"-----BEGIN {name}-----\n{it}\n------END {name}------\n\n" for name, it in parts)
    )
    return str(path)


def operator_config() -> str:
    operator = token("operator", OPERATOR, OPERATOR, system_account=SYSTEM.public)
    limits = {**LIMITS, "wildcards": True}
    accounts = "\n".join(
        f"{it.public}: {token('account', it, OPERATOR, limits=limits)}" for it in (SYSTEM, SHOPS)
    )
    return f"operator: {operator}\nresolver: MEMORY\nresolver_preload: {{\n{accounts}\n}}\n"


def test_credentials(kinds: tuple[str, str], fleet: Fleet, tmp_path: Path) -> None:
    """Two leaf nodes of the operator's account hear each other by the hub."""
    hub, leaf = kinds
    path = credentials(tmp_path / "shop.creds", USER, USER)
    local = dict.fromkeys(("leaf0", "leaf1"), LOCAL)
    with Star(
        fleet,
        hub,
        [leaf, leaf],
        remote=f"account: A, credentials: '{path}'",
        more={"hub": operator_config(), **local},
    ) as star:
        star.check("leaf0", "leaf1", user="a")
        star.check("leaf1", "leaf0", user="a")
        assert [it["account"] for it in star.leafz("hub")["leafs"]] == [SHOPS.public] * 2


def test_credentials_signed_by_another(
    kinds: tuple[str, str], fleet: Fleet, tmp_path: Path
) -> None:
    hub, leaf = kinds
    path = credentials(tmp_path / "shop.creds", USER, STRANGER)
    with Star(
        fleet,
        hub,
        [leaf],
        remote=f"account: A, credentials: '{path}'",
        more={"hub": operator_config(), "leaf0": LOCAL},
    ) as star:
        star.servers["leaf0"].wait_log("Authorization Violation")

        assert not star.leafz("hub").get("leafs")
