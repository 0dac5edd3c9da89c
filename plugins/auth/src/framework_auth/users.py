"""Users of a configuration, with their permissions.

Source: nats-server `auth.go`, `configureAuthorization`, `buildNkeysAndUsersFromOptions`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar, Final

from msgspec import Struct

from framework.spec import GLOBAL_ACCOUNT, SYSTEM_ACCOUNT, Redacted
from framework.topology import login_timeout_s
from framework_auth.bcrypt_hash import is_hash
from framework_auth.permission_options import permissions_from

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from framework.spec import Permissions

    Block = Mapping[str, Any]

TOKEN_USER: Final = "[REDACTED]"  # noqa: S105 - what is shown instead
"""Who logs in by a token, as nats-server shows it: a token has no name."""

_ANYBODY: Final = ""
"""Name of who logs in without a name when only the system account has users."""

TIMEOUT_S: Final = 2.0


class User(Redacted, frozen=True):
    """One user, or everybody with the token."""

    hidden: ClassVar = frozenset({"secret"})

    name: str
    """Public key of who signs."""
    account: str = GLOBAL_ACCOUNT
    secret: str = ""
    """Password, token, or the hash of one; empty: by it nobody can log in."""
    permissions: Permissions | None = None
    """None: all."""
    connection_types: frozenset[str] = frozenset()
    """Empty: all."""

    def may_connect_by(self, connection_type: str) -> bool:
        """Tell whether the user may use connections of a type, such as `STANDARD`."""
        return not self.connection_types or connection_type in self.connection_types


class Users(Struct, frozen=True, kw_only=True):
    """All users of a configuration."""

    by_name: Mapping[str, User]
    """Of `TOKEN_USER` alone, when there is a token."""
    by_nkey: Mapping[str, User]
    nobody: User | None = None
    """Whom clients are that say nothing of who they are; None: they may not log in."""
    asks_for_login: bool = True
    """Whether INFO says `auth_required`."""
    maps_certificates: bool = False
    """Who a client is follows from its TLS certificate."""
    timeout_s: float = TIMEOUT_S

    @property
    def is_token(self) -> bool:
        """Whether clients give a token, and no name."""
        return TOKEN_USER in self.by_name

    @property
    def is_empty(self) -> bool:
        """Whether nobody needs to log in."""
        return not self.by_name and not self.by_nkey and self.nobody is None

    @property
    def has_hashes(self) -> bool:
        """Whether bcrypt is needed."""
        return any(is_hash(user.secret) for user in self.by_name.values())

    @property
    def has_plain_passwords(self) -> bool:
        """Whether the file itself gives passwords away; nats-server does not count tokens."""
        secrets = [] if self.is_token else [user.secret for user in self.by_name.values()]
        return any(secret and not is_hash(secret) for secret in secrets)


def users_from(values: Block) -> Users:
    """Return the users of a valid configuration.

    Args:
        values: Of all options of the top level.
    """
    by_name: dict[str, User] = {}
    by_nkey: dict[str, User] = {}
    interned = _Interned()
    for user, is_nkey in _all_users(values, interned):
        (by_nkey if is_nkey else by_name)[user.name] = user
    nobody, asks_for_login = _nobody(values, by_name, by_nkey)
    return Users(
        by_name=by_name,
        by_nkey=by_nkey,
        nobody=nobody,
        asks_for_login=asks_for_login,
        maps_certificates=maps_certificates(values),
        timeout_s=timeout_s_from(values),
    )


def timeout_s_from(values: Block) -> float:
    """Return how long a client may take to log in, in seconds."""
    block: Mapping[str, Any] = values["authorization"] or {}
    timeout_s: float | None = block.get("timeout")
    return timeout_s or login_timeout_s(values.get("tls"))


def maps_certificates(values: Block) -> bool:
    """Tell whether TLS certificates say who clients are."""
    tls = values.get("tls")
    return bool(tls and tls["verify_and_map"])


class _Interned:
    """Equal permissions as one object: thousands of users have the same."""

    def __init__(self) -> None:
        self._permissions: dict[str, Permissions | None] = {}
        self._types: dict[tuple[str, ...], frozenset[str]] = {}

    def permissions(self, block: Block | None) -> Permissions | None:
        if block is None:
            return None
        key = json.dumps(block)
        if key not in self._permissions:
            self._permissions[key] = permissions_from(block)
        return self._permissions[key]

    def types(self, names: tuple[str, ...]) -> frozenset[str]:
        if names not in self._types:
            self._types[names] = frozenset(name.upper() for name in names)
        return self._types[names]


def _all_users(values: Block, interned: _Interned) -> Iterator[tuple[User, bool]]:
    block = values["authorization"]
    if block:
        if block["token"] is not None:
            yield User(TOKEN_USER, secret=block["token"]), False
        elif block["user"] is not None:
            yield User(block["user"], secret=block["password"]), False
        yield from _listed(GLOBAL_ACCOUNT, block, interned)
    for name, account in (values["accounts"] or {}).items():
        yield from _listed(name, account, interned)


def _listed(account: str, block: Block, interned: _Interned) -> Iterator[tuple[User, bool]]:
    defaults = interned.permissions(block["default_permissions"])
    for entry in block["users"] or ():
        own = entry["permissions"]
        user = User(
            entry["nkey"] or entry["user"],
            account,
            entry["password"] or "",
            defaults if own is None else interned.permissions(own),
            interned.types(entry["allowed_connection_types"]),
        )
        yield user, entry["nkey"] is not None


def _nobody(
    values: Block, by_name: Mapping[str, User], by_nkey: Mapping[str, User]
) -> tuple[User | None, bool]:
    """Return whom clients are that say nothing, and whether INFO asks for a login.

    A server with a system account alone lets clients into `$G` as before, but asks.

    Source: nats-server `server.go`, `configureAccounts`: `sysAccOnlyNoAuthUser`.
    """
    name = values["no_auth_user"]
    if name is not None:
        return by_nkey.get(name) or by_name[name], False
    system = values["system_account"] or SYSTEM_ACCOUNT
    if set(values["accounts"] or ()) == {system} and values["authorization"] is None:
        return User(_ANYBODY), True
    return None, True
