"""The `authorization` block: what users may write, and what it comes to.

Where nats-server would let everybody in, because a user, a password or a token is missing or
empty, the start is refused.

Source: nats-server `opts.go`, `parseAuthorization`, `parseUsers`; `auth.go`, `isBcrypt`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from framework.topology import ConfigSection, Kind, Option, Reload
from framework_auth.bcrypt_hash import is_hash, parse_hash

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TIMEOUT_S: Final = 2.0

TOKEN_USER: Final = "[REDACTED]"  # noqa: S105 - what is shown instead
"""Who logs in by a token, as nats-server shows it: a token has no name."""

_LATER: Final = "not supported by this version"


def _check_name(name: object) -> str | None:
    return None if name else "is empty; name a user, or leave it out"


def _check_secret(secret: object) -> str | None:
    if not secret:
        return "is empty, which would let everybody in"
    try:
        if is_hash(str(secret)):
            parse_hash(str(secret))
    except ValueError as error:
        return f"{error}; make one with `nats server passwd`, and put it in quotes"
    return None


def _settle(values: dict[str, object]) -> Iterator[tuple[str | tuple[str | int, ...], str]]:
    user, password = values["user"], values["password"]
    token, users = values["token"], values["users"]
    single = "user" if user is not None else "password"
    has_single = user is not None or password is not None
    if has_single and token is not None:
        yield "token", "cannot have a user/pass and token; remove one of them"
    if has_single and users is not None:
        yield single, "cannot have a single user/pass and a users array; move it into `users`"
    if token is not None and users is not None:
        yield "token", "cannot have a token and a users array; remove one of them"
    if token is None and users is None and (user is None) is not (password is None):
        missing = "password" if password is None else "user"
        yield single, f"needs a {missing}, or everybody could log in; add `{missing}`"
    if users is not None:
        yield from _settle_users(users)


def _settle_users(users: object) -> Iterator[tuple[str | tuple[str | int, ...], str]]:
    assert isinstance(users, tuple)
    if not users:
        yield "users", "names nobody; add a user, or leave it out"
    seen = set()
    for index, entry in enumerate(users):
        name = entry["user"]
        if name is None:
            yield ("users", index), "user entry requires a user; add `user`"
        elif entry["password"] is None:
            yield ("users", index, "user"), "user entry requires a password; add `password`"
        elif name in seen:
            yield ("users", index, "user"), f'duplicate user "{name}" detected; remove one of them'
        seen.add(name)


def _later(*names: str) -> tuple[Option, ...]:
    """Return options that nats-server has, and that nobody must believe to be in force."""
    return tuple(
        Option(name=name, kind=Kind.FREE, help="Not supported yet", refusal=_LATER)
        for name in names
    )


_USER = Option(
    name="user", kind=Kind.STRING, aliases=("username",), check=_check_name,
    flags=("user", "username"), help="Name that clients log in with",
)  # fmt: skip
_PASSWORD = Option(
    name="password", kind=Kind.STRING, aliases=("pass",), check=_check_secret, secret=True,
    flags=("pass",), help="Password of the user, or its bcrypt hash",
)  # fmt: skip

_USER_ENTRY = (
    Option(name="user", kind=Kind.STRING, aliases=("username",), check=_check_name,
           help="Name that clients log in with"),
    Option(name="password", kind=Kind.STRING, aliases=("pass",), check=_check_secret, secret=True,
           help="Password of the user, or its bcrypt hash"),
    *_later("nkey", "permissions", "permission", "authorization", "allowed_connection_types",
            "connection_types", "clients", "account", "proxy_required"),
)  # fmt: skip

AUTHORIZATION_SECTION = ConfigSection(
    name="authorization",
    plugin="auth",
    help="What clients must prove before they may do anything",
    options=(
        _USER,
        _PASSWORD,
        Option(name="token", kind=Kind.STRING, check=_check_secret, secret=True, flags=("auth",),
               help="What clients log in with instead of a name, or its bcrypt hash"),
        Option(name="users", kind=Kind.BLOCKS, options=_USER_ENTRY, secret=True,
               help="Several users, each with a password"),
        Option(name="timeout", kind=Kind.DURATION, default=TIMEOUT_S, minimum=0.001,
               zero_is_default=True, help="How long a client may take to log in"),
        *_later("default_permissions", "permissions", "auth_callout", "auth_hook",
                "proxy_required"),
    ),
    settle=_settle,
    reload=Reload.RESTART,
    top=_later(
        "accounts", "no_auth_user", "default_sentinel", "system_account", "system",
        "no_system_account", "no_system", "no_sys_acc", "operator", "operators", "roots", "root",
        "root_operators", "root_operator", "resolver", "account_resolver", "accounts_resolver",
        "resolver_tls", "resolver_preload", "resolver_pinned_accounts", "trusted", "trusted_keys",
        "proxies", "mappings", "maps",
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthConfig:
    """An `authorization` block that asks for a login."""

    secrets: Mapping[str, str] = field(repr=False)
    """User to password or its hash; a token belongs to `TOKEN_USER`, alone."""
    is_token: bool
    """Clients give a token, and no name."""
    timeout_s: float

    @property
    def has_hashes(self) -> bool:
        """Whether bcrypt is needed."""
        return any(is_hash(secret) for secret in self.secrets.values())

    @property
    def has_plain_passwords(self) -> bool:
        """Whether the file itself gives passwords away; nats-server does not count tokens."""
        return not self.is_token and not all(map(is_hash, self.secrets.values()))


def auth_config(section: Mapping[str, object] | None) -> AuthConfig | None:
    """Return what a block asks for; None when clients need no login."""
    if section is None:
        return None
    value: dict[str, Any] = dict(section)
    if value["token"] is not None:
        return AuthConfig(
            secrets={TOKEN_USER: value["token"]}, is_token=True, timeout_s=value["timeout"]
        )
    entries = value["users"] or ([value] if value["user"] is not None else ())
    secrets = {entry["user"]: entry["password"] for entry in entries}
    if not secrets:
        return None
    return AuthConfig(secrets=secrets, is_token=False, timeout_s=value["timeout"])
