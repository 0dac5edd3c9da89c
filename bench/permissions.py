"""What a check of permissions costs a publisher: `python -m bench.permissions`.

The plane alone, without sockets: what is added is the same with them, and the whole is more. Runs
with and without permissions follow each other, and their ratios are compared, so that what else
the machine does is in both.
"""

from __future__ import annotations

import argparse
import statistics
import time

from framework.dataplane import Core, LinkKind, PlaneLimits
from framework.dataplane.permissions import Permissions, SubjectRules

PAYLOAD_BYTES = 128
MESSAGES = 100_000
TURNS = 4
"""Of each pair of cores; the first is not counted."""
READ_MESSAGES = 200
"""About what one read of a busy publisher brings."""
SUBJECTS = (1, 1_000)
RECEIVERS = (0, 1)
RULES = Permissions(
    publish=SubjectRules(
        allow=("orders.*.created", "orders.>", "events.>", "_INBOX.>", "metrics.*.cpu"),
        deny=("orders.secret.>", "events.*.internal", "admin.>"),
    )
)


class Publisher:
    """A core with one client that publishes."""

    def __init__(self, permissions: Permissions | None, subjects: int, receivers: int) -> None:
        self._core = Core(PlaneLimits(), seed=1)
        self._receivers = [self._client(0) for _ in range(receivers)]
        for link in self._receivers:
            self._core.feed(link, b"SUB orders.> 1\r\n", 1)
        number = self._core.add_permissions(permissions) if permissions else 0
        self._link = self._client(number)
        payload = b"x" * PAYLOAD_BYTES
        lines = [
            b"PUB orders.customer-%d.created %d\r\n%b\r\n" % (at, PAYLOAD_BYTES, payload)
            for at in range(subjects)
        ]
        turns = max(subjects // READ_MESSAGES, 1)
        self._reads = [
            b"".join(lines[(turn * READ_MESSAGES + at) % subjects] for at in range(READ_MESSAGES))
            for turn in range(turns)
        ]

    def _client(self, permissions: int) -> int:
        core = self._core
        link = core.open(LinkKind.CLIENT, "127.0.0.1", 1, accepted=True)
        core.resume_client(
            link,
            permissions=permissions,
            verbose=False,
            pedantic=False,
            echo=True,
            headers=True,
            no_responders=True,
            protocol=1,
        )
        core.turn(1)
        core.take_events()
        return link

    def ns_per_message(self) -> float:
        """Publish MESSAGES, and return what one took."""
        core, link = self._core, self._link
        before = time.thread_time_ns()
        for at in range(MESSAGES // READ_MESSAGES):
            core.feed(link, self._reads[at % len(self._reads)], 1)
            for receiver in self._receivers:
                core.take_output(receiver)
        return (time.thread_time_ns() - before) / MESSAGES


def pairs_of(subjects: int, receivers: int, *, plain_first: bool) -> list[tuple[float, float]]:
    """Return what a message took without and with rules, some times in turn."""
    ways = [None, RULES] if plain_first else [RULES, None]
    publishers = [Publisher(rules, subjects, receivers) for rules in ways]
    rounds = [[publisher.ns_per_message() for publisher in publishers] for _ in range(TURNS)]
    return [(one, other) if plain_first else (other, one) for one, other in rounds[1:]]


def main() -> None:
    """Print the cost of a message without and with permissions, and how the rates compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=8, help="pairs of cores; %(default)s")
    rounds = parser.parse_args().rounds
    print(f"{'subjects':>8} {'receivers':>9} {'plain ns':>9} {'checked ns':>10} {'rate':>6}")
    for subjects in SUBJECTS:
        for receivers in RECEIVERS:
            # Where a core's memory lies makes more difference than rules: each pair is made anew.
            pairs = [
                pair
                for made in range(rounds)
                for pair in pairs_of(subjects, receivers, plain_first=made % 2 == 0)
            ]
            ratio = statistics.median(one / other for one, other in pairs)
            left, right = (statistics.median(side) for side in zip(*pairs, strict=True))
            print(f"{subjects:>8} {receivers:>9} {left:>9.1f} {right:>10.1f} {ratio:>6.3f}")


if __name__ == "__main__":
    main()
