"""Streams of this server that have no place here: set aside one by one, then closed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from framework.actors import Reply, Supervision
from framework_jetstream.stream.stream import Stream

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework_jetstream.engine.link import EngineLink
    from framework_jetstream.host import Host
    from framework_jetstream.meta.lost import SetAside
    from framework_jetstream.snapshots.lost_folder import LostFolder
    from framework_jetstream.stream.archives import Owner
    from framework_jetstream.stream.book import StreamBook, StreamEntry


CURRENT_S: Final = 0.1
"""Until it is looked again whether it is known here what is assigned."""


class LostAndFound:
    """Sets streams aside.

    Args:
        owner: The actor of all streams, in whose turns all of this runs.
        book: The streams of this server.
        link: The way to the engine.
        host: The server.
        clock: Returns the Unix time in nanoseconds.
    """

    def __init__(
        self,
        owner: Owner,
        *,
        book: StreamBook,
        link: EngineLink,
        host: Host,
        clock: Callable[[], int],
    ) -> None:
        self._owner = owner
        self._book = book
        self._link = link
        self._host = host
        self._clock = clock
        self._waiting: dict[str, tuple[SetAside, StreamEntry, Callable[[], object]]] = {}
        """By name of the group, in the order in which they are written; the first one is."""

    def take(self, found: SetAside, gone: Callable[[], object]) -> None:
        """Set a stream aside, and close it when that is durable.

        Args:
            found: What has no place here.
            gone: Called when another one of its name may be here.
        """
        asset = found.asset
        entry = self._book.get(asset.account, asset.stream)
        if asset.consumer:
            if entry is not None and self._has_place(entry):  # else it goes with its stream
                self._host.report(f"Consumer {' > '.join(asset)} is kept: {found.reason}")
            return
        if entry is None or entry.stream is None or entry.group != found.group_name:
            return
        if entry.group in self._waiting:
            return
        self._waiting[entry.group] = (found, entry, gone)
        if len(self._waiting) == 1:
            self._begin()

    def _begin(self) -> None:
        """Write the next one; one at a time, since each of them may be large."""
        from framework_jetstream.stream.setting_aside import (  # noqa: PLC0415 - few servers do
            SettingAside,
        )

        found, entry, gone = next(iter(self._waiting.values()))
        self._owner.spawn(
            SettingAside,
            supervision=Supervision(escalate=False),
            entry=entry,
            reason=found.reason,
            server=self._host.name,
            folder=lost_folder(self._host),
            link=self._link,
            is_wanted=lambda: not self._has_place(entry),
            report=self._host.report,
            done=lambda is_there: self._end(entry, gone, is_there=is_there),
            clock=self._clock,
        )

    def _has_place(self, entry: StreamEntry) -> bool:
        found = self._host.assigned((entry.account, entry.config.name, ""))
        return (
            found is not None
            and found.group.name == entry.group
            and self._host.peer in found.group.hosts
        )

    def _end(self, entry: StreamEntry, gone: Callable[[], object], *, is_there: bool) -> None:
        """Close what is durable elsewhere, unless it has a place here by now."""

        def end() -> None:
            if not self._host.is_current():
                self._owner.call_later(CURRENT_S, end)
                return
            del self._waiting[entry.group]
            if self._waiting:
                self._begin()
            if not is_there or self._has_place(entry) or entry.stream is None:
                return
            self._book.remove(entry)
            closed = Reply[bytes | None]()
            closed.when_done(lambda _: begin())
            entry.stream.tell(Stream.Request("stream_delete", b"", closed))

        def begin() -> None:
            if self._host.is_current():
                gone()
            else:
                self._owner.call_later(CURRENT_S, begin)

        self._owner.call_later(0, end)


def lost_folder(host: Host) -> LostFolder:
    """Return where a server sets aside."""
    from framework_jetstream.encryption.ciphers import CIPHERS  # noqa: PLC0415 - few servers do
    from framework_jetstream.snapshots.lost_folder import LostFolder  # noqa: PLC0415 - the same

    config = host.config
    keys = [it for it in (config.key, config.prev_key) if config.key and it]
    return LostFolder(Path(config.store_dir), keys, CIPHERS[config.cipher or "chacha"])
