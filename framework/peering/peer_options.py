"""Options that the blocks of all protocols between servers have, and what they come to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from framework.peering.login import Login
from framework.spec import TlsSettings, tls_settings
from framework.topology import Kind, Option, Reload, is_tls_on, login_timeout_s


def no_spaces(what: str) -> Callable[[object], str | None]:
    """Return a check of a name, which `what` is in its complaint."""

    def check(name: object) -> str | None:
        return f"{what} name cannot contain spaces" if " " in str(name) else None

    return check


def url_check(parse: Callable[[str], object], example: str) -> Callable[[object], str | None]:
    """Return a check of one URL, or of several; empty texts are none.

    Args:
        parse: Raises ValueError for what is no URL of the protocol.
        example: One that is.
    """

    def check(value: object) -> str | None:
        assert isinstance(value, str | tuple)
        for url in (value,) if isinstance(value, str) else value:
            try:
                if url:
                    parse(url)
            except ValueError as error:
                return f"{error}; expected a URL such as {example}"
        return None

    return check


def login_option(*, title: str, servers: str, until: str, permissions: str) -> Option:
    """Return the block `authorization`: one user, as nats-server has it for servers.

    Args:
        title: `Cluster`, as the complaints of nats-server begin.
        servers: Who logs in: `other servers`.
        until: What `timeout` limits: `to become a route`.
        permissions: Why permissions have no effect in it.

    Source: nats-server `opts.go`, `parseCluster`, `parseGateway`.
    """
    only = "A user and a password only"
    options = (
        Option(name="user", kind=Kind.STRING, reload=Reload.LIVE, default="",
               help=f"Name that {servers} must give", aliases=("username",)),
        Option(name="password", kind=Kind.STRING, reload=Reload.LIVE, default="",
               help="Password that belongs to the user, or its bcrypt hash",
               aliases=("pass",), secret=True),
        Option(name="timeout", kind=Kind.DURATION, reload=Reload.LIVE, minimum=0.001,
               zero_is_default=True,
               help=f"How long another server may take {until}; if not set, 2s, or with TLS 1s"
                    " more than `tls.timeout`"),
        Option(name="permissions", kind=Kind.FREE, help="Without effect", inert=permissions,
               aliases=("default_permissions",)),
        Option(name="users", kind=Kind.FREE, help="One user only",
               refusal=f"{title} authorization does not allow multiple users"),
        Option(name="token", kind=Kind.STRING, help=only,
               refusal=f"{title} authorization does not support tokens"),
        Option(name="auth_callout", kind=Kind.FREE, help=only, aliases=("auth_hook",),
               refusal=f"{title} authorization does not support callouts"),
    )  # fmt: skip
    return Option(
        name="authorization",
        kind=Kind.BLOCK,
        reload=Reload.LIVE,
        options=options,
        settle=_settle_login,
        help=f"What {servers} must prove",
    )


def _settle_login(values: dict[str, object]) -> Iterator[tuple[str, str]]:
    if values["password"] and not values["user"]:
        yield "password", "needs a user"


def slow_options(kind: str) -> tuple[Option, Option]:
    """Return `write_deadline` and `write_timeout`.

    Args:
        kind: What is slow: `route`.
    """
    return (
        Option(name="write_deadline", kind=Kind.DURATION, default=None, minimum=0.001,
               reload=Reload.LIVE,
               help=f"How long a {kind} may take nothing of what waits; as clients, if not set"),
        Option(name="write_timeout", kind=Kind.STRING, default="default",
               choices=("default", "close", "retry"), reload=Reload.LIVE,
               help=f"Whether a {kind} that is too slow is closed, or tried again as by default"),
    )  # fmt: skip


def read_login(block: Mapping[str, Any], hosts: Sequence[str]) -> Login:
    """Return what servers that dial must prove.

    Args:
        block: With `authorization` and `tls`.
        hosts: Those that are dialed; `verify_cert_and_check_known_urls` goes by them.
    """
    authorization: Mapping[str, Any] = block["authorization"] or {}
    tls: Mapping[str, Any] = block["tls"] if is_tls_on(block["tls"]) else {}
    checks_hosts = tls.get("verify_cert_and_check_known_urls", False)
    return Login(
        user=authorization.get("user", ""),
        password=authorization.get("password", ""),
        timeout_s=authorization.get("timeout") or login_timeout_s(block["tls"]),
        maps_certificates=tls.get("verify_and_map", False),
        known_hosts=tuple(hosts) if checks_hosts else None,
    )


def peer_tls(block: Mapping[str, object] | None, *, path: str) -> TlsSettings | None:
    """Return what a block `tls` comes to where both show certificates, and TLS comes first.

    Args:
        block: Its values.
        path: Where it stands, such as `cluster.tls`.
    """
    settings = tls_settings(block, path=path, verify=True)
    return settings and replace(settings, handshake_first=True, fallback_s=0.0)
