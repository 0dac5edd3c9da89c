"""Options of users.

Source: nats-server `opts.go`, `parseUsers`; `client.go`, `convertAllowedConnectionTypes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from framework.topology import Kind, Option, Reload
from framework.wire.nkey import NkeyKind, is_public_key
from framework_auth.bcrypt_hash import is_hash, parse_hash
from framework_auth.permission_options import permissions_option

if TYPE_CHECKING:
    from collections.abc import Iterator

CONNECTION_TYPES: Final = frozenset({
    "STANDARD",
    "WEBSOCKET",
    "LEAFNODE",
    "LEAFNODE_WS",
    "MQTT",
    "MQTT_WS",
    "IN_PROCESS",
})


def check_name(name: object) -> str | None:
    """Say what is wrong with the name of a user."""
    return None if name else "is empty; name a user, or leave it out"


def check_secret(secret: object) -> str | None:
    """Say what is wrong with a password, a token, or the hash of one; it is not repeated."""
    if not secret:
        return "is empty, which would let everybody in"
    try:
        if is_hash(str(secret)):
            parse_hash(str(secret))
    except ValueError as error:
        return f"{error}; make one with `nats server passwd`, and put it in quotes"
    return None


def _check_nkey(key: object) -> str | None:
    if is_public_key(str(key), NkeyKind.USER):
        return None
    return "not a valid public nkey for a user; it begins with U, see `nk -gen user -pubout`"


def _check_types(types: object) -> str | None:
    assert isinstance(types, tuple)
    unknown = [name for name in types if name.upper() not in CONNECTION_TYPES]
    if not unknown:
        return None
    return f"invalid connection types {unknown}; there are {', '.join(sorted(CONNECTION_TYPES))}"


def _settle_user(values: dict[str, object]) -> Iterator[tuple[str, str]]:
    name, nkey = values["user"], values["nkey"]
    if name is None and nkey is None:
        yield "password", "user entry requires a user; add `user`, or `nkey`"
    elif nkey is not None and (name is not None or values["password"] is not None):
        yield "nkey", "nkey users do not take usernames or passwords; make it two users"


def refused_if_true(name: str, why: str) -> Option:
    """Return an option that may be there, but not be switched on."""
    return Option(
        name=name, kind=Kind.BOOL, default=False, reload=Reload.LIVE,
        help="Whether only connections through a trusted proxy may use it; it has to be false",
        check=lambda value: why if value else None,
    )  # fmt: skip


PROXY_REQUIRED = refused_if_true("proxy_required", "proxies are not supported by this version")

USERS = Option(
    name="users", kind=Kind.BLOCKS, default=(), secret=True, settle=_settle_user,
    reload=Reload.LIVE, help="Who may log in, each with a password or an nkey",
    options=(
        Option(name="user", kind=Kind.STRING, aliases=("username",), check=check_name,
               reload=Reload.LIVE, help="Name that clients log in with"),
        Option(name="password", kind=Kind.STRING, aliases=("pass",), check=check_secret,
               secret=True, reload=Reload.LIVE, help="Password of the user, or its bcrypt hash"),
        Option(name="nkey", kind=Kind.STRING, check=_check_nkey, reload=Reload.LIVE,
               help="Public key of a user who signs instead of giving a password"),
        permissions_option("permissions", ("permission", "authorization"),
                           "What the user may publish and hear; the default ones, if unset"),
        Option(name="allowed_connection_types", kind=Kind.STRINGS, default=(),
               aliases=("connection_types", "clients"), check=_check_types, reload=Reload.LIVE,
               help="How the user may connect, such as `STANDARD`; any way, if unset"),
        PROXY_REQUIRED,
    ),
)  # fmt: skip
