"""Options of this plugin, and checks of them.

Where nats-server would let everybody in, because a user, a password or a token is missing or
empty, the start is refused.

Source: nats-server `opts.go`, `parseAuthorization`, `parseAccounts`; `auth.go`,
`validateNoAuthUser`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from framework.topology import ConfigSection, Kind, Option, Reload
from framework_auth.account_options import ACCOUNTS, GLOBAL_MAPPINGS
from framework_auth.account_rules import settle_accounts
from framework_auth.callout_options import AUTH_CALLOUT
from framework_auth.operator_options import OPERATOR_OPTIONS, check_operator_mode, names_operators
from framework_auth.permission_options import permissions_option
from framework_auth.user_options import PROXY_REQUIRED, USERS, check_name, check_secret
from framework_auth.users import maps_certificates

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from framework.topology import Node


def _settle(values: dict[str, object]) -> Iterator[tuple[str, str]]:
    user, password = values["user"], values["password"]
    token, users = values["token"], values["users"]
    single = "user" if user is not None else "password"
    has_single = user is not None or password is not None
    if has_single and token is not None:
        yield "token", "cannot have a user/pass and token; remove one of them"
    # A password alone lets nobody in: it is a variable that users refer to.
    if user is not None and users is not None:
        yield "user", "cannot have a single user/pass and a users array; move it into `users`"
    if token is not None and users is not None:
        yield "token", "cannot have a token and a users array; remove one of them"
    if token is None and users is None and (user is None) is not (password is None):
        missing = "password" if password is None else "user"
        yield single, f"needs a {missing}, or everybody could log in; add `{missing}`"
    if users is not None and not users:
        yield "users", "has no users; add one, or leave it out"


def _settle_all(values: dict[str, Any]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    yield from settle_accounts(values)
    yield from _settle_users(values)
    yield from _settle_single(values)
    if names_operators(values):
        yield from _settle_operator(values)
    for name, problem in check_operator_mode(values):
        yield tuple(name.split(".")), problem


def _settle_users(values: dict[str, Any]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Find users that are there twice, or could be anybody, and a `no_auth_user` that is not."""
    nobody = values["no_auth_user"]
    may_lack_password = maps_certificates(values)
    seen = set()
    for path, entry in _listed_users(values):
        name = entry["nkey"] or entry["user"]
        if name in seen:
            what = "nkey" if entry["nkey"] else "user"
            yield (*path, what), f'duplicate {what} "{name}" detected; remove one of them'
        seen.add(name)
        lacks_password = entry["nkey"] is None and entry["password"] is None
        if lacks_password and not may_lack_password and name != nobody:
            yield (*path, "user"), "user entry requires a password; add `password`"
    if nobody is not None and nobody not in seen:
        where = "not present as user or nkey in `authorization` or `accounts`"
        problem = f'"{nobody}" {where}' if seen else f'"{nobody}" present, but no users are'
        yield ("no_auth_user",), f"{problem}; add the user"


def _listed_users(
    values: dict[str, Any],
) -> Iterator[tuple[tuple[str | int, ...], Mapping[str, Any]]]:
    """Yield all users of lists, with their way from the top."""
    for index, entry in enumerate((values["authorization"] or {}).get("users") or ()):
        yield ("authorization", "users", index), entry
    for account, block in (values["accounts"] or {}).items():
        for index, entry in enumerate(block["users"]):
            yield ("accounts", account, "users", index), entry


def _settle_single(values: dict[str, Any]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    block = values["authorization"] or {}
    for name, what in (("user", "single user/pass"), ("token", "token")):
        if block.get(name) is not None:
            for account, inside in (values["accounts"] or {}).items():
                if inside["users"]:
                    problem = f"can not have a {what} and accounts with users; move it into one"
                    yield ("authorization", name), f"{problem}, such as {account}"
                    return


def _settle_operator(values: dict[str, Any]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Refuse what has no meaning beside JWTs. Source: nats-server `jwt.go`."""
    if values["accounts"]:
        yield ("accounts",), "operators do not allow accounts to be configured directly"
    if values["no_auth_user"] is not None:
        yield ("no_auth_user",), "no_auth_user not compatible with a trusted operator"
    if (values["authorization"] or {}).get("users"):
        problem = "operators do not allow users to be configured directly"
        yield ("authorization", "users"), problem


def _names_no_proxy(node: Node) -> bool:
    plain = node.plain()
    return isinstance(plain, dict) and not plain.get("trusted")


AUTHORIZATION_SECTION = ConfigSection(
    name="authorization",
    plugin="auth",
    help="What clients must prove before they may do anything",
    options=(
        Option(name="user", kind=Kind.STRING, aliases=("username",), check=check_name,
               flags=("user", "username"), reload=Reload.LIVE,
               help="Name that clients log in with"),
        Option(name="password", kind=Kind.STRING, aliases=("pass",), check=check_secret,
               secret=True, flags=("pass",), reload=Reload.LIVE,
               help="Password of the user, or its bcrypt hash"),
        Option(name="token", kind=Kind.STRING, check=check_secret, secret=True, flags=("auth",),
               reload=Reload.LIVE,
               help="What clients log in with instead of a name, or its bcrypt hash"),
        replace(USERS, default=None),
        permissions_option("default_permissions", ("default_permission", "permissions"),
                           "Of users that have none of their own"),
        Option(name="timeout", kind=Kind.DURATION, minimum=0.001,
               zero_is_default=True, reload=Reload.LIVE,
               help="How long a client may take to log in; if not set, 2s, or with TLS 1s more"
                    " than `tls.timeout`"),
        PROXY_REQUIRED,
        AUTH_CALLOUT,
    ),
    settle=_settle,
    settle_all=_settle_all,
    reload=Reload.LIVE,
    top=(
        ACCOUNTS,
        Option(name="no_auth_user", kind=Kind.STRING, reload=Reload.LIVE,
               help="User or nkey that clients are who do not say who they are"),
        Option(name="system_account", kind=Kind.STRING, aliases=("system",),
               help="Account of server events and of operators; `$SYS`, if unset"),
        Option(name="no_system_account", kind=Kind.BOOL, default=False,
               aliases=("no_system", "no_sys_acc"),
               help="Whether there is none"),
        Option(name="default_js_domain", kind=Kind.MAP,
               help="By account without JetStream here: the domain that its requests go to, over"
                    " leaf nodes; empty text: the one without a name"),
        GLOBAL_MAPPINGS,
        *OPERATOR_OPTIONS,
        # Nobody must believe it to be in force.
        Option(name="proxies", kind=Kind.FREE, help="Proxies that clients may come through",
               refusal="trusted proxies are not there yet", is_off=_names_no_proxy),
    ),
)  # fmt: skip
