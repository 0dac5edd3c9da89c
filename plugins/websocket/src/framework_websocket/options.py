"""Options of the block `websocket`.

Source: nats-server `opts.go`, `parseWebsocket`; `websocket.go`, `validateWebsocketOptions`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.topology import Kind, Option, tls_option

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_OURS = frozenset({"host", "content-length", "connection", "upgrade", "nats-no-masking"})
_PREFIX = "sec-websocket-"


def _check_origins(origins: object) -> str | None:
    from framework_websocket.origins import parse_origin  # noqa: PLC0415 - for who has origins

    assert isinstance(origins, tuple)
    for origin in origins:
        try:
            parse_origin(origin)
        except ValueError as error:
            return f"{origin}: {error}; expected such as https://example.com:8080"
    return None


def _check_given(value: object) -> str | None:
    return None if value else "cannot be empty"


def _check_headers(headers: object) -> str | None:
    assert isinstance(headers, dict)
    for name, value in headers.items():
        if name.lower() in _OURS or name.lower().startswith(_PREFIX):
            return f"the handshake itself says {name}"
        if not name or not name.isascii() or any(char in " :\r\n\t" for char in name):
            return f"{name!r} is no name of a header"
        if any(ord(char) < ord(" ") for char in value):
            return f"the value of {name} has control characters"
    return None


def settle(values: dict[str, object]) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the block as a whole."""
    tls = values["tls"]
    is_tls = isinstance(tls, dict) and bool(tls["enabled"])
    if values["port"] is not None and not is_tls and not values["no_tls"]:
        yield "port", "websocket requires TLS configuration: add a `tls` block, or `no_tls: true`"


def _settle_login(values: dict[str, object]) -> Iterator[tuple[str, str]]:
    user, password, token = (values[name] for name in ("user", "password", "token"))
    if token is None and (user is None) is not (password is None):
        missing, there = ("password", "user") if password is None else ("user", "password")
        yield there, f"needs a {missing}, or everybody could log in; add `{missing}`"


_LOGIN = (
    Option(name="user", kind=Kind.STRING, aliases=("username",), check=_check_given,
           help="Name that WebSocket clients log in with"),
    Option(name="password", kind=Kind.STRING, aliases=("pass",), check=_check_given, secret=True,
           help="Password of the user, or its bcrypt hash"),
    Option(name="token", kind=Kind.STRING, check=_check_given, secret=True,
           help="Token that WebSocket clients log in with, or its bcrypt hash; before the user"),
    Option(name="timeout", kind=Kind.DURATION, minimum=0.001, zero_is_default=True,
           help="Time for the login of a WebSocket client, also where others decide on it"),
)  # fmt: skip


OPTIONS = (
    Option(name="listen", kind=Kind.LISTEN,
           help="Where WebSocket clients connect: host:port or a port; sets host and port"),
    Option(name="host", kind=Kind.STRING, default="0.0.0.0", aliases=("net",),  # noqa: S104
           help="Address that WebSocket clients connect to"),
    Option(name="port", kind=Kind.PORT,
           help="Port that WebSocket clients connect to; without one there are none"),
    Option(name="advertise", kind=Kind.STRING, default="",
           help="host:port that WebSocket clients are told to connect to"),
    Option(name="no_tls", kind=Kind.BOOL, default=False,
           help="Let clients come without TLS, as behind a proxy that has it"),
    Option(name="same_origin", kind=Kind.BOOL, default=False,
           help="Refuse pages that come from another host than the one they connect to"),
    Option(name="allowed_origins", kind=Kind.STRINGS, default=(), check=_check_origins,
           aliases=("allowed_origin", "allow_origins", "allow_origin", "origins", "origin"),
           help="Where pages may come from that connect; any, if not set"),
    Option(name="compression", kind=Kind.BOOL, default=False, aliases=("compress",),
           help="Compress messages for clients that can (`permessage-deflate`)"),
    Option(name="handshake_timeout", kind=Kind.DURATION, minimum=0.001,
           zero_is_default=True, help="Time for the HTTP upgrade; 2s, if not set"),
    Option(name="jwt_cookie", kind=Kind.STRING, default="",
           help="Cookie with the JWT of a user, for clients that show none"),
    Option(name="user_cookie", kind=Kind.STRING, default="",
           help="Cookie with the user, for clients that name none"),
    Option(name="pass_cookie", kind=Kind.STRING, default="",
           help="Cookie with the password, for clients that give none"),
    Option(name="token_cookie", kind=Kind.STRING, default="",
           help="Cookie with the token, for clients that give none"),
    Option(name="no_auth_user", kind=Kind.STRING, default="",
           help="User that WebSocket clients are who do not log in"),
    Option(name="headers", kind=Kind.MAP, default={}, check=_check_headers,
           help="Headers beside those of the answer to an upgrade"),
    Option(name="ping_interval", kind=Kind.DURATION, minimum=0.001, zero_is_default=True,
           help="Time between PINGs to a WebSocket client; that of other clients, if not set"),
    Option(name="authorization", kind=Kind.BLOCK, aliases=("authentication",),
           options=_LOGIN, settle=_settle_login,
           help="What WebSocket clients log in with, in place of what others do"),
    tls_option("TLS of WebSocket clients"),
)  # fmt: skip


def is_on(values: Mapping[str, object]) -> bool:
    """Tell whether the block opens a port."""
    return values["port"] is not None
