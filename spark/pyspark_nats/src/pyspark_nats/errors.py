"""What can go wrong, in words that name the place and the fix; never with a secret in them."""

from __future__ import annotations


class NatsSourceError(Exception):
    """Anything that this package raises by itself."""


class OptionError(NatsSourceError):
    """An option has a value that it can't have.

    Args:
        option: Its name as documented.
        problem: What is wrong, without the value of a secret.
        valid: The values that it may have.
    """

    def __init__(self, option: str, problem: str, valid: str) -> None:
        super().__init__(f"option {option!r}: {problem}; valid: {valid}")
        self.option = option


class ConnectError(NatsSourceError):
    """No server could be reached, or the one that was lost did not come back in time."""


class LoginError(NatsSourceError):
    """The server refuses this user, or this user may not do what was asked."""


class ConnectionLostError(NatsSourceError):
    """A connection ended while it was in use; a new one may go on."""


class RequestTimeoutError(NatsSourceError):
    """The JetStream API did not answer in time."""


class ApiError(NatsSourceError):
    """The JetStream API answered with an error.

    Args:
        request: Subject of the request.
        code: As of HTTP; 503 when nobody serves the subject.
        err_code: nats-server's own number; 0 when there is none.
        description: In the server's words.
    """

    def __init__(self, request: str, code: int, err_code: int, description: str) -> None:
        super().__init__(f"{request}: {description} (code {code}, err_code {err_code})")
        self.code = code
        self.err_code = err_code


class DataLossError(NatsSourceError):
    """Messages that were to be read are gone; `failOnDataLoss=false` goes on without them."""
