"""Texts of failed TLS handshakes, like those of Go's servers, which operators know."""

from __future__ import annotations

import ssl
from typing import Final

_WORDS: Final = {
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "tls: client didn't provide a certificate",
    "UNSUPPORTED_PROTOCOL": "tls: peer offered only unsupported versions",
    "NO_SHARED_CIPHER": "tls: no cipher suite supported by both client and server",
    "NO_SUITABLE_KEY_SHARE": "tls: no ECDHE curve supported by both client and server",
    "NO_SUITABLE_GROUPS": "tls: no ECDHE curve supported by both client and server",
    "TLSV1_ALERT_UNKNOWN_CA": "remote error: tls: unknown certificate authority",
    "SSLV3_ALERT_BAD_CERTIFICATE": "remote error: tls: bad certificate",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "remote error: tls: unknown certificate",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "remote error: tls: expired certificate",
    "SSLV3_ALERT_HANDSHAKE_FAILURE": "remote error: tls: handshake failure",
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "remote error: tls: certificate required",
    "TLSV1_ALERT_PROTOCOL_VERSION": "remote error: tls: protocol version not supported",
}
_NO_TLS: Final = frozenset({
    "BAD_RECORD_TYPE",
    "HTTP_REQUEST",
    "HTTPS_PROXY_REQUEST",
    "INVALID_ALERT",
    "PACKET_LENGTH_TOO_LONG",
    "RECORD_LAYER_FAILURE",
    "UNEXPECTED_MESSAGE",
    "UNKNOWN_PROTOCOL",
    "WRONG_VERSION_NUMBER",
})
NO_TLS_TEXT: Final = "tls: first record does not look like a TLS handshake"


def problem_text(error: Exception) -> str:
    """Return why a handshake failed, for the log; it holds nothing that the peer has chosen."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"tls: failed to verify certificate: {error.verify_message}"
    if isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError | ConnectionError):
        return "EOF"
    if isinstance(error, ssl.SSLError):
        reason = error.reason or ""
        if reason in _NO_TLS:
            return NO_TLS_TEXT
        known = _WORDS.get(reason)
        return known or "tls: " + (reason.lower().replace("_", " ") or "handshake failed")
    return str(getattr(error, "strerror", None) or type(error).__name__).lower()
