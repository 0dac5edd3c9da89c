"""The thread that talks to a storage kind: whoever hangs there holds up nobody else."""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, TypeVar

from framework_jetstream.storage.records import StorageProblemError

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class KindThread:
    """Do one thing after the other on a thread of its own, which ends with the process.

    Args:
        name: Of the kind.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self.is_overdue = False
        """It has not answered when it was waited for, and nothing has come of it since."""

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            work()

    def begin(self, work: Callable[[], T], then: Callable[[T | BaseException], object]) -> None:
        """Do something when all that was begun before is done.

        Args:
            work: May block.
            then: Gets what it returned, or raised; called on the thread.
        """
        if self._thread is None:
            name = f"storage-{self._name}"
            self._thread = threading.Thread(target=self._run, name=name, daemon=True)
            self._thread.start()

        def attempt() -> None:
            try:
                result: T | BaseException = work()
            except BaseException as error:  # noqa: BLE001 -- whatever it is, who asked decides
                result = error
            self.is_overdue = False
            then(result)

        self._work.put(attempt)

    def wait(self, work: Callable[[], T], seconds: float) -> T:
        """Do something, and return what came of it.

        Raises:
            StorageProblemError: It has not come in time, or what came before it has not.
        """
        if self.is_overdue:
            raise StorageProblemError("has still not answered")
        answers: queue.SimpleQueue[T | BaseException] = queue.SimpleQueue()
        self.begin(work, answers.put)
        try:
            found = answers.get(timeout=seconds)
        except queue.Empty:
            self.is_overdue = True
            raise StorageProblemError(f"has not answered for {seconds:g} s") from None
        if isinstance(found, BaseException):
            raise found
        return found

    def end(self, work: Callable[[], object], seconds: float) -> None:
        """Do something last, and wait a while until it is done."""
        if self._thread is None:
            return
        self.begin(work, lambda _: None)
        self._work.put(None)
        self._thread.join(seconds)
