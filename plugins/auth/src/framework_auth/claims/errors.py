"""Errors of JWTs."""

from __future__ import annotations

from framework.errors import FrameworkError


class ClaimsError(FrameworkError):
    """A JWT is malformed, forged, or has invalid claims.

    Its text is for the log: printable, at most a line, and without the token.
    """


class ExpiredError(ClaimsError):
    """The claims have expired."""


class RevokedError(ClaimsError):
    """The claims were revoked by their issuer."""
