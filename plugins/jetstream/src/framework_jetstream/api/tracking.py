"""Requests of the API that were answered here: counted, and told to who audits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework_jetstream.api.answers import is_refusal

if TYPE_CHECKING:
    from framework_jetstream.advisories import Advisories
    from framework_jetstream.api.asker import Asker
    from framework_jetstream.api.usage import ApiUsage
    from framework_jetstream.host import Host


class ApiTracking:
    """Sees all answers.

    Args:
        usage: Counts them.
        advisories: Publishes them.
        host: The server.
    """

    def __init__(self, usage: ApiUsage, advisories: Advisories, host: Host) -> None:
        self._usage = usage
        self._advisories = advisories
        self._host = host

    def answered(self, asker: Asker, subject: str, payload: bytes, text: bytes | None) -> None:
        """Take an answer.

        Args:
            asker: Who has asked; other servers, which ask for what they tell, have no client.
            subject: Of the request.
            payload: Of the request.
            text: The answer; None: another server gives it.
        """
        is_servers = asker.account != self._host.system_account() and len(asker.client) <= 1
        if text is None or is_servers:
            return
        if self._host.limits(asker.account) is not None:
            self._usage.count(asker.account, is_error=is_refusal(text))
        self._advisories.audit(asker, subject, payload, text)
