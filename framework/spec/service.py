"""Services that the server itself answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from framework.spec._checks import check_function, check_name, check_subject

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from framework.dataplane.link import LinkId


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


ServiceAnswer: TypeAlias = bytes | None
"""The payload of the answer; None: silence, because another server is meant."""


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

    def __post_init__(self) -> None:
        check_name("service", self.name)
        check_subject(f"service {self.name}", self.subject)
        check_function(f"service {self.name}", "answer", self.answer, is_async=True)
