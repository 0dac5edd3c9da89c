"""The server that streams live in, as far as their actors need to know it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from framework.actors import Reply
    from framework.spec import JetStreamLimits
    from framework_jetstream.config import JetStreamConfig


class Host(Struct, frozen=True, kw_only=True):
    """A server."""

    name: str
    config: JetStreamConfig
    account_number: Callable[[str], int]
    """The number of an account in the plane; KeyError: it is not known."""
    limits: Callable[[str], Mapping[str, JetStreamLimits] | None]
    """What an account may store, by tier; None: nothing."""
    system_account: Callable[[], str]
    max_payload: Callable[[], int]
    """Bytes of a message."""
    listens: Callable[[int, str], Reply[bool]]
    """Whether a client here has subscribed to just this subject of an account."""

    @property
    def is_strict(self) -> bool:
        """Whether fields that nobody knows are errors in requests."""
        return self.config.strict
