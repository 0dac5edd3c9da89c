"""How servers that start with empty disks agree, once, on who founds the meta group.

Raft needs to be told its first members, and routes name addresses, not servers. So those who see
each other agree by one round of Paxos, of the majority of the size that their configuration says:
the value is the list of members, and a name for the group. Who comes later, or was not seen, is
added by the group's leader, as a learner first.

Two groups of one cluster can only come of sizes that are too small: servers refuse whoever says
another size, and later whoever belongs to a group of another name.

Source: Lamport, "Paxos Made Simple" (2001), sections 2.2 and 2.3; the size is nats-server's
(`jetstream_cluster.go`, `bootstrapRaftNode`: configured routes, and gateways).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable


class Ballot(NamedTuple):
    """A try; later ones are greater."""

    round: int = 0
    """0: none."""
    peer: str = ""


class Foundation(Struct, frozen=True):
    """What is agreed on."""

    name: str
    """Of the group; never another one's."""
    members: tuple[str, ...]
    """Peers that vote at first."""


class Memory(Struct, frozen=True):
    """What a server must not forget: it is on disk before anything that follows from it is sent."""

    promised: Ballot = Ballot()
    accepted: Ballot = Ballot()
    value: Foundation | None = None
    """That was accepted."""
    founded: Foundation | None = None
    """That is agreed on."""
    has_opened: bool = False
    """The log had the group once."""
    has_lost: bool = False
    """Groups may have been here that are not in the log any more."""


class Prepare(Struct, frozen=True):
    """Ask for a promise to accept nothing older."""

    size: int
    ballot: Ballot


class Promise(Struct, frozen=True):
    """Promise it, and say what was accepted before."""

    ballot: Ballot
    accepted: Ballot
    value: Foundation | None


class Accept(Struct, frozen=True):
    """Ask to accept a value."""

    size: int
    ballot: Ballot
    value: Foundation


class Accepted(Struct, frozen=True):
    """It is accepted."""

    ballot: Ballot


class Refusal(Struct, frozen=True):
    """A later try was promised."""

    promised: Ballot


class Founded(Struct, frozen=True):
    """It is agreed on."""

    value: Foundation


Letter: TypeAlias = Prepare | Promise | Accept | Accepted | Refusal | Founded


class Save(Struct, frozen=True):
    """Sync this; only then send what comes behind."""

    memory: Memory


class Send(Struct, frozen=True):
    """Send this to a server; it may get lost."""

    to: str
    letter: Letter


class Begin(Struct, frozen=True):
    """Begin the meta group, as one of its first members; or wait to be added."""

    value: Foundation
    is_member: bool


class SizesDiffer(Struct, frozen=True):
    """A server has another number of routes configured: it has no voice here."""

    peer: str
    theirs: int
    ours: int


Deed: TypeAlias = Save | Send | Begin | SizesDiffer


class Founding:
    """One server, until the meta group is founded.

    Args:
        peer: This server's id in groups.
        server_count: Servers that the configuration says there are; at least 1.
        memory: What was saved.
        draw: Returns a name that no other group has.
    """

    def __init__(
        self, peer: str, server_count: int, memory: Memory, draw: Callable[[], str]
    ) -> None:
        assert server_count > 0
        self._peer = peer
        self._size: Final = server_count
        self.memory = memory
        self._draw = draw
        self._seen: dict[str, None] = {peer: None}
        self._without: dict[str, None] = {}
        self._ballot = Ballot()
        self._promises: dict[str, Promise] = {}
        self._accepts: dict[str, None] = {}
        self._value: Foundation | None = None
        self._deeds: list[Deed] = []

    @property
    def took_part(self) -> bool:
        """Whether this server has accepted what was agreed on: others have not just told it."""
        return self.memory.founded is not None and self.memory.value == self.memory.founded

    def remember(self, *, has_opened: bool, has_lost: bool) -> list[Deed]:
        """Keep what the group has come to here."""
        if (has_opened, has_lost) != (self.memory.has_opened, self.memory.has_lost):
            self._save(has_opened=has_opened, has_lost=has_lost)
        return self._done()

    @property
    def quorum(self) -> int:
        """How many servers must agree: a majority of those that may have JetStream.

        Servers may differ about how many those are: as long as nobody takes it for less than it
        is, two majorities have a server in common.
        """
        return max(self._size - len(self._without), len(self._seen)) // 2 + 1

    def see(self, peer: str) -> None:
        """A link leads to a server with JetStream in this domain."""
        self._seen[peer] = None
        self._without.pop(peer, None)

    def see_without(self, peer: str) -> None:
        """A link leads to a server that has no JetStream in this domain: it is counted off."""
        if peer not in self._seen:
            self._without[peer] = None

    def lose(self, peer: str) -> None:
        """No link leads to it any more; it counts until it does again."""
        if peer != self._peer:
            self._seen.pop(peer, None)

    def tick(self) -> list[Deed]:
        """Try, or try again: after a time that differs from server to server."""
        if self.memory.founded is not None:
            self._tell_all(Founded(self.memory.founded))
        elif len(self._seen) >= self.quorum:
            last = max(self.memory.promised.round, self._ballot.round)
            self._ballot = Ballot(last + 1, self._peer)
            self._promises, self._accepts, self._value = {}, {}, None
            self._tell_all(Prepare(self._size, self._ballot))
            self._take(self._peer, Prepare(self._size, self._ballot))
        return self._done()

    def receive(self, sender: str, letter: Letter) -> list[Deed]:
        """Take what another server has sent; it may come late, twice, or in any order."""
        self._take(sender, letter)
        return self._done()

    def _take(self, sender: str, letter: Letter) -> None:
        founded = self.memory.founded
        match letter:
            case Founded(value):
                self._found(value)
            case Prepare() | Accept() if founded is not None:
                self._send(sender, Founded(founded))
            case Prepare(size=size) | Accept(size=size) if size != self._size:
                self._deeds.append(SizesDiffer(sender, size, self._size))
            case Prepare():
                self._prepare(sender, letter)
            case Accept():
                self._accept(sender, letter)
            case Promise() if letter.ballot == self._ballot and self._value is None:
                self._promises[sender] = letter
                self._propose()
            case Accepted(ballot) if ballot == self._ballot and self._value is not None:
                self._accepts[sender] = None
                if len(self._accepts) >= self.quorum and self._is_known_to(self._value.members):
                    self._found(self._value)
                    self._tell_all(Founded(self._value))
            case Refusal(promised):
                self._ballot = Ballot(max(promised.round, self._ballot.round), "")

    def _prepare(self, sender: str, prepare: Prepare) -> None:
        memory = self.memory
        if prepare.ballot < memory.promised:
            self._send(sender, Refusal(memory.promised))
            return
        self._save(promised=prepare.ballot)
        self._send(sender, Promise(prepare.ballot, memory.accepted, memory.value))

    def _accept(self, sender: str, accept: Accept) -> None:
        if accept.ballot < self.memory.promised:
            self._send(sender, Refusal(self.memory.promised))
            return
        self._save(promised=accept.ballot, accepted=accept.ballot, value=accept.value)
        self._send(sender, Accepted(accept.ballot))

    def _propose(self) -> None:
        """Propose what may be agreed on already, or else who has promised."""
        if len(self._promises) < self.quorum:
            return
        best = max(self._promises.values(), key=lambda it: it.accepted)
        members = tuple(sorted(self._promises))
        self._value = best.value or Foundation(self._draw(), members)
        accept = Accept(self._size, self._ballot, self._value)
        self._tell_all(accept)
        self._take(self._peer, accept)

    def _is_known_to(self, members: tuple[str, ...]) -> bool:
        """Return whether most of the members have accepted it: who has not may have been another.

        A member that only is told may have lost its disk since, and has no say at first.
        """
        return sum(it in self._accepts for it in members) > len(members) // 2

    def _found(self, value: Foundation) -> None:
        if self.memory.founded is None:
            self._save(founded=value)
            self._deeds.append(Begin(value, self._peer in value.members))

    def _save(self, **change: object) -> None:
        fields = {name: getattr(self.memory, name) for name in Memory.__struct_fields__}
        self.memory = Memory(**{**fields, **change})
        self._deeds.append(Save(self.memory))

    def _send(self, to: str, letter: Letter) -> None:
        if to == self._peer:
            self._take(to, letter)
        else:
            self._deeds.append(Send(to, letter))

    def _tell_all(self, letter: Letter) -> None:
        for peer in self._seen:
            if peer != self._peer:
                self._deeds.append(Send(peer, letter))

    def _done(self) -> list[Deed]:
        deeds, self._deeds = self._deeds, []
        return deeds
