"""TLS for clients: ours beside the real server, with raw sockets, nats-py and the nats tool."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import ssl
import urllib.request

import nats
import psutil
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID

from framework.testing import OURS, RawClient, free_port
from framework.testing.certificates import Authority
from framework.testing.errors import ConnectionEndedError

PLAIN_PROBE = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path)


@pytest.fixture
def issued(authority):
    return authority.issue("server")


@pytest.fixture
def start(start_server, authority, issued, kind):
    """Start a server of the kind with a tls block; `{ca}` and others are filled in."""

    def begin(inside="", *, top="", flags=()):
        block = f'cert_file: "{issued.cert_file}", key_file: "{issued.key_file}"'
        config = f"tls {{ {block}\n {inside} }}\n{top}\n".replace('"CA"', f'"{authority.ca_file}"')
        return start_server("-D", *flags, kind=kind, config=config)

    return begin


@pytest.fixture
def connect(authority):
    """Connect with TLS behind INFO, or before it."""

    def begin(server, *, shows=None, first=False, context=None):
        client = RawClient(server.port)
        context = context or authority.client_context(shows)
        if not first:
            client.expect(b"INFO")
        client.start_tls(context)
        return client

    return begin


def log_in(client, *, informed=True):
    """Say CONNECT behind an INFO that was read already, and hear the PONG."""
    if not informed:
        client.expect(b"INFO")
    client.send(b'CONNECT {"verbose":false,"protocol":1,"headers":true,"no_responders":true}\r\n')
    return client.flush()


def connection(server, *, auth=False, state="open"):
    """Return the only connection of a server, as monitoring shows it."""
    url = f"http://127.0.0.1:{server.monitor_port}/connz?state={state}&auth={int(auth)}"
    with urllib.request.urlopen(url) as answer:
        (found,) = json.load(answer)["connections"]
    return found


def test_tls_follows_info(start, connect):
    server = start()
    with connect(server) as client:
        log_in(client)
        client.send(b"SUB a 1\r\nPUB a 5\r\nhello\r\n")

        assert [b"hello"] == [message.body for message in client.messages()]
        assert client.info["tls_required"] is True
        assert not client.info.keys() & {"tls_available", "tls_verify"}
    assert "TLS required for client connections" in server.log()


def test_large_messages_come_through_whole(start, connect):
    server = start()
    payload = bytes(range(256)) * 4096
    with connect(server) as publisher, connect(server) as subscriber:
        log_in(subscriber)
        subscriber.send(b"SUB big 1\r\n")
        subscriber.flush()
        log_in(publisher)
        for _ in range(16):
            publisher.send(b"PUB big %d\r\n%b\r\n" % (len(payload), payload))
        for _ in range(16):
            assert payload == subscriber.expect(b"MSG big").body


def test_tls_may_come_first(start, connect):
    server = start("handshake_first: true")
    with connect(server, first=True) as client:
        log_in(client, informed=False)

        assert client.info["tls_required"] is True
    warning = 'Clients that are not using "TLS Handshake First" option will fail to connect'

    assert warning in server.log()


def test_who_says_nothing_gets_info_first_with_auto(start, connect):
    server = start("handshake_first: auto")
    with connect(server) as client:
        log_in(client)
    with connect(server, first=True) as client:
        log_in(client, informed=False)


def test_tls_may_be_optional(start, connect):
    server = start(top="allow_non_tls: true")
    with connect(server) as client:
        log_in(client)

        assert client.info["tls_available"] is True
        assert "tls_required" not in client.info
    with server.client() as client:
        client.log_in()
    assert "TLS available for client connections" in server.log()


def test_a_client_may_have_to_show_a_certificate(start, connect, authority):
    server = start('verify: true, ca_file: "CA"')
    client_only = authority.issue("client", usages=[ExtendedKeyUsageOID.CLIENT_AUTH])
    with connect(server, shows=client_only) as client:
        log_in(client)

        assert client.info["tls_verify"] is True
    with pytest.raises((OSError, ConnectionEndedError)), connect(server) as client:
        log_in(client)
    server.wait_log("TLS handshake error: tls: client didn't provide a certificate")


def test_a_certificate_must_be_of_the_right_authority(start, connect, tmp_path):
    server = start('verify: true, ca_file: "CA"')
    other = Authority(tmp_path, "other")
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    stranger = other.issue("stranger")
    context.load_cert_chain(stranger.cert_file, stranger.key_file)
    with (
        pytest.raises((OSError, ConnectionEndedError)),
        connect(server, context=context) as client,
    ):
        log_in(client)
    server.wait_log("TLS handshake error: tls: failed to verify certificate")


def fingerprint(issued):
    certificate = x509.load_pem_x509_certificate(issued.cert_file.read_bytes())
    key = certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    digest = hashes.Hash(hashes.SHA256())
    digest.update(key)
    return digest.finalize().hex()


def test_only_pinned_certificates_get_in(start, connect, authority):
    good, bad = authority.issue("good"), authority.issue("bad")
    server = start(f'verify: true, ca_file: "CA", pinned_certs: ["{fingerprint(good).upper()}"]')
    with connect(server, shows=good) as client:
        log_in(client)
    with (
        pytest.raises((OSError, ConnectionEndedError)),
        connect(server, shows=bad) as client,
    ):
        log_in(client)
    server.wait_log("TLS handshake error: ")


def test_versions_and_ciphers_can_be_chosen(start, connect, authority):
    suite = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"
    server = start(f'cipher_suites: ["{suite}"]', flags=("-m", str(free_port())))
    old = authority.client_context()
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    with connect(server, context=old) as client:
        log_in(client)
        shown = connection(server)

        assert ("1.2", suite) == (shown["tls_version"], shown["tls_cipher_suite"])
    server.stop()
    server = start('min_version: "1.3"')
    with pytest.raises((OSError, ConnectionEndedError)):
        connect(server, context=old)
    server.wait_log("TLS handshake error: ")


def test_monitoring_shows_what_was_agreed_on(start, connect):
    server = start("handshake_first: true", flags=("-m", str(free_port())))
    with connect(server, first=True) as client:
        log_in(client, informed=False)
        shown = connection(server)

        assert shown["tls_version"] == "1.3"
        assert shown["tls_cipher_suite"].startswith("TLS_")
        assert shown["tls_first"] is True


def test_monitoring_shows_certificates_to_who_asks(start, connect, authority):
    client_only = authority.issue("client", usages=[ExtendedKeyUsageOID.CLIENT_AUTH])
    server = start('verify: true, ca_file: "CA"', flags=("-m", str(free_port())))
    with connect(server, shows=client_only) as client:
        log_in(client)
        shown, *_ = connection(server, auth=True)["tls_peer_certs"]

        assert shown.keys() == {"subject", "spki_sha256", "cert_sha256"}
        assert shown["subject"] == "CN=client,O=framework"
        assert shown["spki_sha256"] == fingerprint(client_only)
        assert "tls_peer_certs" not in connection(server)


def test_varz_shows_tls(start):
    server = start("timeout: 3", flags=("-m", str(free_port())))
    with urllib.request.urlopen(f"http://127.0.0.1:{server.monitor_port}/varz") as answer:
        shown = json.load(answer)

    assert shown["tls_required"] is True
    assert shown["tls_timeout"] == 3
    assert shown["tls_cert_not_after"].endswith("Z")
    assert "tls_verify" not in shown


def test_who_speaks_no_tls_is_let_go_quietly(start):
    server = start()
    with RawClient(server.port) as client:
        client.expect(b"INFO")
        client.send(PLAIN_PROBE)
        client.read_to_end()
    server.wait_log(r"\[DBG\] .*TLS handshake error: .*does not look like a TLS handshake")

    assert "[ERR]" not in server.log()


def test_half_a_handshake_has_its_time(start):
    server = start('timeout: "100ms"')
    with RawClient(server.port) as client:
        client.expect(b"INFO")
        client.send(b"\x16\x03\x01\x02\x00\x01")
        client.read_to_end()
    server.wait_log("TLS handshake (timeout|error: .*i/o timeout)")
    server.wait_log("Client connection closed: TLS Handshake Failure")


def test_a_client_may_vanish_in_the_middle_of_its_handshake(start, connect):
    server = start()
    with RawClient(server.port) as client:
        client.expect(b"INFO")
        client.send(b"\x16\x03\x01\x02\x00\x01")
    server.wait_log("Client connection closed")
    with connect(server) as client:
        log_in(client)


def test_too_many_handshakes_are_throttled(start, connect):
    server = start("connection_rate_limit: 2")
    words = []
    for _ in range(5):
        with RawClient(server.port) as client:
            client.expect(b"INFO")
            client.send(PLAIN_PROBE)
            words += [it.line for it in client.read_to_end() if it.verb == b"-ERR"]
    assert words.count(b"-ERR 'Connection throttling is active. Please try again later.'") >= 2
    server.wait_log("due to TLS rate limiting")


def test_the_end_of_a_client_is_seen(start, connect):
    server = start()
    with connect(server) as client:
        log_in(client)
    server.wait_log("Client connection closed: Client Closed")


def test_last_words_reach_the_client(start, connect):
    server = start()
    with connect(server) as client:
        log_in(client)
        client.send(b"NONSENSE\r\n")

        assert b"-ERR 'Unknown Protocol Operation'" == client.read_to_end()[-1].line


def test_certificates_are_chosen_by_name(start_server, authority, kind):
    here, there = authority.issue("here", hosts=["here.test"]), authority.issue("there")
    certs = ", ".join(
        f'{{ cert_file: "{it.cert_file}", key_file: "{it.key_file}" }}' for it in (here, there)
    )
    server = start_server(kind=kind, config=f"tls {{ certs: [{certs}] }}")
    for host in ("localhost", "here.test"):
        with RawClient(server.port) as client:
            client.expect(b"INFO")
            client.start_tls(authority.client_context(), host)
            log_in(client)


def test_flags_do_as_well_as_a_file(start_server, authority, issued, connect, kind):
    server = start_server(
        *("-tls", "--tlscert", str(issued.cert_file), "-tlskey", str(issued.key_file)),
        *("--tlsverify", "-tlscacert", str(authority.ca_file)),
        kind=kind,
    )
    with connect(server, shows=authority.issue("client")) as client:
        log_in(client)

        assert client.info["tls_verify"] is True


@pytest.mark.peer("nats")
@pytest.mark.parametrize("first", [False, True], ids=["after INFO", "first"])
def test_the_nats_tool_connects(start, authority, nats_cli, first):
    server = start("handshake_first: auto", flags=("-m", str(free_port())))
    words = ["--tlsca", str(authority.ca_file), *(["--tlsfirst"] if first else [])]
    printed = nats_cli.run(f"tls://localhost:{server.port}", *words, "pub", "a", "hello")

    assert "Published 5 bytes" in printed
    shown = connection(server, state="closed")

    assert bool(shown.get("tls_first")) is first


@pytest.mark.parametrize("first", [False, True], ids=["after INFO", "first"])
def test_nats_py_connects(start, authority, first):
    server = start("handshake_first: true" if first else "")

    async def exchange():
        client = await nats.connect(
            f"tls://localhost:{server.port}",
            tls=authority.client_context(),
            tls_handshake_first=first,
        )
        subscription = await client.subscribe("a")
        await client.publish("a", b"hello")
        message = await subscription.next_msg(timeout=10)
        await client.close()
        return message.data

    assert asyncio.run(exchange()) == b"hello"


def test_monitoring_may_speak_tls(start_server, authority, issued, kind):
    port = free_port()
    config = (
        f'https: "127.0.0.1:{port}"\n'
        f'tls {{ cert_file: "{issued.cert_file}", key_file: "{issued.key_file}" }}'
    )
    start_server(kind=kind, config=config)
    context = authority.client_context()
    with urllib.request.urlopen(f"https://localhost:{port}/varz", context=context) as answer:
        shown = json.load(answer)

    assert shown["tls_required"] is True
    assert shown["https_port"] == port


def test_a_new_certificate_is_shown_after_a_reload(start, connect, authority, issued):
    server = start()
    with connect(server) as old:
        log_in(old)
        authority.issue("server", hosts=["renewed.test"])
        server.signal(signal.SIGHUP)
        server.wait_log("Reloaded server configuration")
        with RawClient(server.port) as client:
            client.expect(b"INFO")
            client.start_tls(authority.client_context(), "renewed.test")
            log_in(client)

        old.flush()


def test_a_bad_certificate_refuses_a_reload(start, connect, issued):
    server = start()
    issued.key_file.write_text("nonsense")
    server.signal(signal.SIGHUP)
    server.wait_log("Failed to reload server configuration")
    with connect(server) as client:
        log_in(client)


@pytest.mark.parametrize("kind", [OURS])
def test_a_client_that_reads_nothing_is_cut_off(start, connect):
    server = start(top='write_deadline: "100ms"\nmax_pending: 1GB')
    payload = bytes(1 << 20)
    with connect(server) as publisher, connect(server) as stuck:
        log_in(stuck)
        stuck.send(b"SUB big 1\r\n")
        stuck.flush()
        log_in(publisher)
        for _ in range(64):
            publisher.send(b"PUB big %d\r\n%b\r\n" % (len(payload), payload))
        publisher.flush()
        server.wait_log("Slow Consumer Detected: WriteDeadline exceeded")
        with pytest.raises((ConnectionEndedError, OSError)):
            stuck.read_until(b"never")


@pytest.mark.parametrize("kind", [OURS])
def test_connections_hold_little_memory(start, connect, authority):
    server = start()
    context = authority.client_context()
    with contextlib.ExitStack() as stack:

        def more(count):
            for _ in range(count):
                log_in(stack.enter_context(connect(server, context=context)))
            return psutil.Process(server.pid).memory_info().rss

        before_bytes = more(20)

        assert more(200) - before_bytes < 200 * 64 * 1024


@pytest.mark.parametrize("kind", [OURS])
def test_no_secret_is_in_the_log(start, connect, issued):
    server = start(flags=("-DV",))
    with connect(server) as client:
        log_in(client)
    key = issued.key_file.read_text().splitlines()[1]

    assert key not in server.log()
    assert str(issued.key_file) not in server.log()


@pytest.mark.parametrize("kind", [OURS])
def test_the_ports_file_has_the_scheme(start, tmp_path):
    start(top=f'ports_file_dir: "{tmp_path}"')
    (found,) = tmp_path.glob("*.ports")

    assert json.loads(found.read_text())["nats"][0].startswith("tls://")
