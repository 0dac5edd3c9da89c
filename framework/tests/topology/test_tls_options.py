from __future__ import annotations

import pytest

from framework.spec import tls_settings
from framework.topology import Schema, TopologyErrors, parse_flags, read_server_conf

PAIR = "cert_file: c.pem, key_file: k.pem"


@pytest.fixture
def read(write):
    return lambda text: read_server_conf(write("server.conf", text))


@pytest.fixture
def block(read):
    """Read what stands in a `tls` block beside a certificate."""
    return lambda inside: read(f"tls {{ {PAIR}\n {inside} }}").section("tls")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", (False, 0.0)),
        ("handshake_first: true", (True, 0.0)),
        ("first: on", (True, 0.0)),
        ('immediate: "false"', (False, 0.0)),
        ("handshake_first: auto", (True, 0.05)),
        ("handshake_first: auto_fallback", (True, 0.05)),
        ('handshake_first: "300ms"', (True, 0.3)),
    ],
)
def test_when_tls_comes(block, text, expected):
    settings = tls_settings(block(text))

    assert (settings.handshake_first, settings.fallback_s) == expected


def test_all_that_is_asked_for(block):
    settings = tls_settings(
        block(
            'ca_file: a.pem, verify: true, insecure: true, min_version: "1.3", timeout: 3\n'
            f'connection_rate_limit: 7, pinned_certs: ["{"AB" * 32}"]\n'
            "cipher_suites: [TLS_AES_128_GCM_SHA256], curve_preferences: [X25519, CurveP256]"
        ),
        allows_plain=True,
    )

    assert settings.certificates == (("c.pem", "k.pem"),)
    assert (settings.ca_file, settings.verify, settings.insecure) == ("a.pem", True, True)
    assert (settings.min_version, settings.timeout_s, settings.rate_limit) == ("1.3", 3.0, 7)
    assert settings.pinned == {"ab" * 32}
    assert settings.cipher_suites == ("TLS_AES_128_GCM_SHA256",)
    assert settings.curves == ("X25519", "CurveP256")
    assert settings.is_optional


def test_tls_that_comes_first_and_waits_for_nobody_is_not_optional(block):
    settings = tls_settings(block("handshake_first: true"), allows_plain=True)

    assert not settings.is_optional


def test_certificates_may_be_mapped_to_users(block):
    assert tls_settings(block("verify_and_map: true")).verify


def test_verification_may_be_overruled(block):
    assert tls_settings(block(""), verify=True).verify


def test_several_certificates(read):
    text = "tls { certs: [{cert_file: a, key_file: b}, {cert_file: c, key_file: d}] }"

    assert tls_settings(read(text).section("tls")).certificates == (("a", "b"), ("c", "d"))


def test_tls_may_be_off(block):
    assert tls_settings(None) is None
    assert tls_settings(block("enabled: false")) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("tls { key_file: k }", "`tls.key_file`: needs a cert_file"),
        ("tls { cert_file: c }", "`tls.cert_file`: needs a key_file"),
        ("tls { verify: true }", "TLS Server certificate must be present and valid"),
        (f"tls {{ {PAIR}, certs: [{{{PAIR}}}] }}", "cannot be combined with cert_file"),
        ("tls { certs: [{cert_file: c}] }", "each needs both a cert_file and a key_file"),
        (f"tls {{ {PAIR}, cipher_suites: [X] }}", "unrecognized cipher X"),
        (
            f"tls {{ {PAIR}, cipher_suites: [TLS_RSA_WITH_AES_128_CBC_SHA] }}",
            "TLS_RSA_WITH_AES_128_CBC_SHA is insecure: set allow_insecure_cipher_suites",
        ),
        (f"tls {{ {PAIR}, curve_preferences: [X] }}", "unrecognized curve preference X"),
        (f"tls {{ {PAIR}, pinned_certs: [abc] }}", "abc is not the hex SHA-256"),
        (f'tls {{ {PAIR}, min_version: "1.1" }}', "expected 1.2 or 1.3"),
        (f"tls {{ {PAIR}, handshake_first: soon }}", "expected true, false, auto or a duration"),
        (f"tls {{ {PAIR}, timeout: -1 }}", "expected at least 1ms"),
        ("tls { cert_store: windows }", "`cert_store` is not available: certificates come from"),
        ("tls { ocsp_peer: true }", "`ocsp_peer` is not available: OCSP is not there yet"),
        (f"tls {{ {PAIR}, cipher_suites: [] }}", "`tls.cipher_suites`: cannot be empty"),
        (f"tls {{ {PAIR}, curve_preferences: [] }}", "`tls.curve_preferences`: cannot be empty"),
        ("ocsp: true", "`ocsp` is not available: OCSP stapling is not there yet"),
        ("https: 1", "TLS cert and key required for HTTPS"),
        (f"https: 1, http: 2, tls {{ {PAIR} }}", "can't specify both HTTP and HTTPS ports"),
    ],
)
def test_one_mistake(read, text, problem):
    with pytest.raises(TopologyErrors) as raised:
        read(text)

    assert problem in str(raised.value)


def test_insecure_ciphers_are_allowed_to_who_insists(block):
    name = "TLS_RSA_WITH_AES_128_CBC_SHA"

    assert block(f"allow_insecure_cipher_suites: true, cipher_suites: [{name}]")


def test_flags_stand_for_the_block():
    words = ["-tls", "--tlscert", "c", "-tlskey=k", "-tlsverify", "-tlscacert", "a", "-ms", "8443"]
    line = parse_flags(words, Schema())

    assert line.settings.plain() == {
        "tls": {
            "enabled": True,
            "cert_file": "c",
            "key_file": "k",
            "verify": True,
            "ca_file": "a",
        },
        "https_port": "8443",
    }


def test_a_flag_turns_tls_off():
    assert parse_flags(["-tls=false"], Schema()).settings.plain() == {"tls": {"enabled": False}}
