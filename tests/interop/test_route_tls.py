"""Routes over TLS: among servers of ours, and with real ones, whoever dials."""

from __future__ import annotations

import signal
import socket

import pytest
from cryptography.x509.oid import ExtendedKeyUsageOID

from framework.testing import OURS, await_mesh, check_exchange
from framework.testing.certificates import Authority

REAL = ("2.9.10", "2.15.2")
PAIRS = [(OURS, OURS), *((OURS, real) for real in REAL), *((real, OURS) for real in REAL)]


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path)


def tls_of(issued, authority, more=""):
    return (
        f'tls {{ cert_file: "{issued.cert_file}", key_file: "{issued.key_file}",'
        f' ca_file: "{authority.ca_file}"\n {more} }}'
    )


@pytest.fixture
def join(start_server):
    """Start a server with TLS on its routes, that dials others by name or address."""

    def begin(tls, *seeds, kind=OURS, host="127.0.0.1"):
        urls = ", ".join(f'"nats-route://{host}:{seed.cluster_port}"' for seed in seeds)
        config = f'cluster {{ name: test, listen: "127.0.0.1:-1", routes: [{urls}]\n {tls} }}'
        return start_server("-D", kind=kind, config=config, clustered=True)

    return begin


@pytest.mark.peer(*REAL)
@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_messages_pass_over_tls(join, authority, kinds):
    here, there = (tls_of(authority.issue(name), authority) for name in ("here", "there"))
    first = join(here, kind=kinds[0])
    second = join(there, first, kind=kinds[1])
    await_mesh(first, second)

    check_exchange([first, second])


def test_three_servers_find_each_other_by_the_name_of_one(join, authority):
    """The certificates name no address: a server known by gossip is checked by the name."""
    tls = [
        tls_of(authority.issue(name, hosts=["localhost"]), authority) for name in ("a", "b", "c")
    ]
    a = join(tls[0])
    b = join(tls[1], a, host="localhost")
    c = join(tls[2], a, host="localhost")
    await_mesh(a, b, c)

    check_exchange([a, b, c])


@pytest.mark.peer("2.15.2")
@pytest.mark.parametrize("kinds", [(OURS, OURS), (OURS, "2.15.2"), ("2.15.2", OURS)], ids="-".join)
def test_the_wrong_authority_is_named_on_both_sides(join, authority, tmp_path, kinds):
    other = Authority(tmp_path, "other")
    first = join(tls_of(authority.issue("here"), authority), kind=kinds[0])
    second = join(tls_of(other.issue("there"), other), first, kind=kinds[1])

    first.wait_log("TLS route handshake error: ")
    second.wait_log("TLS route handshake error: .*certificate")


def test_a_certificate_that_is_for_servers_only_does_not_do(join, authority):
    first = join(tls_of(authority.issue("here"), authority))
    server_only = authority.issue("there", usages=[ExtendedKeyUsageOID.SERVER_AUTH])
    join(tls_of(server_only, authority), first)

    first.wait_log("TLS route handshake error: tls: failed to verify certificate")


def test_a_certificate_for_somebody_else_is_refused_unless_insecure(join, authority):
    elsewhere = authority.issue("here", hosts=["elsewhere.test"])
    first = join(tls_of(elsewhere, authority))
    there = authority.issue("there")
    strict = join(tls_of(there, authority), first)
    strict.wait_log("TLS route handshake error: tls: failed to verify certificate: .*not valid for")
    strict.stop()
    lax = join(tls_of(there, authority, "insecure: true"), first)
    await_mesh(first, lax)

    assert "DO NOT USE IN PRODUCTION" in lax.log()


@pytest.mark.peer("2.15.2")
@pytest.mark.parametrize("kind", [OURS, "2.15.2"])
def test_a_plain_server_gets_no_route(join, start_server, authority, kind):
    first = join(tls_of(authority.issue("here"), authority))
    url = f"nats-route://127.0.0.1:{first.cluster_port}"
    flags = ("-cluster", "nats://127.0.0.1:-1", "-cluster_name", "test", "-routes", url)
    start_server(*flags, kind=kind, clustered=True)

    first.wait_log(r"\[ERR\] .*TLS route handshake error: .*does not look like a TLS handshake")


def test_silence_on_the_port_for_routes_has_its_time(join, authority):
    first = join(tls_of(authority.issue("here"), authority, 'timeout: "100ms"'))
    with socket.create_connection(("127.0.0.1", first.cluster_port), 20) as silent:
        assert silent.recv(1) == b""
    first.wait_log(r"\[ERR\] .*TLS handshake timeout")


def test_routes_show_a_new_certificate_after_a_reload(join, authority):
    first = join(tls_of(authority.issue("here", hosts=["elsewhere.test"]), authority))
    authority.issue("here")
    first.signal(signal.SIGHUP)
    first.wait_log("Reloaded server configuration")
    second = join(tls_of(authority.issue("there"), authority), first)

    await_mesh(first, second)


def test_a_bad_certificate_of_routes_refuses_a_reload(join, authority):
    issued = authority.issue("here")
    first = join(tls_of(issued, authority))
    issued.cert_file.write_text("nonsense")
    first.signal(signal.SIGHUP)

    first.wait_log("Failed to reload server configuration: .*cluster")
