"""Sockets of tests: pairs over TCP, what is read whole, and what a thread sends."""

from __future__ import annotations

import contextlib
import socket
import threading

WAIT_S = 10.0
"""How long a test waits for what should come at once."""


def tcp_pair() -> tuple[socket.socket, socket.socket]:
    """Return our end, which never blocks, and that of a peer, which waits; both hold little."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        peer = socket.create_connection(listener.getsockname(), WAIT_S)
        ours, _ = listener.accept()
    ours.settimeout(0)
    for sock in (ours, peer):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
    return ours, peer


def exactly(sock: socket.socket, count: int) -> bytes:
    """Return the next `count` bytes."""
    received = bytearray()
    while len(received) < count:
        part = sock.recv(min(count - len(received), 1 << 20))
        assert part, f"closed after {len(received)} bytes"
        received += part
    return bytes(received)


def line(sock: socket.socket) -> bytes:
    """Return the next line."""
    read = b""
    while not read.endswith(b"\n"):
        read += exactly(sock, 1)
    return read


def sending(sock: socket.socket, *parts: bytes) -> threading.Thread:
    """Send in a thread of its own, as far as the other end takes it."""

    def run() -> None:
        with contextlib.suppress(OSError):
            for part in parts:
                sock.sendall(part)

    thread = threading.Thread(target=run)
    thread.start()
    return thread
