"""A link of so many bytes a second between two servers, which counts what passes."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from typing import Final, Self

PIECE_BYTES: Final = 16_384
BUFFER_BYTES: Final = 65_536
"""Of each socket: what is under way, as on a link of 200 Mbit/s and 3 ms."""
LATE_S: Final = 0.1
"""What a busy machine may wake us late."""


class SlowLink:
    """Passes on what connections to `port` carry; all share each direction's rate.

    Args:
        target_port: Where it leads, on 127.0.0.1.
        bytes_per_s: In each direction; 0: as much as there is.
        port: That it listens on; 0: any.
    """

    def __init__(self, target_port: int, bytes_per_s: float, port: int = 0) -> None:
        self._target_port = target_port
        self._bytes_per_s = bytes_per_s
        self._locks = [threading.Lock(), threading.Lock()]
        self._free_s = [0.0, 0.0]
        """When each direction has sent what it has taken."""
        self._counts = [0, 0]
        self._listener = socket.create_server(("127.0.0.1", port))
        if bytes_per_s:
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
        self.first_s = 0.0
        """When the first connection came, as `time.perf_counter` says; 0: none has."""
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    @property
    def total_bytes(self) -> int:
        """What has passed, in both directions."""
        return sum(self._counts)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                self.first_s = self.first_s or time.perf_counter()
                far = socket.socket()
                if self._bytes_per_s:
                    for end in (near, far):
                        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
                        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_BYTES)
                far.connect(("127.0.0.1", self._target_port))
                for way, ends in enumerate(((near, far), (far, near))):
                    ends[1].setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    threading.Thread(target=self._pass, args=(way, *ends), daemon=True).start()

    def _pass(self, way: int, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(PIECE_BYTES if self._bytes_per_s else BUFFER_BYTES * 4):
                with self._locks[way]:
                    self._counts[way] += len(data)
                    self._take_time(way, len(data))
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _take_time(self, way: int, count: int) -> None:
        """Wait as long as the link needs for `count` bytes; with the lock of this way held."""
        if not self._bytes_per_s:
            return
        now_s = time.perf_counter()
        # What was slept too long is caught up with, within bounds.
        begin_s = max(self._free_s[way], now_s - LATE_S)
        self._free_s[way] = begin_s + count / self._bytes_per_s
        if self._free_s[way] > now_s:
            time.sleep(self._free_s[way] - now_s)
