"""Keys of running servers: an nkey that names and signs, and an xkey that encrypts.

They live as long as the server, and never leave the process.
"""

from __future__ import annotations

import os

from msgspec import Struct

from framework.wire.nkey import KEY_BYTES, NkeyKind
from framework_auth.keys import CurvePair, KeyPair


class ServerKeys(Struct, frozen=True):
    """Nkey and xkey of one server."""

    signing: KeyPair
    """Its public half is the server's ID."""
    curve: CurvePair


_keys: dict[str, ServerKeys] = {}
"""By server ID, of the servers of this process; the hook that draws them knows no server yet."""


def draw_server_keys() -> str:
    """Draw the keys of a server that is about to start, and return its ID."""
    signing = KeyPair(NkeyKind.SERVER, os.urandom(KEY_BYTES))
    _keys[signing.public] = ServerKeys(signing, CurvePair(os.urandom(KEY_BYTES)))
    return signing.public


def keys_of(server_id: str) -> ServerKeys | None:
    """Return the keys of a server; None when another plugin has named it."""
    return _keys.get(server_id)


def forget_server_keys(server_id: str) -> None:
    """Forget the keys of a server that has stopped."""
    _keys.pop(server_id, None)
