"""Services that the server itself answers."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeAlias

from msgspec import Struct, field

from framework.dataplane.link import LinkId
from framework.spec._checks import check, check_function, check_name, check_queue, check_subject

_HEADER_NAME: Final = r"[!-9;-~]+"


class ServiceRequest(Struct, frozen=True, kw_only=True):
    """A request, copied out of its batch."""

    subject: str
    reply: str
    """Empty: nobody waits for an answer."""
    header: bytes
    """The whole block with its `NATS/1.0`; empty: none."""
    payload: bytes
    link: LinkId = 0
    """Where it came from: a client of this server, or another server; 0: this server itself."""
    came_ns: int = field(default_factory=time.monotonic_ns)
    """When it came, by the monotonic clock: it may have waited since."""

    @property
    def headers(self) -> Mapping[str, tuple[str, ...]]:
        """The values of each header, in their order; names as they were sent."""
        found: dict[str, tuple[str, ...]] = {}
        for line in self.header.decode("utf-8", "replace").split("\r\n")[1:]:
            name, colon, value = line.partition(":")
            if colon:
                found[name] = (*found.get(name, ()), value.strip())
        return found


class ServiceReply(Struct, frozen=True):
    """An answer with headers."""

    payload: bytes
    headers: Mapping[str, str] = {}
    """Names and values, printable and without line ends; the names without colons and blanks."""

    def __post_init__(self) -> None:
        for name, value in self.headers.items():
            is_good = re.fullmatch(_HEADER_NAME, name) is not None and value.isprintable()
            check("reply", "headers", (name, value), is_good=is_good, expected="names and values")

    def header_block(self) -> bytes:
        """Return the headers as they stand before the payload; empty when there are none."""
        lines = [f"{name}: {value}\r\n" for name, value in self.headers.items()]
        return f"NATS/1.0\r\n{''.join(lines)}\r\n".encode() if lines else b""


ServiceAnswer: TypeAlias = bytes | ServiceReply | None
"""The payload of the answer, or a reply with headers; None: silence, as another server is meant."""


class ServiceSpec(Struct, frozen=True, kw_only=True):
    """Subjects of one account that the server answers on."""

    name: str
    """Unique in the server."""
    subject: str
    """May have wildcards."""
    answer: Callable[[ServiceRequest], Awaitable[ServiceAnswer]]
    """Called in the control loop; what it raises is answered as `{"error": ...}` and logged."""
    account: str = ""
    """Empty: the system account."""
    queue: str | None = None
    """Queue group: of all servers with this service, one answers; None: each of them does."""

    def __post_init__(self) -> None:
        check_name("service", self.name)
        check_subject(f"service {self.name}", self.subject)
        check_function(f"service {self.name}", "answer", self.answer, is_async=True)
        check_queue(f"service {self.name}", self.queue)
