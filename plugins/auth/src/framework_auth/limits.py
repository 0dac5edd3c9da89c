"""Limits of logins."""

from __future__ import annotations

from typing import Final

CHECKS_AT_ONCE: Final = 2
"""Hashes computed at a time, each in a worker thread; more would only share the processors."""

CHECKS_WAITING_MAX: Final = 1_024
"""Hashes to compute that may wait; at 50 ms each no client waits that long."""

PASSWORD_BYTES_MAX: Final = 72
"""What bcrypt reads of a password; nats-server cuts off the rest in silence, and so do we."""

DIGEST_KEY_BYTES: Final = 32
"""Of the key that digests of known secrets are made with."""

OPERATOR_FILE_BYTES_MAX: Final = 2 * 1024 * 1024
"""Of a file with an operator's JWT: twice what a JWT may have."""

FETCHES_MAX: Final = 1_024
"""Unknown accounts that are asked for at a time: whoever connects can name one."""

FETCH_WAITERS_MAX: Final = 8_192
"""Logins that wait for accounts, all together."""

TEMPLATE_SUBJECTS_MAX: Final = 4_096
"""Subjects that one list of permissions may become. Source: nats-server `auth.go`,
`maxPermTemplateSubjectExpansions`."""

URL_ANSWER_BYTES_MAX: Final = 2 * 1024 * 1024
"""Of an HTTP answer with an account's JWT: twice what a JWT may have."""

CALLOUTS_MAX: Final = 4_096
"""Logins that services were asked about and that were not answered yet."""
