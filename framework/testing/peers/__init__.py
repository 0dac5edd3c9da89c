"""Real servers and tools to test against, found in a folder of this user or built into it.

`python -m framework.testing.peers` brings all of them. Nothing here starts a service or needs
root. The folder is `$FRAMEWORK_PEERS`, or `~/.cache/framework-peers`.
"""

from __future__ import annotations

from framework.testing.peers._catalogue import (
    PEERS,
    Peer,
    bring,
    browser,
    deno,
    find,
    peers_folder,
    version_text,
)
from framework.testing.peers._npm import node

__all__ = [
    "PEERS",
    "Peer",
    "bring",
    "browser",
    "deno",
    "find",
    "node",
    "peers_folder",
    "version_text",
]
