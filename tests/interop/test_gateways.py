"""Two and three clusters joined by gateways: ours and real ones, beside real ones alone."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

import pytest

from framework.testing import OURS
from tests.interop.gateways import Supercluster
from tests.interop.mixtures import parameters

if TYPE_CHECKING:
    from collections.abc import Iterator

    from framework.testing import Fleet

REAL, OLD = "2.15.2", "2.9.10"
PAIRS = [(OURS, OURS), (OURS, REAL), (REAL, OURS), (OURS, OLD), (OLD, OURS), (REAL, REAL)]
TRIPLES = [(OURS, OURS, OURS), (OURS, REAL, OURS), (REAL, OURS, OLD), (REAL, REAL, REAL)]
TIMES = 20


@pytest.fixture(params=parameters(PAIRS))
def pair(request: pytest.FixtureRequest, fleet: Fleet) -> Iterator[Supercluster]:
    """Two clusters of one server each."""
    with Supercluster(fleet, [[kind] for kind in request.param]) as both:
        both.check_all()
        yield both


def test_headers_queue_groups_and_the_end_of_interest(pair: Supercluster) -> None:
    with (
        pair.client("B0", b"a 1", b"b g 2", b"b h 3") as there,
        pair.client("A0", b"b g 4") as here,
    ):
        here.await_interest(b"a")
        here.send(b"HPUB a 12 14\r\nNATS/1.0\r\n\r\nhi\r\n" + b"PUB b 1\r\n1\r\n" * TIMES)

        assert here.flush()[-1].verb == b"MSG"
        assert there.read_until(b"HMSG a")[-1].body == b"NATS/1.0\r\n\r\nhi"
        # The own cluster first: the group that is here as well is served here.
        got = [there.read() for _ in range(TIMES)]
        assert {it.line.split()[2] for it in got} == {b"3"}
        there.send(b"UNSUB 1\r\nUNSUB 2\r\nUNSUB 3\r\n")
        there.flush()


def test_an_answer_finds_who_has_just_begun_to_wait_for_it(pair: Supercluster) -> None:
    with pair.client("B0", b"serve 1") as service:
        with pair.client("A0") as first:
            first.await_interest(b"serve")
        service.read_until(b"MSG serve")
        for number in range(TIMES):
            with pair.client("A0") as client:
                inbox = f"_INBOX.{number}".encode()
                client.send(b"SUB %b 1\r\nPUB serve %b 1\r\nq\r\n" % (inbox, inbox))
                asked = service.read_until(b"MSG serve")[-1]
                assert asked.line.split()[3] == inbox
                service.send(b"PUB %b 1\r\na\r\n" % inbox)

                assert client.read_until(b"MSG " + inbox)[-1].body == b"a"


def test_nobody_hears_where_nobody_listens(pair: Supercluster) -> None:
    with pair.client("A0", b"_INBOX.x 1") as client:
        client.send(b"PUB nobody _INBOX.x 1\r\n1\r\n")

        assert client.read_until(b"HMSG _INBOX.x")[-1].body.startswith(b"NATS/1.0 503")


def test_either_may_be_started_again(pair: Supercluster) -> None:
    for name in ("A0", "B0"):
        pair.servers[name].stop()
        pair.start(name)
        pair.check_all()


@pytest.mark.parametrize("kinds", parameters(TRIPLES))
def test_three_clusters_find_each_other_by_gossip(fleet: Fleet, kinds: tuple[str, ...]) -> None:
    known = {"A": ("B",), "B": ("C",), "C": ()}
    for order in list(permutations(("A0", "B0", "C0")))[::2]:
        with Supercluster(fleet, [[kind] for kind in kinds], known=known, order=order) as three:
            three.check_all()


CLUSTERS = {
    "ours-ours": ((OURS, OURS), (OURS, OURS)),
    "ours-real": ((OURS, OURS), (REAL, REAL)),
    "mixed-mixed": ((OURS, REAL), (OLD, OURS)),
    "real-real": ((REAL, REAL), (REAL, REAL)),
}


@pytest.mark.parametrize(
    "kinds",
    [
        pytest.param(it, id=name, marks=[pytest.mark.peer(*real)] if real else [])
        for name, it in CLUSTERS.items()
        for real in [sorted({kind for kinds in it for kind in kinds} - {OURS})]
    ],
)
class TestClusters:
    def test_messages_and_answers_go_from_every_server_to_every_other_once(
        self, fleet: Fleet, kinds: tuple[tuple[str, str], ...]
    ) -> None:
        with Supercluster(fleet, kinds) as both:
            both.check_all()
            for asking in both.servers:
                for serving in both.servers:
                    if asking[0] != serving[0]:
                        ask(both, asking, serving)
            with (
                both.client("A1", b"once.> 1") as first,
                both.client("B1", b"once.> 1") as second,
                both.client("A0") as here,
                both.client("B0") as there,
            ):
                for publisher in (here, there):
                    publisher.await_interest(b"once.try")
                    publisher.send(b"".join(b"PUB once.%d 1\r\n1\r\n" % it for it in range(100)))
                    publisher.send(b"PUB once.end 1\r\n1\r\n")
                    publisher.flush()
                for subscriber in (first, second):
                    got = subscriber.read_until(b"MSG once.end")
                    got += subscriber.read_until(b"MSG once.end")
                    subjects = [it.subject for it in got if it.subject != b"once.try"]
                    assert len(subjects) == 202

    def test_all_servers_learn_of_a_cluster_that_has_connected_to_one(
        self, fleet: Fleet, kinds: tuple[tuple[str, str], ...]
    ) -> None:
        with Supercluster(fleet, kinds, known={"A": (), "B": ("A",)}) as both:
            both.check_all()

    def test_a_server_that_is_gone_is_replaced_by_another_of_its_cluster(
        self, fleet: Fleet, kinds: tuple[tuple[str, str], ...]
    ) -> None:
        with Supercluster(fleet, kinds) as both:
            both.check_all()
            both.servers["B0"].kill()
            both.check_all()
            both.start("B0")
            both.check_all()


def ask(both: Supercluster, asking: str, serving: str) -> None:
    """Ask a service at another server, from a client that has just begun to wait for the answer."""
    subject = f"ask.{asking}.{serving}".encode()
    with both.client(serving, subject + b" 1") as service:
        with both.client(asking) as first:
            first.await_interest(subject)
        with both.client(asking) as client:
            client.send(b"SUB _INBOX.q 1\r\nPUB %b _INBOX.q 2\r\nq1\r\n" % subject)
            while service.read_until(b"MSG " + subject)[-1].body != b"q1":
                pass
            service.send(b"PUB _INBOX.q 1\r\na\r\n")

            assert client.read_until(b"MSG _INBOX.q")[-1].body == b"a"
