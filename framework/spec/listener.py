"""Listeners of plugins, and the events of their connections."""

from __future__ import annotations

from msgspec import Struct

from framework.dataplane.event import Event
from framework.dataplane.link import LinkKind
from framework.spec.tls import TlsSettings


class ListenerSpec(Struct, frozen=True, kw_only=True):
    """An address to accept connections of one kind on."""

    kind: LinkKind
    """Has one owner: no second listener may name it."""
    host: str
    port: int | None
    """-1 or 0: any free one; `ServerContext.listening_address` tells which. None: nobody is
    accepted; links of this kind are dialed only."""
    owner: str
    """Name of the component that is told `LinkEvents` of all links of this kind."""
    tls: TlsSettings | None = None
    """Links of this kind speak TLS, those that are dialed as well; None: they are plain."""


class LinkEvents(Struct, frozen=True):
    """Message to the owner of a kind: events of its links, in order, one batch a turn."""

    events: tuple[Event, ...]


class DialFailed(Struct, frozen=True):
    """Message to the owner of a kind: a dial failed."""

    token: int
    """As given to `ServerContext.dial`."""
    error: str
    """Reason for the log; printable."""
    none_left: bool = False
    """Nothing was tried: every address of the host was to be avoided."""
