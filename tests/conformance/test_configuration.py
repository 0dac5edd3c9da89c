"""What `-t` says of a configuration: the verdict of the real server, or of its start.

The rows are run by both, so that the real one proves them.
"""

from __future__ import annotations

import gc
import subprocess

import pytest

from framework.cli.main import nats_server_main
from framework.testing import OURS
from framework.testing.certificates import Authority

TLS = "cert_file: server.pem, key_file: server.key"
OLD_CIPHERS = (
    "allow_insecure_cipher_suites: true,"
    " cipher_suites: [TLS_RSA_WITH_RC4_128_SHA, TLS_RSA_WITH_AES_128_CBC_SHA]"
)

OFF = [
    "jetstream: false",
    "jetstream: off",
    "jetstream: disabled",
    "jetstream: DISABLE",
    "jetstream { enabled: false, store_dir: x }",
    "jetstream { enable: no }",
    "store_dir: x",
    "storedir: x, jetstream: disabled",
    "default_js_domain {}",
    "leafnodes {}",
    "leaf { port: 0, no_advertise: true }",
    'leafnodes { listen: "127.0.0.1:0" }',
    "leafnodes { remotes: [] }",
    "websocket {}",
    "websocket { port: 0 }",
    "websocket { port: 0, jwt_cookie: j, no_auth_user: me }",
    "ws { no_tls: true }",
    "mqtt {}",
    "mqtt { host: localhost, port: 0 }",
    "gateway {}",
    'gateway { name: "" }',
    "gateway { port: 0, gateways: [] }",
    "ocsp: false",
    "ocsp { mode: never }",
    "ocsp_cache: false",
    "ocsp_cache { type: none }",
    f"tls {{ {TLS}, ocsp_peer {{ verify: false }} }}",
    "proxies {}",
    "proxies { trusted: [] }",
    "proxy_protocol: false",
    "syslog: false",
    'remote_syslog: ""',
    "prof_port: 0",
]
"""Nothing of a feature that ours has not."""

USERS = "authorization { users: [{ user: a, password: b }] }"
ACCEPTED = [
    "prof_port: 6060, prof_block_rate: 1",
    "feature_flags { js_ack_fc_v2: true }",
    "ocsp_cache: true",
    "max_payload: -1",
    "ping_max: 0",
    "max_pending: 0, max_control_line: 0, max_closed_clients: 0",
    "max_subs: -1",
    "connect_error_reports: 0, reconnect_error_reports: 0",
    "write_timeout: retry",
    "ws { net: 127.0.0.1, port: -1, no_tls: true, compress: true, origin: 'https://a.com' }",
    f"websocket {{ port: -1, no_tls: true, tls {{ {TLS} }} }}",
    "websocket { port: -1, no_tls: true, authorization { token: x, timeout: 2 } }",
    "websocket { port: -1, no_tls: true, authentication { username: x, pass: y } }",
    "websocket { port: -1, no_tls: true, ping_interval: '20s', handshake_timeout: 3 }",
    "websocket { port: -1, no_tls: true, headers { X-A: b } }",
    f"{USERS}, websocket {{ port: -1, no_tls: true, no_auth_user: a }}",
    "authorization { PASS: x, users: [{ user: a, password: $PASS }] }",
    "authorization { BODY: { publish: x }, users: [{ user: a, password: b, permissions: $BODY }] }",
    f"tls {{ {TLS} }}",
    f"tls {{ {TLS}, ca_file: ca.pem, verify: true }}",
    f"cluster {{ port: -1, name: c, tls {{ {TLS}, ca_file: ca.pem }} }}",
    f"tls {{ {TLS}, {OLD_CIPHERS} }}",
    "tls { certs: [{ cert_file: server.pem, key_file: server.key }] }",
    'pid_file: "server.pid", log_file: "server.log", ports_file_dir: "."',
]

REFUSED = [
    "jetstream: perhaps",
    "jetstream: 5",
    "leafnodes: false",
    "gateway { port: -1 }",
    "websocket { port: -1 }",
    "websocket { port: -1, no_tls: true, nonsense: 1 }",
    "websocket { port: -1, no_tls: true, no_auth_user: a }",
    "websocket { port: -1, no_tls: true, jwt_cookie: j }",
    "websocket { port: -1, no_tls: true, authorization { users: [] } }",
    "websocket { port: -1, no_tls: true, allowed_origins: ['a.com'] }",
    "websocket { port: -1, no_tls: true, headers { Upgrade: x } }",
    f"{USERS}, websocket {{ port: -1, no_tls: true, no_auth_user: c }}",
    f"{USERS}, websocket {{ port: -1, no_tls: true, authorization {{ token: x }} }}",
    "mqtt { port: -1 }",
    "ocsp: 5",
    "authorization { user: a, password: b, users: [{ user: c, password: d }] }",
    "authorization { token: t, password: b }",
    "write_timeout: never",
    "tls { cert_file: nowhere.pem, key_file: server.key }",
    "tls { cert_file: server.pem, key_file: nowhere.key }",
    "tls { cert_file: server.pem, key_file: other.key }",
    "tls { cert_file: other.key, key_file: server.key }",
    f"tls {{ {TLS}, ca_file: nowhere.pem }}",
    f"tls {{ {TLS}, ca_file: server.key }}",
    f"tls {{ {TLS}, cipher_suites: [] }}",
    f"tls {{ {TLS}, curve_preferences: [] }}",
    f"tls {{ {TLS}, cipher_suites: [TLS_RSA_WITH_RC4_128_SHA] }}",
    f"tls {{ {TLS}, cipher_suites: [TLS_RSA] }}",
    "tls { certs: [{ cert_file: server.pem, key_file: nowhere.key }] }",
    "cluster { port: -1, name: c, tls { cert_file: nowhere.pem, key_file: server.key } }",
    "operator: nowhere.jwt, resolver: MEMORY",
    "operator: server.pem, resolver: MEMORY",
    "include nowhere.conf",
    'pid_file: "nowhere/server.pid"',
    'pid_file: "."',
    'log_file: "nowhere/server.log"',
    'log_file: "."',
]
"""By `-t` of ours, and by `-t` or the start of the real one."""

REFUSED_BY_OURS = [
    'ports_file_dir: "nowhere"',
    'ports_file_dir: "server.pem"',
    "ping_max: -1",
    "max_closed_clients: -1",
]
"""The real one would run without the file, close every client, or panic."""

BROKEN = [
    "a = [1, 2",
    "port = 42 43",
    "x {\n  y: 5\n",
    "x: 'y\n",
    'x: "\\q"\n',
    "x = ]\n[",
    "include [a]",
    "a: -",
]
"""Texts that are none of the language."""


@pytest.fixture
def folder(tmp_path):
    """Return a folder with certificates."""
    authority = Authority(tmp_path)
    authority.issue("server")
    authority.issue("other")
    return tmp_path


@pytest.fixture
def check(fleet, kind, folder, monkeypatch, capsys):
    """Return a function that runs `-t`, and gives its exit status and its words."""
    monkeypatch.chdir(folder)

    def run_check(text):
        (folder / "t.conf").write_text(text)
        words = ["-t", "-c", "t.conf"]
        if kind == OURS:  # in this process: there are many, and a start takes its time
            try:
                return nats_server_main(words), capsys.readouterr().err
            finally:
                gc.enable()
        done = subprocess.run(
            [*fleet.program(kind), *words], capture_output=True, check=False, text=True
        )
        return done.returncode, done.stderr

    return run_check


@pytest.mark.parametrize("text", OFF)
def test_off_is_accepted_of_what_is_not_there(check, text):
    assert check(text)[0] == 0


@pytest.mark.parametrize("text", ACCEPTED)
def test_accepted(check, text):
    status, words = check(text)

    assert status == 0, words


@pytest.mark.parametrize("text", REFUSED)
def test_refused(check, start_refused, kind, text):
    status, words = check(text)

    if kind == OURS or status:
        assert status == 1
        assert "t.conf" in words or kind != OURS, words
    else:
        assert start_refused(text)


@pytest.mark.parametrize("text", REFUSED_BY_OURS)
@pytest.mark.parametrize("kind", [OURS])
def test_what_a_start_could_not_follow_is_refused(check, text):
    status, words = check(text)

    assert status == 1
    assert words.startswith("nats-server: t.conf:1:")


@pytest.fixture
def start_refused(fleet, kind, folder):
    """Return a function that starts a server, and tells whether it ended by itself."""

    def refuses(text):
        (folder / "t.conf").write_text(f"{text}\nlisten: 127.0.0.1:-1\n")
        command = [*fleet.program(kind), "-c", "t.conf"]
        started = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
        with started:
            for line in started.stderr:
                if "Server is ready" in line:
                    started.terminate()
                    return False
            return started.wait() != 0

    return refuses


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_text_is_a_parse_error_with_its_line(check, text):
    status, words = check(text)

    assert status == 1
    assert "Parse error on line " in words
