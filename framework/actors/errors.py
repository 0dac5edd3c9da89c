"""Errors between actors, beside pykka's `ActorDeadError` and `Timeout`."""

from __future__ import annotations

from framework.errors import FrameworkError


class MailboxFullError(FrameworkError):
    """A mailbox that refuses what it can't hold is full."""


class BlockingCallError(FrameworkError):
    """A blocking wait would never end, since it blocks its own loop."""


class SpawnRefusedError(FrameworkError):
    """The parent or the system is stopping, or the name is in use."""


class ChildFailedError(FrameworkError):
    """A child failed more often than its supervision allows.

    Args:
        name: The child's.
        error: What it failed with at last; the cause.
    """

    def __init__(self, name: str, error: BaseException) -> None:
        super().__init__(f"{name} failed: {error!r}")
        self.name = name
        self.__cause__ = error
