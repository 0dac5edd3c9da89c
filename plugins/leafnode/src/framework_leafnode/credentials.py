"""Logins of this server at hubs: user and password, nkeys, files with credentials.

Source: nats-server `leafnode.go`, `sendLeafConnect`, `credsRe`.
"""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from framework.wire.nkey import NkeyKind, decode_seed, encode_public_key
from framework_leafnode.limits import CREDENTIALS_BYTES_MAX

if TYPE_CHECKING:
    from framework.peering import PeerUrl
    from framework_leafnode.info import LeafConnect
    from framework_leafnode.settings import RemoteSettings

_PART: Final = re.compile(r"-{3,}[^\r\n]*-{3,}\r?\n([\w\-.=]+)\r?\n-{3,}[^\r\n]*-{3,}(?:\r?\n|\Z)")


class CredentialsError(Exception):
    """A hub can't be told who this server is; the text says why, and no secret."""


def signed_in(
    connect: LeafConnect, remote: RemoteSettings, url: PeerUrl, nonce: str
) -> LeafConnect:
    """Return a CONNECT with what proves who this server is. Reads a file.

    Args:
        connect: Without a login.
        remote: Which hub.
        url: That was reached.
        nonce: Of its INFO.

    Raises:
        CredentialsError: There is no proof.
    """
    if remote.credentials:
        jwt, seed = read_credentials(remote.credentials)
        _, sig = _sign(seed, nonce)
        connect = replace(connect, jwt=jwt, sig=sig)
    elif remote.nkey_seed:
        public, sig = _sign(remote.nkey_seed, nonce)
        connect = replace(connect, nkey=public, sig=sig)
    if not url.user:
        return connect
    # Who has no password may be a token.
    token = "" if url.password else url.user
    return replace(connect, user=url.user, password=url.password, auth_token=token)


def read_credentials(path: str) -> tuple[str, str]:
    """Return the JWT and the seed of a file.

    Raises:
        CredentialsError: It can't be read, or is no such file.
    """
    try:
        with Path(path).open(encoding="utf-8", errors="replace") as file:
            text = file.read(CREDENTIALS_BYTES_MAX)
    except OSError as error:
        raise CredentialsError(f"open {path}: {error.strerror or error}") from error
    parts = _PART.findall(text)
    if len(parts) < 2:  # noqa: PLR2004 - a JWT and a seed
        raise CredentialsError("Credentials file malformed")
    return parts[0], parts[1]


def _sign(seed: str, nonce: str) -> tuple[str, str]:
    """Return the public key of a seed, and the nonce signed with it."""
    from nacl.signing import SigningKey  # noqa: PLC0415 - few remotes need it

    try:
        kind, secret = decode_seed(seed)
    except ValueError:
        raise CredentialsError("Credentials have a malformed seed") from None
    key = SigningKey(secret)
    signature = key.sign(nonce.encode()).signature
    public = encode_public_key(kind, bytes(key.verify_key))
    return public, base64.urlsafe_b64encode(signature).decode().rstrip("=")


def is_user_seed(text: str) -> bool:
    """Tell whether a text is the seed of a user."""
    try:
        kind, _ = decode_seed(text)
    except ValueError:
        return False
    return kind is NkeyKind.USER
