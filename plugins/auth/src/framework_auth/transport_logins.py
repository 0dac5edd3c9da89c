"""Logins that transports have of their own: one user, or a token.

Source: nats-server `auth.go`, `processClientOrLeafAuthentication`: `authOverride`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from framework.errors import PluginError
from framework.spec import Authenticator
from framework_auth.directory import Directory
from framework_auth.limits import DIGEST_KEY_BYTES
from framework_auth.login import Login
from framework_auth.users import TOKEN_USER, User, Users, timeout_s_from

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from framework.spec import ServerContext, TransportLogin
    from framework_auth.login import CheckSecret

_DIRECTORIES: WeakKeyDictionary[ServerContext, dict[str, Directory]] = WeakKeyDictionary()
"""By transport: what they have learnt of hashes outlives a reload."""


def transport_authenticators(
    server: ServerContext,
    *,
    check_secrets: Callable[[Directory], CheckSecret],
) -> Iterator[Authenticator]:
    """Yield what decides on clients of transports with a login.

    Args:
        server: Whose transports.
        check_secrets: Returns what `Login` needs for a directory.
    """
    known = _DIRECTORIES.setdefault(server, {})
    for transport, login in server.transport_logins.items():
        if transport not in known:
            known[transport] = _directory(server, transport, login)
        directory = known[transport]
        inner = Login(directory, check_secret=check_secrets(directory))
        yield Authenticator(
            name=f"{transport}.authorization",
            transport=transport,
            authenticate=inner.authenticate,
            recheck=inner.recheck,
            timeout_s=directory.users.timeout_s,
        )


def _directory(server: ServerContext, transport: str, login: TransportLogin) -> Directory:
    timeout_s = timeout_s_from(server.config.values)
    users = Users(by_name=_users(login), by_nkey={}, timeout_s=timeout_s)
    try:
        return Directory(users, key=os.urandom(DIGEST_KEY_BYTES))
    except ValueError as error:
        problem = f"login of {transport} clients: {error}"
        raise PluginError("auth", problem, fix="make one with `nats server passwd`") from error


def _users(login: TransportLogin) -> dict[str, User]:
    """Return the one user; a token goes before a name."""
    if login.token:
        return {TOKEN_USER: User(TOKEN_USER, secret=login.token)}
    return {login.user: User(login.user, secret=login.password)}
