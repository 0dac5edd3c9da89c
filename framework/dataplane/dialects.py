"""Dialects: the verbs that a link may say, what the plane does with each, and what it says itself.

A new dialect is a row here, or in a plugin: the parser looks a link's verbs up by the letters
they begin with. CONNECT, INFO, PING, PONG, +OK and -ERR belong to every link and stand nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final

from msgspec import Struct

VERBS_MAX: Final = 12
VERB_BYTES_MAX: Final = 6


class VerbOperation(IntEnum):
    """What the plane does with a line; words in brackets may be absent."""

    IGNORE = 0
    PUBLISH = 1
    """`subject [reply] #bytes`, then the payload."""
    PUBLISH_WITH_HEADERS = 2
    """`subject [reply] #header #total`."""
    SUBSCRIBE = 3
    """`subject [queue] sid`."""
    UNSUBSCRIBE = 4
    """`sid [max]`."""
    INTEREST = 5
    """`[account] subject [queue weight]`: of a server; a queue group comes again when its weight
    changes."""
    NO_INTEREST = 6
    """`[account] subject [queue]`."""
    MESSAGE = 7
    """`[account] subject [reply | + reply queue... | | queue...] #bytes`."""
    MESSAGE_WITH_HEADERS = 8
    """The same, ending in `#header #total`."""
    ACCOUNT_INTEREST = 9
    """`account`: of a server, which wants all there is in it, but for subjects that it refuses."""
    NO_ACCOUNT_INTEREST = 10
    """`account`: all interest in it that came by this link ends."""
    MESSAGE_OF_ORIGIN = 11
    """`origin [account] subject [reply | + reply queue... | | queue...] #header #total`: of a
    server whose leaf node has said it; the origin is the leaf node's cluster."""
    INTEREST_OF_ORIGIN = 12
    """`origin [account] subject [queue weight]`: the same of interest."""
    NO_INTEREST_OF_ORIGIN = 13
    """`origin [account] subject [queue]`."""


class AccountWord(IntEnum):
    """Whether lines between servers name the account that they are about."""

    UNLESS_OMITTED = 0
    """As the terms of each link say."""
    ALWAYS = 1
    NEVER = 2
    """A link carries one account."""


class Dialect(Struct, frozen=True, kw_only=True):
    """The verbs of one kind of link, in both directions."""

    verbs: Mapping[bytes, VerbOperation]
    """At most 12 of at most 6 letters, in capitals; `+` and `-` may follow the first letter."""
    message: bytes = b"RMSG"
    """Four letters: what a message to another server begins with; one with headers is `HMSG`."""
    interest: bytes = b"RS+"
    """Three letters: how another server is told of interest."""
    no_interest: bytes = b"RS-"
    no_account: bytes = b""
    """Two letters: how another server that sends unasked is told of an account that is not known
    here; empty: it is not told."""
    account: AccountWord = AccountWord.UNLESS_OMITTED
    weighs_groups: bool = True
    """It is told how many members a queue group has here, whenever that changes; else 1, once."""


CLIENT_DIALECT: Final = Dialect(
    verbs={
        b"PUB": VerbOperation.PUBLISH,
        b"HPUB": VerbOperation.PUBLISH_WITH_HEADERS,
        b"SUB": VerbOperation.SUBSCRIBE,
        b"UNSUB": VerbOperation.UNSUBSCRIBE,
    }
)
"""Source: nats-server `parser.go`, `parse`."""

ROUTE_DIALECT: Final = Dialect(
    verbs={
        b"RMSG": VerbOperation.MESSAGE,
        b"HMSG": VerbOperation.MESSAGE_WITH_HEADERS,
        b"RS+": VerbOperation.INTEREST,
        b"RS-": VerbOperation.NO_INTEREST,
        b"LMSG": VerbOperation.MESSAGE_OF_ORIGIN,
        b"LS+": VerbOperation.INTEREST_OF_ORIGIN,
        b"LS-": VerbOperation.NO_INTEREST_OF_ORIGIN,
        b"A+": VerbOperation.IGNORE,
        b"A-": VerbOperation.IGNORE,
    }
)
"""Source: nats-server `route.go`."""

GATEWAY_DIALECT: Final = Dialect(
    verbs={
        b"RMSG": VerbOperation.MESSAGE,
        b"HMSG": VerbOperation.MESSAGE_WITH_HEADERS,
        b"RS+": VerbOperation.INTEREST,
        b"RS-": VerbOperation.NO_INTEREST,
        b"A+": VerbOperation.ACCOUNT_INTEREST,
        b"A-": VerbOperation.NO_ACCOUNT_INTEREST,
    },
    no_account=b"A-",
    account=AccountWord.ALWAYS,
    weighs_groups=False,
)
"""Source: nats-server `gateway.go`, `processGatewayRSub`, `processGatewayAccountUnsub`."""

LEAF_DIALECT: Final = Dialect(
    verbs={
        b"LMSG": VerbOperation.MESSAGE,
        b"HMSG": VerbOperation.MESSAGE_WITH_HEADERS,
        b"LS+": VerbOperation.INTEREST,
        b"LS-": VerbOperation.NO_INTEREST,
    },
    message=b"LMSG",
    interest=b"LS+",
    no_interest=b"LS-",
    account=AccountWord.NEVER,
)
"""Source: nats-server `leafnode.go`, `processLeafSub`, `processInboundLeafMsg`."""
