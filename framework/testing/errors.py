"""Errors of the test kit."""

from __future__ import annotations


class TestingError(AssertionError):
    """Base of the kit's own errors: a failed expectation, so that pytest shows it as one."""

    __test__ = False  # the name begins with Test; pytest would collect it


class PeerMissingError(TestingError):
    """A program to test against is not to be had.

    Args:
        name: The peer, as tests ask for it.
        problem: What is missing, or what failed.
        fix: The command that helps; empty when there is none.
    """

    def __init__(self, name: str, problem: str, fix: str) -> None:
        hint = f"; try: {fix}" if fix else ""
        super().__init__(f"peer {name}: {problem}{hint}")


class ServerFailedError(TestingError):
    """A server did not start, did not say what it should, or did not stop cleanly.

    Args:
        name: The server.
        problem: What was expected.
        log: Everything that it printed.
    """

    def __init__(self, name: str, problem: str, log: str) -> None:
        super().__init__(f"server {name}: {problem}\n{log}")


class ConnectionEndedError(TestingError):
    """The server closed a connection from which a test wanted more.

    Args:
        waiting_for: What the test was waiting for.
        received: What came before the end.
    """

    def __init__(self, waiting_for: str, received: bytes) -> None:
        super().__init__(
            f"connection closed while waiting for {waiting_for}; last came {received[-400:]!r}"
        )
