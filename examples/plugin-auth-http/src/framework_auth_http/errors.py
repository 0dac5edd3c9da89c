"""What can go wrong."""

from __future__ import annotations


class ServiceError(Exception):
    """The service did not decide; the text has no secret."""
