"""Ciphers that may be configured.

Source: nats-server `opts.go`, `parseJetStream`.
"""

from __future__ import annotations

from typing import Final

CIPHERS: Final = {"chacha": 1, "chachapoly": 1, "aes": 2}
"""Numbers, as files have them, by what may be configured."""
CIPHER_NAMES: Final = {1: "ChaCha20-Poly1305", 2: "AES-GCM"}
