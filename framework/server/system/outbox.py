"""Publish in the system account, a batch at a time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from framework.spec import AccountBook, PlaneControl

# As `json.dumps`, which makes an encoder each time.
_encode: Final = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


class Outbox:
    """Publish in the system account; without one, nothing is published.

    Args:
        plane: Does it.
        accounts: Tells which account that is, now.
    """

    def __init__(self, plane: PlaneControl, accounts: AccountBook) -> None:
        self._plane = plane
        self._accounts = accounts

    @property
    def account(self) -> int | None:
        """The number of the system account; None: there is none."""
        name = self._accounts.system_account
        return self._accounts.index(name) if name else None

    def publish(self, *documents: tuple[str, object]) -> None:
        """Publish JSON documents, each with its subject."""
        self.send([(subject.encode(), b"", b"", json_bytes(it)) for subject, it in documents])

    def send(
        self, messages: list[tuple[bytes, bytes, bytes, bytes]], account: int | None = None
    ) -> None:
        """Publish messages of (subject, reply, header block, payload).

        Args:
            messages: Their subjects are valid.
            account: Where; None: the system account.
        """
        number = self.account if account is None else account
        if number is not None and messages:
            self._plane.publish(number, messages)


def json_text(document: object) -> str:
    """Return a document as nats-server writes them: without spaces."""
    return _encode(document)


def json_bytes(document: object) -> bytes:
    """Return a document in UTF-8; what can't be, since a peer has sent it so, becomes `?`."""
    return _encode(document).encode("utf-8", "replace")
