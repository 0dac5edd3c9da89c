"""Options of the block `tls`.

Source: nats-server 2.15.2 `opts.go`, `parseTLS` and `GenTLSConfig`; `const.go`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import cast

from msgspec.structs import replace

from framework.topology.node import Node
from framework.topology.option import Kind, Option, Reload
from framework.topology.units import seconds_from_text
from framework.wire.cipher_suites import (
    CURVE_NAMES,
    INSECURE_NAMES,
    OBSOLETE_NAMES,
    OPENSSL_NAMES,
    TLS13_NAMES,
)

__all__ = [
    "TLS_TIMEOUT_S",
    "handshake_first_from",
    "is_tls_on",
    "login_timeout_s",
    "tls_option",
]

TLS_TIMEOUT_S = 2.0
"""nats-server's `TLS_TIMEOUT`."""

_LOGIN_TIMEOUT_S = 2.0
"""nats-server's `AUTH_TIMEOUT`."""

_FALLBACK_S = 0.05
"""nats-server's `DEFAULT_TLS_HANDSHAKE_FIRST_FALLBACK_DELAY`."""

_FINGERPRINT = r"[0-9A-Fa-f]{64}"
_NO_STORE = "certificates come from files: use `cert_file` and `key_file`"
_NO_OCSP = "OCSP is not there yet"
_FIRST_WORDS = {"true": True, "on": True, "false": False, "off": False}


def handshake_first_from(value: object) -> tuple[bool, float]:
    """Read `handshake_first`.

    Returns:
        Whether TLS comes before INFO; seconds after which INFO comes all the same, 0 for never.

    Raises:
        ValueError: It is none of what nats-server takes.
    """
    plain = value.plain() if isinstance(value, Node) else value
    if plain is None or isinstance(plain, bool):
        return bool(plain), 0.0
    text = str(plain).lower()
    if text in _FIRST_WORDS:
        return _FIRST_WORDS[text], 0.0
    if text in {"auto", "auto_fallback"}:
        return True, _FALLBACK_S
    try:
        return True, seconds_from_text(text)
    except ValueError:
        expected = f"expected true, false, auto or a duration such as 300ms, found {text}"
        raise ValueError(expected) from None


def is_tls_on(block: object) -> bool:
    """Tell whether a `tls` block is there and in force; None: there is none."""
    return isinstance(block, dict) and bool(block["enabled"])


def login_timeout_s(block: object) -> float:
    """Return how long a peer may take to log in where no `timeout` says it, in seconds.

    Args:
        block: The `tls` block of its listener; None: there is none.

    Source: nats-server `opts.go`, `getDefaultAuthTimeout`.
    """
    if not is_tls_on(block):
        return _LOGIN_TIMEOUT_S
    return cast("dict[str, float]", block)["timeout"] + 1.0


def _check_ciphers(names: object) -> str | None:
    if not names:
        return "cannot be empty; name a cipher suite, or leave it out"
    for name in cast("tuple[str, ...]", names):
        if not any(
            name in known for known in (OPENSSL_NAMES, INSECURE_NAMES, TLS13_NAMES, OBSOLETE_NAMES)
        ):
            return f"unrecognized cipher {name}"
    return None


def _check_curves(names: object) -> str | None:
    if not names:
        return "cannot be empty; name a curve, or leave it out"
    for name in cast("tuple[str, ...]", names):
        if name not in CURVE_NAMES:
            return f"unrecognized curve preference {name}"
    return None


def _check_pins(pins: object) -> str | None:
    for pin in cast("tuple[str, ...]", pins):
        if not re.fullmatch(_FINGERPRINT, pin):
            return f"{pin} is not the hex SHA-256 of a DER encoded SubjectPublicKeyInfo"
    return None


def _is_ocsp_peer_off(node: Node) -> bool:
    plain = node.plain()
    return isinstance(plain, dict) and plain.get("verify", False) is False


def _settle(values: dict[str, object]) -> Iterator[tuple[str, str]]:
    yield from _settle_dialed(values)
    if values["enabled"] and not (values["cert_file"] or values["certs"]):
        yield "enabled cert_file", "TLS Server certificate must be present and valid"


def _settle_dialed(values: dict[str, object]) -> Iterator[tuple[str, str]]:
    """Check what is said of who dials, and need not show a certificate."""
    try:
        handshake_first_from(values["handshake_first"])
    except ValueError as error:
        yield "handshake_first", str(error)
    if values["verify_and_map"] or values["verify_cert_and_check_known_urls"]:
        values["verify"] = True
    if values["certs"] and values["cert_file"]:
        yield "certs", "cannot be combined with cert_file"
    if values["cert_file"] and not values["key_file"]:
        yield "cert_file", "needs a key_file"
    if values["key_file"] and not values["cert_file"]:
        yield "key_file", "needs a cert_file"
    for pair in cast("tuple[dict[str, object], ...]", values["certs"]):
        if not (pair["cert_file"] and pair["key_file"]):
            yield "certs", "each needs both a cert_file and a key_file"
    ciphers = cast("tuple[str, ...]", values["cipher_suites"])
    insecure = [name for name in ciphers if name in INSECURE_NAMES or name in OBSOLETE_NAMES]
    if insecure and not values["allow_insecure_cipher_suites"]:
        problem = "is insecure: set allow_insecure_cipher_suites to use it all the same"
        yield "cipher_suites", f"{insecure[0]} {problem}"


_PAIR = (
    Option(name="cert_file", kind=Kind.STRING, default="", help="Certificate, in PEM"),
    Option(name="key_file", kind=Kind.STRING, default="", help="Its private key, in PEM"),
)


def tls_option(
    help_text: str,
    *,
    has_flags: bool = False,
    checks_known_urls: bool = False,
    is_of_dials: bool = False,
) -> Option:
    """Return the block for one kind of connection.

    Args:
        help_text: What is encrypted.
        has_flags: It is the clients' block, which flags can set.
        checks_known_urls: Those who connect may be known by the URLs that this server dials.
        is_of_dials: Only of connections that this server makes: it need not have a certificate.
    """

    def flag(name: str) -> tuple[str, ...]:
        return (name,) if has_flags else ()

    options = (
        Option(name="enabled", kind=Kind.BOOL, default=True, flags=flag("tls"),
               help="Whether TLS is spoken at all; not in nats-server's files"),
        Option(name="cert_file", kind=Kind.STRING, default="", flags=flag("tlscert"),
               help="Certificate of this server and what vouches for it, in PEM"),
        Option(name="key_file", kind=Kind.STRING, default="", flags=flag("tlskey"),
               help="Its private key, in PEM, without a passphrase"),
        Option(name="certs", kind=Kind.BLOCKS, default=(), aliases=("certificates",),
               options=_PAIR, help="Several certificates; the name that is asked for chooses"),
        Option(name="ca_file", kind=Kind.STRING, default="", flags=flag("tlscacert"),
               help="Certificates that vouch for peers, in PEM; the system's if not set"),
        Option(name="verify", kind=Kind.BOOL, default=False, flags=flag("tlsverify"),
               help="Peers must show a certificate; other servers always must"),
        Option(name="verify_and_map", kind=Kind.BOOL, default=False,
               help="As verify, and the certificate says which user the peer is"),
        Option(name="verify_cert_and_check_known_urls", kind=Kind.BOOL, default=False,
               help="As verify, and the certificate must name a server that is dialed",
               refusal="" if checks_known_urls else "only routes and gateways use it"),
        Option(name="pinned_certs", kind=Kind.STRINGS, default=(), check=_check_pins,
               help="Hex SHA-256 of the public keys (SubjectPublicKeyInfo) that peers may have"),
        Option(name="insecure", kind=Kind.BOOL, default=False,
               help="Trust whoever this server dials; for tests"),
        Option(name="cipher_suites", kind=Kind.STRINGS, default=(), check=_check_ciphers,
               help="Cipher suites of TLS 1.2, by Go's names; TLS 1.3 has its own"),
        Option(name="allow_insecure_cipher_suites", kind=Kind.BOOL, default=False,
               help="Allow cipher suites that are known as weak"),
        Option(name="curve_preferences", kind=Kind.STRINGS, default=(), check=_check_curves,
               help="Key exchanges, by Go's names"),
        Option(name="min_version", kind=Kind.STRING, default="1.2", choices=("1.2", "1.3"),
               help="Oldest version of TLS that is spoken"),
        Option(name="timeout", kind=Kind.DURATION, default=TLS_TIMEOUT_S, minimum=0.001,
               zero_is_default=True, help="Time in which a handshake must be done"),
        Option(name="connection_rate_limit", kind=Kind.INT, default=0, minimum=0,
               unit="connections a second", help="Handshakes begun at most; 0: any number"),
        Option(name="handshake_first", kind=Kind.FREE, aliases=("first", "immediate"),
               help="TLS before INFO: true, false, auto, or how long to wait for it"),
        Option(name="cert_store", kind=Kind.STRING, help="Store of the system", refusal=_NO_STORE),
        Option(name="cert_match_by", kind=Kind.STRING, help="Store of the system",
               refusal=_NO_STORE),
        Option(name="cert_match", kind=Kind.STRING, help="Store of the system", refusal=_NO_STORE),
        Option(name="ca_certs_match", kind=Kind.STRINGS, help="Store of the system",
               refusal=_NO_STORE),
        Option(name="cert_match_skip_invalid", kind=Kind.BOOL, help="Store of the system",
               refusal=_NO_STORE),
        Option(name="ocsp_peer", kind=Kind.FREE, help="Ask whether a certificate was revoked",
               refusal=_NO_OCSP, is_off=_is_ocsp_peer_off),
    )  # fmt: skip
    return Option(
        name="tls",
        kind=Kind.BLOCK,
        help=help_text,
        options=tuple(replace(option, reload=Reload.LIVE) for option in options),
        settle=_settle_dialed if is_of_dials else _settle,
        reload=Reload.LIVE,
    )
