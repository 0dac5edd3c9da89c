"""What a server that dials must prove."""

from __future__ import annotations

from framework.peering import Login, parse_peer_url
from framework.wire.certificates import CertificateFacts


def test_login_takes_only_the_whole_of_both():
    login = Login("route", "s3cret")

    assert login.admits("route", "s3cret")
    assert not login.admits("route", "")
    assert not login.admits("", "s3cret")
    assert not login.admits("route\0s3cret", "")
    assert not login.admits("routes", "3cret")
    assert Login().admits("anybody", "anything")


def test_nothing_secret_is_shown():
    assert "s3cret" not in repr(Login("route", "s3cret"))
    assert "s3cret" not in repr(parse_peer_url("nats://u:s3cret@h:1", ["nats"]))
    assert "s3cret" not in str(parse_peer_url("nats://u:s3cret@h:1", ["nats"]))


def test_a_certificate_proves_who_it_is():
    facts = CertificateFacts(
        subject="CN=other",
        spki_sha256="",
        cert_sha256="",
        not_after_s=0.0,
        names=frozenset({"b.test"}),
        alternatives=("route@b.test", "b.test"),
    )
    mapping = Login("route@b.test", maps_certificates=True)

    assert mapping.admits_certificate(facts)
    assert not Login("somebody", maps_certificates=True).admits_certificate(facts)
    assert Login("CN=other", maps_certificates=True).admits_certificate(facts)
    assert not mapping.admits_certificate(None)
    assert Login(known_hosts=("B.test",)).admits_certificate(facts)
    assert not Login(known_hosts=("c.test",)).admits_certificate(facts)
    assert not Login(known_hosts=()).admits_certificate(facts)


def test_a_certificate_without_a_name_is_not_the_user_without_a_name():
    facts = CertificateFacts(
        subject="",
        spki_sha256="",
        cert_sha256="",
        not_after_s=0.0,
        names=frozenset(),
        alternatives=("",),
    )

    assert not Login("", maps_certificates=True).admits_certificate(facts)
