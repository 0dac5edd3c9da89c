"""TLS between hubs and leaf nodes: behind INFO or before it, with certificates of both or one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from framework.testing import OURS
from framework.testing.certificates import Authority
from tests.interop.leafnodes import Star
from tests.interop.mixtures import parameters

if TYPE_CHECKING:
    from pathlib import Path

    from framework.testing import Fleet

REAL = "2.15.2"
PAIRS = [(OURS, OURS), (OURS, REAL), (REAL, OURS), (REAL, REAL)]


@pytest.fixture(params=parameters(PAIRS))
def kinds(request: pytest.FixtureRequest) -> tuple[str, str]:
    return request.param


def shown(authority: Authority, name: str, *more: str) -> str:
    """Return a block `tls` with a certificate."""
    issued = authority.issue(name)
    files = f'cert_file: "{issued.cert_file}", key_file: "{issued.key_file}"'
    lines = "\n".join(more)
    return f'tls {{ {files}, ca_file: "{authority.ca_file}"\n{lines} }}'


def trusting(authority: Authority, *more: str) -> str:
    """Return a block `tls` that only says who is trusted."""
    lines = "\n".join(more)
    return f'tls {{ ca_file: "{authority.ca_file}"\n{lines} }}'


@pytest.mark.parametrize("compression", ["off", "s2_fast"])
@pytest.mark.parametrize("is_first", [False, True], ids=["after", "first"])
def test_a_leaf_node_trusts_an_authority(
    kinds: tuple[str, str], fleet: Fleet, tmp_path: Path, *, is_first: bool, compression: str
) -> None:
    hub, leaf = kinds
    authority = Authority(tmp_path)
    first = ["handshake_first: true"] if is_first else []
    said = f"compression: {compression}\n"
    block = said + shown(authority, "hub", *first)
    with Star(fleet, hub, [leaf], block=block, remote=said + trusting(authority, *first)) as star:
        star.check_all()

        assert star.leafz("hub")["leafs"][0]["compression"] == compression


def test_both_show_certificates(kinds: tuple[str, str], fleet: Fleet, tmp_path: Path) -> None:
    hub, leaf = kinds
    authority = Authority(tmp_path)
    block = shown(authority, "hub", "verify: true")
    with Star(fleet, hub, [leaf], block=block, remote=shown(authority, "leaf")) as star:
        star.check_all()


def test_a_hub_that_is_not_trusted_is_not_joined(
    kinds: tuple[str, str], fleet: Fleet, tmp_path: Path
) -> None:
    hub, leaf = kinds
    one, other = Authority(tmp_path, "one"), Authority(tmp_path, "other")
    with Star(fleet, hub, [leaf], block=shown(one, "hub"), remote=trusting(other)) as star:
        star.servers["leaf0"].wait_log("TLS leafnode handshake error")

        assert star.leafz("hub")["leafs"] == []


def test_a_hub_that_requires_it_of_a_leaf_node_that_trusts_the_system(
    kinds: tuple[str, str], fleet: Fleet, tmp_path: Path
) -> None:
    hub, leaf = kinds
    authority = Authority(tmp_path)
    with Star(fleet, hub, [leaf], block=shown(authority, "hub")) as star:
        star.servers["leaf0"].wait_log("TLS leafnode handshake error")

        assert star.leafz("hub")["leafs"] == []


def test_who_is_not_shown_a_certificate_lets_nobody_in(
    kinds: tuple[str, str], fleet: Fleet, tmp_path: Path
) -> None:
    hub, leaf = kinds
    authority = Authority(tmp_path)
    block = shown(authority, "hub", "verify: true")
    with Star(fleet, hub, [leaf], block=block, remote=trusting(authority)) as star:
        star.servers["hub"].wait_log("TLS leafnode handshake error")

        assert star.leafz("hub")["leafs"] == []


def test_certificates_that_are_not_there_stop_the_start(fleet: Fleet, tmp_path: Path) -> None:
    star = Star(fleet, OURS, [OURS], remote='tls { ca_file: "/nowhere.pem" }', order=["hub"])
    with star, pytest.raises(AssertionError):
        star.start("leaf0")

    assert "leafnodes.remotes.tls" in fleet.servers[-1].log()
