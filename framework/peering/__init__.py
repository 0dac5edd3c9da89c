"""What all protocols between servers need: URLs, logins, the handshake, the actor of a link.

A plugin that links servers (routes, gateways, leaf nodes) brings a subclass of `Handshake` for what
its documents say, and one of `PeerLink`, the actor that performs what the machine decides;
`PeerLinks` keeps all of them. All but these two is without I/O, clock or thread, and machines may
use it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.lazy_names import lazy_names

if TYPE_CHECKING:
    from framework.peering.effects import (
        AcceptClaim,
        ArmTimer,
        CheckPassword,
        Close,
        Dismiss,
        LinkEffect,
        Resume,
        Send,
        Wait,
    )
    from framework.peering.handshake import Handshake, HandshakeEvent, Phase, Step, Steps
    from framework.peering.links import PeerLinks
    from framework.peering.login import Login
    from framework.peering.notes import Level, Noted, NotedOf, write_note
    from framework.peering.passwords import PasswordQueue, matches
    from framework.peering.peer_link import PeerLink
    from framework.peering.url import PeerUrl, join_host_port, parse_peer_url

__all__ = [
    "AcceptClaim",
    "ArmTimer",
    "CheckPassword",
    "Close",
    "Dismiss",
    "Handshake",
    "HandshakeEvent",
    "Level",
    "LinkEffect",
    "Login",
    "Noted",
    "NotedOf",
    "PasswordQueue",
    "PeerLink",
    "PeerLinks",
    "PeerUrl",
    "Phase",
    "Resume",
    "Send",
    "Step",
    "Steps",
    "Wait",
    "join_host_port",
    "matches",
    "parse_peer_url",
    "write_note",
]

# A server without links to others reads their configuration, and needs no more.
__getattr__ = lazy_names(
    __name__,
    {
        "AcceptClaim": "effects",
        "ArmTimer": "effects",
        "CheckPassword": "effects",
        "Close": "effects",
        "Dismiss": "effects",
        "HandshakeEvent": "handshake",
        "Handshake": "handshake",
        "join_host_port": "url",
        "Level": "notes",
        "LinkEffect": "effects",
        "Login": "login",
        "matches": "passwords",
        "Noted": "notes",
        "NotedOf": "notes",
        "parse_peer_url": "url",
        "PasswordQueue": "passwords",
        "PeerLink": "peer_link",
        "PeerLinks": "links",
        "PeerUrl": "url",
        "Phase": "handshake",
        "Resume": "effects",
        "Send": "effects",
        "Step": "handshake",
        "Steps": "handshake",
        "Wait": "effects",
        "write_note": "notes",
    },
)
