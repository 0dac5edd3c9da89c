"""Compare passwords with bcrypt hashes, in worker threads.

Apart from `bcrypt_hash`, because a server without hashes does not load bcrypt.
"""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING

import bcrypt

from framework_auth.limits import PASSWORD_BYTES_MAX

if TYPE_CHECKING:
    from framework_auth.bcrypt_hash import BcryptHash


def matches(given: bytes, expected: BcryptHash | None, decoy: BcryptHash) -> bool:
    """Return whether `given` is the password of a hash.

    A refusal takes the time of `decoy`, whatever was expected: work doubles with each step of the
    cost, so one more hash at each cost from the expected one up to the decoy's, which it leaves
    out, sums up to it.

    Args:
        given: As the client sent it.
        expected: None: there is no such user, or his password is no hash.
        decoy: The most costly hash of the configuration.
    """
    secret = given[:PASSWORD_BYTES_MAX]
    if expected is None:
        bcrypt.hashpw(secret, decoy.settings(decoy.cost))
        return False
    computed = bcrypt.hashpw(secret, expected.settings(expected.cost))
    if hmac.compare_digest(computed[-len(expected.digest) :], expected.digest.encode()):
        return True
    for cost in range(expected.cost, decoy.cost):
        bcrypt.hashpw(secret, decoy.settings(cost))
    return False
