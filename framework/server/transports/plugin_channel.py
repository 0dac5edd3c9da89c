"""A channel of a plugin in a pump: what it raises or returns ends its link alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import override

from framework.server.pump import Channel, ChannelError
from framework.spec import Translated

if TYPE_CHECKING:
    import socket

    from framework.spec import LinkChannel


class PluginChannel(Channel):
    """A socket whose bytes a plugin translates.

    Args:
        sock: Non-blocking.
        inner: The plugin's.
        plugin: Its name.
        left: What was read from the socket already.
    """

    __slots__ = ("_answer", "_inner", "_left", "_plugin", "_sock", "_translated")

    def __init__(self, sock: socket.socket, inner: LinkChannel, plugin: str, left: bytes) -> None:
        self._sock = sock
        self._inner = inner
        self._plugin = plugin
        self._left = left
        self._translated = b""
        """For the plane."""
        self._answer = b""
        """For the peer."""

    @property
    @override
    def sock(self) -> socket.socket:
        return self._sock

    @property
    @override
    def owes_plane(self) -> bool:
        return bool(self._translated)

    @override
    def receive(self, data: memoryview) -> None:
        self._left += bytes(data)

    @override
    def read(self, into: memoryview) -> int:
        if self._left:
            left, self._left = self._left, b""
            made = self._call("receive_from_peer", left)
            self._translated += made.to_server
            self._answer += made.to_peer
        count = min(len(into), len(self._translated))
        into[:count] = self._translated[:count]
        self._translated = self._translated[count:]
        return count

    @override
    def answer(self) -> bytes:
        answer, self._answer = self._answer, b""
        return answer

    @override
    def write(self, plain: memoryview) -> bytes:
        made = self._call("receive_from_server", bytes(plain))
        self._translated += made.to_server
        return made.to_peer

    @override
    def farewell(self) -> bytes:
        return b""

    def _call(self, name: str, data: bytes) -> Translated:
        """Let the plugin work.

        Raises:
            ChannelError: It raised something, or returned something else.
        """
        what = f"plugin {self._plugin}: {name}"
        try:
            made = getattr(self._inner, name)(data)
        except Exception as error:  # whatever it is, it is this link's end
            raise ChannelError(f"{what}: {type(error).__name__}: {error!s:.200}") from error
        if not isinstance(made, Translated):
            raise ChannelError(f"{what} must return a Translated, not {made!r:.80}")
        return made
