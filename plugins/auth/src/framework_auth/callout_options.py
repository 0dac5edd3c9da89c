"""Options of the block `auth_callout`.

Source: nats-server `opts.go`, `parseAuthCallout`; ADR-26.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from msgspec import Struct

from framework.spec import GLOBAL_ACCOUNT
from framework.topology import Kind, Option
from framework.wire.nkey import NkeyKind, is_public_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any


class CalloutSettings(Struct, frozen=True, kw_only=True):
    """An `auth_callout` block."""

    issuer: str
    """Public key of the account that signs answers, and the users in them."""
    account: str
    """Where the service is."""
    auth_users: tuple[str, ...]
    """Users who log in as configured, the service's own among them."""
    xkey: str
    """Public xkey that requests are encrypted for; empty: they are not."""
    allowed_accounts: tuple[str, ...]
    """Whose configured users the service decides on; empty: all."""


def callout_settings(block: Mapping[str, object] | None) -> CalloutSettings | None:
    """Return what an `authorization` block says of a callout; None: nothing."""
    value = cast("Mapping[str, Any] | None", (block or {}).get("auth_callout"))
    if value is None:
        return None
    return CalloutSettings(
        issuer=value["issuer"],
        account=value["account"],
        auth_users=value["auth_users"],
        xkey=value["xkey"] or "",
        allowed_accounts=value["allowed_accounts"],
    )


def _settle(values: dict[str, object]) -> Iterator[tuple[str, str]]:
    if values["issuer"] is None:
        yield "account", "authorization callouts require an issuer to be specified; add `issuer`"
    if not values["auth_users"]:
        yield "issuer", "authorization callouts require authorized users; add `auth_users`"


def _check_key(kind: NkeyKind, key: object) -> str | None:
    if is_public_key(str(key), kind):
        return None
    return f"expected a valid public nkey of kind {kind.name.lower()}; it begins with {kind.value}"


AUTH_CALLOUT: Final = Option(
    name="auth_callout",
    kind=Kind.BLOCK,
    aliases=("auth_hook",),
    settle=_settle,
    help="A service that decides on logins, asked by messages",
    options=(
        Option(name="issuer", kind=Kind.STRING,
               check=lambda key: _check_key(NkeyKind.ACCOUNT, key),
               help="Public account key that signs answers, and the users in them"),
        Option(name="account", kind=Kind.STRING, default=GLOBAL_ACCOUNT, aliases=("acc",),
               help="Account that the service is in"),
        Option(name="auth_users", kind=Kind.STRINGS, default=(), aliases=("users",),
               help="Users who log in as configured, the service's own among them"),
        Option(name="xkey", kind=Kind.STRING, aliases=("key",),
               check=lambda key: _check_key(NkeyKind.CURVE, key),
               help="Public xkey of the service, to encrypt requests for"),
        Option(name="allowed_accounts", kind=Kind.STRINGS, default=(),
               help="Accounts whose configured users the service decides on; none named: all"),
    ),
)  # fmt: skip
