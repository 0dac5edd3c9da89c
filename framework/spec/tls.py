"""TLS settings of a listener or a dial."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from framework.topology.tls_options import handshake_first_from


class TlsSettings(Struct, frozen=True, kw_only=True):
    """A `tls` block; certificates and keys are named, not read."""

    path: str = "tls"
    """Dotted path of the block, for errors."""
    certificates: tuple[tuple[str, str], ...] = ()
    """Files with a certificate and its key; at least one pair, but for dials."""
    ca_file: str = ""
    """Empty: whom the system trusts."""
    verify: bool = False
    """Peers that connect must show a certificate."""
    insecure: bool = False
    """Whoever this server dials is trusted."""
    pinned: frozenset[str] = frozenset()
    """Hex SHA-256 of the public keys that peers may have; empty: any."""
    cipher_suites: tuple[str, ...] = ()
    curves: tuple[str, ...] = ()
    """By Go's names; empty: what OpenSSL thinks best."""
    min_version: str = "1.2"
    timeout_s: float = 2.0
    """For one handshake."""
    rate_limit: int = 0
    """Handshakes begun in a second; 0: any number."""
    handshake_first: bool = False
    """No INFO before TLS."""
    fallback_s: float = 0.0
    """Of a peer that says nothing for so long, INFO comes first all the same; 0: never."""
    allows_plain: bool = False
    """Peers may do without TLS; their first byte tells."""

    @property
    def is_optional(self) -> bool:
        """Whether a peer that does without TLS gets in."""
        return self.allows_plain and not (self.handshake_first and not self.fallback_s)


class TlsFacts(Struct, frozen=True):
    """TLS of one kind of connection, as monitoring shows it."""

    required: bool
    verify: bool
    """Peers must show a certificate."""
    timeout_s: float
    not_after_s: float
    """Unix time at which our own certificate ends."""


def tls_settings(
    block: Mapping[str, object] | None,
    *,
    path: str = "tls",
    allows_plain: bool = False,
    verify: bool | None = None,
) -> TlsSettings | None:
    """Return the settings of a `tls` block; None: there is none, or TLS is off.

    Args:
        block: Its values.
        path: Where it stands, such as `cluster.tls`.
        allows_plain: Peers may do without TLS.
        verify: Overrules the block; None: it stands as it is.
    """
    if block is None or not block["enabled"]:
        return None
    value: dict[str, Any] = dict(block)
    one = {"cert_file": value["cert_file"], "key_file": value["key_file"]}
    pairs = value["certs"] or ((one,) if value["cert_file"] else ())
    is_first, fallback_s = handshake_first_from(value["handshake_first"])
    return TlsSettings(
        path=path,
        certificates=tuple((pair["cert_file"], pair["key_file"]) for pair in pairs),
        ca_file=value["ca_file"],
        verify=value["verify"] if verify is None else verify,
        insecure=value["insecure"],
        pinned=frozenset(pin.lower() for pin in value["pinned_certs"]),
        cipher_suites=value["cipher_suites"],
        curves=value["curve_preferences"],
        min_version=value["min_version"],
        timeout_s=value["timeout"],
        rate_limit=value["connection_rate_limit"],
        handshake_first=is_first,
        fallback_s=fallback_s,
        allows_plain=allows_plain,
    )
