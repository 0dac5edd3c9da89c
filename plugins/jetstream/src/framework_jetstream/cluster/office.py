"""`Office`: what the meta leader's handlers decide by, and how they answer what came of it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from framework_jetstream.api.answers import answer, refused
from framework_jetstream.api.errors import ErrCode, api_error
from framework_jetstream.meta.assignments import Asked, Group
from framework_jetstream.meta.effects import Outcome
from framework_jetstream.meta.leader import Existing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from framework_jetstream.api.errors import ApiError
    from framework_jetstream.api.subjects import ApiSubject
    from framework_jetstream.cluster.decisions import Decisions
    from framework_jetstream.cluster.gathering import Gathering
    from framework_jetstream.cluster.owed_answers import OwedAnswers
    from framework_jetstream.host import Host
    from framework_jetstream.jet_stream import JetStream
    from framework_jetstream.meta.leader import MetaLeader
    from framework_jetstream.meta.view import ClusterView


class Office:
    """Lets requests be decided by the meta leader, and answers them.

    Args:
        view: Of the cluster.
        leader: Of the meta group, if this server leads it.
        decisions: The leader's.
        owed: Answers that others owe for what was decided.
        gathering: Asks who leads streams and consumers.
        host: The server.
        clock: Returns the Unix time in nanoseconds.
    """

    def __init__(
        self,
        *,
        view: ClusterView,
        leader: MetaLeader,
        decisions: Decisions,
        owed: OwedAnswers,
        gathering: Gathering,
        host: Host,
        clock: Callable[[], int],
    ) -> None:
        self.view = view
        self.leader = leader
        self.decisions = decisions
        self.owed = owed
        self.gathering = gathering
        self.host = host
        self.clock = clock

    def decide(
        self,
        request: JetStream.ApiRequest,
        kind: str,
        decide: Callable[[], Any],
        exists: Callable[[], object] | None = None,
    ) -> None:
        """Let something be decided; who leads what it is about answers, unless it is refused.

        Args:
            request: That is answered.
            kind: As the answer is called.
            decide: Decides.
            exists: Answers where just that is there; None: who leads it does.
        """
        made: list[Any] = []

        def decide_once() -> Any:
            made.append(decide())
            return made[0]

        def done(outcome: Outcome | Existing | None) -> None:
            if exists is not None and isinstance(outcome, Existing):
                exists()
                return
            self.say_outcome(request, kind, outcome)
            if made and (outcome is Outcome.DONE or outcome is made[0]):
                self.owed.owe(request, kind, made[0])

        self.decisions.decide(decide_once, done, partial(self.refuse, request, kind))

    def decide_by_leader(
        self,
        request: JetStream.ApiRequest,
        kind: str,
        info: str,
        decide: Callable[[Sequence[str]], Any],
    ) -> None:
        """Let something be decided when it is known who leads what it is about.

        Args:
            request: That is answered.
            kind: As the answer is called.
            info: The request for what it is about, such as `STREAM.INFO.S`.
            decide: Called with peers: who leads it, and who has all of it.
        """

        def told(infos: list[dict[str, Any]], _: list[str]) -> None:
            if infos:
                order = self._order_of(infos[0])
                self.decide(request, kind, lambda: decide(order))
            else:
                self.refuse(request, kind, api_error(ErrCode.CLUSTER_NOT_AVAILABLE))

        self.gathering.ask(request.account, {info: f"$JS.API.{info}"}, told)

    def _order_of(self, info: dict[str, Any]) -> list[str]:
        cluster = info.get("cluster") or {}
        current = [it["name"] for it in cluster.get("replicas") or () if it.get("current")]
        peers = {it.name: it.peer for it in self.view.machine.state.servers.values()}
        return [peers[it] for it in (cluster.get("leader"), *current) if it in peers]

    def confirm(self, request: JetStream.ApiRequest, kind: str, decide: Callable[[], Any]) -> None:
        """Let something be decided, and answer whether it is."""

        def done(outcome: Outcome | Existing | None) -> None:
            if outcome is Outcome.DONE:
                request.reply.set(answer(kind, {"success": True}))
            else:
                self.say_outcome(request, kind, outcome)

        self.decisions.decide(decide, done, partial(self.refuse, request, kind))

    def say_outcome(
        self, request: JetStream.ApiRequest, kind: str, outcome: Outcome | Existing | None
    ) -> None:
        """Answer what came of a decision, unless who leads the asset does."""
        match outcome:
            case Outcome.EXISTS:
                is_stream = kind.startswith("stream")
                code = ErrCode.STREAM_NAME_EXISTS if is_stream else ErrCode.CONSUMER_ALREADY_EXISTS
                self.refuse(request, kind, api_error(code))
            case Outcome.GONE:
                is_stream = kind.startswith("stream") or kind == "consumer_create"
                code = ErrCode.STREAM_NOT_FOUND if is_stream else ErrCode.CONSUMER_NOT_FOUND
                self.refuse(request, kind, api_error(code))
            case _:
                request.reply.set(None)

    def refuse(self, request: JetStream.ApiRequest, kind: str, error: ApiError) -> None:
        """Answer with an error."""
        request.reply.set(refused(kind, error))


def consumer_of(found: ApiSubject) -> str:
    """Return the consumer that a request names; empty: it is about none."""
    return found.rest[0] if found.kind.startswith("consumer_") and found.rest else ""


def unplaced(storage: str) -> Group:
    """Return a group of which only the storage is known."""
    return Group(name="", peers=(), storage="memory" if storage == "memory" else "file")


def asked_of(request: JetStream.ApiRequest) -> Asked:
    """Return who asks, for whoever answers."""
    return Asked(
        client=dict(request.asker.client),
        subject=whole_subject(request),
        reply=request.subject,
    )


def whole_subject(request: JetStream.ApiRequest) -> str:
    """Return the subject of a request."""
    return ".".join(("$JS.API", *request.tokens))
