"""Anything in any order, with no model beside it: nothing breaks, and in the end nothing is left.

It goes where the models do not: servers with several connections, accounts that are pinned and
removed, rules and levels that change, bytes that are cut off or damaged. Under the compiler's
sanitizers it finds what points to where nothing is any more.
`FRAMEWORK_TORTURE_SEED` plays a seed again.
"""

from __future__ import annotations

import os
import random
import sys
from contextlib import suppress
from dataclasses import dataclass

import pytest
from msgspec.structs import replace

from framework.dataplane import Coding, Core, LinkKind, PeerTerms, PlaneLimits
from framework.dataplane.permissions import Permissions, SubjectRules
from framework.wire.closed_state import ClosedState
from framework.wire.s2 import Decoder, encode

STEPS = 600
FRESH_SEED = int(os.environ.get("FRAMEWORK_TORTURE_SEED", random.SystemRandom().randrange(2**32)))
NAMES = (b"$G", b"A", b"B", b"CC")
SUBJECTS = (b"a", b"b", b"a.b", b"a.*", b">", b"b.>", b"*.b", b"a.c", b"$MQTT.x")
LITERALS = (b"a", b"b", b"a.b", b"a.c", b"b.c.d")
SIZES = (0, 1, 4, 4, 4, 300, 9_000, 70_000)
PENDING = (1_000, 20_000, 2**26)
RULES = (
    SubjectRules(),
    SubjectRules(deny=("a",)),
    SubjectRules(allow=("a.*",)),
    SubjectRules(allow=(">",), deny=("a.b", "b.>")),
)


@dataclass
class Far:
    """The far end of a link."""

    number: int
    kind: str
    """`client`, `parked` or `route`."""
    decoder: Decoder | None = None
    omitted: bool = False


class Chaos:
    """A core, and those who talk to it."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.limits = PlaneLimits(max_pending=self.random.choice(PENDING))
        self.core = Core(self.limits, seed=seed)
        for name in NAMES:
            self.core.add_account(name)
        self.rules = [
            self.core.add_permissions(Permissions(publish=imports, subscribe=exports))
            for imports, exports in zip(RULES, RULES[::-1], strict=True)
        ]
        self.fars: list[Far] = []
        self.sinks: list[int] = []
        self.now_ns = 1

    # ---- what is said

    def payload(self) -> tuple[int, bytes]:
        """Return a payload with its size."""
        size = self.random.choice(SIZES)
        return size, b"%d" % self.random.randrange(10) * size

    def client_line(self) -> bytes:
        """Return what a client may say."""
        pick = self.random.choice
        queue, reply = pick((b"", b"", b"q0 ", b"q1 ")), pick((b"", b"", b"rep "))
        size, payload = self.payload()
        return pick((
            b"SUB %b %b%d\r\n" % (pick(SUBJECTS), queue, pick(range(8))),
            b"UNSUB %d%b\r\n" % (pick(range(8)), pick((b"", b" 3"))),
            b"PUB %b %b%d\r\n%b\r\n" % (pick(LITERALS), reply, size, payload) * pick((1, 4, 30)),
        ))

    def route_line(self, far: Far) -> bytes:
        """Return what a route may say."""
        pick = self.random.choice
        account = b"" if far.omitted else pick((*NAMES, b"X", b"Y")) + b" "
        to = pick((b"", b"", b"rep ", b"| q0 q1 ", b"+ rep q1 "))
        size, payload = self.payload()
        group = pick((b"", b"", b" q0 1", b" q1 999999999"))
        return pick((
            b"RS+ %b%b%b\r\n" % (account, pick(SUBJECTS), group),
            b"RS- %b%b%b\r\n" % (account, pick(SUBJECTS), group[:3]),
            b"RMSG %b%b %b%d\r\n%b\r\n"
            % (account, pick(LITERALS), to, size, payload)
            * pick((1, 4)),
            pick((b"PING\r\n", b"PONG\r\n", b"INFO {}\r\n", b"-ERR 'x'\r\n")),
        ))

    def talk(self, far: Far) -> None:
        """Let a link say something, whole or not."""
        if far.kind == "parked":
            return
        lines = range(self.random.randint(1, 8))
        text = b"".join(
            self.client_line() if far.kind == "client" else self.route_line(far) for _ in lines
        )
        if self.random.random() < 0.1:
            text = text[: self.random.randint(0, len(text))]
        if far.decoder is not None:
            text = encode(text, self.random.choice(list(Coding)))
            if self.random.random() < 0.05:
                at = self.random.randrange(len(text))
                text = text[:at] + bytes([text[at] ^ 1]) + text[at + 1 :]
        while text:
            count = self.random.choice((len(text), self.random.randint(1, len(text))))
            with suppress(ValueError):  # one that was cut off in a CONNECT waits for an answer
                self.core.feed(far.number, text[:count], self.now_ns)
            text = text[count:]

    # ---- what is done

    def arrive(self) -> None:
        """Open a link, which may be coded."""
        kind = self.random.choice((LinkKind.CLIENT, LinkKind.ROUTE))
        number = self.core.open(kind, "127.0.0.1", 1, accepted=True)
        far = Far(number, "client" if kind is LinkKind.CLIENT else "parked")
        self.core.feed(number, b"CONNECT {}\r\n", self.now_ns)
        if self.random.random() < 0.4:
            self.core.set_coding(number, self.random.choice(list(Coding)))
            far.decoder = Decoder()
        if kind is LinkKind.CLIENT:
            options = dict.fromkeys(("verbose", "pedantic", "no_responders"), False)
            account = self.random.randrange(len(NAMES))
            self.core.resume_client(
                number, account=account, echo=True, headers=True, protocol=1, **options
            )
        self.fars.append(far)

    def register(self, far: Far) -> None:
        """Let a route be registered for something, to one of some servers."""
        if far.kind != "parked":
            return
        size = self.random.randint(1, 3)
        account = self.random.randrange(len(NAMES))
        terms = self.random.choice((
            {},
            {"accounts": []},
            {"pool_size": size, "pool_index": self.random.randrange(size)},
            {"accounts": [account], "account_omitted": self.random.random() < 0.7},
        ))
        far.kind, far.omitted = "route", bool(terms.get("account_omitted"))
        peer, rules = self.random.choice((0, 1, 1, 1, 2)), self.random.choice(self.rules)
        self.core.register_peer(far.number, PeerTerms(peer=peer, permissions=rules, **terms))

    def leave(self, far: Far) -> None:
        """End a link from either end."""
        self.fars.remove(far)
        if self.random.random() < 0.5:
            self.core.hang_up(far.number)
        else:
            self.core.close(far.number, ClosedState.SERVER_SHUTDOWN, b"-ERR 'bye'\r\n")

    def take(self, far: Far) -> None:
        """Read what a link is told; it is a good stream where the link is coded."""
        output = self.core.take_output(far.number)
        if far.decoder is not None:
            far.decoder.feed(output)

    def inside(self) -> None:
        """Subscribe, unsubscribe or publish in this process."""
        account, chance = self.random.randrange(len(NAMES)), self.random.random()
        if chance < 0.4:
            subject = self.random.choice(LITERALS)
            count = self.random.randint(1, 5)
            with suppress(ValueError):  # the account is gone
                self.core.publish(account, [(subject, b"", b"", b"four")] * count)
        elif chance < 0.7:
            self.sinks.append(self.core.subscribe_sink(account, self.random.choice(SUBJECTS)))
        elif self.sinks:
            self.core.unsubscribe_sink(self.sinks.pop())

    def govern(self) -> None:
        """Change what holds for all."""
        account = self.random.randrange(1, len(NAMES))
        pinned = [at for at in range(len(NAMES)) if self.random.random() < 0.4]
        limits = replace(self.limits, max_pending=self.random.choice(PENDING))
        self.random.choice((
            lambda: self.core.pin_accounts(pinned),
            lambda: self.core.set_peer_permissions(LinkKind.ROUTE, self.random.choice(self.rules)),
            lambda: self.core.remove_account(account),
            lambda: self.core.add_account(NAMES[account]),
            lambda: self.core.trace(on=self.random.random() < 0.3),
            lambda: self.core.set_limits(limits),
        ))()

    def step(self) -> None:
        """Let one thing happen."""
        self.now_ns += self.random.choice((1, 1_000, 1_000_000, 100_000_000))
        if len(self.fars) < 4:
            self.arrive()
        far, chance = self.random.choice(self.fars), self.random.random()
        if chance < 0.06:
            self.arrive()
        elif chance < 0.12:
            self.register(far)
        elif chance < 0.15:
            self.leave(far)
        elif chance < 0.19:
            self.govern()
        elif chance < 0.21:
            self.inside()
        elif chance < 0.23:
            self.core.set_coding(far.number, self.random.choice(list(Coding)))
            self.core.repeat_interest(far.number)
        elif chance < 0.35:
            self.core.turn(self.now_ns)
            self.take(far)
        else:
            self.talk(far)
        self.core.take_events()

    def end(self) -> None:
        """Close everything."""
        for far in self.fars:
            self.core.hang_up(far.number)
        for sink in self.sinks:
            self.core.unsubscribe_sink(sink)
        self.core.turn(self.now_ns)


@pytest.mark.parametrize("seed", [*range(20), pytest.param(FRESH_SEED, id="fresh")])
def test_nothing_breaks_and_nothing_is_left(seed: int) -> None:
    sys.stdout.write(f"FRAMEWORK_TORTURE_SEED={seed}\n")
    chaos = Chaos(seed)
    for _ in range(STEPS):
        chaos.step()
    busy = chaos.core.totals()
    chaos.end()
    totals, tables = chaos.core.totals(), chaos.core.sublist_counters()

    assert min(busy.in_msgs, busy.out_msgs, tables.inserts) > 0
    assert 0 == totals.subscriptions == sum(kind.links for kind in totals.kinds.values())
    assert tables.inserts == tables.removes
