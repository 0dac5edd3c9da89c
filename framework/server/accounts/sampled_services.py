"""Services with latency sampling, by the token that the data plane reports samples with."""

from __future__ import annotations


class SampledServices:
    """Assign tokens to sampled services."""

    def __init__(self) -> None:
        self._tokens: dict[str, dict[str, int]] = {}
        self._services: dict[int, tuple[str, str]] = {}
        self._last = 0

    def token_of(self, account: str, subject: str) -> int:
        """Return the number of a service, from 1; the same as long as its account is there.

        Args:
            account: Who exports it.
            subject: Of the export.
        """
        tokens = self._tokens.setdefault(account, {})
        token = tokens.get(subject)
        if token is None:
            token = self._last = tokens[subject] = self._last + 1
            self._services[token] = (account, subject)
        return token

    def service_of(self, token: int) -> tuple[str, str] | None:
        """Return account and subject of a service; None when the account has gone."""
        return self._services.get(token)

    def forget(self, account: str) -> None:
        """Take note that an account has gone."""
        for token in self._tokens.pop(account, {}).values():
            del self._services[token]
