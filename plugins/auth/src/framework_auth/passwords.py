"""Passwords of users, with cached results of hash comparisons."""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING

from framework_auth.bcrypt_hash import BcryptHash, is_hash, parse_hash

if TYPE_CHECKING:
    from collections.abc import Mapping

_DIGEST_BYTES = 32


class Passwords:
    """The passwords of all users.

    Of each secret that is known, a keyed digest is kept: from the start when it stands plainly in
    the configuration, after the first login when a hash does. So nobody waits for a hash twice,
    and a server whose clients all come back at once is not busy with hashes for minutes. Digests
    are of one length and compared in constant time, so their comparison says nothing of a secret.

    Args:
        secrets: User to password or hash of it; hashes are well-formed.
        key: Of the digests, 32 random bytes that never leave the process.
        former: What was in force before: the secrets behind hashes that stay are still known.
    """

    def __init__(
        self, secrets: Mapping[str, str], *, key: bytes, former: Passwords | None = None
    ) -> None:
        self._key = key
        self._hashes = {
            user: parse_hash(secret) for user, secret in secrets.items() if is_hash(secret)
        }
        self._known = {
            user: self.digest(secret.encode())
            for user, secret in secrets.items()
            if user not in self._hashes
        }
        self._nobody = self.digest(key)
        if former is not None:
            for user, parsed in self._hashes.items():
                if digest := former.learnt(user, parsed):
                    self._known[user] = digest
        self.decoy = max(self._hashes.values(), key=lambda it: it.cost, default=None)
        """The most costly hash; None when there are none."""

    def is_known(self, user: str, given: bytes) -> bool:
        """Return whether `given` is known to be the user's secret. Cost: some microseconds."""
        return self.is_proof(user, self.digest(given))

    def is_proof(self, user: str, digest: bytes) -> bool:
        """Return whether a digest is that of the user's secret, as far as that is known."""
        expected = self._known.get(user, self._nobody)
        return hmac.compare_digest(expected, digest) and user in self._known

    def hash_of(self, user: str) -> BcryptHash | None:
        """Return the hash of the user's secret; None when there is no such user, or no hash."""
        return self._hashes.get(user)

    def learnt(self, user: str, parsed: BcryptHash) -> bytes | None:
        """Return the digest of the secret behind a hash; None when nobody has given it yet."""
        return self._known.get(user) if self._hashes.get(user) == parsed else None

    def learn(self, user: str, given: bytes) -> None:
        """Remember that `given` is the secret of a user who has a hash."""
        assert user in self._hashes
        self._known[user] = self.digest(given)

    def digest(self, secret: bytes) -> bytes:
        """Return the keyed digest of a secret: nobody who has not the key learns anything by it."""
        return hashlib.blake2b(secret, key=self._key, digest_size=_DIGEST_BYTES).digest()
