"""What is done to a cluster at random: by an operator, and by bad luck."""

from __future__ import annotations

import random
import signal
import time
from typing import TYPE_CHECKING

from tests.torture.puller import CONSUMER, terms
from tests.torture.stream import TorturedStream
from tests.torture.waiting import rest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tests.torture.cluster import TorturedCluster

MOST_S = 2.0
"""How long a server is away at most, or a pause between two changes lasts."""
_GOES = 0.7
"""How likely a stream that comes and goes does not stay for longer."""


class Changes:
    """Does one thing after the other, as a seed says.

    Args:
        cluster: Of servers, some of which have each stream.
        streams: Those that are changed; each has a consumer.
        seed: Of the choices; when a server does what remains its own affair.
    """

    def __init__(
        self,
        cluster: TorturedCluster,
        streams: Sequence[TorturedStream],
        seed: int,
    ) -> None:
        self._cluster = cluster
        self._streams = streams
        self._chance = random.Random(seed)
        self._began = time.perf_counter()
        self.passing = TorturedStream(cluster.asker, "P1")
        """A stream that comes and goes."""
        self.done: list[str] = []
        """What was done, for who looks for the cause of something."""

    def go_on(self, weights: Mapping[Callable[[Changes], None], int], seconds: float) -> None:
        """Do things for so long, the one more often than the other."""
        end = time.perf_counter() + seconds
        choices = list(weights)
        while time.perf_counter() < end:
            self._chance.choices(choices, list(weights.values()))[0](self)
            rest(self._chance.choice((0.0, 0.1, 0.5, 1.0, MOST_S)) * self._chance.random())

    def _note(self, what: str, said: object = "") -> None:
        at = time.perf_counter() - self._began
        self.done.append(f"{at:6.2f} {what} {str(said)[:200]}".rstrip())

    def _some_stream(self) -> TorturedStream:
        return self._chance.choice(self._streams)

    def _some_server(self) -> str:
        return self._chance.choice(list(self._cluster.servers))

    def _some_replica(self, stream: TorturedStream) -> str:
        cluster = stream.info().get("cluster") or {}
        names = [cluster.get("leader"), *(it["name"] for it in cluster.get("replicas") or ())]
        return str(self._chance.choice([it for it in names if it] or [self._some_server()]))

    # -- an operator's

    def scale(self) -> None:
        """Let a stream have more replicas, or fewer."""
        stream, replicas = self._some_stream(), self._chance.choice((1, 2, 3, 3, 5))
        said = stream.ask("STREAM.UPDATE", stream.config(replicas))
        self._note(f"scale {stream.name} to {replicas}", said.get("error"))

    def scale_consumer(self) -> None:
        """Let a consumer have replicas of its own number, or as many as its stream."""
        stream, replicas = self._some_stream(), self._chance.choice((0, 1, 3))
        said = stream.ask("CONSUMER.DURABLE.CREATE", terms(stream, replicas), CONSUMER)
        self._note(f"scale the consumer of {stream.name} to {replicas}", said.get("error"))

    def move(self) -> None:
        """Let another server have a stream in place of one."""
        stream = self._some_stream()
        server = self._some_replica(stream)
        wanted = b'{"server": "%b"}' % server.encode()
        said = self._cluster.system.ask(f"$JS.API.ACCOUNT.STREAM.MOVE.$G.{stream.name}", wanted)
        self._note(f"move {stream.name} from {server}", said.get("error"))

    def cancel(self) -> None:
        """Let a stream stay, or become again, where it was."""
        stream = self._some_stream()
        said = self._cluster.system.ask(f"$JS.API.ACCOUNT.STREAM.CANCEL_MOVE.$G.{stream.name}")
        self._note(f"cancel {stream.name}", said.get("error"))

    def remove_peer(self) -> None:
        """Let a server have a stream no more, and another one in its place."""
        stream = self._some_stream()
        peer = self._some_replica(stream)
        said = stream.ask("STREAM.PEER.REMOVE", {"peer": peer})
        self._note(f"remove {peer} from {stream.name}", said.get("error"))

    def step_down(self) -> None:
        """Let another server lead a stream, its consumer, or the meta group."""
        stream, what = self._some_stream(), self._chance.choice(("STREAM", "CONSUMER", "META"))
        if what == "META":
            said = self._cluster.system.ask("$JS.API.META.LEADER.STEPDOWN")
        else:
            consumer = CONSUMER if what == "CONSUMER" else ""
            said = stream.ask(f"{what}.LEADER.STEPDOWN", consumer=consumer)
        self._note(f"step down: {what} {stream.name}", said.get("error"))

    def come_and_go(self) -> None:
        """Delete the stream that nobody uses, or make it where there is none."""
        stream, replicas = self.passing, self._chance.choice((1, 3, 5))
        if "error" not in (said := stream.ask("STREAM.CREATE", stream.config(replicas))):
            self._note(f"made {stream.name} of {replicas}")
        if self._chance.random() < _GOES:
            said = stream.ask("STREAM.DELETE")
            self._note(f"deleted {stream.name}", said.get("error"))

    # -- bad luck's

    def kill_one(self) -> None:
        """Kill a server, and start it again."""
        name = self._some_server()
        self._note(f"kill {name}")
        self._cluster.servers[name].kill()
        rest(self._chance.random() * MOST_S)
        self._cluster.restart(name)
        self._note(f"started {name}")

    def restart_one(self) -> None:
        """Let a server end as it is meant to, and start it again."""
        name = self._some_server()
        self._note(f"stop {name}")
        self._cluster.servers[name].stop()
        self._cluster.restart(name)
        self._note(f"started {name}")

    def replace_server(self) -> None:
        """Kill a server, let it belong to the cluster no more, and start it again."""
        name = self._some_server()
        self._note(f"kill {name}")
        self._cluster.servers[name].kill()
        rest(self._chance.random() * MOST_S)
        said = self._cluster.system.ask("$JS.API.SERVER.REMOVE", b'{"peer": "%b"}' % name.encode())
        self._note(f"remove {name}", said.get("error"))
        rest(self._chance.random() * 2 * MOST_S)
        self._cluster.restart(name)
        self._note(f"started {name}")

    def kill_all(self) -> None:
        """Kill all servers at once, and start them again."""
        self._note("kill all")
        self._signal_all()
        for name in self._cluster.servers:
            self._cluster.restart(name)
        self._note("started all")

    def pause(self) -> None:
        """Stop a server for a while, and let it go on."""
        name = self._some_server()
        self._note(f"pause {name}")
        self._cluster.servers[name].signal(signal.SIGSTOP)
        rest(self._chance.random() * 2 * MOST_S)
        self._cluster.servers[name].signal(signal.SIGCONT)
        self._note(f"goes on: {name}")

    def part(self) -> None:
        """Let a server hear nothing of the others for a while, and they nothing of it."""
        name = self._some_server()
        self._note(f"part {name}")
        self._cluster.hold(name)
        rest(self._chance.random() * 3 * MOST_S)
        self._cluster.heal()
        self._note(f"together again: {name}")

    def cut_one(self) -> None:
        """Let a server lose its power, and what it has not synced, and start it again."""
        self._cut([self._some_server()])

    def cut_all(self) -> None:
        """Let all servers lose their power at once, and start them again."""
        self._cut(list(self._cluster.servers))

    def _cut(self, names: Sequence[str]) -> None:
        assert self._cluster.disks is not None
        self._note(f"cut {', '.join(names)}")
        for name in names:
            self._cluster.disks.cut(name)
        for name in names:
            self._cluster.servers[name].kill()
            self._cluster.disks.give_power(name)
        for name in names:
            self._cluster.restart(name)
        self._note(f"started {', '.join(names)}")

    def _signal_all(self) -> None:
        for server in self._cluster.servers.values():
            server.signal(signal.SIGKILL)
        for server in self._cluster.servers.values():
            server.kill()


_OPERATOR = {
    Changes.scale: 4,
    Changes.scale_consumer: 1,
    Changes.move: 3,
    Changes.cancel: 2,
    Changes.remove_peer: 3,
    Changes.step_down: 3,
    Changes.come_and_go: 2,
}
WEATHERS: Mapping[str, Mapping[Callable[[Changes], None], int]] = {
    "calm": _OPERATOR,
    "kills": _OPERATOR
    | {
        Changes.kill_one: 4,
        Changes.kill_all: 1,
        Changes.pause: 2,
        Changes.restart_one: 2,
        Changes.replace_server: 1,
    },
    "links": _OPERATOR | {Changes.part: 4},
    "power": _OPERATOR | {Changes.cut_one: 4, Changes.cut_all: 1},
}
"""What happens, and how often, by name."""
