"""What is wrong with a token."""

from __future__ import annotations

from framework.errors import FrameworkError


class ClaimsError(FrameworkError):
    """A token is malformed, forged, or says what no token of its kind may say.

    Its text is for the log: printable, at most a line, and without the token.
    """


class ExpiredError(ClaimsError):
    """A claim was good, and its time is over."""


class RevokedError(ClaimsError):
    """A claim was good, and its issuer has taken it back."""
