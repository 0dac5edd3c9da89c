"""A stream with clients that publish to it, and one that pulls from its consumer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from tests.torture.history import Stored, Verdict, judge
from tests.torture.publisher import Publisher, all_acked
from tests.torture.puller import CONSUMER, Puller, terms
from tests.torture.stream import TorturedStream, is_whole
from tests.torture.waiting import until

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.torture.cluster import TorturedCluster

IN_MEMORY = "M1"
"""A stream that is only there while no server dies: it would lose what is in memory alone."""
BETWEEN_S = 0.03


class Found(Struct):
    """What is wrong with a stream."""

    history: Verdict
    missed: int
    """Messages that are there and that its consumer never delivered."""
    again: int
    """Delivered after the server had confirmed that they are acknowledged."""
    other: int
    """Delivered as something else than what is there."""

    @property
    def is_good(self) -> bool:
        """Whether nothing is wrong."""
        return self.history.is_good and not (self.missed or self.again or self.other)


def compare(
    acked: Mapping[str, int],
    replicas: Sequence[Sequence[Stored]],
    delivered: Mapping[int, str],
    again: Sequence[int],
) -> Found:
    """Return what is wrong.

    Args:
        acked: As of `judge`.
        replicas: The same.
        delivered: What a consumer has, the id of each message by its sequence.
        again: Sequences that came though their acknowledgement had been confirmed.
    """
    stored = {it.seq: it.name for it in replicas[0]}
    return Found(
        judge(acked, replicas),
        missed=len(stored.keys() - delivered.keys()),
        again=len(again),
        other=sum(stored.get(seq) != name for seq, name in delivered.items()),
    )


class UsedStream:
    """A stream with who publishes to it, and who pulls from its consumer.

    Args:
        cluster: That has it.
        name: Its own.
        number: Tells to which servers its clients connect first.
    """

    def __init__(self, cluster: TorturedCluster, name: str, number: int) -> None:
        storage = "memory" if name == IN_MEMORY else "file"
        self.stream = TorturedStream(cluster.asker, name, storage)
        self.publishers = [
            Publisher(f"p{it}", cluster.ports, number + it, name.lower(), BETWEEN_S)
            for it in range(2)
        ]
        self.puller = Puller(name, cluster.ports, number)

    def begin(self, replicas: int) -> None:
        """Make the stream and its consumer, and let clients begin."""
        self.stream.create(replicas)
        wanted = terms(self.stream)

        def made() -> bool:
            return "config" in self.stream.ask("CONSUMER.DURABLE.CREATE", wanted, CONSUMER)

        until(f"{self.stream.name} has its consumer", made)
        for it in (*self.publishers, self.puller):
            it.start()

    def settle(self) -> None:
        """End who publishes, and wait until all replicas and the consumer have all."""
        for it in self.publishers:
            it.end()
        name = self.stream.name
        until(f"{name} has all its replicas", self.stream.is_current)
        until(f"all messages of {name} are acknowledged", self._all_acknowledged)
        self.puller.end()

    def _all_acknowledged(self) -> bool:
        info, consumer = self.stream.info(), self.stream.ask("CONSUMER.INFO", consumer=CONSUMER)
        if "state" not in info or "ack_floor" not in consumer:
            return False
        floor = consumer["ack_floor"].get("stream_seq", 0)
        replicas = consumer["config"]["num_replicas"] or info["config"]["num_replicas"]
        whole = is_whole(consumer, replicas)
        return whole and floor == info["state"]["last_seq"] and not consumer["num_pending"]

    def found(self) -> Found:
        """Return what is wrong with it."""
        acked, puller = all_acked(self.publishers), self.puller
        return compare(acked, self.stream.replicas(), puller.delivered, puller.again)

    def stop(self) -> None:
        """End all clients."""
        for it in (*self.publishers, self.puller):
            if it.is_alive():
                it.end()
