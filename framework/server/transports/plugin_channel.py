"""A channel of a plugin in a pump: what it raises or returns ends its link alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import override

from framework.server.pump import Channel, ChannelError

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from framework.spec import LinkChannel


class PluginChannel(Channel):
    """A socket whose bytes a plugin translates.

    Args:
        sock: Non-blocking.
        inner: The plugin's.
        plugin: Its name.
        left: What was read from the socket already.
    """

    __slots__ = ("_inner", "_left", "_plugin", "_sock", "_translated")

    def __init__(self, sock: socket.socket, inner: LinkChannel, plugin: str, left: bytes) -> None:
        self._sock = sock
        self._inner = inner
        self._plugin = plugin
        self._left = left
        self._translated = memoryview(b"")
        """For the plane."""

    @property
    @override
    def sock(self) -> socket.socket:
        return self._sock

    @override
    def receive(self, data: memoryview) -> None:
        self._left += bytes(data)

    @override
    def read(self, into: memoryview) -> int:
        if self._left:
            left, self._left = self._left, b""
            self._translated = memoryview(self._call(self._inner.from_peer, left))
        count = min(len(into), len(self._translated))
        into[:count] = self._translated[:count]
        self._translated = self._translated[count:]
        return count

    @override
    def answer(self) -> bytes:
        return self._call(self._inner.answer)

    @override
    def write(self, plain: memoryview) -> bytes:
        return self._call(self._inner.from_server, bytes(plain))

    @override
    def farewell(self) -> bytes:
        return b""

    def _call(self, function: Callable[..., bytes], *arguments: bytes) -> bytes:
        """Let the plugin work.

        Raises:
            ChannelError: It raised something, or returned none.
        """
        what = f"plugin {self._plugin}: {function.__name__}"
        try:
            made = function(*arguments)
        except Exception as error:  # whatever it is, it is this link's end
            raise ChannelError(f"{what}: {type(error).__name__}: {error!s:.200}") from error
        if not isinstance(made, bytes):
            raise ChannelError(f"{what} must return bytes, not {made!r:.80}")
        return made
