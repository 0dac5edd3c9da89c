"""Answers that the servers of an asset owe: nobody waits for one that has just died.

The meta leader decides who has a stream or consumer, and who leads that answers. A server that died
a moment ago is not missed yet, so something may be decided that only it could answer for. It is
placed anew where so few of its servers have taken the entry up that nothing can be stored there. In
all other cases it stays where it is, and who waits hears that nobody can answer.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from framework_jetstream.api.answers import refused
from framework_jetstream.api.errors import ErrCode, api_error
from framework_jetstream.cluster.office import unplaced, whole_subject
from framework_jetstream.meta.assignments import StreamAssignment
from framework_jetstream.meta.effects import Outcome
from framework_jetstream.meta.entries import AssignConsumer, AssignStream
from framework_jetstream.meta.leader import Existing

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework_jetstream.api.errors import ApiError
    from framework_jetstream.api.tracking import ApiTracking
    from framework_jetstream.cluster.decisions import Decisions
    from framework_jetstream.host import Host
    from framework_jetstream.jet_stream import JetStream
    from framework_jetstream.meta.assignments import Asset, Assignment
    from framework_jetstream.meta.leader import MetaLeader, Proposal
    from framework_jetstream.meta.view import ClusterView

OWED_NS: Final = 1_500_000_000
"""After which who was heard has answered: three times what tells that one is silent."""
OWED_MAX: Final = 1024
"""Of them; more are left alone."""


class _Owed(Struct, frozen=True):
    request: JetStream.ApiRequest
    kind: str
    peers: tuple[str, ...]
    """Of whom a majority answers."""
    since_ns: int
    asset: Asset | None = None
    """That is placed anew where nobody has it yet; None: nothing is."""
    found: Assignment | None = None
    """As it was decided."""


class OwedAnswers:
    """Looks after what was decided, until its servers have had the time to answer.

    Args:
        view: Of the cluster.
        leader: Of the meta group, if this server leads it.
        decisions: The leader's.
        host: The server.
        tracking: Sees what is answered late.
        clock: Returns the Unix time in nanoseconds.
    """

    def __init__(
        self,
        *,
        view: ClusterView,
        leader: MetaLeader,
        decisions: Decisions,
        host: Host,
        tracking: ApiTracking,
        clock: Callable[[], int],
    ) -> None:
        self._view = view
        self._leader = leader
        self._decisions = decisions
        self._host = host
        self._tracking = tracking
        self._clock = clock
        self._owed: list[_Owed] = []

    def owe(self, request: JetStream.ApiRequest, kind: str, decided: Proposal | Existing) -> None:
        """Look after a request of which something was decided, and is applied here.

        Args:
            request: It has a subject for its answer.
            kind: As the answer is called.
            decided: What came of it.
        """
        asset, is_new = _asset_of(decided)
        found = self._view.machine.state.find(asset)
        if found is None:
            return
        owed = _Owed(request, kind, found.group.peers, self._view.now_ns())
        self._keep(replace(owed, asset=asset, found=found) if is_new else owed)

    def owe_by(self, request: JetStream.ApiRequest, kind: str, peer: str) -> None:
        """Look after a request that one server answers, and nothing is decided of yet."""
        self._keep(_Owed(request, kind, (peer,), self._view.now_ns()))

    def _keep(self, owed: _Owed) -> None:
        if owed.request.subject and len(self._owed) < OWED_MAX:
            self._owed.append(owed)

    def look(self) -> None:
        """Take up who is silent now."""
        owed, self._owed = self._owed, []
        for it in owed:
            if not self._is_lost(it.peers):
                if self._view.now_ns() - it.since_ns < OWED_NS:
                    self._owed.append(it)
            elif it.asset and it.found is not None and not self._may_be_stored(it.found):
                self._place_anew(it, it.asset, it.found)
            else:
                self._refuse(it, api_error(ErrCode.CLUSTER_NOT_AVAILABLE))

    def end(self) -> None:
        """Another server leads the meta group."""
        self._owed.clear()

    def _is_lost(self, peers: tuple[str, ...]) -> bool:
        """Return whether no majority of some servers is heard."""
        return sum(map(self._view.is_heard, peers)) < len(peers) // 2 + 1

    def _may_be_stored(self, found: Assignment) -> bool:
        """Return whether a majority of an asset's servers may have taken it up."""
        peers = found.group.peers
        matches = {it.peer: it.match for it in self._view.state.members}
        # This server has applied it; of one that is no member nothing is known.
        matches[self._view.peer] = found.revision
        have = sum(matches.get(it, found.revision) >= found.revision for it in peers)
        return have >= len(peers) // 2 + 1

    def _place_anew(self, owed: _Owed, asset: Asset, found: Assignment) -> None:
        """Let other servers have what nobody has yet: another asset of the same name."""
        is_removed = [False]
        made: list[Proposal | Existing] = []

        def remove() -> Proposal | None:
            known = self._leader.state.find(asset)
            is_same = known is not None and known.revision == found.revision
            return self._leader.remove(asset) if is_same else None

        def removed(outcome: Outcome | Existing | None) -> None:
            is_removed[0] = outcome is Outcome.DONE
            if not is_removed[0]:
                self._refuse(owed, api_error(ErrCode.CLUSTER_NOT_AVAILABLE))

        def make() -> Proposal | Existing | None:
            if not is_removed[0]:
                return None
            made.append(self._create(asset, found))
            return made[0]

        def done(outcome: Outcome | Existing | None) -> None:
            if outcome is Outcome.DONE:
                self.owe(owed.request, owed.kind, made[0])
            elif is_removed[0]:
                self._refuse(owed, api_error(ErrCode.CLUSTER_NOT_AVAILABLE))

        # Nothing comes between both: no other request finds the name free.
        self._decisions.decide(remove, removed)
        self._decisions.decide(make, done, partial(self._refuse, owed))

    def _create(self, asset: Asset, found: Assignment) -> Proposal | Existing:
        group = unplaced(found.group.storage)
        if isinstance(found, StreamAssignment):
            wanted = replace(found, created_ns=self._clock(), group=group, revision=0)
            return self._leader.create_stream(wanted, [found.group.cluster])
        consumer = replace(found, created_ns=self._clock(), group=group, revision=0)
        return self._leader.create_consumer(asset, consumer)

    def _refuse(self, owed: _Owed, error: ApiError) -> None:
        self.refuse(owed.request, owed.kind, error)

    def refuse(self, request: JetStream.ApiRequest, kind: str, error: ApiError) -> None:
        """Answer a request late, with an error."""
        text = refused(kind, error)
        subject = whole_subject(request)
        self._tracking.answered(request.asker, subject, request.payload, text)
        self._host.answer(request.subject, text)


def _asset_of(decided: Proposal | Existing) -> tuple[Asset, bool]:
    """Return what something was decided of, and whether it is new."""
    if isinstance(decided, Existing):
        return decided.asset, False
    operation = decided.operation
    if isinstance(operation, AssignStream):
        return operation.stream.asset, True
    assert hasattr(operation, "asset"), "servers are nobody's request"
    return operation.asset, isinstance(operation, AssignConsumer)
