"""Who may become a route: users and passwords, certificates mapped to users, times to say so."""

from __future__ import annotations

import re

import bcrypt
import pytest

from framework.testing import (
    OURS,
    Fleet,
    RoutePeer,
    await_pools,
    await_routes,
    check_exchange,
    member_config,
    route_rows,
)
from framework.testing.certificates import Authority
from framework.testing.errors import ServerFailedError
from tests.interop.mixtures import parameters

REAL = "2.15.2"
PAIRS = [(OURS, OURS), (OURS, REAL), (REAL, OURS), (REAL, REAL)]
mixtures = pytest.mark.parametrize("mixture", parameters(PAIRS))
LOGIN = "authorization { user: r, password: secret }"


@pytest.fixture
def start(fleet: Fleet):
    def start(name, kind, *seeds, cluster="", login="", host="127.0.0.1"):
        urls = ", ".join(f'"nats-route://{login}{host}:{seed.cluster_port}"' for seed in seeds)
        config = member_config(name, cluster=cluster).replace("routes: []", f"routes: [{urls}]")
        return fleet.start("-D", kind=kind, config=config, clustered=True, port=None)

    return start


@mixtures
def test_the_url_of_a_route_says_who_dials_and_discovered_ones_use_the_own_login(start, mixture):
    seed = start("A", mixture[0], cluster=LOGIN)
    second = start("B", mixture[1], seed, cluster=LOGIN, login="r:secret@")
    third = start("C", mixture[0], seed, cluster=LOGIN, login="r:secret@")
    await_pools(seed, second, third)

    check_exchange([seed, second, third])


@mixtures
def test_a_wrong_login_is_refused_and_the_port_stays_open_for_others(start, mixture):
    seed = start("A", mixture[0], cluster=LOGIN)
    for number, login in enumerate(("", "r:wrong@", "other:secret@")):
        wrong = start(f"B{number}", mixture[1], seed, cluster=LOGIN, login=login)
        wrong.wait_log("Authorization Violation")
        seed.wait_log("Authentication Failure|authentication error", count=number + 1)
        wrong.stop()
    right = start("C", mixture[1], seed, cluster=LOGIN, login="r:secret@")
    await_routes(right, lambda rows: len(rows) == 4)

    assert seed.document("/varz")["routes"] == 4
    assert "secret" not in seed.log()


def test_a_dialer_says_each_time_why_it_was_refused(start, kind):
    seed = start("A", kind, cluster=LOGIN)
    wrong = start("B", OURS, seed, login="r:wrong@")
    closed = "rid:[0-9]+ - Router connection closed"
    wrong.wait_log(closed, count=4)
    lines = [line for line in wrong.log().splitlines() if re.search(f"Route Error|{closed}", line)]

    said = ["Route Error 'Authorization Violation'" in line for line in lines[:8]]
    assert said == [True, False] * 4


def test_a_password_may_be_a_hash(start, kind):
    """A server that is known by gossip is told the password in the route to the seed."""
    hashed = bcrypt.hashpw(b"secret", bcrypt.gensalt(4)).decode()
    login = f'authorization {{ user: r, password: "{hashed}" }}'
    seed = start("A", kind, cluster=login)
    second, third = (start(name, OURS, seed, cluster=login, login="r:secret@") for name in "BC")
    await_pools(seed, second, third)
    check_exchange([seed, second, third])

    for password in ("wrong", hashed.replace("$", "%24").replace("/", "%2F")):
        wrong = start("D", OURS, seed, cluster=login, login=f"r:{password}@")
        wrong.wait_log("Route Error 'Authorization Violation'")
        wrong.stop()


def test_who_says_nothing_has_its_time(start, kind):
    server = start("A", kind, cluster='authorization { user: r, password: x, timeout: "150ms" }')
    with RoutePeer(server) as peer:
        said = [operation.line for operation in peer.read_to_end()]

    assert b"-ERR 'Authentication Timeout'" in said
    assert server.document("/varz")["cluster"]["auth_timeout"] == pytest.approx(0.15)


@pytest.mark.parametrize(
    ("inner", "text"),
    [
        (
            "users: [ { user: a, password: b } ]",
            "does not allow multiple users",
        ),
        ("token: x", "does not support tokens"),
    ],
)
def test_several_users_and_tokens_stop_the_start(start, kind, inner, text):
    with pytest.raises(ServerFailedError, match=f"Cluster authorization {text}"):
        start("A", kind, cluster=f"authorization {{ {inner} }}")


def test_permissions_of_a_login_are_taken_with_a_warning(start, kind):
    """Ours ignores them, as is documented; the real server has them for those of the routes."""
    login = """authorization { user: r, password: x
      permissions { publish: { deny: "private.>" }, subscribe: { deny: "hidden.>" } } }"""
    seed = start("A", kind, cluster=login)
    second = start("B", kind, seed, cluster=login, login="r:x@")
    await_pools(seed, second)
    check_exchange([seed, second])
    shown = (None, None) if kind == OURS else ({"deny": ["private.>"]}, {"deny": ["hidden.>"]})

    for server in (seed, second):
        assert "permissions" in server.log()
        assert [shown] * 4 == [(row.get("import"), row.get("export")) for row in route_rows(server)]


def tls_of(issued, authority):
    return (
        f'tls {{ cert_file: "{issued.cert_file}", key_file: "{issued.key_file}",'
        f' ca_file: "{authority.ca_file}"\n verify_and_map: true }}'
    )


@mixtures
def test_a_certificate_is_mapped_to_the_user_without_a_password(start, mixture, tmp_path):
    authority = Authority(tmp_path)
    tls = [
        tls_of(authority.issue(name, emails=["r@cluster.test"]), authority) for name in ("a", "b")
    ]
    login = 'authorization { user: "r@cluster.test" }'
    seed = start("A", mixture[0], cluster=f"{login}\n{tls[0]}")
    second = start("B", mixture[1], seed, cluster=f"{login}\n{tls[1]}")
    await_pools(seed, second)

    check_exchange([seed, second])


@mixtures
def test_a_certificate_of_somebody_else_is_refused(start, mixture, tmp_path):
    authority = Authority(tmp_path)
    right = authority.issue("right", emails=["r@cluster.test"])
    wrong = authority.issue("wrong", emails=["other@cluster.test"])
    login = 'authorization { user: "r@cluster.test" }'
    seed = start("A", mixture[0], cluster=f"{login}\n{tls_of(right, authority)}")
    second = start("B", mixture[1], seed, cluster=f"{login}\n{tls_of(wrong, authority)}")
    second.wait_log("Authorization Violation")

    await_pools(seed)
