"""Whether anybody hears what is published for each request of the API: most often nobody does."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

WATCHED_MAX: Final = 64
"""Accounts: whatever subscribes with a wildcard, anywhere, has all of them looked at again."""


class Audience:
    """Knows of a subject in which accounts there is interest in it.

    Args:
        watch: As `Exchange.watch`: clients, streams, imports of other accounts and servers count.
        account_number: Returns the number of an account.
        subject: Without wildcards.
    """

    def __init__(
        self,
        watch: Callable[[int, str, Callable[[bool], object]], object],
        account_number: Callable[[str], int],
        subject: str,
    ) -> None:
        self._watch = watch
        self._account_number = account_number
        self._subject = subject
        self._heard: dict[int, bool] = {}
        """By number; True until it is known."""

    def is_there(self, account: str) -> bool:
        """Return whether somebody may hear what is published in an account now."""
        number = self._account_number(account)
        heard = self._heard.get(number)
        if heard is None and len(self._heard) < WATCHED_MAX:
            self._heard[number] = True
            self._watch(number, self._subject, partial(self._heard.__setitem__, number))
        return heard is not False
