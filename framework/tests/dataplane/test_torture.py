"""Clients, routes and sinks at random, in pieces of random length, beside a naive model.

`FRAMEWORK_TORTURE_S` lets new seeds follow for so many seconds;
`FRAMEWORK_TORTURE_SEED` plays one again.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from framework.dataplane import (
    Closed,
    Coding,
    Core,
    Delivered,
    Greeting,
    InterestChanged,
    LinkKind,
    PeerTerms,
    PlaneLimits,
)
from framework.tests.dataplane.torture_model import Got, Key, Message, Model, Party
from framework.tests.dataplane.torture_rules import RULES, may_publish, may_subscribe
from framework.wire.s2 import Decoder, encode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from framework.dataplane.permissions import Permissions

ACCOUNTS = (b"$G", b"B")
TOKENS = (b"a", b"b", b"c")
QUEUES = (b"q", b"work")
HEADER = b"NATS/1.0\r\nK: v\r\n\r\n"
STEPS = 1_000
TURN_BYTES = 262_144
"""Plain bytes of a coded link that are handled at once."""
FRESH_SEED = int(os.environ.get("FRAMEWORK_TORTURE_SEED", random.SystemRandom().randrange(2**32)))


@dataclass
class Said:
    """One thing that a link says, and what follows from it in the model."""

    text: bytes
    act: Callable[[], None] = field(default=lambda: None)
    whole: bool = False
    """It is not cut: the plane may act before its end."""
    parks: bool = False


@dataclass(eq=False)
class Far(Party):
    """A link with what it is about to say."""

    said: list[Said] = field(default_factory=list)
    cut: int = 0
    """Bytes of the first thing that were sent already."""
    decoder: Decoder | None = None
    """Of a link that is coded."""


class World:
    """A core, everybody who talks to it, and the model."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        # What waits is taken behind what a link says at once: until then nobody is slow.
        self.limits = PlaneLimits(fast_producer_stall=False)
        self.core = Core(self.limits, seed=seed)
        self.core.add_account(ACCOUNTS[1])
        self.core.watch_interest(watch=True)
        self.model = Model()
        self.parties: dict[int, Far] = {}
        self.sinks: dict[int, Party] = {}
        self.closing: list[Far] = []
        self.orders: list[Callable[[], None]] = []
        """What the model does at the beginning of the next turn."""
        self.got: defaultdict[bytes, list[Got]] = defaultdict(list)
        self.refused: defaultdict[bytes, list[Got]] = defaultdict(list)
        self.told: defaultdict[tuple[Party | None, Key], list[int]] = defaultdict(list)
        self.batches: Counter[tuple[Party, bytes]] = Counter()
        self.complaints: Counter[tuple[Party, bytes]] = Counter()
        """What clients were told less what they should have been."""
        self.pinned: set[int] = set()
        self.numbers = 0
        self.now_ns = 0
        self.in_msgs = 0
        self.turn()

    # ---- time

    def turn(self) -> None:
        """End a turn, and compare what came of it."""
        self.now_ns += 1000
        self.core.turn(self.now_ns)
        events = self.core.take_events()
        self.collect()
        orders, self.orders = self.orders, []
        for order in orders:
            order()
        for far in self.closing:
            self.model.leave(far)
        for event in events:
            if isinstance(event, InterestChanged):
                self.told[None, (event.account, event.subject, event.queue)].append(event.weight)
            elif isinstance(event, Delivered):
                for *_, payload in event.batch.detach():
                    self.batches[self.sinks[event.sink], payload[:8]] += 1
            elif isinstance(event, Closed):
                self.check_row(event)
        self.closing = []
        self.check()
        for event in events:
            if isinstance(event, Greeting) and event.kind is LinkKind.CLIENT:
                self.log_in(event)

    def log_in(self, event: Greeting) -> None:
        """Let a client in as it asked for, and on with what it said behind that."""
        far = self.parties[event.link]
        options = json.loads(event.document)
        far.account = options.pop("account")
        rules = RULES[options.pop("rules")]
        self.code(far)
        number = self.core.add_permissions(rules)
        self.core.resume_client(
            event.link,
            account=far.account,
            permissions=number,
            pedantic=False,
            protocol=1,
            **options,
        )
        self.core.drop_permissions(number)
        if not far.doomed:
            self.model.move(far, far.account)
        self.rule(far, rules)
        far.echo, far.headers = options["echo"], options["headers"]
        far.no_responders = options["no_responders"]
        self.core.turn(self.now_ns)
        self.collect()
        self.do(far)

    def code(self, far: Far) -> None:
        """Code some of the links that are parked; a coded one gets another level."""
        if self.random.random() < 0.3:
            far.decoder = far.decoder or Decoder()
            self.core.set_coding(far.number, self.random.choice(list(Coding)))

    def rule(self, far: Far, rules: Permissions) -> None:
        """Let the model put a client under other rules."""
        if far.doomed:
            return
        for sub in self.model.rule(far, rules):
            queue = b' using queue "%b"' % sub.queue if sub.queue else b""
            words = b'Subscription to "%b"%b (sid "%b")' % (sub.subject, queue, sub.sid)
            self.complaints[far, words] -= 1

    def check(self) -> None:
        """Compare what routes, watchers and sinks have got."""
        for message, sinks in self.model.owed:
            (sink,) = (s for s in sinks if self.batches[s, message.number])
            self.batches[sink, message.number] -= 1
        self.model.owed = []

        assert self.batches.total() == 0
        assert not any(self.complaints.values()), self.complaints
        assert dict(self.told) == dict(self.model.told)
        assert not any(self.got.values())
        assert not any(self.refused.values())
        self.told.clear()
        self.model.told.clear()
        self.batches.clear()
        self.complaints.clear()

    def check_row(self, event: Closed) -> None:
        """Compare the counters of a link that has ended."""
        far = self.parties.pop(event.link)

        assert far.doomed, event
        assert (far.in_msgs, far.in_bytes, far.out_msgs, far.out_bytes) == (
            event.row.in_msgs,
            event.row.in_bytes,
            event.row.out_msgs,
            event.row.out_bytes,
        ), event

    # ---- what comes out

    def collect(self) -> None:
        """Take the output of all links."""
        for far in self.parties.values():
            rest = self.core.take_output(far.number)
            if far.decoder is not None:
                rest = far.decoder.feed(rest)
            while rest:
                line, _, rest = rest.partition(b"\r\n")
                rest = self.take(far, line.split(b" "), rest)

    def take(self, far: Far, words: list[bytes], rest: bytes) -> bytes:
        """Note one line and its payload; return what follows."""
        if words[0] in (b"RS+", b"RS-"):
            account = ACCOUNTS.index(words.pop(1)) if far.omitted is None else far.omitted
            queue = words[2] if len(words) > 2 else b""
            weight = 0 if words[0] == b"RS-" else int(words[3]) if queue else 1
            self.told[far, (account, words[1], queue)].append(weight)
            return rest
        if words[:2] == [b"-ERR", b"'Permissions"]:
            self.complaints[far, b" ".join(words[4:])[:-1]] += 1
            return rest
        if not words[0].endswith(b"MSG"):
            assert words[0] in (b"+OK", b"-ERR", b"PONG", b"PING"), words
            return rest
        total = int(words.pop())
        header = int(words.pop()) if words[0] == b"HMSG" else 0
        body, rest = rest[:total], rest[total + 2 :]
        words = words[1:]
        if far.route:
            copy = self.routed(far, words, body, header)
        else:
            subject, sid, *reply = words
            copy = Got(far, sid, subject, b"".join(reply), body[:header], body[header:])
        if b"503" in copy.header:
            self.refused[copy.subject].append(copy)
        else:
            self.got[copy.payload[:8]].append(copy)
        return rest

    def routed(self, far: Far, words: list[bytes], body: bytes, header: int) -> Got:
        """Read the words of RMSG."""
        if far.omitted is None:
            words.pop(0)
        subject = words.pop(0)
        sign = words.pop(0) if words and words[0] in (b"|", b"+") else b""
        reply = words.pop(0) if words and sign != b"|" else b""
        return Got(far, b"", subject, reply, body[:header], body[header:], tuple(words))

    # ---- what goes in

    def do(self, far: Far, count: int = 0) -> None:
        """Let a link have sent `count` bytes more, and the model do what is complete now."""
        left = count + far.cut
        while far.said and len(far.said[0].text) <= left and not far.doomed:
            said = far.said.pop(0)
            left -= len(said.text)
            far.cut = left
            said.act()
            if said.parks:
                return
        far.cut = left

    def send(self, far: Far) -> None:
        """Send some of what a link is about to say."""
        text = b"".join(said.text for said in far.said)
        count = self.random.randint(1, len(text) - far.cut)
        end = 0
        for said in far.said:
            end += len(said.text)
            if said.whole and end - len(said.text) < count + far.cut < end:
                count = end - far.cut
        at = far.cut
        pieces = self.random.choice((1, 1, 2, 5, count if count < 200 else 3))
        cuts = sorted(self.random.randint(0, count) for _ in range(pieces - 1))
        for start, stop in zip([0, *cuts], [*cuts, count], strict=True):
            self.feed(far, text[at + start : at + stop])
        self.collect()
        parks = any(said.parks for said in far.said)
        self.do(far, count)
        if parks or far.doomed:
            self.turn()

    def feed(self, far: Far, text: bytes) -> None:
        """Send a piece, coded if need be; that comes in pieces of its own."""
        if far.decoder is None:
            self.core.feed(far.number, text, self.now_ns)
            return
        size = self.random.choice((1, 50, 5_000, TURN_BYTES))
        for at in range(0, len(text), TURN_BYTES):
            stream = encode(text[at : at + TURN_BYTES], self.random.randrange(4))
            step = size if len(stream) < 1_000 * size else 2 * TURN_BYTES
            for start in range(0, len(stream), step):
                self.core.feed(far.number, stream[start : start + step], self.now_ns)

    def finish(self) -> None:
        """Let every link say to the end what it has begun."""
        for far in list(self.parties.values()):
            while far.said and not far.doomed:
                self.send(far)

    def doom(self, far: Far) -> None:
        """A link has ended, but for its burial."""
        far.doomed = True
        far.said = []
        self.closing.append(far)

    # ---- what they say

    def subject(self, *, wild: bool) -> bytes:
        """Return a subject; seldom one that is not valid."""
        tokens = [self.random.choice(TOKENS) for _ in range(self.random.randint(1, 3))]
        if wild and self.random.random() < 0.4:
            tokens[self.random.randrange(len(tokens))] = b"*"
        if wild and self.random.random() < 0.2:
            tokens[-1] = b">"
        if wild and self.random.random() < 0.15:
            tokens[0] = b"r"
            tokens[1:] = [self.random.choice((b"*", b">"))]
        if self.random.random() < 0.02:
            tokens.append(self.random.choice((b"", b"*", b">")))
        return b".".join(tokens)

    def message(
        self, source: Party | None, account: int, queues: tuple[bytes, ...] = ()
    ) -> Message:
        """Return a new message."""
        self.numbers += 1
        number = b"%08d" % self.numbers
        size = self.random.choice((0, 0, 0, 0, 1, 30, 200, 200, 4000, 9000))
        if self.random.random() < 0.01:
            size = self.random.choice((70_000, 150_000, 300_000))
        return Message(
            number,
            source,
            account,
            self.subject(wild=False),
            b"r." + number if self.random.random() < 0.3 else b"",
            HEADER if self.random.random() < 0.3 and source is not None and source.headers else b"",
            number + b"x" * size,
            queues,
        )

    def published(self, message: Message) -> None:
        """Compare who has got a message."""
        self.in_msgs += message.source is not None
        far = message.source
        if isinstance(far, Far) and not may_publish(far.rules, far.owed, message.subject):
            far.in_msgs += 1
            far.in_bytes += len(message.header) + len(message.payload)
            self.complaints[far, b'Publish to "%b"' % message.subject] -= 1
            return
        served = self.model.publish(message, self.got.pop(message.number, []))
        source = message.source
        if source is not None and not served and message.reply and source.no_responders:
            self.model.refuse(source, message, self.refused.pop(message.reply, []))

    def pub(self, far: Far) -> list[Said]:
        """PUB or HPUB, some of them often."""
        first = self.message(far, far.account)
        if far.owed and self.random.random() < 0.3:
            first = replace(first, subject=self.random.choice(list(far.owed)))
        return [self.said_pub(far, message) for message in self.often(first)]

    def often(self, first: Message) -> Iterator[Message]:
        """Number a message, some of them many times over."""
        for _ in range(self.random.choice((1, 1, 1, 3, 20))):
            self.numbers += 1
            number = b"%08d" % self.numbers
            yield replace(
                first,
                number=number,
                payload=number + first.payload[8:],
                reply=b"r." + number if first.reply else b"",
            )

    def said_pub(self, far: Far, message: Message) -> Said:
        words = [message.subject, *filter(None, [message.reply])]
        size = len(message.header) + len(message.payload)
        verb = b"PUB"
        if message.header:
            verb = b"HPUB"
            words.append(b"%d" % len(message.header))
        gap = self.random.choice((b" ", b" ", b"\t", b"  "))
        line = gap.join([verb, *words, b"%d" % size]) + self.random.choice((b"\r\n", b"\n"))
        act = partial(self.published, message)
        if size > self.limits.max_payload:
            return Said(line, partial(self.doom, far), whole=True)
        return Said(line + message.header + message.payload + b"\r\n", act)

    def sub(self, far: Far) -> list[Said]:
        """SUB, some of them with numbers that are in use."""
        subject, sid = self.subject(wild=True), b"%d" % self.random.randrange(12)
        queue = self.random.choice((b"", b"", *QUEUES))
        line = b" ".join([b"SUB", subject, *filter(None, [queue]), sid]) + b"\r\n"
        said = [Said(line, partial(self.subscribed, far, sid, subject, queue))]
        if self.random.random() < 0.3:
            most = self.random.randint(1, 5)
            act = partial(self.model.unsubscribe, far, sid, most)
            said.append(Said(b"UNSUB %b %d\r\n" % (sid, most), act))
        return said

    def subscribed(self, far: Far, sid: bytes, subject: bytes, queue: bytes) -> None:
        """Let the model subscribe, if that is allowed."""
        tokens = subject.split(b".")
        if not may_subscribe(far.rules, subject, queue):
            group = b' using queue "%b"' % queue if queue else b""
            self.complaints[far, b'Subscription to "%b"%b' % (subject, group)] -= 1
        elif b"" not in tokens and b">" not in tokens[:-1]:
            self.model.subscribe(far, far.account, sid, subject, queue)

    def unsub(self, far: Far) -> list[Said]:
        """UNSUB, with or without a maximum."""
        sid = b"%d" % self.random.randrange(12)
        if self.random.random() < 0.5:
            return [Said(b"UNSUB %b\r\n" % sid, partial(self.model.unsubscribe, far, sid))]
        most = self.random.randint(0, 5)
        line = b"UNSUB %b %d\r\n" % (sid, most)
        return [Said(line, partial(self.model.unsubscribe, far, sid, most))]

    def greet(self, far: Far) -> list[Said]:
        """CONNECT, which changes what the client may do."""
        options = {
            word: self.random.random() < 0.7
            for word in ("verbose", "echo", "headers", "no_responders")
        }
        options["verbose"] = self.random.random() < 0.1
        account = self.random.choice((0, 0, 1))
        rules = self.random.choice((0, self.random.randrange(len(RULES))))
        document = json.dumps({**options, "account": account, "rules": rules}).encode()
        return [Said(b"CONNECT %b\r\n" % document, whole=True, parks=True)]

    def wrong(self, far: Far) -> list[Said]:
        """Something that ends the link."""
        line = self.random.choice((
            b"NO SUCH\r\n",
            b"PUB a\r\n",
            b"SUB a b c d\r\n",
            b"PUB a -1\r\n",
        ))
        if far.route:
            line = self.random.choice((b"NO SUCH\r\n", b"RS+ $G\r\n", b"RMSG\r\n", b"PUB a 0\r\n"))
            line = b"NO SUCH\r\n" if far.omitted is not None else line
        return [Said(line, partial(self.doom, far), whole=True)]

    def route_account(self, far: Far) -> tuple[int, bytes]:
        """Return an account and how the route names it."""
        if far.omitted is not None:
            return far.omitted, b""
        account = self.random.randrange(len(ACCOUNTS))
        return account, ACCOUNTS[account] + b" "

    def remote(self, far: Far) -> list[Said]:
        """RS+ and RS-."""
        account, name = self.route_account(far)
        subject = self.subject(wild=True)
        tokens = subject.split(b".")
        if b"" in tokens or b">" in tokens[:-1]:
            return []
        queue = self.random.choice((b"", b"", *QUEUES))
        words = b" ".join(filter(None, [subject, queue]))
        sid = name + words
        if self.random.random() < 0.35:
            return [
                Said(b"RS- %b%b\r\n" % (name, words), partial(self.model.unsubscribe, far, sid))
            ]
        if queue:
            words += b" %d" % self.random.randint(1, 9)
        act = partial(self.model.subscribe, far, account, sid, subject, queue)
        return [Said(b"RS+ %b%b\r\n" % (name, words), act)]

    def rmsg(self, far: Far) -> list[Said]:
        """RMSG and HMSG, some of them often."""
        account, name = self.route_account(far)
        queues = tuple(q for q in (*QUEUES, b"none") if self.random.random() < 0.3)
        first = self.message(far, account, queues)
        return [self.said_rmsg(name, message) for message in self.often(first)]

    def said_rmsg(self, name: bytes, message: Message) -> Said:
        words = [message.subject]
        if message.queues:
            words.append(b"+" if message.reply else b"|")
        words += [*filter(None, [message.reply]), *message.queues]
        if message.header:
            words.append(b"%d" % len(message.header))
        verb = b"HMSG" if message.header else b"RMSG"
        size = len(message.header) + len(message.payload)
        line = b"%b %b%b %d\r\n" % (verb, name, b" ".join(words), size)
        act = partial(self.published, message)
        return Said(line + message.header + message.payload + b"\r\n", act)

    def foreign(self, far: Far) -> list[Said]:
        """Something of an account that only routes know."""
        if far.omitted is not None:
            return []
        name, subject = self.random.choice((b"X", b"Y")), self.random.choice(TOKENS)
        lines = (b"RS+ %b %b\r\n", b"RS- %b %b\r\n", b"RS- %b %b\r\n")
        return [Said(self.random.choice(lines) % (name, subject))]

    def think(self, far: Far) -> None:
        """Make up what a link says next."""
        ways = (self.pub, self.pub, self.pub, self.sub, self.sub, self.unsub)
        if far.route:
            ways = (self.remote, self.remote, self.rmsg, self.rmsg, self.foreign)
        for _ in range(self.random.randint(1, 6)):
            chance = self.random.random()
            if chance < 0.01:
                far.said += self.wrong(far)
                return
            if chance < 0.03 and not far.route:
                # What comes behind it is made up for the account that it brings.
                far.said += self.greet(far)
                return
            far.said += self.random.choice(ways)(far)

    # ---- who is there

    def step(self) -> None:
        """Let one thing happen."""
        chance = self.random.random()
        if chance < 0.05 or len(self.parties) < 3:
            self.arrive()
        elif chance < 0.08:
            far = self.random.choice(list(self.parties.values()))
            if not far.doomed:
                self.core.hang_up(far.number)
                self.doom(far)
        elif chance < 0.12:
            self.inside()
        elif chance < 0.2:
            self.turn()
        elif chance < 0.22:
            self.random.choice((self.change_limits, self.rule_again, self.pin))()
        else:
            far = self.random.choice(list(self.parties.values()))
            if far.doomed:
                return
            if not far.said:
                self.think(far)
            if far.said:
                self.send(far)

    def change_limits(self) -> None:
        """Change what holds for everybody, when nobody is in the middle of what it says."""
        self.finish()
        self.limits = replace(self.limits, max_payload=self.random.choice((1_048_576, 5_000)))
        self.core.set_limits(self.limits)
        self.core.trace(on=self.random.random() < 0.3)
        self.turn()

    def rule_again(self) -> None:
        """Put a client under other rules, in the middle of what it says."""
        clients = [far for far in self.parties.values() if not far.route]
        if clients:
            far, rules = self.random.choice(clients), self.random.choice(RULES)
            number = self.core.add_permissions(rules)
            self.core.set_client(far.number, permissions=number)
            self.core.drop_permissions(number)
            self.orders.append(partial(self.rule, far, rules))
            self.turn()

    def arrive(self) -> None:
        """Open a link."""
        if self.random.random() < 0.7:
            number = self.core.open(LinkKind.CLIENT, "127.0.0.1", 1, accepted=True)
            far = Far(f"client {number & 0xFFFFFFFF}", number)
            self.parties[number] = far
            far.said = self.greet(far)
            self.send(far)
            return
        number = self.core.open(LinkKind.ROUTE, "127.0.0.1", 1, accepted=True)
        far = Far(f"route {number & 0xFFFFFFFF}", number, route=True)
        self.parties[number] = far
        far.headers = self.random.random() < 0.7
        far.accounts = self.random.choice(((0,), (1,), (0, 1)))
        if len(far.accounts) == 1 and self.random.random() < 0.5:
            far.omitted = far.accounts[0]
        everything = len(far.accounts) == len(ACCOUNTS) and self.random.random() < 0.7
        index, size = 0, 0
        if everything and self.random.random() < 0.7:
            size = self.random.randint(1, 3)
            index = self.random.randrange(size)
            far.pool = index, size
            far.accounts = self.carried(far)
        if self.random.random() < 0.5:
            self.core.feed(number, b"CONNECT {}\r\n", self.now_ns)
            self.code(far)
        terms = PeerTerms(
            accounts=None if everything else far.accounts,
            pool_index=index,
            pool_size=size,
            headers=far.headers,
            account_omitted=far.omitted is not None,
        )
        self.core.register_peer(number, terms)
        self.orders.append(partial(self.model.join, far))
        self.turn()

    def carried(self, far: Far) -> tuple[int, ...]:
        """Return the accounts that the place of a route in its pool gives it."""
        assert far.pool is not None
        index, size = far.pool
        return tuple(
            at
            for at, name in enumerate(ACCOUNTS)
            if at not in self.pinned and _pool_number(name) % size == index
        )

    def pin(self) -> None:
        """Let other accounts be pinned, in the middle of what routes say."""
        self.pinned = {at for at in range(len(ACCOUNTS)) if self.random.random() < 0.4}
        self.core.pin_accounts(sorted(self.pinned))
        for far in self.parties.values():
            if far.pool is not None and not far.doomed:
                self.orders.append(partial(self.model.carry, far, self.carried(far)))
        self.turn()

    def inside(self) -> None:
        """Subscribe, unsubscribe or publish in this process."""
        account = self.random.randrange(len(ACCOUNTS))
        chance = self.random.random()
        if chance < 0.5:
            messages = [self.message(None, account) for _ in range(self.random.randint(1, 5))]
            self.core.publish(
                account, [(m.subject, m.reply, m.header, m.payload) for m in messages]
            )
            self.orders += [partial(self.published, message) for message in messages]
        elif chance < 0.75:
            subject, queue = self.subject(wild=True), self.random.choice((b"", *QUEUES))
            try:
                number = self.core.subscribe_sink(account, subject, queue)
            except ValueError:
                return
            self.sinks[number] = sink = Party(f"sink {number}", number, sink=True)
            self.orders.append(partial(self.model.subscribe, sink, account, b"", subject, queue))
        elif self.sinks:
            sink = self.random.choice(list(self.sinks.values()))
            self.core.unsubscribe_sink(sink.number)
            self.orders.append(partial(self.model.unsubscribe, sink, b""))

    def end(self) -> None:
        """Close everything: nothing may be left."""
        self.turn()
        for sink in self.sinks.values():
            self.core.unsubscribe_sink(sink.number)
            self.orders.append(partial(self.model.unsubscribe, sink, b""))
        for far in self.parties.values():
            self.core.hang_up(far.number)
            self.doom(far)
        self.turn()
        totals, tables = self.core.totals(), self.core.sublist_counters()

        assert not self.parties
        assert 0 == totals.subscriptions == sum(kind.links for kind in totals.kinds.values())
        assert (self.in_msgs, 0) == (totals.in_msgs, totals.dropped)
        assert self.model.out_msgs == totals.out_msgs
        assert tables.inserts == tables.removes
        assert [] == self.model.subs


def _pool_number(name: bytes) -> int:
    """FNV-1a, 32 bits."""
    number = 2_166_136_261
    for byte in name:
        number = (number ^ byte) * 16_777_619 % 2**32
    return number


def _play(seed: int) -> None:
    sys.stdout.write(f"FRAMEWORK_TORTURE_SEED={seed}\n")
    world = World(seed)
    for _ in range(STEPS):
        world.step()
    world.end()


@pytest.mark.parametrize("seed", [*range(10), pytest.param(FRESH_SEED, id="fresh")])
def test_everybody_gets_what_the_model_says(seed: int) -> None:
    _play(seed)


@pytest.mark.timeout(0)
def test_it_goes_on_for_as_long_as_is_asked_for() -> None:
    end = time.perf_counter() + float(os.environ.get("FRAMEWORK_TORTURE_S", "0"))
    seed = FRESH_SEED
    while time.perf_counter() < end:
        seed += 1
        _play(seed)
