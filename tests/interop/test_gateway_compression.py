"""Compression between clusters: of ours, if both want it; never with nats-server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from framework.testing import OURS
from framework.testing.certificates import Authority
from tests.interop.gateways import Supercluster
from tests.interop.mixtures import parameters
from tests.interop.test_gateway_tls import block

if TYPE_CHECKING:
    from pathlib import Path

    from framework.testing import Fleet

LARGE = b"a message that may be compressed " * 30_000
PAIRS = {
    ("s2_fast", "s2_fast"): "s2_fast",
    ("s2_best", "accept"): "s2_best",
    ("zstd", "zstd"): "zstd",
    ("zstd", "s2_better"): "zstd",
    ("s2_auto", "off"): "",
    ("accept", "accept"): "",
}


def check_large(both: Supercluster, here: str, there: str) -> None:
    subject = f"large.{here}".encode()
    with both.client(there, subject + b" 1") as receiver, both.client(here) as sender:
        sender.await_interest(subject)
        receiver.read_until(b"MSG " + subject)
        for payload in (b"small", LARGE[: 1 << 20], b"last"):
            sender.send(b"PUB %b %d\r\n%b\r\n" % (subject, len(payload), payload))

            assert receiver.read_until(b"MSG " + subject)[-1].body == payload


@pytest.mark.parametrize(("modes", "mode"), PAIRS.items(), ids=map("-".join, PAIRS))
@pytest.mark.parametrize("is_encrypted", [False, True], ids=["plain", "TLS"])
def test_both_have_to_want_it(
    fleet: Fleet, tmp_path: Path, modes: tuple[str, str], mode: str, *, is_encrypted: bool
) -> None:
    authority = Authority(tmp_path)
    own = {
        name: f"compression: {said}\n{block(authority, name) if is_encrypted else ''}"
        for name, said in zip("AB", modes, strict=True)
    }
    with Supercluster(fleet, [[OURS], [OURS]], own=own) as both:
        both.check_all()
        check_large(both, "A0", "B0")
        check_large(both, "B0", "A0")
        for server in both.servers.values():
            if mode:
                server.wait_log("Gateway compression: ")
            else:
                assert "Gateway compression" not in server.log()


@pytest.mark.parametrize("kinds", parameters([(OURS, "2.15.2"), ("2.15.2", OURS)]))
def test_nats_server_is_not_asked(fleet: Fleet, kinds: tuple[str, ...]) -> None:
    (ours,) = (name for name, kind in zip("AB", kinds, strict=True) if kind == OURS)
    own = {ours: "compression: s2_fast"}
    with Supercluster(fleet, [[kind] for kind in kinds], own=own) as both:
        both.check_all()
        check_large(both, "A0", "B0")
        check_large(both, "B0", "A0")
