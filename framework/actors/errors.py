"""What can go wrong between actors, beside pykka's `ActorDeadError` and `Timeout`."""

from __future__ import annotations

from framework.errors import FrameworkError


class MailboxFullError(FrameworkError):
    """A mailbox that refuses what it cannot hold was told or asked one message too many."""


class BlockingCallError(FrameworkError):
    """An actor, or the loop that runs actors, was about to wait for an answer that needs it to run."""


class SpawnRefusedError(FrameworkError):
    """An actor was to be spawned by one that is stopping, in a system that is, or under a name in use."""


class ChildFailedError(FrameworkError):
    """A child failed more often than its supervision allows, and its parent answers for it."""
