"""The URLs of one remote, tried one after the other until one answers."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from framework.peering.url import PeerUrl


class _Round(Struct):
    """A dial under way."""

    url: PeerUrl
    rest: list[PeerUrl]


class DialRounds:
    """Dials under way by their token, each with the URLs that are left for it."""

    def __init__(self) -> None:
        self._rounds: dict[int, _Round] = {}

    def begin(self, token: int, urls: Sequence[PeerUrl]) -> PeerUrl:
        """Return the URL to dial first: the first one.

        Args:
            token: Of all dials of the round.
            urls: At least one, in the order in which they are tried.
        """
        first, *rest = urls
        self._rounds[token] = _Round(first, rest)
        return first

    def receive_failed(self, token: int) -> PeerUrl | None:
        """Return the URL to dial next; None: there is none, and the round is over."""
        begun = self._rounds.get(token)
        if begun is None or not begun.rest:
            self._rounds.pop(token, None)
            return None
        begun.url = begun.rest.pop(0)
        return begun.url

    def end(self, token: int) -> PeerUrl | None:
        """End a round; return the URL that was dialed last, or None: there is no such round."""
        begun = self._rounds.pop(token, None)
        return begun.url if begun is not None else None
