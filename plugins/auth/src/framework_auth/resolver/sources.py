"""Account resolvers that only look up: memory and URL."""

from __future__ import annotations

from http.client import HTTPException
from typing import TYPE_CHECKING, Final, Protocol
from urllib.error import HTTPError

from typing_extensions import override

from framework.wire.nkey import NkeyKind, is_public_key
from framework_auth.limits import URL_ANSWER_BYTES_MAX
from framework_auth.resolver.http_opener import make_opener

if TYPE_CHECKING:
    from collections.abc import Mapping

_OK: Final = 200
_NOT_FOUND: Final = 404


class AccountSource(Protocol):
    """Look up account JWTs; called in worker threads."""

    def load(self, name: str) -> str | None:
        """Return the JWT of an account by its public key; None when there is none.

        Raises:
            OSError: It cannot be told now.
        """
        ...


class MemorySource(AccountSource):
    """Accounts of `resolver_preload`.

    Args:
        tokens: JWT by public key.
    """

    def __init__(self, tokens: Mapping[str, str]) -> None:
        self._tokens = tokens

    @override
    def load(self, name: str) -> str | None:
        return self._tokens.get(name)


class UrlSource(AccountSource):
    """A URL resolver.

    What is longer than any JWT is refused.

    Args:
        url: Ends in a slash; the public key follows.
        timeout_s: For connecting, and for a whole answer.
    """

    def __init__(self, url: str, *, timeout_s: float) -> None:
        assert url.startswith(("http://", "https://"))
        assert url.endswith("/")
        self._url = url
        self._timeout_s = timeout_s
        self._opener = make_opener()

    @override
    def load(self, name: str) -> str | None:
        assert is_public_key(name, NkeyKind.ACCOUNT)
        try:
            with self._opener.open(self._url + name, timeout=self._timeout_s) as answer:
                status: int = answer.status
                body: bytes = answer.read(URL_ANSWER_BYTES_MAX + 1)
        except HTTPError as error:
            error.close()
            status, body = error.code, b""
        except (OSError, ValueError, HTTPException) as error:
            # Not its text: it may repeat the address, which may hold a password.
            raise OSError(f"the account server cannot be reached: {type(error).__name__}") from None
        if status == _NOT_FOUND:
            return None
        if status != _OK:
            raise OSError(f"the account server answered with status {status}")
        if len(body) > URL_ANSWER_BYTES_MAX:
            raise OSError("the account server's answer is too long")
        return body.decode("ascii", "replace").strip()
