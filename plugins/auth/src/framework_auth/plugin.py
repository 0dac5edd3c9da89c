"""What the auth plugin hands to the core."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from framework.actors import Reply
from framework.hookspecs import hookimpl
from framework.spec import Authenticator, ComponentSpec
from framework_auth.config import AUTHORIZATION_SECTION, TOKEN_USER, auth_config
from framework_auth.limits import DIGEST_KEY_BYTES
from framework_auth.password_checker import PASSWORD_CHECKER, PasswordChecker
from framework_auth.passwords import Passwords

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from framework.spec import LoginAnswer, LoginRequest, ServerContext
    from framework.topology import ConfigSection
    from framework_auth.config import AuthConfig


@hookimpl
def framework_config_sections() -> Iterable[ConfigSection]:
    """Own the block `authorization`."""
    return [AUTHORIZATION_SECTION]


@hookimpl
def framework_components(server: ServerContext) -> Iterable[ComponentSpec]:
    """Bring the PasswordChecker, if clients must log in."""
    config = _config_of(server)
    if config is None:
        if server.config.section("authorization"):
            server.log.warning("`authorization` names nobody, so clients need no login")
        return []
    return [ComponentSpec(name=PASSWORD_CHECKER, factory=partial(_checker, config=config))]


@hookimpl
def framework_authenticators(server: ServerContext) -> Iterable[Authenticator]:
    """Let in whom the block names, and nobody else."""
    config = _config_of(server)
    if config is None:
        return []
    authenticate = partial(_authenticate, server, is_token=config.is_token)
    return [
        Authenticator(name="authorization", authenticate=authenticate, timeout_s=config.timeout_s)
    ]


def _checker(
    server: ServerContext, *, config: AuthConfig
) -> tuple[type[PasswordChecker], Mapping[str, object]]:
    if config.has_plain_passwords:
        server.log.warning("Plaintext passwords detected, use nkeys or bcrypt")
    passwords = Passwords(config.secrets, key=os.urandom(DIGEST_KEY_BYTES))
    arguments = {"passwords": passwords, "timeout_s": config.timeout_s}
    if not config.has_hashes:
        return PasswordChecker, {**arguments, "matches": None}
    from framework_auth.hashing import matches  # noqa: PLC0415 - loads bcrypt

    return PasswordChecker, {**arguments, "matches": matches}


def _authenticate(
    server: ServerContext, request: LoginRequest, *, is_token: bool
) -> Reply[LoginAnswer]:
    connect = request.connect
    user, secret = connect.user, connect.password
    if is_token:
        user, secret = TOKEN_USER, connect.auth_token
    reply: Reply[LoginAnswer] = Reply()
    check = PasswordChecker.Check(user, secret.encode(), reply)
    server.component(PASSWORD_CHECKER).tell(check)
    return reply


def _config_of(server: ServerContext) -> AuthConfig | None:
    return auth_config(server.config.section("authorization"))
