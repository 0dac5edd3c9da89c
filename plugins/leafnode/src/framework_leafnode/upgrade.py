"""The upgrade to WebSocket on a connection with a hub: a machine that is told bytes.

Source: nats-server `leafnode.go`, `leafNodeSolicitWSConnection`; RFC 6455 4.1, RFC 7692 7.1.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Final

import h11
from typing_extensions import override

from framework.spec import Admitted, DialHandshake, TurnedAway, WebSocketFrames
from framework.wire.websocket import DEFLATE, DEFLATE_TERMS, NO_MASKING, accept_key
from framework_leafnode.limits import UPGRADE_BYTES_MAX

if TYPE_CHECKING:
    from framework.peering import PeerUrl

PATH: Final = "/leafnode"
"""Behind that of the URL: tells leaf nodes from clients."""
_INVALID: Final = "invalid websocket connection"
_SWITCHING: Final = 101


class HubUpgrade(DialHandshake):
    """The upgrade of one connection.

    Args:
        url: That is dialed.
        key: 16 random bytes.
        compresses: Compressed messages are asked for.
        masks: What this server sends is masked in any case.
    """

    def __init__(self, url: PeerUrl, key: bytes, *, compresses: bool, masks: bool) -> None:
        self._url = url
        self._key = base64.b64encode(key).decode()
        self._compresses = compresses
        self._masks = masks
        self._connection = h11.Connection(h11.CLIENT, UPGRADE_BYTES_MAX)
        self.is_compressed = False
        """Messages are, as was agreed on."""

    @override
    def begin(self) -> bytes:
        headers = [
            ("Host", self._url.address),
            ("Upgrade", "websocket"),
            ("Connection", "Upgrade"),
            ("Sec-WebSocket-Key", self._key),
            ("Sec-WebSocket-Version", "13"),
            *([("Sec-WebSocket-Extensions", DEFLATE_TERMS)] if self._compresses else []),
            *([] if self._masks else [(NO_MASKING, "true")]),
        ]
        request = h11.Request(method="GET", target=f"{self._url.path}{PATH}", headers=headers)
        said = self._connection.send(request), self._connection.send(h11.EndOfMessage())
        return b"".join(it or b"" for it in said)

    @override
    def receive(self, data: bytes) -> Admitted | TurnedAway | None:
        try:
            self._connection.receive_data(data)
            event = self._connection.next_event()
        except h11.RemoteProtocolError as error:
            return TurnedAway(problem=f"{_INVALID}: {error}")
        if event is h11.NEED_DATA:
            return None
        if not isinstance(event, h11.InformationalResponse) or event.status_code != _SWITCHING:
            status = getattr(event, "status_code", "closed")
            return TurnedAway(problem=f"{_INVALID}: {status}")
        return self._answer({
            name.decode(): value.decode("latin-1") for name, value in event.headers
        })

    def _answer(self, headers: dict[str, str]) -> Admitted | TurnedAway:
        if (
            headers.get("upgrade", "").lower() != "websocket"
            or headers.get("connection", "").lower() != "upgrade"
            or headers.get("sec-websocket-accept") != accept_key(self._key)
        ):
            return TurnedAway(problem=_INVALID)
        words = [it.strip(" \t") for it in headers.get("sec-websocket-extensions", "").split(";")]
        self.is_compressed = self._compresses and words[0] == DEFLATE
        if self.is_compressed and not set(DEFLATE_TERMS.split("; ")) <= set(words):
            return TurnedAway(problem="compression negotiation error")
        masks = self._masks or headers.get(NO_MASKING.lower()) != "true"
        frames = WebSocketFrames(is_compressed=self.is_compressed, is_masked=False, masks=masks)
        left, _ = self._connection.trailing_data
        return Admitted(stages=(frames,), left=left)
