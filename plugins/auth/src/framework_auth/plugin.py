"""Hook implementations of the auth plugin."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from msgspec.structs import replace

from framework.hookspecs import hookimpl
from framework.spec import (
    GLOBAL_ACCOUNT,
    AccountSpec,
    Authenticator,
    ComponentSpec,
    LinkKind,
)
from framework_auth.account_plan import account_plan
from framework_auth.config import AUTHORIZATION_SECTION
from framework_auth.directory import Directory
from framework_auth.limits import DIGEST_KEY_BYTES
from framework_auth.login import Login
from framework_auth.modes import asks_service, callout_components, operator_mode, with_callout
from framework_auth.password_checker import PASSWORD_CHECKER, PasswordChecker
from framework_auth.server_key import draw_server_keys, forget_server_keys, keys_of
from framework_auth.users import users_from

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from framework.actors import Reply
    from framework.spec import (
        AccountPlan,
        ConnectionInfo,
        LoginAnswer,
        ServerContext,
        ServiceSpec,
        TapSpec,
    )
    from framework.topology import ConfigDiff, ConfigSection
    from framework_auth.bcrypt_hash import BcryptHash
    from framework_auth.login import CheckSecret

_OURS: Final = frozenset({"authorization", "accounts", "no_auth_user", "mappings", "tls"})
"""Options on which users and accounts depend."""

_DIRECTORIES: WeakKeyDictionary[ServerContext, Directory] = WeakKeyDictionary()
"""Of each server of this process: hooks have no other place for what they share."""


@hookimpl
def framework_config_sections() -> Iterable[ConfigSection]:
    """Declare the options `authorization`, `accounts` and those that belong to them."""
    return [AUTHORIZATION_SECTION]


@hookimpl
def framework_components(server: ServerContext) -> Iterable[ComponentSpec]:
    """Bring the PasswordChecker, also when nobody has a password yet: a reload may bring some."""
    checker = ComponentSpec(name=PASSWORD_CHECKER, factory=_checker)
    mode = operator_mode(server)
    return [checker, *callout_components(server), *(mode.components() if mode else ())]


@hookimpl
def framework_server_key() -> str:
    """Make the nkey that is the server's ID, and signs for it."""
    return draw_server_keys()


@hookimpl
def framework_server_info(server: ServerContext) -> Mapping[str, object]:
    """Add `xkey` to INFO: auth callout services may encrypt their responses for it."""
    keys = keys_of(server.server_id)
    return {"xkey": keys.curve.public} if keys else {}


@hookimpl
def framework_accounts(server: ServerContext) -> AccountPlan:
    """Return the accounts of the configuration, or the account resolver of operators."""
    mode = operator_mode(server)
    if mode is None:
        return account_plan(server.config.values)
    return replace(mode.plan(), default_domains=server.config.values["default_js_domain"] or {})


@hookimpl
def framework_services(server: ServerContext) -> Iterable[ServiceSpec]:
    """Answer `$SYS` requests about account JWTs."""
    mode = operator_mode(server)
    return mode.services() if mode else []


@hookimpl
def framework_taps(server: ServerContext) -> Iterable[TapSpec]:
    """Subscribe to what other servers send about account JWTs."""
    mode = operator_mode(server)
    return mode.taps() if mode else []


@hookimpl
def framework_connection_opened(server: ServerContext, connection: ConnectionInfo) -> None:
    """Compare account JWTs with a server that has connected."""
    mode = operator_mode(server)
    if mode and connection.kind is not LinkKind.CLIENT:
        mode.receive_peer(1)


@hookimpl
def framework_connection_closed(server: ServerContext, connection: ConnectionInfo) -> None:
    """Count a server less to compare account JWTs with."""
    mode = operator_mode(server)
    if mode and connection.kind is not LinkKind.CLIENT:
        mode.receive_peer(-1)


@hookimpl
def framework_server_stopping(server: ServerContext) -> None:
    """Forget the nkey and the xkey of the server."""
    forget_server_keys(server.server_id)


@hookimpl
def framework_authenticators(server: ServerContext) -> Iterable[Authenticator]:
    """Authenticate users of the configuration or of operators; others decide on unknown ones."""
    mode = operator_mode(server)
    if mode:
        return [mode.authenticator()]
    authenticator = with_callout(server, _configured(server))
    found = [authenticator] if authenticator else []
    if server.transport_logins and not asks_service(server):
        from framework_auth.transport_logins import (  # noqa: PLC0415 - for who has one
            transport_authenticators,
        )

        check_secrets = partial(_check_secrets, server)
        found += transport_authenticators(server, check_secrets=check_secrets)
    return found


@hookimpl
def framework_reloaded(server: ServerContext, diff: ConfigDiff) -> None:
    """Put users and accounts of the new configuration in force."""
    mode = operator_mode(server)
    if mode:
        mode.reload()
        return
    if not any(change.path.partition(".")[0] in _OURS for change in diff.changes):
        return
    _directory(server).replace(users_from(server.config.values))
    _warn(server)
    specs = {spec.name: spec for spec in account_plan(server.config.values).accounts}
    for name in (GLOBAL_ACCOUNT, server.accounts.system_account):
        if name:
            specs.setdefault(name, AccountSpec(name=name))
    server.accounts.put([*specs.values()])
    server.accounts.remove([name for name in server.accounts.names() if name not in specs])


def _configured(server: ServerContext) -> Authenticator | None:
    """Return what decides on configured users; None: there are none."""
    users = _directory(server).users
    if users.is_empty:
        return None
    directory = _directory(server)
    login = Login(directory, check_secret=_check_secrets(server, directory))
    return Authenticator(
        name="authorization",
        authenticate=login.authenticate,
        recheck=login.recheck,
        timeout_s=users.timeout_s,
        wants_nonce=bool(users.by_nkey),
        lets_anybody_in=users.nobody is not None,
        asks_anyway=users.asks_for_login,
    )


def _checker(server: ServerContext) -> tuple[type[PasswordChecker], Mapping[str, object]]:
    _warn(server)
    return PasswordChecker, {"matches": _matches}


def _matches(given: bytes, expected: BcryptHash | None, decoy: BcryptHash) -> bool:
    """Compute a hash; in a worker thread."""
    from framework_auth.hashing import matches  # noqa: PLC0415 - loads bcrypt, if there are hashes

    return matches(given, expected, decoy)


def _directory(server: ServerContext) -> Directory:
    directory = _DIRECTORIES.get(server)
    if directory is None:
        users = users_from(server.config.values)
        directory = _DIRECTORIES[server] = Directory(users, key=os.urandom(DIGEST_KEY_BYTES))
    return directory


def _check_secrets(server: ServerContext, directory: Directory) -> CheckSecret:
    """Return what finds out whether a user of a directory has a secret."""

    def check(user: str, secret: bytes, connection_type: str, reply: Reply[LoginAnswer]) -> None:
        checked = PasswordChecker.Check(directory, user, secret, connection_type, reply)
        server.component(PASSWORD_CHECKER).tell(checked)

    return check


def _warn(server: ServerContext) -> None:
    """Warn of what is allowed, but not wise."""
    users, block = _directory(server).users, server.config.section("authorization")
    if users.has_plain_passwords:
        server.log.warning("Plaintext passwords detected, use nkeys or bcrypt")
    if block and users.is_empty and operator_mode(server) is None:
        server.log.warning("`authorization` has no users: clients need no login")
