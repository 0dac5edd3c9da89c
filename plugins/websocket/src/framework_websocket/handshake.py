"""The upgrade of one connection: a machine that is told bytes, and says what they come to.

h11 reads the request; what an upgrade must say, and what is answered, is decided here as
nats-server decides it. Lines that do not matter are forgotten as they come: a connection holds
4 KiB of its request at most, whatever it sends.

Source: nats-server `websocket.go`, `wsUpgrade`, `wsReturnHTTPError`; RFC 6455 4.2, RFC 7692 7.1.
"""

from __future__ import annotations

import base64
import binascii
from http import HTTPStatus
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

import h11
from typing_extensions import override

from framework.spec import (
    Admitted,
    Credentials,
    LinkKind,
    TransportHandshake,
    TurnedAway,
    WebSocketFrames,
)
from framework.wire.websocket import DEFLATE, DEFLATE_TERMS, NO_MASKING, accept_key
from framework_websocket.limits import HEAD_BYTES_MAX, KEPT_BYTES_MAX
from framework_websocket.origins import origin_problem

if TYPE_CHECKING:
    from framework.spec import Arrival
    from framework_websocket.config import WebSocketConfig

_KEY_BYTES: Final = 16
_MATTERS: Final = (
    b"host:",
    b"upgrade:",
    b"connection:",
    b"sec-websocket-",
    b"origin:",
    b"cookie:",
    b"x-forwarded-for:",
    b"nats-no-masking:",
    b"content-length:",
    b"transfer-encoding:",
)


class _Refused(Exception):  # noqa: N818 - it is an answer
    def __init__(self, status: HTTPStatus, problem: str, body: str = "") -> None:
        super().__init__(problem)
        self.status = status
        self.body = body or status.phrase


class _Request:
    """A request that is whole."""

    def __init__(self, request: h11.Request) -> None:
        self.method = request.method
        self.path = request.target.partition(b"?")[0].decode("ascii", "replace")
        headers = request.headers
        self._headers = [(name.decode(), value.decode("latin-1")) for name, value in headers]

    def first(self, name: str) -> str:
        """Return the first header of a name; empty: there is none."""
        return next((value for its, value in self._headers if its == name), "")

    def all(self, name: str) -> list[str]:
        """Return the values of all headers of a name."""
        return [value for its, value in self._headers if its == name]

    def has_token(self, name: str, token: str) -> bool:
        """Tell whether a header has a word among others."""
        return any(
            part.strip(" \t").lower() == token
            for value in self.all(name)
            for part in value.split(",")
        )


class Upgrade(TransportHandshake):
    """The handshake of one connection.

    Args:
        config: What may be agreed on.
        arrival: The connection.
        can_compress: Messages may be compressed.
        has_leafnodes: The server accepts leaf nodes, so some may come this way.
    """

    __slots__ = ("_arrival", "_can_compress", "_config", "_count", "_has_leafnodes", "_kept")

    def __init__(
        self,
        config: WebSocketConfig,
        arrival: Arrival,
        *,
        can_compress: bool,
        has_leafnodes: bool = False,
    ) -> None:
        self._config = config
        self._arrival = arrival
        self._can_compress = can_compress
        self._has_leafnodes = has_leafnodes
        self._kept = b""
        """The request line, lines that matter, and the last one, which may not be whole."""
        self._count = 0

    @override
    def receive(self, data: bytes) -> Admitted | TurnedAway | None:
        self._count += len(data)
        try:
            head = self._keep(data)
            return self._answer(_read(head)) if head else None
        except _Refused as refused:
            return _turned_away(refused)

    def _keep(self, data: bytes) -> bytes:
        """Keep what matters; return the request when it is whole.

        Raises:
            _Refused: It is too long, or something follows it.
        """
        kept, at = self._kept + data, self._kept.rfind(b"\n") + 1
        while (end := kept.find(b"\n", at)) >= 0:
            line = kept[at : end + 1]
            if at and line in {b"\r\n", b"\n"}:
                if kept[end + 1 :]:
                    raise _Refused(
                        HTTPStatus.BAD_REQUEST,
                        "client sent data before handshake is complete",
                    )
                return kept
            if at and not line.lower().startswith(_MATTERS):
                kept = kept[:at] + kept[end + 1 :]
            else:
                at = end + 1
        if len(kept) > KEPT_BYTES_MAX or self._count > HEAD_BYTES_MAX:
            raise _Refused(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "request too large")
        self._kept = kept
        return b""

    def _answer(self, request: _Request) -> Admitted | TurnedAway:
        """Return what an upgrade comes to.

        Raises:
            _Refused: It is none.
        """
        key = self._check(request)
        lines = [
            "HTTP/1.1 101 Switching Protocols",
            "Upgrade: websocket",
            "Connection: Upgrade",
            f"Sec-WebSocket-Accept: {accept_key(key)}",
        ]
        is_compressed = self._can_compress and _offers_deflate(request)
        if is_compressed:
            lines.append(f"Sec-WebSocket-Extensions: {DEFLATE_TERMS}")
        is_masked = request.first(NO_MASKING.lower()) != "true"
        if not is_masked:
            lines.append(f"{NO_MASKING}: true")
        lines += [f"{name}: {value}" for name, value in self._config.headers]
        answer = "\r\n".join([*lines, "", ""]).encode("latin-1", "replace")
        stages = (WebSocketFrames(is_compressed=is_compressed, is_masked=is_masked),)
        if request.path.endswith("/leafnode"):
            if not self._has_leafnodes:
                problem = "not configured to accept leaf node connections"
                return TurnedAway(answer=answer, problem=problem)
            return Admitted(answer=answer, stages=stages, kind=LinkKind.LEAF)
        return Admitted(
            answer=answer,
            stages=stages,
            credentials=self._credentials(request),
            forwarded_for=_address(request.first("x-forwarded-for")),
        )

    def _check(self, request: _Request) -> str:
        """Return the key of an upgrade.

        Raises:
            _Refused: It is none, or may not be.
        """
        if request.path.endswith("/mqtt"):
            raise _Refused(HTTPStatus.NOT_FOUND, "mqtt websocket endpoint not enabled")
        if request.method != b"GET":
            raise _Refused(HTTPStatus.METHOD_NOT_ALLOWED, "request method must be GET")
        key = request.first("sec-websocket-key")
        for is_good, problem in (
            (request.first("host"), "'Host' missing in request"),
            (request.has_token("upgrade", "websocket"), "invalid value for header 'Upgrade'"),
            (request.has_token("connection", "upgrade"), "invalid value for header 'Connection'"),
            (key, "key missing"),
            (_is_key(key), "invalid websocket key"),
            (request.has_token("sec-websocket-version", "13"), "invalid version"),
        ):
            if not is_good:
                raise _Refused(HTTPStatus.BAD_REQUEST, problem)
        self._check_origin(request)
        return key

    def _check_origin(self, request: _Request) -> None:
        problem = origin_problem(
            request.first("origin") or request.first("sec-websocket-origin"),
            host=request.first("host"),
            is_tls=self._arrival.is_tls,
            same=self._config.same_origin,
            allowed=self._config.allowed_origins,
        )
        if problem:
            raise _Refused(HTTPStatus.FORBIDDEN, f"origin not allowed: {problem}")

    def _credentials(self, request: _Request) -> Credentials:
        names = self._config.cookies
        found: dict[str, str] = {}
        for cookies in request.all("cookie"):
            for cookie in cookies.split(";"):
                name, _, value = cookie.strip().partition("=")
                if name:
                    found[name] = value.strip('"')
        return Credentials(
            user=found.get(names.user, ""),
            password=found.get(names.password, ""),
            auth_token=found.get(names.token, ""),
            jwt=found.get(names.jwt, ""),
        )


def _read(head: bytes) -> _Request:
    """Return a request by its bytes.

    Raises:
        _Refused: It is no HTTP.
    """
    connection = h11.Connection(h11.SERVER)
    try:
        connection.receive_data(head)
        request = connection.next_event()
        following = connection.next_event()
    except h11.RemoteProtocolError as error:
        raise _Refused(HTTPStatus.BAD_REQUEST, str(error)) from None
    if not isinstance(request, h11.Request) or not isinstance(following, h11.EndOfMessage):
        raise _Refused(HTTPStatus.BAD_REQUEST, "an upgrade has no body")
    return _Request(request)


def _offers_deflate(request: _Request) -> bool:
    """Tell whether a client offers compression as we do it: with the largest window."""
    offers = (
        [part.strip(" \t").lower() for part in offer.split(";")]
        for value in request.all("sec-websocket-extensions")
        for offer in value.split(",")
    )
    return any(
        words[0] == DEFLATE and not any(it.startswith("server_max_window_bits") for it in words)
        for words in offers
    )


def _is_key(key: str) -> bool:
    try:
        return len(base64.b64decode(key, validate=True)) == _KEY_BYTES
    except (binascii.Error, ValueError):
        return False


def _address(text: str) -> str:
    """Return an address; empty: the text is none."""
    try:
        return str(ip_address(text.strip()))
    except ValueError:
        return ""


def _turned_away(refused: _Refused) -> TurnedAway:
    status, body = refused.status, f"{refused.body}\n"
    answer = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\n"
        "Content-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\n"
        "Sec-Websocket-Version: 13\r\n"
        "Connection: close\r\n"
        f"\r\n{body}"
    )
    return TurnedAway(answer=answer.encode(), problem=str(refused))
