"""Two servers of ours and a real one in a cluster, whichever starts first."""

from __future__ import annotations

import pytest

from framework.testing import OURS, await_mesh, check_exchange

REAL = ("2.9.10", "2.15.2")


def orders(real):
    return [(real, OURS, OURS), (OURS, real, OURS), (OURS, OURS, real)]


@pytest.mark.peer(*REAL)
@pytest.mark.parametrize("kinds", [kinds for real in REAL for kinds in orders(real)], ids="-".join)
def test_all_messages_arrive_once(fleet, kinds):
    check_exchange(fleet.start_cluster(*kinds))


@pytest.mark.peer(*REAL)
def test_ours_beside_an_old_and_a_new_one(fleet):
    check_exchange(fleet.start_cluster("2.9.10", OURS, "2.15.2"))


@pytest.mark.peer(*REAL)
@pytest.mark.parametrize("real", REAL)
def test_a_real_server_that_dies_comes_back(fleet, real):
    a, b, c = fleet.start_cluster(OURS, real, OURS)
    b.kill()
    await_mesh(a, c)
    again = fleet.restart(b)
    await_mesh(a, again, c)

    check_exchange([a, again, c])


@pytest.mark.peer(*REAL)
@pytest.mark.parametrize("real", REAL)
def test_ours_that_dies_comes_back_to_a_real_one(fleet, real):
    a, b, c = fleet.start_cluster(real, OURS, real)
    b.kill()
    await_mesh(a, c)
    again = fleet.restart(b)
    await_mesh(a, again, c)

    check_exchange([a, again, c])


@pytest.mark.peer(*REAL)
@pytest.mark.parametrize(
    "kinds", [(OURS, "2.9.10"), ("2.9.10", OURS), (OURS, "2.15.2"), ("2.15.2", OURS)], ids="-".join
)
def test_large_messages_and_many(fleet, kinds):
    here, there = fleet.start_cluster(*kinds)
    payload = bytes(range(256)) * 4096
    with here.client() as publisher, there.client() as subscriber:
        subscriber.log_in()
        subscriber.send(b"SUB big 1\r\nSUB many.* 2\r\n")
        subscriber.flush()
        publisher.log_in()
        publisher.await_interest(b"many.x")
        publisher.send(b"PUB big %d\r\n%b\r\n" % (len(payload), payload))
        publisher.send(b"".join(b"PUB many.%d 4\r\n%04d\r\n" % (n % 9, n) for n in range(5_000)))
        big = subscriber.read_until(b"MSG big")[-1]
        many = [subscriber.expect(b"MSG many").body for _ in range(5_000)]

        assert payload == big.body
        assert [b"%04d" % n for n in range(5_000)] == many


@pytest.mark.peer(*REAL)
@pytest.mark.parametrize("real", REAL)
def test_cluster_names_must_agree(fleet, real):
    ours = fleet.join()
    other = fleet.start(
        "-cluster",
        "nats://127.0.0.1:-1",
        "-cluster_name",
        "elsewhere",
        "-routes",
        f"nats://127.0.0.1:{ours.cluster_port}",
        kind=real,
        clustered=True,
    )
    text = 'Rejecting connection, cluster name "elsewhere" does not match "test"'

    ours.wait_log(text)
    other.wait_log("Cluster Name Conflict")


@pytest.mark.peer("2.15.2")
def test_ours_has_nothing_to_complain_of(fleet):
    """The real one asks for a route for its system account alone, and gets it."""
    ours, _ = fleet.start_cluster(OURS, "2.15.2", flags=("-D",))
    ours.wait_log(r'for account "\$SYS"')

    assert "[ERR]" not in ours.log()
