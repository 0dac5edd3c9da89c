"""One rule in one account: its taps, and what waits at them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.spec import TapKind, TapSpec, WatchTerms
from framework.wire import is_subset
from framework_tap.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from framework.spec import Batch
    from framework_tap.config import TapRule
    from framework_tap.recorder import Sink


class RulePlan:
    """A rule as it is carried out.

    Args:
        name: Of the rule.
        account: Whose messages.
        rule: What the configuration says.
        inbox: What subjects begin with to which answers come, to what is published.
    """

    def __init__(self, name: str, account: str, rule: TapRule, inbox: str) -> None:
        self.name = name
        self.account = account
        self.rule = rule
        self.inbox = inbox
        self.sink: Sink | None = None
        """None before its recorder has begun."""
        self.failures = 0
        self.why_dropped = ""
        """Why messages were dropped last; empty: none were."""
        self._recorded = [Source() for _ in rule.subjects]
        self._answers = [Source() for _ in self._inboxes]
        self._receive: Callable[[str, bytes], None] | None = None

    def open(self, wake: Callable[[], None], receive: Callable[[str, bytes], None]) -> None:
        """Tell by `wake` of what has come, and by `receive` of answers to the sink."""
        self._receive = receive
        for source in (*self._recorded, *self._answers):
            source.open(wake)

    def taps(self) -> Iterator[TapSpec]:
        """Yield what is to be tapped."""
        rule = self.rule
        terms = WatchTerms(
            sample=1 / rule.one_in,
            payload_max=rule.max_payload,
            headers=rule.headers,
            reserved_subjects=False,
        )
        for subject, source in zip(rule.subjects, self._recorded, strict=True):
            own = WatchTerms(
                sample=terms.sample, payload_max=terms.payload_max, headers=terms.headers
            )
            yield self._tap(subject, source, own if subject.startswith("$") else terms)
        for subject, source in zip(self._inboxes, self._answers, strict=True):
            yield self._tap(subject, source, WatchTerms(payload_max=0, headers=False))
        yield TapSpec(
            name=f"{self.name} acknowledgements of {self.account}",
            subject=f"{self.inbox}.*",
            receive=self._acknowledged,
            account=self.account,
        )

    def _tap(self, subject: str, source: Source, terms: WatchTerms) -> TapSpec:
        return TapSpec(
            name=f"{self.name} {subject} of {self.account}",
            subject=subject,
            receive=source.receive,
            kind=TapKind.INGRESS,
            terms=terms,
            bytes_max=self.rule.buffer,
            account=self.account,
        )

    @property
    def _inboxes(self) -> list[str]:
        """Subjects of answers that the rule does not record itself."""
        if not self.rule.latency:
            return []
        return [
            inbox
            for inbox in self.rule.inboxes
            if not any(is_subset(inbox, subject) for subject in self.rule.subjects)
        ]

    def _acknowledged(self, batch: Batch) -> None:
        if self._receive is not None:
            for at in range(len(batch)):
                token = bytes(batch.subject(at)).decode().rpartition(".")[2]
                self._receive(token, bytes(batch.payload(at)))

    # -- what waits -------------------------------------------------------------------------------

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits."""
        return all(source.is_empty for source in (*self._recorded, *self._answers))

    @property
    def size_bytes(self) -> int:
        """Bytes that wait."""
        return sum(source.size_bytes for source in (*self._recorded, *self._answers))

    @property
    def messages(self) -> int:
        """Messages that have come so far."""
        return sum(source.messages for source in self._recorded)

    @property
    def dropped(self) -> int:
        """Messages that there was no room for so far."""
        return sum(source.dropped for source in (*self._recorded, *self._answers))

    def take(self, bytes_max: int) -> list[Batch]:
        """Return what is to be recorded next, in order of a subject."""
        return _taken(self._recorded, bytes_max)

    def take_answers(self, bytes_max: int) -> list[Batch]:
        """Return what may be an answer to a request."""
        return _taken(self._answers, bytes_max)

    def take_dropped(self) -> int:
        """Return how many messages there was no room for since the last call."""
        return sum(source.take_dropped() for source in self._recorded)


def _taken(sources: list[Source], bytes_max: int) -> list[Batch]:
    taken: list[Batch] = []
    for source in sources:
        taken += source.take(bytes_max // len(sources))
    return taken
