"""What leaders of streams and consumers say of them, gathered for one answer.

Each is asked as a client would ask it, so whoever leads it answers, wherever it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from framework_jetstream.api.asker import INFO_HEADER
from framework_jetstream.api.subjects import subject_of
from framework_jetstream.meta.assignments import Asset
from framework_jetstream.meta.letters import PREFIX

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from framework_jetstream.api.asker import Asker
    from framework_jetstream.exchange import Arrived, Exchange
    from framework_jetstream.meta.view import ClusterView
    from framework_jetstream.stream.book import StreamBook

WAIT_S: Final = 2.0
"""After which an answer is made of what there is. Clients wait for 5 s by default."""
_HIDDEN: Final = frozenset({"type", "total", "offset", "limit"})


def is_of_others(
    view: ClusterView, book: StreamBook, asker: Asker, tokens: tuple[str, ...]
) -> bool:
    """Return whether a server asks in this way for what others have, of which one is there.

    All servers hear it, of each stream in a list; whoever has it answers, and no other one.

    Args:
        view: Of the cluster.
        book: The streams of this server.
        asker: Who asks.
        tokens: Of the request, behind `$JS.API`.
    """
    found = subject_of(tokens) if len(asker.client) == 1 else None
    if found is None or found.kind not in {"stream_info", "consumer_info"}:
        return False
    asset = Asset(asker.account, found.stream, *found.rest)
    known = view.machine.state.find(asset)
    if known is None or book.get(asset.account, asset.stream) is not None:
        return False
    hosts = known.group.hosts
    return view.peer not in hosts and any(map(view.is_online, hosts))


class Gathering:
    """Asks many, and hears of them together.

    Args:
        exchange: The way to other servers, and to this one.
        account: Returns the number of the system account.
        peer: This server's id in groups.
        later: Calls something after so many seconds.
        tell: Calls something in the turn of who gathers.
    """

    def __init__(
        self,
        *,
        exchange: Exchange,
        account: Callable[[], int],
        peer: str,
        later: Callable[[float, Callable[[], object]], object],
        tell: Callable[[Callable[[], object]], object],
    ) -> None:
        self._exchange = exchange
        self._account = account
        self._prefix = f"{PREFIX}GATHER.{peer}"
        self._later = later
        self._tell = tell
        self._number = 0
        self._is_listening = False
        self._waiting: dict[int, _Gathered] = {}

    def ask(
        self,
        account: str,
        subjects: Mapping[str, str],
        done: Callable[[list[dict[str, Any]], list[str]], object],
    ) -> None:
        """Ask who leads some streams or consumers of an account.

        Args:
            account: Whose they are.
            subjects: By name: the request about it.
            done: Called once with what was said, by name, and the names of which nothing was.
        """
        if not subjects:
            done([], [])
            return
        if not self._is_listening:
            self._is_listening = True
            self._exchange.subscribe(self._account(), f"{self._prefix}.*.*", self._arrived)
        self._number = number = self._number + 1
        self._waiting[number] = _Gathered(list(subjects), done)
        info = msgspec.json.encode({"acc": account}).decode()
        header = f"NATS/1.0\r\n{INFO_HEADER}: {info}\r\n\r\n".encode()
        for at, subject in enumerate(subjects.values()):
            reply = f"{self._prefix}.{number}.{at}"
            self._exchange.publish(self._account(), subject, b"", reply=reply, header=header)
        self._later(WAIT_S, lambda: self._end(number))

    def _arrived(self, arrived: Sequence[Arrived]) -> None:
        self._tell(lambda: self._take_all(arrived))

    def _take_all(self, arrived: Sequence[Arrived]) -> None:
        for it in arrived:
            self._take(it)

    def _take(self, arrived: Arrived) -> None:
        number, _, at = arrived.subject.removeprefix(f"{self._prefix}.").partition(".")
        gathered = self._waiting.get(int(number)) if number.isdecimal() else None
        if gathered is None or not at.isdecimal():
            return
        gathered.take(int(at), arrived.payload)
        if gathered.is_whole:
            self._end(int(number))

    def _end(self, number: int) -> None:
        gathered = self._waiting.pop(number, None)
        if gathered is not None:
            gathered.end()


class _Gathered:
    def __init__(
        self, names: list[str], done: Callable[[list[dict[str, Any]], list[str]], object]
    ) -> None:
        self._names = names
        self._done = done
        self._said: dict[str, dict[str, Any]] = {}

    @property
    def is_whole(self) -> bool:
        return len(self._said) == len(self._names)

    def take(self, at: int, payload: bytes) -> None:
        """Take an answer; one that nobody could give counts as none."""
        if at >= len(self._names):
            return
        try:
            said = msgspec.json.decode(payload)
        except (ValueError, RecursionError):
            return
        if isinstance(said, dict):
            self._said[self._names[at]] = said

    def end(self) -> None:
        infos = {name: said for name, said in self._said.items() if "error" not in said}
        missing = [it for it in self._names if it not in infos]
        shown = [
            {field: value for field, value in infos[name].items() if field not in _HIDDEN}
            for name in self._names
            if name in infos
        ]
        self._done(shown, missing)
