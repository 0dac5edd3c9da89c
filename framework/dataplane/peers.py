"""Terms of links to other servers."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from msgspec import Struct

from framework.dataplane.scopes import Scope


class PeerGuard(IntEnum):
    """What follows when a server says what the permissions of its link forbid.

    With a guard, each message is looked at, those that come as well; interest with wildcards is
    told, and counts, where it is allowed in part. Source: nats-server `leafnode.go`,
    `leafMsgAllowed`, `leafPermViolation`.
    """

    NONE = 0
    """Its messages are not looked at; interest that is not allowed does not count."""
    DROPS = 1
    """It is not told; what it may not say is dropped."""
    ENDS = 2
    """It is told by `-ERR`, and the link ends."""


class PeerTerms(Struct, frozen=True, kw_only=True):
    """How a link to another server is registered.

    Source: nats-server `route.go`, `computeRoutePoolIdx`, `addRoute`.
    """

    peer: int = 0
    """A number of 32 bits for the server at the other end. Of several links to one peer, one gets
    a message. 0: there is no other link to it."""
    accounts: Sequence[int] | None = None
    """Indexes of the accounts that it carries, and other links to the same peer no more; what
    these brought of their interest counts until the peer has moved. None: all, or those of its
    pool, those as well that are added later."""
    pool_index: int = 0
    """Which link of the pool it is, from 0."""
    pool_size: int = 0
    """By which the peer assigns accounts to links: FNV-1a of the name, 32 bits, modulo the size,
    is the index. 0: there is no pool; the link carries every account, pinned ones too."""
    headers: bool = True
    """The peer takes HMSG."""
    account_omitted: bool = False
    """The link carries one account only, and its lines do not name it; where the dialect leaves
    that open."""
    traces: bool = True
    """The peer reports what becomes of messages that ask for it."""
    marks: tuple[bytes, bytes] | None = None
    """Lines before and behind all interest in an account that it is told of at one go; a zero
    byte stands for the account's name in base64."""
    tells_interest: bool = True
    """Without it, the peer ends the link with the first interest that it tells."""
    assumes_interest: bool = False
    """The peer is taken to want all there is in every account, until it says otherwise: what it
    wants nothing of it refuses, an account or a subject. INFO of its parks the link, since it may
    say that interest of an account is told from now on, or has been: see `set_interest_told`."""
    tells_unknown: bool = False
    """The peer sends unasked: it is told once of each account that is not known here."""
    address: bytes = b""
    """Stands before replies of messages that go there, where somebody here waits for the answer:
    servers that see it send the answer to this one by forwards. Empty: replies go as they are."""
    permissions: int = 0
    """Of this link; see `set_peer_permissions`."""
    guard: PeerGuard = PeerGuard.NONE
    scope: Scope | None = None
    """Where this very link leads; None: where links of its kind do."""
    untold: frozenset[Scope] = frozenset()
    """It is not told of interest of these, though its scope hears them."""
    origin: bytes = b""
    """Name of the cluster of leaf nodes that the server is of: what comes from there goes to none
    of its servers, nor are they told of each other's interest. Empty: it is of none."""
    takes_origins: bool = False
    """The peer, of this cluster, is told the origin of messages by LMSG, of interest by LS+."""
    loop: tuple[bytes, bytes] | None = None
    """A subject, and words: a server with interest in the subject leads back here, is told the
    words by `-ERR`, and the link ends. The words are `Closed.detail` then."""
