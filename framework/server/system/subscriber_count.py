"""`$SYS.REQ.ACCOUNT.NSUBS`: count subscriptions of an account, here and on all servers.

Source: nats-server `events.go`, `debugSubscribers`, `nsubsRequest`.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from typing import TYPE_CHECKING

from msgspec import Struct

from framework.dataplane import subscription_rows
from framework.errors import BadOptions
from framework.monitor.request_options import members_of_payload
from framework.server.system.limits import SUBSCRIBERS_WAIT_S
from framework.server.system.outbox import json_bytes
from framework.server.system.server_stamp import node_of
from framework.spec import LinkKind, ServiceSpec
from framework.wire.event_ids import DIGITS
from framework.wire.subject import is_subset

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

    from framework.server.system.outbox import Outbox
    from framework.spec import (
        AccountBook,
        ClientIdentity,
        LinkId,
        ServerContext,
        ServiceAnswer,
        ServiceRequest,
    )

_SUFFIX_CHARS = 8
_NUMBER_CHARS_MAX = 10


class _Question(Struct):
    """What other servers are asked."""

    expected: int
    total: int
    over: asyncio.Event


class SubscriberCount:
    """Count subscriptions, and ask other servers for theirs.

    Args:
        server: Has the subscriptions.
        accounts: Tells the numbers of accounts.
        identity_of: Tells who a client of this server is.
        outbox: Asks the others.
        servers_with: Tells how many other servers have clients of an account.
        rng: Draws the subjects of answers.
    """

    def __init__(
        self,
        server: ServerContext,
        *,
        accounts: AccountBook,
        identity_of: Callable[[LinkId], ClientIdentity | None],
        outbox: Outbox,
        servers_with: Callable[[str], int],
        rng: Random,
    ) -> None:
        self._server = server
        self._accounts = accounts
        self._identity_of = identity_of
        self._outbox = outbox
        self._servers_with = servers_with
        self._rng = rng
        self._inbox = f"$SYS._INBOX.{node_of(server.name)}"
        self._questions: dict[str, _Question] = {}

    def services(self) -> Sequence[ServiceSpec]:
        """Return the services: for clients, for other servers, and for the others' answers."""
        answers = {
            "$SYS.DEBUG.SUBSCRIBERS": self._answer_client,
            "$SYS.REQ.ACCOUNT.NSUBS": self._answer_server,
            f"{self._inbox}.*": self._take_answer,
        }
        return [
            ServiceSpec(name=subject, subject=subject, answer=answer)
            for subject, answer in answers.items()
        ]

    async def _answer_client(self, request: ServiceRequest) -> ServiceAnswer:
        """Answer `subject [queue]`; a client that is on another server is answered there."""
        identity = self._identity_of(request.link)
        if identity is None or not request.reply:
            return None
        words = request.payload.decode("utf-8", "replace").split()
        if not words:
            return b"0"
        subject, queue = words[0], words[1] if len(words) > 1 else ""
        here = await self._count(identity.account, subject, queue)
        elsewhere = await self._ask_others(identity.account, subject, queue)
        return str(here + elsewhere).encode()

    async def _answer_server(self, request: ServiceRequest) -> ServiceAnswer:
        try:
            options = members_of_payload(request.payload)
            # Go writes bytes as base64.
            encoded = str(options.get("queue") or "")
            queue = base64.b64decode(encoded, validate=True).decode("utf-8", "replace")
        except (BadOptions, binascii.Error, ValueError):
            return None
        account, subject = options.get("acc"), options.get("subject")
        if not isinstance(account, str) or not isinstance(subject, str):
            return None
        if self._accounts.get(account) is None:
            return None
        return str(await self._count(account, subject, queue)).encode()

    async def _take_answer(self, request: ServiceRequest) -> ServiceAnswer:
        question = self._questions.get(request.subject)
        text = request.payload[: _NUMBER_CHARS_MAX + 1]
        if question is not None and text.isdigit() and len(text) <= _NUMBER_CHARS_MAX:
            question.total += int(text)
            question.expected -= 1
            if question.expected <= 0:
                question.over.set()
        return None

    async def _ask_others(self, account: str, subject: str, queue: str) -> int:
        """Return what the others have counted within a time."""
        expected = self._servers_with(account)
        if not expected:
            return 0
        reply = f"{self._inbox}.{''.join(self._rng.choices(DIGITS, k=_SUFFIX_CHARS))}"
        question = self._questions[reply] = _Question(expected, 0, asyncio.Event())
        document = {"acc": account, "subject": subject}
        if queue:
            document["queue"] = base64.b64encode(queue.encode()).decode()
        message = (b"$SYS.REQ.ACCOUNT.NSUBS", reply.encode(), b"", json_bytes(document))
        self._outbox.send([message])
        try:
            async with asyncio.timeout(SUBSCRIBERS_WAIT_S):
                await question.over.wait()
        except TimeoutError:
            pass  # whoever has not answered by now is not counted
        finally:
            del self._questions[reply]
        return question.total

    async def _count(self, account: str, subject: str, queue: str) -> int:
        """Return the subscriptions of an account's clients here that a subject reaches."""
        number = self._accounts.index(account)
        has_wildcard = not {"*", ">"}.isdisjoint(subject.split("."))
        count = 0
        # Where the subject has no wildcard, who can hear it is who counts: the plane knows.
        slices = self._server.list_subscriptions(
            kinds=(LinkKind.CLIENT,), account=number, subject=subject
        )
        async for listed in slices:
            for row in subscription_rows(listed.data):
                own = row.subject.decode("utf-8", "replace")
                if not queue or row.queue == queue.encode():
                    count += not has_wildcard or is_subset(own, subject)
        return count
