"""A naive model of the plane: lists of subscriptions, and what each message may have led to."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from framework.tests.dataplane.torture_rules import (
    RULES,
    matches,
    may_hear,
    may_subscribe,
    owe,
)

if TYPE_CHECKING:
    from framework.dataplane.permissions import Permissions

Key: TypeAlias = tuple[int, bytes, bytes]
"""Account, subject and queue group of an interest."""


@dataclass(eq=False)
class Party:
    """One link or sink."""

    name: str
    number: int
    route: bool = False
    sink: bool = False
    omitted: int | None = None
    """The account of a route that leaves accounts out of its lines."""
    accounts: tuple[int, ...] = (0,)
    pool: tuple[int, int] | None = None
    """Index and size."""
    account: int = 0
    echo: bool = True
    headers: bool = True
    no_responders: bool = False
    rules: Permissions = RULES[0]
    owed: Counter[bytes] = field(default_factory=Counter)
    """Answers that the party may give, by subject."""
    doomed: bool = False
    in_msgs: int = 0
    in_bytes: int = 0
    out_msgs: int = 0
    out_bytes: int = 0

    def __repr__(self) -> str:
        return self.name


@dataclass(eq=False)
class Sub:
    """One subscription."""

    owner: Party
    account: int
    sid: bytes
    subject: bytes
    queue: bytes
    msgs: int = 0
    max_msgs: int = 0


class Message(Struct, frozen=True):
    """What somebody published."""

    number: bytes
    source: Party | None
    account: int
    subject: bytes
    reply: bytes
    header: bytes
    payload: bytes
    queues: tuple[bytes, ...] = ()
    """Of a route's message: groups to serve here."""


class Got(Struct, frozen=True):
    """One copy of a message, as it came out."""

    to: Party
    sid: bytes
    subject: bytes
    reply: bytes
    header: bytes
    payload: bytes
    queues: tuple[bytes, ...] = ()


@dataclass
class Model:
    """Who is there, what they want, what routes were told, and what is owed to whom."""

    subs: list[Sub] = field(default_factory=list)
    routes: list[Party] = field(default_factory=list)
    interest: Counter[Key] = field(default_factory=Counter)
    told: defaultdict[tuple[Party | None, Key], list[int]] = field(
        default_factory=lambda: defaultdict(list)
    )
    """To a route, or to who watches (None): the counts of an interest, one after the other."""
    owed: list[tuple[Message, frozenset[Party]]] = field(default_factory=list)
    """One of these sinks has it, and nobody knows which before its batch comes."""
    out_msgs: int = 0

    def subscribe(
        self, owner: Party, account: int, sid: bytes, subject: bytes, queue: bytes
    ) -> None:
        """Subscribe, unless the sid is in use."""
        if any(sub.owner is owner and sub.sid == sid for sub in self.subs):
            return
        self.subs.append(Sub(owner, account, sid, subject, queue))
        if not owner.route:
            self._count((account, subject, queue), 1)

    def unsubscribe(self, owner: Party, sid: bytes, max_msgs: int = 0) -> None:
        """End a subscription, now or when it has got enough."""
        for sub in [s for s in self.subs if s.owner is owner and s.sid == sid]:
            if max_msgs > sub.msgs:
                sub.max_msgs = max_msgs
            else:
                self._drop(sub)

    def join(self, route: Party) -> None:
        """Tell a new route all interest here in its accounts."""
        self.routes.append(route)
        for key, count in self.interest.items():
            if key[0] in route.accounts:
                self.told[route, key].append(count if key[2] else 1)

    def carry(self, route: Party, accounts: tuple[int, ...]) -> None:
        """Let a route carry other accounts than before; what it said goes on."""
        for key, count in self.interest.items():
            if key[0] in accounts and key[0] not in route.accounts:
                self.told[route, key].append(count if key[2] else 1)
        route.accounts = accounts

    def move(self, party: Party, account: int) -> None:
        """Let a client act in an account; what it subscribed in another one ends."""
        for sub in [s for s in self.subs if s.owner is party and s.account != account]:
            self._drop(sub)

    def rule(self, party: Party, rules: Permissions) -> list[Sub]:
        """Put a client under other rules; return the subscriptions that end."""
        if rules.responses != party.rules.responses:
            party.owed.clear()
        party.rules = rules
        ended = [
            s
            for s in self.subs
            if s.owner is party and not may_subscribe(rules, s.subject, s.queue)
        ]
        for sub in ended:
            self._drop(sub)
        return ended

    def leave(self, party: Party) -> None:
        """Forget a link that was buried."""
        if party in self.routes:
            self.routes.remove(party)
        for sub in [s for s in self.subs if s.owner is party]:
            self._drop(sub)

    def _drop(self, sub: Sub) -> None:
        self.subs.remove(sub)
        if not sub.owner.route:
            self._count((sub.account, sub.subject, sub.queue), -1)

    def _count(self, key: Key, change: int) -> None:
        self.interest[key] += change
        count = self.interest[key]
        if key[2] or count == 0 or (change > 0 and count == 1):
            self.told[None, key].append(count)
            for route in self.routes:
                if key[0] in route.accounts and not route.doomed:
                    self.told[route, key].append(count)
        if count == 0:
            del self.interest[key]

    def publish(self, message: Message, got: list[Got]) -> bool:
        """Check who has got a message; return whether anybody has, or will."""
        source = message.source
        from_route = source is not None and source.route
        if source is not None:
            source.in_msgs += 1
            source.in_bytes += len(message.header) + len(message.payload)
        reached = [
            s
            for s in self.subs
            if s.account == message.account and matches(s.subject, message.subject)
        ]
        able = [
            s
            for s in reached
            if not s.owner.doomed
            and (s.owner is not source or (s.owner.echo and not from_route))
            and may_hear(s.owner.rules, message.subject, s.queue)
        ]
        here = Counter((copy.to, copy.sid) for copy in got if not copy.to.route)
        there = {copy.to: copy for copy in got if copy.to.route}
        plain = Counter(
            (s.owner, s.sid) for s in able if not s.queue and not s.owner.route and not s.owner.sink
        )
        members = {(s.owner, s.sid): s for s in able if s.queue and not s.owner.route}
        picked: defaultdict[Party, list[bytes]] = defaultdict(list)

        assert len(there) + here.total() == len(got), (message, got)
        for copy in got:
            _check(message, copy)
            for queue in copy.queues:
                picked[copy.to].append(queue)
        served = False
        for queue in {s.queue for s in reached if s.queue} | {q for c in got for q in c.queues}:
            takers = [s for s in able if s.queue == queue]
            if from_route:
                local = [s for s in takers if not s.owner.route]
                takers = (local or takers) if queue in message.queues else []
            served = self._check_group(message, queue, takers, here, picked) or served
        wide = set() if from_route else {s.owner for s in able if s.owner.route and not s.queue}
        sinks = [s.owner for s in able if s.owner.sink and not s.queue]
        self.owed += [(message, frozenset([sink])) for sink in sinks]

        assert plain == Counter({at: n for at, n in here.items() if at not in members}), (
            message,
            got,
        )
        assert set(there) == wide | set(picked), (message, got)
        self._take(got)
        return served or bool(plain or wide or sinks)

    def _check_group(
        self,
        message: Message,
        queue: bytes,
        takers: list[Sub],
        here: Counter[tuple[Party, bytes]],
        picked: dict[Party, list[bytes]],
    ) -> bool:
        """Check that one of those who could take it for the group has got it."""
        served = [s.owner for s in takers if here[s.owner, s.sid]]
        served += [route for route, queues in picked.items() for name in queues if name == queue]
        sinks = frozenset(s.owner for s in takers if s.owner.sink)
        if not served and sinks:
            self.owed.append((message, sinks))
            return True

        assert len(served) == bool(takers), (message, queue, takers, served)
        assert all(any(s.owner is owner for s in takers) for owner in served), (message, queue)
        return bool(served)

    def _take(self, got: list[Got]) -> None:
        for copy in got:
            self.out_msgs += 1
            copy.to.out_msgs += 1
            copy.to.out_bytes += len(copy.header) + len(copy.payload)
            owe(copy.to.rules, copy.to.owed, copy.reply)
            for sub in [s for s in self.subs if s.owner is copy.to and s.sid == copy.sid]:
                sub.msgs += not copy.to.route
                if sub.max_msgs and sub.msgs >= sub.max_msgs:
                    self._drop(sub)

    def refuse(self, asker: Party, message: Message, got: list[Got]) -> None:
        """Check the answer to a request that nobody has got."""
        inboxes = [
            s
            for s in self.subs
            if s.owner is asker
            and s.account == message.account
            and not s.queue
            and matches(s.subject, message.reply)
        ]

        assert len(got) == bool(inboxes), (message, got)
        for copy in got:
            (sub,) = (s for s in inboxes if s.sid == copy.sid)
            # It counts for an UNSUB that was said before, and for nothing else.
            sub.msgs += bool(sub.max_msgs)
            if sub.max_msgs and sub.msgs >= sub.max_msgs:
                self._drop(sub)


def _check(message: Message, copy: Got) -> None:
    header = message.header if copy.to.headers else b""

    assert (message.subject, message.reply, header, message.payload) == (
        copy.subject,
        copy.reply,
        copy.header,
        copy.payload,
    ), (message, copy)
