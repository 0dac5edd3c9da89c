"""Who asks by HTTP: the header `Authorization` as credentials of a client."""

from __future__ import annotations

import binascii
from base64 import b64decode
from typing import Final

from framework.errors import BadQuery
from framework.spec import Credentials

_JWT_DOTS: Final = 2


def credentials_of(header: str) -> Credentials:
    """Return what a header says; nothing where it is empty.

    `Basic` is user and password, `Bearer` a token, or a user's JWT that needs no signature.

    Raises:
        BadQuery: It says neither, or in a way that can't be read.

    Source: RFC 7617, section 2; RFC 6750, section 2.1.
    """
    scheme, _, value = header.strip().partition(" ")
    value = value.strip()
    match scheme.lower():
        case "":
            return Credentials()
        case "basic":
            return _basic(value)
        case "bearer" if value.startswith("ey") and value.count(".") == _JWT_DOTS:
            return Credentials(jwt=value)
        case "bearer":
            return Credentials(auth_token=value)
    raise BadQuery("Authorization: expected Basic with user and password, or Bearer with a token")


def _basic(value: str) -> Credentials:
    try:
        user, colon, password = b64decode(value, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        colon = user = password = ""
    if not colon:
        raise BadQuery("Authorization: expected user:password in Base64 behind Basic")
    return Credentials(user=user, password=password)
