"""HTTP proxies on the way to hubs: a machine that asks one for a tunnel, told bytes.

Source: nats-server `leafnode.go`, `establishHTTPProxyTunnel`; RFC 9110 9.3.6, RFC 7617.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Final

import h11
from typing_extensions import override

from framework.spec import Admitted, DialHandshake, TurnedAway
from framework_leafnode.limits import UPGRADE_BYTES_MAX

if TYPE_CHECKING:
    from framework.peering import PeerUrl
    from framework_leafnode.settings import ProxySettings

_OK: Final = 200
"""The only answer that nats-server takes for a yes."""


class ProxyTunnel(DialHandshake):
    """Ask a proxy for a way to a hub.

    Args:
        url: The hub.
        proxy: With the login there.
    """

    def __init__(self, url: PeerUrl, proxy: ProxySettings) -> None:
        self._url = url
        self._proxy = proxy
        self._connection = h11.Connection(h11.CLIENT, UPGRADE_BYTES_MAX)

    @override
    def begin(self) -> bytes:
        headers = [("Host", self._url.address)]
        if self._proxy.user:
            login = f"{self._proxy.user}:{self._proxy.password}".encode()
            basic = base64.b64encode(login).decode()
            headers.append(("Proxy-Authorization", f"Basic {basic}"))
        request = h11.Request(method="CONNECT", target=self._url.address, headers=headers)
        said = self._connection.send(request), self._connection.send(h11.EndOfMessage())
        return b"".join(it or b"" for it in said)

    @override
    def receive(self, data: bytes) -> Admitted | TurnedAway | None:
        try:
            self._connection.receive_data(data)
            event = self._connection.next_event()
        except h11.RemoteProtocolError as error:
            return TurnedAway(problem=f"failed to read proxy response: {error}")
        if event is h11.NEED_DATA or isinstance(event, h11.InformationalResponse):
            return None
        assert isinstance(event, h11.Response)
        if event.status_code != _OK:
            reason = event.reason.decode("ascii", "replace")
            return TurnedAway(problem=f"proxy CONNECT failed: {event.status_code} {reason}")
        left, _ = self._connection.trailing_data
        return Admitted(left=left)
