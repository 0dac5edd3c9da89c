"""What all protocols between servers need: URLs, logins, the handshake, the actor of a link.

A plugin that links servers (routes, gateways, leaf nodes) brings subclasses: of `Handshake` for
what its documents say, of `PeerLink`, the actor that performs what the machine of one connection
decides, and of `PeerManager`, the actor that owns all of them with the machine that knows who is
welcome.
Options and the listener that all have in common are here as well. Machines may use all that is
without I/O, clock or thread: effects, notes, URLs, logins, rounds of dials.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.lazy_names import lazy_names

if TYPE_CHECKING:
    from framework.peering.checks import collect_checks
    from framework.peering.compression import (
        CODECS_MAX,
        RTT_THRESHOLDS_NS,
        Choice,
        Compression,
        CompressionTerms,
    )
    from framework.peering.compression_options import compression_option, compression_terms
    from framework.peering.dial_rounds import DialRounds
    from framework.peering.effects import (
        AcceptClaim,
        ArmTimer,
        CheckPassword,
        Close,
        CommonEffect,
        Compressed,
        Dismiss,
        EncodeLink,
        Introduce,
        LinkEffect,
        LocalChanged,
        Resume,
        Send,
        Tell,
        Update,
        Wait,
    )
    from framework.peering.handshake import Handshake, HandshakeEvent, Phase, Step, Steps
    from framework.peering.links import PeerLinks
    from framework.peering.listening import (
        check_dials,
        listener_check,
        peer_listener,
        tls_errors,
    )
    from framework.peering.login import Login
    from framework.peering.notes import Level, Noted, NotedOf, write_note
    from framework.peering.passwords import PasswordQueue, matches
    from framework.peering.peer_link import PeerLink
    from framework.peering.peer_manager import PeerManager
    from framework.peering.peer_options import (
        login_option,
        no_spaces,
        peer_tls,
        read_login,
        slow_options,
        url_check,
    )
    from framework.peering.rates import LinkRates, Rates
    from framework.peering.url import PeerUrl, join_host_port, parse_peer_url, split_advertised

__all__ = [
    "CODECS_MAX",
    "RTT_THRESHOLDS_NS",
    "AcceptClaim",
    "ArmTimer",
    "CheckPassword",
    "Choice",
    "Close",
    "CommonEffect",
    "Compressed",
    "Compression",
    "CompressionTerms",
    "DialRounds",
    "Dismiss",
    "EncodeLink",
    "Handshake",
    "HandshakeEvent",
    "Introduce",
    "Level",
    "LinkEffect",
    "LinkRates",
    "LocalChanged",
    "Login",
    "Noted",
    "NotedOf",
    "PasswordQueue",
    "PeerLink",
    "PeerLinks",
    "PeerManager",
    "PeerUrl",
    "Phase",
    "Rates",
    "Resume",
    "Send",
    "Step",
    "Steps",
    "Tell",
    "Update",
    "Wait",
    "check_dials",
    "collect_checks",
    "compression_option",
    "compression_terms",
    "join_host_port",
    "listener_check",
    "login_option",
    "matches",
    "no_spaces",
    "parse_peer_url",
    "peer_listener",
    "peer_tls",
    "read_login",
    "slow_options",
    "split_advertised",
    "tls_errors",
    "url_check",
    "write_note",
]

# A server without links to others reads their configuration, and needs no more.
__getattr__ = lazy_names(
    __name__,
    {
        "CODECS_MAX": "compression",
        "RTT_THRESHOLDS_NS": "compression",
        "AcceptClaim": "effects",
        "ArmTimer": "effects",
        "CheckPassword": "effects",
        "Choice": "compression",
        "Close": "effects",
        "CommonEffect": "effects",
        "Compressed": "effects",
        "Compression": "compression",
        "CompressionTerms": "compression",
        "DialRounds": "dial_rounds",
        "Dismiss": "effects",
        "EncodeLink": "effects",
        "Handshake": "handshake",
        "HandshakeEvent": "handshake",
        "Introduce": "effects",
        "Level": "notes",
        "LinkEffect": "effects",
        "LinkRates": "rates",
        "LocalChanged": "effects",
        "Login": "login",
        "Noted": "notes",
        "NotedOf": "notes",
        "PasswordQueue": "passwords",
        "PeerLink": "peer_link",
        "PeerLinks": "links",
        "PeerManager": "peer_manager",
        "PeerUrl": "url",
        "Phase": "handshake",
        "Rates": "rates",
        "Resume": "effects",
        "Send": "effects",
        "Step": "handshake",
        "Steps": "handshake",
        "Tell": "effects",
        "Update": "effects",
        "Wait": "effects",
        "check_dials": "listening",
        "collect_checks": "checks",
        "compression_option": "compression_options",
        "compression_terms": "compression_options",
        "join_host_port": "url",
        "listener_check": "listening",
        "login_option": "peer_options",
        "matches": "passwords",
        "no_spaces": "peer_options",
        "parse_peer_url": "url",
        "peer_listener": "listening",
        "peer_tls": "peer_options",
        "read_login": "peer_options",
        "slow_options": "peer_options",
        "split_advertised": "url",
        "tls_errors": "listening",
        "url_check": "peer_options",
        "write_note": "notes",
    },
)
