"""Gateways that ask who dials, and tell where they are: ours and real ones in both roles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from framework.testing import OURS
from tests.interop.gateways import Supercluster
from tests.interop.mixtures import parameters

if TYPE_CHECKING:
    from framework.testing import Fleet

REAL, OLD = "2.15.2", "2.9.10"
PAIRS = [(OURS, OURS), (OURS, REAL), (REAL, OURS), (OURS, OLD), (OLD, OURS)]
LOGIN = "authorization { user: gate, password: keeper }"
WRONG = "authorization { user: gate, password: wrong }"
SERVICES = """
accounts {
  $SYS { users: [ { user: sys, password: pass } ] }
  A { users: [ { user: a, password: x } ], exports: [ { service: serve } ] }
  B { users: [ { user: b, password: x } ], imports: [
    { service: { account: A, subject: serve } }
  ] }
}
"""


@pytest.fixture(params=parameters(PAIRS))
def kinds(request: pytest.FixtureRequest) -> tuple[str, str]:
    return request.param


def test_clusters_with_one_password_are_joined(kinds: tuple[str, str], fleet: Fleet) -> None:
    with Supercluster(fleet, [[kind] for kind in kinds], gateway=LOGIN) as both:
        both.check_all()


def test_a_cluster_with_another_password_stays_out(kinds: tuple[str, str], fleet: Fleet) -> None:
    with Supercluster(
        fleet, [[kind] for kind in kinds], own={"A": LOGIN, "B": WRONG}, known={"A": ()}
    ) as both:
        both.servers["B0"].wait_log("Authorization Violation")

        assert both.gatewayz("A0")["inbound_gateways"] == {}
        assert both.gatewayz("A0")["outbound_gateways"] == {}


def test_a_service_of_another_account_answers_from_another_cluster(
    kinds: tuple[str, str], fleet: Fleet
) -> None:
    with (
        Supercluster(fleet, [[kind] for kind in kinds], more=SERVICES) as both,
        both.client("B0", b"serve 1", user="a", **{"pass": "x"}) as service,
        both.client("A0", user="b", **{"pass": "x"}) as first,
    ):
        both.check("A0", "B0", user="a")
        both.check("B0", "A0", user="a")
        first.await_interest(b"serve")
        for number in range(10):
            with both.client("A0", b"_INBOX.> 1", user="b", **{"pass": "x"}) as client:
                client.send(b"PUB serve _INBOX.%d 2\r\nq%d\r\n" % (number, number))
                # The header says who asks.
                while not (asked := service.read_until(b"HMSG serve")[-1]).body.endswith(
                    b"q%d" % number
                ):
                    pass
                # The account of who serves is not told the inbox of another one.
                assert b"_INBOX" not in asked.line
                service.send(b"PUB %b 1\r\na\r\n" % asked.line.split()[3])

                got = client.read_until(b"MSG _INBOX")[-1]
                assert (got.subject, got.body) == (b"_INBOX.%d" % number, b"a")
