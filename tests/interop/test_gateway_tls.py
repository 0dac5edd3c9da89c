"""TLS between clusters: the same to all, of one's own to some, certificates as logins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from framework.testing import OURS
from framework.testing.certificates import Authority
from tests.interop.gateways import Supercluster
from tests.interop.mixtures import parameters

if TYPE_CHECKING:
    from pathlib import Path

    from framework.testing import Fleet

REAL = "2.15.2"
PAIRS = [(OURS, OURS), (OURS, REAL), (REAL, OURS)]
TRIPLES = [(OURS, OURS, OURS), (OURS, REAL, OURS), (REAL, OURS, REAL), (REAL, REAL, REAL)]


def block(authority: Authority, name: str, *more: str) -> str:
    """Return a block `tls` with a certificate of an authority, which vouches for peers as well."""
    issued = authority.issue(name)
    lines = "\n".join(more)
    files = f'cert_file: "{issued.cert_file}", key_file: "{issued.key_file}"'
    return f'tls {{ {files}, ca_file: "{authority.ca_file}"\n{lines} }}'


@pytest.mark.parametrize("kinds", parameters(PAIRS))
def test_all_clusters_have_one_authority(
    fleet: Fleet, tmp_path: Path, kinds: tuple[str, ...]
) -> None:
    authority = Authority(tmp_path)
    own = {name: block(authority, name) for name in "AB"}
    with Supercluster(fleet, [[kind] for kind in kinds], own=own) as both:
        both.check_all()
        for name, other in (("A0", "B"), ("B0", "A")):
            document = both.gatewayz(name)["outbound_gateways"][other]["connection"]

            assert document["tls_version"] == "1.3"


@pytest.mark.parametrize("kinds", parameters(TRIPLES))
def test_a_cluster_may_have_an_authority_of_its_own(
    fleet: Fleet, tmp_path: Path, kinds: tuple[str, ...]
) -> None:
    one, two = Authority(tmp_path, "one"), Authority(tmp_path, "two")
    own = {"A": block(one, "A"), "B": block(one, "B"), "C": block(two, "C")}
    remote = {
        "AC": block(two, "A-to-C"),
        "BC": block(two, "B-to-C"),
        "CA": block(one, "C-to-A"),
        "CB": block(one, "C-to-B"),
    }
    with Supercluster(fleet, [[kind] for kind in kinds], own=own, remote=remote) as three:
        three.check_all()


@pytest.mark.parametrize("kinds", parameters(PAIRS))
def test_who_dials_may_be_known_by_its_certificate(
    fleet: Fleet, tmp_path: Path, kinds: tuple[str, ...]
) -> None:
    authority = Authority(tmp_path)
    checks = "verify_cert_and_check_known_urls: true"
    own = {name: block(authority, name, checks) for name in "AB"}
    with Supercluster(fleet, [[kind] for kind in kinds], own=own, host="localhost") as both:
        both.check_all()


def test_certificates_that_are_not_there_stop_the_start(fleet: Fleet, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    files = 'cert_file: "/nowhere.pem", key_file: "/nowhere.key"'
    cluster = Supercluster(
        fleet,
        [[OURS], [OURS]],
        own={"A": block(authority, "A")},
        remote={"AB": f"tls {{ {files} }}"},
        order=[],
    )
    with pytest.raises(AssertionError):
        cluster.start("A0")

    assert "gateway.gateways.tls" in fleet.servers[-1].log()
