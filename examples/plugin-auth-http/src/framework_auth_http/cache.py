"""Whom the service let in a moment ago. No password is in it: its keys are keyed digests."""

from __future__ import annotations

import hashlib
import secrets
from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework.spec import Accepted, LoginRequest


class Cache:
    """Remember who was accepted; who was refused may have a new password, and is asked about."""

    def __init__(self, *, ttl_s: float, size_max: int, now_s: Callable[[], float]) -> None:
        self._ttl_s = ttl_s
        self._size_max = size_max
        self._now_s = now_s
        self._secret = secrets.token_bytes(32)
        self._known: OrderedDict[bytes, tuple[float, Accepted]] = OrderedDict()

    def key_of(self, request: LoginRequest) -> bytes:
        """Return what stands for all that the service decides by."""
        connect = request.connect
        digest = hashlib.blake2b(key=self._secret, digest_size=32)
        for text in (
            connect.user,
            connect.password,
            connect.auth_token,
            request.host,
            request.connection_type,
        ):
            part = text.encode("utf-8", "surrogatepass")
            digest.update(len(part).to_bytes(8, "big") + part)
        return digest.digest()

    def get(self, key: bytes) -> Accepted | None:
        ends_s, accepted = self._known.get(key, (0.0, None))
        if accepted is None or self._now_s() >= ends_s:
            self._known.pop(key, None)
            return None
        self._known.move_to_end(key)
        return accepted

    def put(self, key: bytes, accepted: Accepted) -> None:
        self._known[key] = (self._now_s() + self._ttl_s, accepted)
        self._known.move_to_end(key)
        while len(self._known) > self._size_max:
            self._known.popitem(last=False)
