"""Ports: subscribers and publishers of this process on threads of their own."""

from __future__ import annotations

from enum import IntEnum

from framework.dataplane.ports._porthandle import Outgoing, Port

__all__ = ["Outgoing", "Port", "RowKind", "RowWord"]


class RowKind(IntEnum):
    """What a row of a port's batch is; see `framework_port.h`."""

    MESSAGE = 0
    """`tag` is that of the subscription."""
    ANSWER = 1
    """What became of a message that had a token, which `tag` is."""
    INTEREST = 2
    """Interest in a watched subject has changed; `tag` is that of the watch."""


class RowWord(IntEnum):
    """What a row says that is no message."""

    NOBODY = 1
    """Nobody here or elsewhere has got it; nobody is interested any more."""
    FULL = 2
    """It was delivered, and its receiver has much waiting: send no more."""
    ROOM = 3
    """The receiver of a message that was answered FULL has caught up, or is gone."""
    REFUSED = 4
    """The account is not there, the tag is taken, or there was no memory."""
    SOMEBODY = 5
    """Somebody is interested now, here or elsewhere."""
