"""Names of cipher suites and curves: Go's, which configurations and `/connz` use, and OpenSSL's.

Source: RFC 5289, RFC 7905, RFC 8446; the names of Go's package `crypto/tls`.
"""

from __future__ import annotations

from typing import Final

_RSA = "TLS_RSA_WITH_"
_ECDHE = "TLS_ECDHE_"

OPENSSL_NAMES: Final = {
    f"{_ECDHE}ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    f"{_ECDHE}ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    f"{_ECDHE}ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
    f"{_ECDHE}ECDSA_WITH_AES_128_CBC_SHA": "ECDHE-ECDSA-AES128-SHA",
    f"{_ECDHE}ECDSA_WITH_AES_256_CBC_SHA": "ECDHE-ECDSA-AES256-SHA",
    f"{_ECDHE}RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    f"{_ECDHE}RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    f"{_ECDHE}RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
    f"{_ECDHE}RSA_WITH_AES_128_CBC_SHA": "ECDHE-RSA-AES128-SHA",
    f"{_ECDHE}RSA_WITH_AES_256_CBC_SHA": "ECDHE-RSA-AES256-SHA",
}
"""What TLS 1.2 may use here, Go's name to OpenSSL's."""

INSECURE_NAMES: Final = {
    f"{_RSA}AES_128_GCM_SHA256": "AES128-GCM-SHA256",
    f"{_RSA}AES_256_GCM_SHA384": "AES256-GCM-SHA384",
    f"{_RSA}AES_128_CBC_SHA": "AES128-SHA",
    f"{_RSA}AES_256_CBC_SHA": "AES256-SHA",
    f"{_RSA}AES_128_CBC_SHA256": "AES128-SHA256",
    f"{_ECDHE}ECDSA_WITH_AES_128_CBC_SHA256": "ECDHE-ECDSA-AES128-SHA256",
    f"{_ECDHE}RSA_WITH_AES_128_CBC_SHA256": "ECDHE-RSA-AES128-SHA256",
}
"""Those that need `allow_insecure_cipher_suites`."""

OBSOLETE_NAMES: Final = (
    f"{_RSA}RC4_128_SHA",
    f"{_RSA}3DES_EDE_CBC_SHA",
    f"{_ECDHE}ECDSA_WITH_RC4_128_SHA",
    f"{_ECDHE}RSA_WITH_RC4_128_SHA",
    f"{_ECDHE}RSA_WITH_3DES_EDE_CBC_SHA",
)
"""As insecure, in Go's list, and in OpenSSL no more."""

TLS13_NAMES: Final = (
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
)
"""Always allowed under TLS 1.3, whatever a configuration lists; as in Go."""

CURVE_NAMES: Final = {
    "X25519": "X25519",
    "CurveP256": "prime256v1",
    "CurveP384": "secp384r1",
    "CurveP521": "secp521r1",
    "X25519MLKEM768": "X25519MLKEM768",
    "SecP256r1MLKEM768": "SecP256r1MLKEM768",
    "SecP384r1MLKEM1024": "SecP384r1MLKEM1024",
}
"""Go's name to OpenSSL's; the last three are there from OpenSSL 3.5 on."""

_GO_NAMES: Final = {
    openssl: go for names in (OPENSSL_NAMES, INSECURE_NAMES) for go, openssl in names.items()
}


def go_name_from_openssl(name: str) -> str:
    """Return what Go calls a cipher suite; the name itself if that is the same or not known."""
    return _GO_NAMES.get(name, name)
