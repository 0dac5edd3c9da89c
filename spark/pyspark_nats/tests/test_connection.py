"""Connections to a real server: ways to log in, TLS, several servers; no Spark."""

from __future__ import annotations

import base64
import contextlib
import socket

import nkeys
import pytest
from pyspark_nats.connection import Address, Connection, Target, Tls, address_from_url
from pyspark_nats.credentials import Credentials, credentials_from_text
from pyspark_nats.errors import ApiError, ConnectError, LoginError, OptionError
from pyspark_nats.jetstream import JetStream

from framework.testing import free_port
from framework.testing.certificates import Authority

SEED = nkeys.encode_seed(b"\7" * 32, nkeys.PREFIX_BYTE_USER).decode()
PAIR = nkeys.from_seed(SEED.encode())
PUBLIC = PAIR.public_key.decode()


def names(server, credentials=None, *, scheme="nats", tls=None, host="127.0.0.1"):
    """Log in and ask for the names of streams."""
    address = Address(host, server.port, scheme == "tls")
    target = Target((address,), credentials or Credentials(), tls or Tls(), request_timeout_s=5)
    with contextlib.closing(Connection(target)) as connection:
        return JetStream(connection).stream_names()


LOGINS = {
    "user": ('user: ann, password: "s3cret"', Credentials("ann", "s3cret")),
    "token": ('token: "s3cret"', Credentials(token="s3cret")),
    "nkey": (f'users: [ {{ nkey: "{PUBLIC}" }} ]', Credentials(seed=SEED)),
}


@pytest.mark.parametrize("login", LOGINS)
def test_logins(own_store, login):
    rule, credentials = LOGINS[login]
    server = own_store(f"authorization {{ {rule} }}\n").server

    assert [] == names(server, credentials)
    for wrong in (Credentials(), Credentials("ann", "s3cretx"), Credentials(token="x")):
        with pytest.raises(LoginError, match="Authorization Violation") as raised:
            names(server, wrong)
        assert "s3cret" not in str(raised.value)


def test_a_creds_file_signs_what_the_server_asks():
    text = (
        "-----BEGIN NATS USER JWT-----\neyJ0.e30.sig-_\n------END NATS USER JWT------\n\n"
        "***** IMPORTANT *****\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{SEED}\n------END USER NKEY SEED------\n"
    )
    jwt, seed = credentials_from_text(text)
    fields = Credentials(jwt=jwt, seed=seed).connect_fields("a nonce")
    signature = base64.urlsafe_b64decode(fields["sig"] + "==")

    assert {"jwt": "eyJ0.e30.sig-_"} == {name: fields[name] for name in fields.keys() - {"sig"}}
    assert PAIR.verify(b"a nonce", signature)
    assert {} == Credentials(seed=SEED).connect_fields("")


@pytest.mark.parametrize("seed", ["SUA", SEED[:-1] + ("A" if SEED[-1] != "A" else "B"), "s3cret"])
def test_a_seed_that_is_none(seed):
    with pytest.raises(OptionError, match="begin with SU") as raised:
        Credentials(seed=seed).connect_fields("x")

    assert seed not in str(raised.value)


def test_tls(own_store, tmp_path):
    authority = Authority(tmp_path)
    own, other = authority.issue("server"), authority.issue("client")
    stranger = Authority(tmp_path, "stranger")
    files = f'cert_file: "{own.cert_file}", key_file: "{own.key_file}"'
    server = own_store(f'tls {{ {files}, ca_file: "{authority.ca_file}", verify: true }}\n').server
    client = {"cert": str(other.cert_file), "key": str(other.key_file)}
    trusted = str(authority.ca_file)

    assert [] == names(server, tls=Tls(trusted, **client), scheme="tls")
    assert [] == names(server, tls=Tls(trusted, **client))
    assert [] == names(server, tls=Tls(trusted, **client), host="localhost")
    for refused in (Tls(trusted), Tls(str(stranger.ca_file), **client), Tls(**client)):
        with pytest.raises(ConnectError, match="option 'servers'"):
            names(server, tls=refused)


def test_tls_before_anything_else(own_store, tmp_path):
    authority = Authority(tmp_path)
    own = authority.issue("server")
    files = f'cert_file: "{own.cert_file}", key_file: "{own.key_file}"'
    server = own_store(f"tls {{ {files}, handshake_first: true }}\n").server

    assert [] == names(server, tls=Tls(str(authority.ca_file), first=True))


def test_the_next_server_is_taken(store):
    dead = Address("127.0.0.1", free_port())
    target = Target((dead, Address("127.0.0.1", store.server.port)))

    with contextlib.closing(Connection(target)) as connection:
        assert connection.info["port"] == store.server.port
    assert [0, 1] == [target.rotated(at).addresses.index(dead) for at in (0, 1)]


def test_what_is_no_nats_server_is_named():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        target = Target((Address("127.0.0.1", port),), connect_timeout_s=0.2)

        with pytest.raises(ConnectError, match=f"{port}"):
            Connection(target)


def test_a_server_without_jetstream(kind, fleet):
    server = fleet.start(kind=kind)

    with pytest.raises(ApiError, match="JetStream"):
        names(server)


@pytest.mark.parametrize(
    ("url", "address", "login"),
    [
        ("a", Address("a", 4222), Credentials()),
        ("nats://a:1", Address("a", 1), Credentials()),
        ("tls://u:p%40@[::1]:1", Address("::1", 1, tls=True), Credentials("u", "p@")),
        ("nats://t0k@a", Address("a", 4222), Credentials(token="t0k")),
    ],
)
def test_urls(url, address, login):
    assert (address, login) == address_from_url(url)
