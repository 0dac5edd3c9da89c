"""Who founds the meta group: what `Founding` wants is saved, sent and begun.

Letters are kept from what they must not do: nothing is sent that follows from what is not synced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from framework_jetstream.log.folder import StoreError
from framework_jetstream.meta.founding import Begin, Founding, Memory, Save, Send, SizesDiffer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from framework_jetstream.meta.founding import Deed, Foundation, Letter
    from framework_jetstream.meta.memory_file import MemoryFile

SILENT_NS: Final = 5_000_000_000
"""After which a server is not counted on any more."""


class Founder:
    """Performs what the machine `Founding` says.

    Args:
        peer: This server's id in groups.
        server_count: Servers that the configuration says there are.
        file: Of what must not be forgotten.
        draw: Returns a name that no other group has.
        send: Sends a letter to a peer; it may get lost.
        begin: Called once, when it is agreed on who founds the group.
        report: Told what an operator has to know.

    Raises:
        StoreError: What was saved can't be read.
    """

    def __init__(
        self,
        *,
        peer: str,
        server_count: int,
        file: MemoryFile,
        draw: Callable[[], str],
        send: Callable[[str, Letter], object],
        begin: Callable[[Foundation], object],
        report: Callable[[str], object],
    ) -> None:
        self._file = file
        self._send = send
        self._begin = begin
        self._report = report
        self._machine = Founding(peer, server_count, file.read(), draw)
        self._heard_ns: dict[str, int] = {}
        self._without_group: dict[str, None] = {}
        self._told: set[str] = set()

    @property
    def founded(self) -> Foundation | None:
        """What was agreed on; None: nothing yet."""
        return self._machine.memory.founded

    @property
    def memory(self) -> Memory:
        """What is not forgotten."""
        return self._machine.memory

    @property
    def took_part(self) -> bool:
        """Whether this server was one of those who agreed on it."""
        return self._machine.took_part

    def remember(self, *, has_opened: bool | None = None, has_lost: bool | None = None) -> bool:
        """Keep what the group has come to here, as far as it is given; False: not written."""
        before = self._machine.memory
        opened = before.has_opened if has_opened is None else has_opened
        lost = before.has_lost if has_lost is None else has_lost
        deeds = self._machine.remember(has_opened=opened, has_lost=lost)
        return all(self._save(it.memory) for it in deeds if isinstance(it, Save))

    def see(self, peer: str, now_ns: int, *, has_group: bool) -> None:
        """A server with JetStream in this domain says that it is there."""
        self._heard_ns[peer] = now_ns
        self._machine.see(peer)
        if has_group:
            self._without_group.pop(peer, None)
        else:
            self._without_group[peer] = None

    def see_without(self, peer: str) -> None:
        """A server of the cluster says that it has no JetStream in this domain."""
        self._machine.see_without(peer)

    def lose(self, peer: str) -> None:
        """A server has gone."""
        self._heard_ns.pop(peer, None)
        self._without_group.pop(peer, None)
        self._machine.lose(peer)

    def tick(self, now_ns: int) -> None:
        """Try, or tell those who have not heard of the group."""
        for peer in [it for it, at in self._heard_ns.items() if now_ns - at > SILENT_NS]:
            self.lose(peer)
        if self.founded is None or self._without_group:
            self._perform(self._machine.tick())

    def receive(self, sender: str, letter: Letter) -> None:
        """Take a letter."""
        self._perform(self._machine.receive(sender, letter))

    def _perform(self, deeds: Sequence[Deed]) -> None:
        for deed in deeds:
            match deed:
                case Save(memory):
                    if not self._save(memory):
                        return  # as if this server had stopped before
                case Send(to, letter):
                    self._send(to, letter)
                case Begin(value):
                    self._begin(value)
                case SizesDiffer(peer, theirs, ours):
                    self._tell_once(
                        f"The server with id {peer} says that {theirs} servers with JetStream are"
                        f" configured, this one says {ours}: routes have to be the same"
                    )

    def _save(self, memory: Memory) -> bool:
        try:
            self._file.write(memory)
        except StoreError as error:
            self._report(str(error))
            return False
        return True

    def _tell_once(self, what: str) -> None:
        if what not in self._told:
            self._told.add(what)
            self._report(what)
