"""A naive model of one server whose links are spread over joined cores.

All that is said has a number, its *moment*. What a core does for its own clients follows at once.
For those of other cores there is a while in which either is right, until nothing is under way any
more; who has subscribed before a message was said, and stays, gets it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from typing_extensions import override

from framework.tests.dataplane.torture_rules import matches


@dataclass(eq=False)
class Party:
    """A client, or another server behind a route."""

    name: str
    core: int
    link: int
    account: bytes = b"$G"
    is_route: bool = False
    told: dict[tuple[bytes, bytes, bytes], int] = field(default_factory=dict)
    """Of a route: weights of interest by account, subject and queue group."""

    @override
    def __repr__(self) -> str:
        return self.name


@dataclass(eq=False)
class Sub:
    """A subscription, or the interest of another server, from one moment to another."""

    owner: Party
    account: bytes
    sid: bytes
    subject: bytes
    queue: bytes
    begun: int
    ended: int | None = None

    @override
    def __repr__(self) -> str:
        return (
            f"{self.owner}/{self.sid!r} {self.subject!r} {self.queue!r} {self.begun}-{self.ended}"
        )


@dataclass(eq=False)
class Sent:
    """A message."""

    number: int
    source: Party
    account: bytes
    subject: bytes
    reply: bytes
    moment: int
    passes: bool = False
    """It asks a service of `$G` as well, which its account imports."""
    asked_by: Party | None = None
    """Of an answer of a service: it goes by the core of who asked, and there to his account."""
    said_to: bytes = b""
    """Of an answer: its subject in `$G`."""
    groups: frozenset[bytes] | None = None
    """Of a route's message: those that it names; None: one member of each gets it."""
    got: Counter[Sub] = field(default_factory=Counter)
    copies: Counter[Party] = field(default_factory=Counter)
    """By route: RMSG."""
    refused: int = 0
    """503 that its sender got."""

    @override
    def __repr__(self) -> str:
        return f"<{self.number} of {self.source}@{self.moment} {self.subject!r}>"


class Model:
    """Who wants what, what was said, and who got it."""

    def __init__(self) -> None:
        self.moment = 0
        self.subs: list[Sub] = []
        self.under_way: dict[int, Sent] = {}
        self.last: dict[tuple[Sub, Party], int] = {}
        """The last message of a publisher that a subscription got."""
        self.has_left: set[bytes] = set()
        """Queue groups that somebody has left since all was quiet."""

    # ---- what is said

    def subscribe(
        self, owner: Party, account: bytes, sid: bytes, subject: bytes, queue: bytes
    ) -> None:
        """Note a subscription."""
        self.moment += 1
        self.subs.append(Sub(owner, account, sid, subject, queue, self.moment))

    def unsubscribe(self, sub: Sub) -> None:
        """Note the end of a subscription."""
        self.moment += 1
        sub.ended = self.moment
        self.has_left.add(sub.queue)

    def leave(self, party: Party) -> None:
        """Note the end of a link."""
        for sub in self.subs:
            if sub.owner is party and sub.ended is None:
                self.unsubscribe(sub)

    def publish(self, message: Sent) -> None:
        """Note a message."""
        self.moment += 1
        message.moment = self.moment
        self.under_way[message.number] = message

    # ---- what comes out

    def delivered(self, party: Party, sid: bytes, number: int) -> None:
        """Note a MSG."""
        message = self.under_way[number]
        # A message from another account comes by a shadow, but what passes a service as to all.
        passes = message.passes or message.asked_by is not None
        account = party.account if passes else message.account
        sub = next(
            it for it in self.subs if it.owner is party and it.sid == sid and it.account == account
        )
        message.got[sub] += 1
        self._check_order(sub, message)

    def routed(self, party: Party, account: bytes, queues: tuple[bytes, ...], number: int) -> None:
        """Note an RMSG."""
        message = self.under_way[number]
        message.copies[party] += 1
        served: set[bytes] = set()
        for sub in self.subs:
            if (sub.owner, sub.account, sub.ended) != (party, account, None):
                continue
            if not self._may(sub, message):
                continue
            if not sub.queue:
                message.got[sub] += 1
                self._check_order(sub, message)
            elif sub.queue in queues and sub.queue not in served:
                served.add(sub.queue)
                message.got[sub] += 1

    def _check_order(self, sub: Sub, message: Sent) -> None:
        if (not sub.queue or sub.queue not in self.has_left) and message.asked_by is None:
            assert self.last.get((sub, message.source), -1) < message.number, (
                "order",
                sub,
                message,
            )
        self.last[sub, message.source] = message.number

    def check_reply(self, party: Party, account: bytes, reply: bytes, number: int) -> None:
        """See that a server knows the interest in the reply of what it is sent."""
        message = self.under_way[number]
        if reply.startswith(b"_R_."):
            assert any(key[0] == account and matches(key[1], reply) for key in party.told), (
                "RMSG before the RS+ for its answers",
                party,
                message,
            )
        for sub in self.subs:
            if (
                not sub.owner.is_route
                and sub.ended is None
                and sub.begun < message.moment
                and sub.account == account
                and matches(sub.subject, reply)
            ):
                key = (account, sub.subject, sub.queue)
                assert key in party.told, ("RMSG before the RS+ of its reply", party, sub, message)

    # ---- judged when nothing is under way

    def check(self, parties: list[Party]) -> None:
        """Judge all that was said since the last time."""
        for message in self.under_way.values():
            self._check_message(message)
        for party in parties:
            if party.is_route:
                told = {
                    key: weight
                    for key, weight in party.told.items()
                    if not key[1].startswith(b"_R_.")
                }
                assert told == self._wanted(), ("interest told", party, told, self._wanted())
        self.under_way.clear()
        self.has_left.clear()
        self.subs = [sub for sub in self.subs if sub.ended is None]
        living = set(self.subs)
        self.last = {key: number for key, number in self.last.items() if key[0] in living}

    def _wanted(self) -> dict[tuple[bytes, bytes, bytes], int]:
        """Return what routes have to know."""
        counts: Counter[tuple[bytes, bytes, bytes]] = Counter()
        for sub in self.subs:
            if sub.ended is None and not sub.owner.is_route:
                counts[sub.account, sub.subject, sub.queue] += 1
        return {key: count if key[2] else 1 for key, count in counts.items()}

    def _may(self, sub: Sub, message: Sent) -> bool:
        """Whether a subscription may get a message."""
        if sub.owner.is_route and (message.source.is_route or sub.owner is message.source):
            return False
        if not matches_of(sub, message) or (sub.ended is not None and sub.ended < message.moment):
            return False
        if sub.begun < message.moment or not is_near(sub, message):
            return True
        # It may come back from a core whose members have left, or that has only a server's.
        return bool(sub.queue) and (message.source.is_route or sub.queue in self.has_left)

    def _must(self, sub: Sub, message: Sent) -> bool:
        """Whether a subscription has to get a message, or its group has."""
        if not self._may(sub, message) or sub.begun > message.moment:
            return False
        if message.asked_by and sub.account == b"B" and sub.subject != message.subject:
            # The way of the answer ends with the subscription to it that began before the request.
            return False
        return sub.ended is None or is_near(sub, message)

    def _check_message(self, message: Sent) -> None:
        groups: defaultdict[tuple[bytes, bytes], list[Sub]] = defaultdict(list)
        for sub in self.subs:
            if sub.queue:
                groups[sub.account, sub.queue].append(sub)
                continue
            assert message.got[sub] <= (1 if self._may(sub, message) else 0), (
                "too many",
                sub,
                message,
            )
            assert message.got[sub] or not self._must(sub, message), ("missing", sub, message)
        for (_, queue), subs in groups.items():
            self._check_group(message, queue, subs)
        if message.reply and not message.source.is_route:
            self._check_answered(message)

    def _check_group(self, message: Sent, queue: bytes, subs: list[Sub]) -> None:
        served = sum(message.got[sub] for sub in subs)
        able = [sub for sub in subs if self._may(sub, message)]
        if message.groups is not None and queue not in message.groups:
            able = []
        assert all(message.got[sub] == 0 for sub in subs if sub not in able), (
            "group: not one of it",
            queue,
            message,
            message.groups,
            {it: count for it, count in message.got.items() if it.queue},
        )
        # One subject for each group: interest of one member in two subjects makes two of it.
        assert served <= 1, ("group: too many", queue, message)
        all_near = all(is_near(sub, message) for sub in subs if matches_of(sub, message))
        stays = [
            sub for sub in able if self._must(sub, message) and (all_near or sub.ended is None)
        ]
        if any(not sub.owner.is_route for sub in stays):
            assert served, ("group: missing", queue, message, stays)

    def _check_answered(self, message: Sent) -> None:
        served = sum(message.got.values()) + sum(message.copies.values())
        assert message.refused <= 1, ("503 twice", message)
        assert not (message.refused and served), ("503 and served", message, message.got)
        asks = any(
            sub.owner is message.source
            and sub.subject == message.reply
            and sub.ended is None
            and sub.begun < message.moment
            for sub in self.subs
        )
        # Where two cores were to have it, neither can say that nobody got it; who has left may be
        # thought to be there still.
        able = [
            sub
            for sub in self.subs
            if matches_of(sub, message) and not (sub.ended is None and sub.begun > message.moment)
        ]
        if asks and not served and len({(sub.owner.core, sub.account) for sub in able}) < 2:
            assert message.refused, ("503 missing", message, able)


def matches_of(sub: Sub, message: Sent) -> bool:
    """Return whether a subscription is interested in a message."""
    if message.asked_by is not None and sub.account == b"$G":
        return matches(sub.subject, message.said_to)
    if sub.account != message.account and not (message.passes and sub.account == b"$G"):
        return False
    return matches(sub.subject, message.subject)


def is_near(sub: Sub, message: Sent) -> bool:
    """Return whether a subscription gets a message at once: both are at one core."""
    if message.asked_by is not None and sub.account == b"B":
        return False
    return sub.owner.core == message.source.core
