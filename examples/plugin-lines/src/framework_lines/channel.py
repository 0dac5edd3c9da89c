"""Translate lines of text into the protocol of NATS clients, and back.

LOGIN user password     first, where a login is needed
SEND subject text       publish
HEAR subject            subscribe

HEARD subject text      a message
ERROR text              what the server refuses, or what makes no sense
"""

from __future__ import annotations

import json
import re

from typing_extensions import override

from framework.spec import LinkChannel, Translated

LINE_BYTES_MAX = 4_096
_SUBJECT = re.compile(rb"[^\s]+")


class Lines(LinkChannel):
    """The channel of one client."""

    def __init__(self) -> None:
        self._from_peer = b""
        self._from_server = b""
        self._has_begun = False
        self._count = 0
        """Subscriptions so far."""

    @override
    def receive_from_peer(self, data: bytes) -> Translated:
        *lines, self._from_peer = (self._from_peer + data).split(b"\n")
        if len(self._from_peer) > LINE_BYTES_MAX:
            raise ValueError(f"a line has at most {LINE_BYTES_MAX} bytes")
        to_server, to_peer = b"", b""
        for line in lines:
            said = self._translate(line.rstrip(b"\r"))
            to_server += said or b""
            if said is None:
                to_peer += b"ERROR say LOGIN, SEND or HEAR\n"
        return Translated(to_server=to_server, to_peer=to_peer)

    def _translate(self, line: bytes) -> bytes | None:
        """Return what a line says to the server; None: it makes no sense."""
        verb, _, rest = line.partition(b" ")
        first, _, text = rest.partition(b" ")
        if verb == b"LOGIN" and not self._has_begun:
            return self._connect(first.decode(), text.decode())
        if verb not in {b"SEND", b"HEAR"} or not _SUBJECT.fullmatch(first):
            return None
        begin = b"" if self._has_begun else self._connect()
        if verb == b"SEND":
            return begin + b"PUB %b %d\r\n%b\r\n" % (first, len(text), text)
        self._count += 1
        return begin + b"SUB %b %d\r\n" % (first, self._count)

    def _connect(self, user: str = "", password: str = "") -> bytes:
        self._has_begun = True
        terms = {"user": user, "pass": password, "verbose": False, "name": "lines"}
        return b"CONNECT %b\r\n" % json.dumps(terms).encode()

    @override
    def receive_from_server(self, data: bytes) -> Translated:
        self._from_server += data
        to_server, to_peer = b"", b""
        while (operation := self._next()) is not None:
            line, payload = operation
            verb, *words = line.split(b" ")
            if verb == b"PING":
                to_server += b"PONG\r\n"
            elif verb == b"MSG":
                to_peer += b"HEARD %b %b\n" % (words[0], payload.replace(b"\n", b" "))
            elif verb == b"-ERR":
                to_peer += b"ERROR %b\n" % b" ".join(words)
        return Translated(to_server=to_server, to_peer=to_peer)

    def _next(self) -> tuple[bytes, bytes] | None:
        """Take the next operation that is whole: its line, and the payload of MSG."""
        line, end, rest = self._from_server.partition(b"\r\n")
        if not end:
            return None
        payload = b""
        if line.startswith(b"MSG "):
            count = int(line.rpartition(b" ")[2])
            if len(rest) < count + 2:
                return None
            payload, rest = rest[:count], rest[count + 2 :]
        self._from_server = rest
        return line, payload
