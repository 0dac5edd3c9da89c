"""Whom a certificate stands for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from framework_auth.certificates import CertificateUsers
from framework_auth.config import AUTHORIZATION_SECTION
from framework_auth.directory import Directory, Way
from framework_auth.login import Login
from framework_auth.users import User, Users

from framework.spec import LinkKind, LoginRequest, Refused, TlsPeer
from framework.topology import Schema, TopologyErrors, read_server_conf
from framework.wire.info import ClientConnect

KEY = generate_private_key(SECP256R1())
NOW = datetime(2026, 1, 1, tzinfo=UTC)
SUBJECT = x509.Name([
    x509.NameAttribute(NameOID.COUNTRY_NAME, "NZ"),
    x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, "clients"),
    x509.NameAttribute(NameOID.COMMON_NAME, "ann"),
])


def certificate(*alternatives, subject=SUBJECT):
    builder = (
        x509
        .CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(KEY.public_key())
        .serial_number(1)
        .not_valid_before(NOW)
        .not_valid_after(NOW + timedelta(days=1))
    )
    if alternatives:
        builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
    return builder.sign(KEY, SHA256()).public_bytes(Encoding.DER)


MAIL = x509.RFC822Name("ann@acme.com")
HOST = x509.DNSName("ann.acme.com")
URI = x509.UniformResourceIdentifier("spiffe://acme.com/ann")
USERS = {
    name: User(name, account=account)
    for name, account in {
        "ann@acme.com": "MAIL",
        "ann.acme.com": "HOST",
        "spiffe://acme.com/ann": "URI",
    }.items()
}


def find(users, der, connection_type="STANDARD"):
    return CertificateUsers(users, connection_type).find(der)


def users(*names):
    return {name: User(name) for name in names}


@pytest.mark.parametrize(
    ("alternatives", "name"),
    [
        ((HOST, URI, MAIL), "ann@acme.com"),
        ((URI, HOST), "ann.acme.com"),
        ((URI,), "spiffe://acme.com/ann"),
        ((x509.DNSName("bob.acme.com"), URI), "spiffe://acme.com/ann"),
        ((x509.DNSName("bob.acme.com"),), None),
        ((), None),
    ],
)
def test_alternative_names_come_first(alternatives, name):
    assert find(USERS, certificate(*alternatives)) == name


@pytest.mark.parametrize(
    "name",
    [
        "CN=ann,OU=clients,C=NZ",
        "C=NZ,OU=clients,CN=ann",
        "ou=clients, cn=ann, c=NZ",
    ],
)
def test_the_subject_counts_in_any_order(name):
    assert find(users(name), certificate()) == name


@pytest.mark.parametrize(
    "name", ["ann", "CN=ann", "CN=ann,OU=clients,C=AU", "CN=Ann,OU=clients,C=NZ"]
)
def test_no_part_of_a_subject_will_do(name):
    assert find(users(name), certificate()) is None


def test_the_exact_order_goes_before_another():
    both = users("C=NZ,OU=clients,CN=ann", "CN=ann,OU=clients,C=NZ")

    assert find(both, certificate()) == "CN=ann,OU=clients,C=NZ"


def test_who_may_not_connect_this_way_is_passed_over():
    limited = {
        "ann.acme.com": User("ann.acme.com", connection_types=frozenset({"MQTT"})),
        "CN=ann,OU=clients,C=NZ": User("CN=ann,OU=clients,C=NZ"),
    }

    assert find(limited, certificate(HOST)) == "CN=ann,OU=clients,C=NZ"
    assert find(limited, certificate(HOST), "MQTT") == "ann.acme.com"


@pytest.mark.parametrize(
    "der",
    [b"", b"x", certificate()[:-20], certificate(HOST)[:40]],
    ids=["nothing", "a letter", "without its end", "its first bytes"],
)
def test_what_is_no_certificate_is_of_nobody(der):
    assert find(USERS, der) is None


def ask(by_name, tls, **connect):
    directory = Directory(Users(by_name=by_name, by_nkey={}, maps_certificates=True), key=b"k" * 32)
    login = Login(directory, check_secret=None)
    request = LoginRequest(
        link=None,
        kind=LinkKind.CLIENT,
        cid=1,
        host="127.0.0.1",
        port=1,
        connect=ClientConnect(**connect),
        tls=tls,
    )
    return login.authenticate(request).get(timeout=0)


def test_a_login_by_certificate_needs_nothing_else():
    peer = TlsPeer(version="1.3", cipher="x", certificates=(certificate(HOST),))
    answer = ask(USERS, peer)

    assert (answer.user, answer.account) == ("ann.acme.com", "HOST")
    assert answer.proof.way is Way.CERTIFICATE


@pytest.mark.parametrize(
    "tls",
    [
        None,
        TlsPeer(version="1.3", cipher="x"),
        TlsPeer(version="1.3", cipher="x", certificates=(certificate(),)),
    ],
    ids=["plain", "shows none", "of nobody"],
)
def test_without_a_certificate_of_a_user_nobody_gets_in(tls):
    assert isinstance(ask(USERS, tls, user="ann.acme.com"), Refused)


def test_users_without_password_need_certificates(tmp_path):
    path = tmp_path / "server.conf"
    path.write_text('accounts { A { users: [{user: "CN=ann"}] } }')

    with pytest.raises(TopologyErrors, match="user entry requires a password"):
        read_server_conf(path, Schema([AUTHORIZATION_SECTION]))
