"""Two or three joined cores with clients and routes, turned one at a time, all from one seed."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from framework.dataplane import Core, PlaneLimits
from framework.dataplane.tables import AccountTables, ServiceImportRow, StreamImportRow
from framework.tests.dataplane.conftest import Talk
from framework.tests.dataplane.joined_model import Model, Party, Sent, Sub

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework.dataplane.inner.plant import Plant

WORDS = (b"a", b"b", b"c")
QUEUES = (b"", b"", b"", b"q", b"r")
ACCOUNTS = (b"$G", b"B")
CLIENTS = 6
SUBS_MAX = 20
LONG_BYTES = (9_000, 40_000)
TABLES = AccountTables(
    stream_imports=(StreamImportRow(account=0, subject="c.*", to="c.*"),),
    service_imports=(ServiceImportRow(account=0, subject="a.b", to="a.b"),),
)
"""Of account B: who subscribes there to what overlaps `c.*` gets what `$G` publishes as well; who
publishes to `a.b` asks whoever listens to that in `$G`."""


class World:
    """Joined cores, everybody who talks to them, and the model that judges.

    Args:
        seed: Gives everything: who is there, who says what, whose turn it is, how much it sees.
        plant: A mistake in the cores.
    """

    def __init__(self, seed: int, plant: Plant | None = None) -> None:
        self.rng = random.Random(seed)
        self.model = Model()
        self.number = 0
        self.sids = 0
        self.asked: dict[bytes, tuple[Party, bytes]] = {}
        """Who asked, and his reply, by the reply that a service sees."""
        self.answered: set[bytes] = set()
        count = self.rng.choice((2, 3))
        self.talks = [
            Talk(PlaneLimits(fast_producer_stall=False), seed=seed * 4 + at) for at in range(count)
        ]
        Core.join([talk.core for talk in self.talks], **({} if plant is None else {"plant": plant}))
        for talk in self.talks:
            talk.core.add_account(b"B")
            talk.core.set_account_tables(1, TABLES)
        self.parties: list[Party] = []
        for at in range(self.rng.choice((0, 1, 1, 2))):
            self._route_joins(at)
        for _ in range(CLIENTS):
            self._client_joins()

    # ---- who is there

    def _route_joins(self, peer: int) -> None:
        core = self.rng.randrange(len(self.talks))
        far = self.talks[core].route(peer=peer + 1)
        party = Party(f"route {peer}", core, far.link, is_route=True)
        self.parties.append(party)
        self._hear(party, far.last)
        self._listen()

    def _client_joins(self) -> None:
        core = self.rng.randrange(len(self.talks))
        account = self.rng.choice((0, 1))
        self.sids += 1
        talk = self.talks[core]
        link = talk.client(account=account, no_responders=True).link
        self.parties.append(Party(f"client {self.sids}", core, link, ACCOUNTS[account]))
        self._listen()

    def _somebody_leaves(self) -> None:
        """Let a link end, and another one of its kind begin."""
        party = self.rng.choice(self.parties)
        self.talks[party.core].core.hang_up(party.link)
        self.model.leave(party)
        self.parties.remove(party)
        if party.is_route:
            self._route_joins(int(party.name.split()[1]))
        else:
            self._client_joins()

    # ---- what they say

    def step(self) -> None:
        """Let one thing happen."""
        what = self.rng.random()
        core = self.rng.choice(self.talks).core
        if what < 0.25:
            core.turn(0)
        elif what < 0.4:
            core.look(self.rng.choice((None, 0, 1, 2, 5)))
        elif what < 0.41:
            self._somebody_leaves()
        else:
            party = self.rng.choice(self.parties)
            lines = b"".join(
                self._route_line(party) if party.is_route else self._client_line(party)
                for _ in range(self.rng.choice((1, 1, 2, 4)))
            )
            self.talks[party.core].core.feed(party.link, lines, 0)
        self._listen()

    def _subject(self, *, wild: bool = False) -> bytes:
        words = [
            self.rng.choice((*WORDS, b"*") if wild else WORDS)
            for _ in range(self.rng.choice((1, 1, 2)))
        ]
        if wild and self.rng.random() < 0.1:
            words[-1] = b">"
        return b".".join(words)

    def _body(self) -> bytes:
        self.number += 1
        length = self.rng.randrange(*LONG_BYTES) if self.rng.random() < 0.01 else 0
        return b"%d " % self.number + b"x" * length

    def _own(self, party: Party) -> list[Sub]:
        return [sub for sub in self.model.subs if sub.owner is party and sub.ended is None]

    def _client_line(self, client: Party) -> bytes:
        own = self._own(client)
        what = self.rng.random()
        if what < 0.2 and len(own) < SUBS_MAX:
            return self._subscribe(client, self._subject(wild=True), self.rng.choice(QUEUES))
        if what < 0.4 and own:
            sid = self.rng.choice(own).sid
            for sub in own:
                if sub.sid == sid:
                    self.model.unsubscribe(sub)
            return b"UNSUB %b\r\n" % sid
        if what < 0.6:
            return self._request(client)
        return self._publish(client, b"")

    def _subscribe(self, client: Party, subject: bytes, queue: bytes) -> bytes:
        self.sids += 1
        sid = b"%d" % self.sids
        self.model.subscribe(client, client.account, sid, subject, queue)
        shadow = overlap(subject) if client.account == b"B" else None
        if shadow is not None:
            self.model.subscribe(client, b"$G", sid, shadow, queue)
        return b"SUB %b %b %b\r\nPING\r\n" % (subject, queue, sid)

    def _request(self, client: Party) -> bytes:
        """Subscribe to a subject for the answer, and ask."""
        reply = b"_INBOX.%d" % self.number
        return self._subscribe(client, reply, b"") + self._publish(client, reply)

    def _publish(self, client: Party, reply: bytes) -> bytes:
        body, subject = self._body(), self._subject()
        if client.account == b"$G" and self.asked and self.rng.random() < 0.5:
            return self._answer(client, body)
        if self.rng.random() < 0.15:
            # An answer, perhaps to somebody who is gone.
            subject = b"_INBOX.%d" % self.rng.randrange(max(0, self.number - 20), self.number)
        elif client.account == b"B" and self.rng.random() < 0.3:
            subject = b"a.b"
        passes = client.account == b"B" and subject == b"a.b"
        self.model.publish(
            Sent(self.number, client, client.account, subject, reply, 0, passes=passes)
        )
        if self.rng.random() < 0.2:
            return b"HPUB %b %b 12 %d\r\nNATS/1.0\r\n\r\n%b\r\n" % (
                subject,
                reply,
                12 + len(body),
                body,
            )
        return b"PUB %b %b %d\r\n%b\r\n" % (subject, reply, len(body), body)

    def _answer(self, client: Party, body: bytes) -> bytes:
        """Answer a request of account B once."""
        subject = self.rng.choice([*self.asked])
        asked_by, reply = self.asked.pop(subject)
        self.answered.add(subject)
        self.model.publish(
            Sent(self.number, client, b"B", reply, b"", 0, asked_by=asked_by, said_to=subject)
        )
        return b"PUB %b %d\r\n%b\r\n" % (subject, len(body), body)

    def _route_line(self, route: Party) -> bytes:
        own = self._own(route)
        what = self.rng.random()
        account = self.rng.choice(ACCOUNTS)
        if what < 0.3 and len(own) < SUBS_MAX // 2:
            subject, queue = self._subject(wild=True), self.rng.choice(QUEUES)
            if any((it.account, it.subject, it.queue) == (account, subject, queue) for it in own):
                return b""
            self.model.subscribe(route, account, b"", subject, queue)
            words = b"RS+ %b %b" % (account, subject)
            return words + (b" %b %d\r\n" % (queue, self.rng.randrange(1, 4)) if queue else b"\r\n")
        if what < 0.5 and own:
            sub = self.rng.choice(own)
            self.model.unsubscribe(sub)
            return b"RS- %b %b %b\r\n" % (sub.account, sub.subject, sub.queue)
        body, subject = self._body(), self._subject()
        groups = [queue for queue in (b"q", b"r") if self.rng.random() < 0.5]
        self.model.publish(
            Sent(self.number, route, account, subject, b"", 0, groups=frozenset(groups))
        )
        names = b"| %b " % b" ".join(groups) if groups else b""
        return b"RMSG %b %b %b%d\r\n%b\r\n" % (account, subject, names, len(body), body)

    # ---- what comes out

    def _listen(self) -> None:
        for party in self.parties:
            self._hear(party, self.talks[party.core].core.take_output(party.link))

    def _hear(self, party: Party, said: bytes) -> None:
        while said:
            line, _, said = said.partition(b"\r\n")
            said = said[self._heard(party, line.split(), said) :]

    def _heard(self, party: Party, words: list[bytes], rest: bytes) -> int:
        """Note one line; return how long what belongs to it is."""
        takes: dict[bytes, Callable[[Party, list[bytes], bytes], int]] = {
            b"MSG": self._message,
            b"HMSG": self._message,
            b"RMSG": self._routed,
            b"RS+": self._told,
            b"RS-": self._told,
        }
        if party.is_route and words[0] == b"HMSG":
            return self._routed(party, words, rest)
        assert words[0] in {*takes, b"PING", b"PONG", b"INFO", b"+OK"}, words
        return takes[words[0]](party, words, rest) if words[0] in takes else 0

    def _message(self, party: Party, words: list[bytes], rest: bytes) -> int:
        total = int(words[-1])
        header = int(words[-2]) if words[0] == b"HMSG" else 0
        if rest.startswith(b"NATS/1.0 503"):
            asked = next(
                it
                for it in self.model.under_way.values()
                if it.reply == words[1] and it.source is party
            )
            asked.refused += 1
        else:
            number = int(rest[header:total].split(b" ")[0])
            self.model.delivered(party, words[2], number)
            if words[3].startswith(b"_R_.") and words[3] not in self.answered:
                message = self.model.under_way[number]
                self.asked[words[3]] = (message.source, message.reply)
        return total + 2

    def _routed(self, party: Party, words: list[bytes], rest: bytes) -> int:
        total = int(words[-1])
        header = int(words[-2]) if words[0] == b"HMSG" else 0
        middle = words[3 : -2 if header else -1]
        # The reply; `+`, the reply and groups; or `|` and groups.
        sign = middle.pop(0) if middle[:1] in ([b"+"], [b"|"]) else b""
        reply = middle.pop(0) if middle and sign != b"|" else b""
        queues = tuple(middle)
        number = int(rest[header:total].split(b" ")[0])
        if reply:
            self.model.check_reply(party, words[1], reply, number)
        self.model.routed(party, words[1], queues, number)
        return total + 2

    def _told(self, party: Party, words: list[bytes], _: bytes) -> int:
        account, subject, queue = words[1], words[2], words[3] if len(words) > 3 else b""
        if words[0] == b"RS-":
            del party.told[account, subject, queue]
        else:
            party.told[account, subject, queue] = int(words[4]) if queue else 1
        return 0

    # ---- judged

    def settle(self) -> None:
        """Turn all cores until nothing is under way, and judge what has come of it."""
        while any(talk.core.is_busy for talk in self.talks):
            for talk in self.talks:
                talk.core.turn(0)
                self._listen()
        self.model.check(self.parties)

    def run(self, steps: int) -> None:
        """Let so many things happen, and judge now and then."""
        for _ in range(steps):
            self.step()
            if self.rng.random() < 0.05:
                self.settle()
        self.settle()


def overlap(subject: bytes) -> bytes | None:
    """Return what a subject has in common with `c.*`; None: nothing."""
    first, _, rest = subject.partition(b".")
    if subject == b">":
        return b"c.*"
    if first not in (b"c", b"*") or not rest or b"." in rest:
        return None
    return b"c.*" if rest == b">" else b"c." + rest


def plays(seed: int, steps: int, plant: Plant | None = None) -> None:
    """Run one seed; AssertionError: somebody did not get what one server would have given him."""
    World(seed, plant).run(steps)
