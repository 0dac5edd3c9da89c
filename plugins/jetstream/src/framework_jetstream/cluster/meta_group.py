"""`MetaGroup`: founds the meta group, feeds its machine, and lets others do what follows.

Size: the cases of one actor.
"""

from __future__ import annotations

import struct
import traceback
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct
from typing_extensions import override

from framework.actors import Component
from framework_jetstream.api.saved import SavedGroup, text_of
from framework_jetstream.cluster.changes import following
from framework_jetstream.cluster.cluster_api import ClusterApi
from framework_jetstream.cluster.consumer_states import ConsumerStates
from framework_jetstream.cluster.decisions import Decisions
from framework_jetstream.cluster.founder import Founder
from framework_jetstream.cluster.gathering import Gathering
from framework_jetstream.cluster.loss_gate import LossGate
from framework_jetstream.cluster.membership import next_change
from framework_jetstream.cluster.office import Office
from framework_jetstream.cluster.owed_answers import OwedAnswers
from framework_jetstream.cluster.said_again import SaidAgain
from framework_jetstream.engine.link import EngineAnswers, EngineEvent, replica_numbers
from framework_jetstream.engine.verbs import (
    CONTROL_GROUP,
    REPAIRS_LOSS,
    Event,
    GroupOf,
    Verb,
)
from framework_jetstream.meta.assignments import (
    Asset,
    ServerRecord,
    bytes_from_record,
    record_from_bytes,
)
from framework_jetstream.meta.effects import (
    Answer,
    ChangeAsset,
    Confirmed,
    ServerRemoved,
    StartAsset,
    StopAsset,
)
from framework_jetstream.meta.fleet import Sighting
from framework_jetstream.meta.leader import MetaLeader
from framework_jetstream.meta.letters import (
    ALL,
    Hello,
    Leaving,
    Moved,
    NotALetterError,
    NotRestored,
    Restored,
    Retire,
    TakeArchive,
    bytes_from_letter,
    letter_from_bytes,
    subject_of_peer,
)
from framework_jetstream.meta.lost import FoundGroup, SetAside, not_assigned
from framework_jetstream.meta.peers import group_number, number_of
from framework_jetstream.meta.snapshots import DamagedSnapshot
from framework_jetstream.meta.view import group_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from framework_jetstream.advisories import Advisories
    from framework_jetstream.api.tracking import ApiTracking
    from framework_jetstream.cluster.usage import UsageService
    from framework_jetstream.engine.link import EngineAnswer, EngineLink
    from framework_jetstream.exchange import Arrived, Exchange
    from framework_jetstream.host import Host
    from framework_jetstream.jet_stream import JetStream
    from framework_jetstream.meta.assignments import StreamAssignment
    from framework_jetstream.meta.choices import Rules
    from framework_jetstream.meta.effects import Effect
    from framework_jetstream.meta.founding import Foundation
    from framework_jetstream.meta.letters import AnyLetter
    from framework_jetstream.meta.memory_file import MemoryFile
    from framework_jetstream.meta.view import ClusterView, GroupState
    from framework_jetstream.placement.records import PlacementRequest
    from framework_jetstream.stream.book import StreamBook

META_GROUP: Final = "jetstream_meta"
"""Name of its ComponentSpec."""
GROUP_NAME: Final = "_meta_"
_TICK_S: Final = 0.25
_HELLO_TICKS: Final = 4
"""Between two greetings, once the group is founded."""
_LONE_TICKS: Final = 40
"""After which operators hear that the group is not founded yet: some ten seconds."""
_DUTY_TICKS: Final = 2
"""Between two looks at what is to be done without being asked."""
_SNAPSHOT_ENTRIES: Final = 512
"""After which the state takes the place of entries."""
_FOUNDERS_MAX: Final = 9
"""As many as a command of the engine can name; all others are added."""


class MetaGroup(Component):
    """Own the meta group of one server.

    Args:
        view: What others read of it; it is changed here.
        link: The way to the engine.
        exchange: The way to other servers.
        host: The server.
        describe: Returns what the server says of itself.
        server_count: Servers that the configuration says there are.
        rules: Of placement.
        request_of: Returns what a stream asks of placement.
        draw: Returns 8 characters that nobody else draws.
        book: The streams of this server.
        usage: Says what accounts take here.
        advisories: Publishes what happens.
        tracking: Sees what is answered late.
        forward: Lets the actors of streams here answer a request.
        perform: Carries out what follows for streams and consumers here.
        report: Told what operators have to know.
        start: A number that no start of this server before had.
    """

    class Begin(Struct, frozen=True):
        """The engine is there, and what the log had was read."""

        file: MemoryFile
        """Of the founding; it was read once already, and is whole."""
        has_group: bool
        """The log has the group."""
        may_lack: bool
        """Other groups may have been in the log of which it says nothing any more."""

    class Heard(Struct, frozen=True):
        """Letters of other servers."""

        letters: list[bytes]

    class Request(Struct, frozen=True):
        """A request of the API."""

        request: JetStream.ApiRequest

    class Report(Struct, frozen=True):
        """An asset that is led here has the members that it is to have."""

        moved: Moved

    class Offer(Struct, frozen=True):
        """All of an archive is here."""

        restored: Restored

    class Leave(Struct, frozen=True):
        """The server is about to stop, and others still hear it."""

    class _Later(Struct, frozen=True):
        then: Callable[[], object]

    class _Tick(Struct, frozen=True):
        pass

    def __init__(
        self,
        *,
        view: ClusterView,
        link: EngineLink,
        exchange: Exchange,
        host: Host,
        describe: Callable[[], ServerRecord],
        server_count: int,
        rules: Rules,
        request_of: Callable[[StreamAssignment], PlacementRequest],
        draw: Callable[[], str],
        book: StreamBook,
        usage: UsageService,
        advisories: Advisories,
        tracking: ApiTracking,
        forward: Callable[[JetStream.ApiRequest], object],
        perform: Callable[[Effect | Confirmed | SetAside | TakeArchive | NotRestored], object],
        report: Callable[[str], object],
        clock: Callable[[], int],
        start: int,
    ) -> None:
        super().__init__()
        self._view = view
        self._link = link
        self._exchange = exchange
        self._host = host
        self._describe = describe
        self._server_count = server_count
        self._book = book
        self._usage = usage
        self._advisories = advisories
        self._tracking = tracking
        self._forward = forward
        self._report = report
        self._draw = draw
        self._clock = clock
        self.leader = MetaLeader(
            view.machine,
            start=start,
            fleet=view.fleet,
            rules=rules,
            draw=draw,
            request_of=request_of,
            follow=following,
        )
        self.decisions = Decisions(self.leader, self._propose)
        self._owed = OwedAnswers(
            view=view,
            leader=self.leader,
            decisions=self.decisions,
            host=host,
            tracking=tracking,
            clock=clock,
        )
        self._founder: Founder | None = None
        self._records: dict[str, ServerRecord] = {}
        self._is_changing = False
        self._is_removed = self._is_leaving = False
        self._is_confirmed = False
        self._has_group = False
        self._perform_for_asset = perform
        self._gate = LossGate(perform)
        self._said_again = SaidAgain(self._gate.take)
        self._index = self._saved_index = 0
        """Of the last entry that was applied, and of the last one that a saved state has."""
        self._is_unread = False
        """There is a state that can't be read: nothing takes its place."""
        self._ticks = 0
        self._said_faulty: tuple[tuple[str, ...], dict[str, tuple[tuple[int, int], ...]]] = (), {}
        """What is lost here, as others were told."""
        self._told: set[str] = set()

    @override
    def on_receive(self, message: object) -> object:
        if not self._view.failure:
            try:
                return self._receive(message)
            except Exception as error:  # noqa: BLE001 - the server goes on without this group
                self._fail(error)
        if isinstance(message, MetaGroup.Request):
            self._api.refuse(message.request)
        return None

    def _fail(self, error: Exception) -> None:
        """Have no say in the group until the next start: something may be half done here."""
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(frame.filename).name}:{frame.lineno}"
        self._view.failure = f"this server is no more in the meta group: {error!r} ({where})"
        self._report(self._view.failure)
        self.leader.leave_office()
        self.decisions.end()
        # Nothing is to be placed here any more: it would not be opened.
        self._say(ALL, Leaving(self._host.server_id))
        self._ask(Verb.RESIGN, lambda _: None, numbers=(GroupOf.CONTROL,))

    def _receive(self, message: object) -> object:
        self.leader.tell_time(self.now_ns(), self._clock())
        match message:
            case EngineAnswers():
                message.use()
            case EngineEvent():
                self._hear_engine(message)
            case MetaGroup.Heard(letters):
                for it in letters:
                    self._take_letter(it)
            case MetaGroup._Tick():
                self._tick()
            case MetaGroup.Begin():
                self._begin(message)
            case MetaGroup.Request(request):
                self._api.take(request)
            case MetaGroup.Report() | MetaGroup.Offer() | MetaGroup.Leave():
                self._tell_others(message)
            case MetaGroup._Later(then):
                then()
            case _:
                super().on_receive(message)
        return None

    @override
    def on_start(self) -> None:
        gathering = Gathering(
            exchange=self._exchange,
            account=self._account,
            peer=self._view.peer,
            later=self._call_later,
            tell=self._call,
        )
        self._states = ConsumerStates(
            view=self._view,
            book=self._book,
            exchange=self._exchange,
            gathering=gathering,
            ask=partial(self._link.ask, self.actor_ref),
            tell=self._call,
        )
        self._api = ClusterApi(
            office=Office(
                view=self._view,
                leader=self.leader,
                decisions=self.decisions,
                owed=self._owed,
                gathering=gathering,
                host=self._host,
                clock=self._clock,
            ),
            states=self._states,
            book=self._book,
            forward=self._forward,
            tracking=self._tracking,
            ask=partial(self._link.ask, self.actor_ref),
            send=self._send_or_take,
            later=self._call_later,
        )

    def _leave(self) -> None:
        """Let others know at once that nobody answers here any more."""
        self._is_leaving = True
        if self._founder is not None:
            self._say(ALL, Leaving(self._host.server_id))

    def _call(self, then: Callable[[], object]) -> None:
        self.actor_ref.tell(MetaGroup._Later(then))

    def _call_later(self, delay_s: float, then: Callable[[], object]) -> None:
        self.tell_later(delay_s, MetaGroup._Later(then))

    def _ask(self, verb: Verb, then: Callable[[EngineAnswer], object], **more: object) -> None:
        self._link.ask(self.actor_ref, verb, CONTROL_GROUP, then=then, **more)  # type: ignore[arg-type]

    # -- beginning -------------------------------------------------------------------------------

    def _begin(self, begin: MetaGroup.Begin) -> None:
        file, self._has_group = begin.file, begin.has_group
        self._founder = founder = Founder(
            peer=self._view.peer,
            server_count=self._server_count,
            file=file,
            draw=self._draw,
            send=self._send,
            begin=self._open,
            report=self._report,
        )
        account = self._account()
        for subject in (ALL, subject_of_peer(self._view.peer)):
            self._exchange.subscribe(account, subject, self._arrived)
        self._usage.begin(account)
        self._states.begin(account)
        self._host.retire = lambda *asset: self._say(ALL, Retire(*asset))
        if founder.founded is not None:
            if begin.may_lack:
                self._lose()
            self._open(founder.founded)
        self._tick()

    def _lose(self) -> None:
        """Remember that groups may have been here of which nobody knows."""
        assert self._founder is not None
        if not self._founder.remember(has_lost=True):
            raise RuntimeError("it can't be kept that something is lost here")

    def _open(self, founded: Foundation) -> None:
        """Let the engine have the group: as one of its first members, or to be added."""
        assert self._founder is not None
        members = founded.members[:_FOUNDERS_MAX]
        memory = self._founder.memory
        is_member = self._view.peer in members
        is_founder = is_member and self._founder.took_part and not memory.has_opened
        if not self._has_group and not is_founder:
            # It may have been here before, and the log is lost since; who comes for the first time
            # is asked for no more than to wait until the leader has heard of it.
            self._lose()
        self._gate.use(self._founder.memory)
        numbers = (
            group_number(founded.name),
            *(number_of(it) for it in members if is_member),
        )
        self._view.is_founded = True
        self._ask(
            Verb.OPEN_GROUP,
            lambda told: self._report("the meta group can't be opened") if told.status else None,
            numbers=(0, 0, 0, 0, *replica_numbers(numbers, may_have_been=not is_founder)),
            third=text_of(SavedGroup(GROUP_NAME, numbers)),
        )

    def _account(self) -> int:
        return self._host.account_number(self._host.system_account())

    # -- other servers ---------------------------------------------------------------------------

    def _arrived(self, arrived: list[Arrived]) -> None:
        self.actor_ref.tell(MetaGroup.Heard([it.payload for it in arrived]))

    def _send(self, peer: str, letter: AnyLetter) -> None:
        self._say(subject_of_peer(peer), letter)

    def _send_or_take(self, peer: str, letter: TakeArchive | NotRestored) -> None:
        """Let a server have a letter that may be for this one."""
        if peer == self._view.peer:
            self._perform_for_asset(letter)
        else:
            self._send(peer, letter)

    def _say(self, subject: str, letter: AnyLetter) -> None:
        data = bytes_from_letter(self._view.peer, letter)
        self._exchange.publish(self._account(), subject, data)

    def _take_letter(self, data: bytes) -> None:
        try:
            sender, letter = letter_from_bytes(data)
        except NotALetterError:
            self._view.refused += 1
            return
        if sender == self._view.peer and isinstance(letter, Retire):
            self._retire(letter)
        if sender == self._view.peer:
            self._see_own_name(letter)
            return
        assert self._founder is not None
        match letter:
            case Hello():
                self._greeted(sender, letter)
            case Leaving():
                self._founder.lose(sender)
                self._view.fleet.lose(sender)
            case Moved():
                self._finish_move(letter)
            case Retire():
                self._retire(letter)
            case Restored():
                self._take_restored(sender, letter)
            case TakeArchive() | NotRestored():
                self._perform_for_asset(letter)
            case _:
                self._founder.receive(sender, letter)

    def _tell_others(self, message: MetaGroup.Report | MetaGroup.Offer | MetaGroup.Leave) -> None:
        match message:
            case MetaGroup.Leave():
                self._leave()
            case MetaGroup.Report(moved):
                self._report_moved(moved)
            case MetaGroup.Offer(restored):
                self._take_restored(self._view.peer, restored)

    def _report_moved(self, moved: Moved) -> None:
        if self.leader.is_in_office:
            self._finish_move(moved)
        elif self._view.state.leader:
            self._send(self._view.state.leader, moved)

    def _finish_move(self, moved: Moved) -> None:
        """Let a group have the members that it has been brought to."""
        if self.leader.is_in_office:
            self.decisions.decide(
                lambda: self.leader.finish_move(moved.asset, moved.created_ns, moved.members)
            )

    def _take_restored(self, sender: str, letter: Restored) -> None:
        """Make a stream of what a server has taken of an archive, or let who leads do it."""
        if self.leader.is_in_office:
            try:
                self._api.take_restored(sender, letter)
            except msgspec.MsgspecError:
                self._view.refused += 1
        elif sender == self._view.peer and self._view.state.leader:
            self._send(self._view.state.leader, letter)

    def _see_own_name(self, letter: AnyLetter) -> None:
        if isinstance(letter, Hello) and letter.server_id != self._host.server_id:
            self._tell_once(
                f"Another server has the name {self._host.name} too, or one of the same hash:"
                " groups can't tell them apart; give it a name of its own"
            )

    def _retire(self, letter: Retire) -> None:
        """Delete a consumer that nobody uses, as the leader."""
        if self.leader.is_in_office:
            asset = Asset(letter.account, letter.stream, letter.consumer)
            self.decisions.decide(lambda: self.leader.retire(asset, letter.created_ns))

    def _greeted(self, sender: str, hello: Hello) -> None:
        """A server says that it is there."""
        assert self._founder is not None
        founded = self._founder.founded
        if hello.domain != self._host.config.domain:
            self._founder.see_without(sender)
            return
        try:
            record = record_from_bytes(ServerRecord, hello.record)
        except (msgspec.MsgspecError, ValueError):
            self._view.refused += 1
            return
        if record.peer != sender:
            self._view.refused += 1
            return
        if founded is not None and hello.group and hello.group != founded.name:
            self._tell_once(
                f"The server {record.name} belongs to the meta group {hello.group}, this one to"
                f" {founded.name}: one of them has a store of another cluster"
            )
            return
        now_ns = self.now_ns()
        self._founder.see(sender, now_ns, has_group=bool(hello.group))
        self._view.fleet.hear(
            sender,
            Sighting(
                heard_ns=now_ns,
                memory_bytes=hello.memory_bytes,
                storage_bytes=hello.storage_bytes,
                faulty=frozenset(hello.faulty),
                lost=hello.lost,
            ),
        )
        if self._records.get(sender) != record:
            self._records[sender] = record
            self._take_up_servers()

    def _tick(self) -> None:
        assert self._founder is not None
        now_ns, self._ticks = self.now_ns(), self._ticks + 1
        founded = self._founder.founded
        faulty, lost = self._book.faulty_groups(), self._book.lost_of_groups()
        is_news, self._said_faulty = (faulty, lost) != self._said_faulty, (faulty, lost)
        # What is whole again may be moved at once.
        is_due = founded is None or is_news or self._ticks % _HELLO_TICKS == 1
        if is_due and not (self._is_removed or self._is_leaving):
            self._say(ALL, self._hello(founded.name if founded else ""))
        self._founder.tick(now_ns)
        seen = Sighting(heard_ns=now_ns, faulty=frozenset(faulty), lost=lost)
        self._view.fleet.hear(self._view.peer, seen)
        if self._view.is_founded:
            self._ask(Verb.GROUP_STATE, self._take_state, numbers=(GroupOf.CONTROL,))
        elif self._ticks == _LONE_TICKS:
            self._report(
                f"JetStream waits for others of the {self._server_count} servers of this cluster: a"
                " majority of them is needed; with `replication: false` it is this server's alone"
            )
        self.tell_later(_TICK_S * self.rng.uniform(0.6, 1.4), MetaGroup._Tick())

    def _hello(self, group: str) -> Hello:
        return Hello(
            server_id=self._host.server_id,
            domain=self._host.config.domain,
            size=self._server_count,
            group=group,
            record=bytes_from_record(self._describe()),
            faulty=self._said_faulty[0],
            lost=self._said_faulty[1],
        )

    # -- the group -------------------------------------------------------------------------------

    def _take_state(self, told: EngineAnswer) -> None:
        if told.status:
            return
        state = group_state(told.numbers, told.data)
        self._view.take_state(state)
        self._said_again.take_state(state)
        if not self._is_confirmed and state.is_settled:
            self._is_confirmed = True
            self._perform_for_asset(Confirmed())
            self._set_aside()
        self._follow_losses(state)
        is_leader = state.is_leader and self.leader.is_in_office
        self._api.unanswered.look(is_leader=is_leader)
        if not is_leader:
            return
        if self._is_removed:
            self._ask(Verb.STEP_DOWN, lambda _: None, numbers=(GroupOf.CONTROL, 0))
            return
        self._take_up_servers()
        self._owed.look()
        if self._ticks % _DUTY_TICKS == 0:
            self.decisions.decide(self.leader.duty)
        servers = self._view.machine.state.servers
        change = next_change(state, servers, self._view.is_online)
        if change is not None and not self._is_changing:
            self._is_changing = True
            numbers = (GroupOf.CONTROL, change[0], number_of(change[1]))
            self._ask(Verb.CHANGE_MEMBER, self._changed, numbers=numbers)

    def _set_aside(self) -> None:
        """Let what this server has, and nobody has assigned to it, go to `lost+found`."""
        machine = self._view.machine
        found = [
            FoundGroup(Asset(it.account, it.config.name), it.group)
            for it in self._book.all()
            if it.group
        ]
        for lost in not_assigned(machine, found, machine.state.index):
            self._perform_for_asset(lost)

    def _follow_losses(self, state: GroupState) -> None:
        """Take up whether the group is whole here, and with it all that it says is to be here."""
        assert self._founder is not None
        if state.commit and not state.is_lost:
            self._founder.remember(has_opened=True)
        self._gate.take_state(state)
        if self._gate.is_passed(state) and not self._lacks():
            self._founder.remember(has_lost=False)
            self._gate.use(self._founder.memory)

    def _lacks(self) -> bool:
        """Return whether something that is to run here does not, or is not whole."""
        return any(self._book.lacks(*asset) for asset, _ in self._view.machine.assets_here())

    def _changed(self, _: EngineAnswer) -> None:
        self._is_changing = False

    def _hear_engine(self, event: EngineEvent) -> None:
        match event.kind:
            case Event.ENTRY:
                index = event.numbers[0]
                self.leader.follow(index, event.data)
                self._perform(self._view.machine.apply(index, event.data), index)
                self._index = index
                if index - self._saved_index >= _SNAPSHOT_ENTRIES:
                    self._save()
            case Event.STATE:
                self._restore(event.data)
                self._index = event.numbers[0]
            case Event.SAVE:
                self._index = max(self._index, event.numbers[0])
                self._save()
            case Event.UNSURE:
                self._name_consumers(*event.numbers[:2])
            case Event.REPAIRS:
                self._repair(is_lost=event.numbers[0] == REPAIRS_LOSS)
            case Event.LEADS:
                self._lead()
            case Event.FOLLOWS:
                self.leader.leave_office()
                self.decisions.end()
                self._owed.end()
            case _:
                pass

    def _repair(self, *, is_lost: bool) -> None:
        """Take up, before the next entry, that the group turned out to have lost something here.

        A store that was copied while it ran is found out like that (`raft/_losses.pyx`): groups
        that were made after the copy may have been here as well.
        """
        assert self._founder is not None
        if is_lost and not self._founder.memory.has_lost:
            self._lose()
            self._gate.use(self._founder.memory)
            self._report("something of the meta group is lost here; other servers give it back")

    def _restore(self, data: bytes) -> None:
        try:
            self._perform(self._view.machine.restore(data), 0)
        except DamagedSnapshot as error:
            self._is_unread = True
            self._report(f"The state of the meta group can't be read: {error}")
        else:
            self._is_unread = False

    def _name_consumers(self, number: int, question: int) -> None:
        """Let the engine know which consumers a stream has, as of the entries that were told."""
        entry = self._book.numbered(number)
        if entry is None:
            return  # it ends
        asset = Asset(entry.account, entry.config.name)
        consumers = self._view.machine.state.consumers(asset).values()
        groups = [group_number(it.group.name) for it in consumers]
        self._link.ask(
            self.actor_ref,
            Verb.NAME_CONSUMERS,
            number,
            then=lambda _: None,
            numbers=(question,),
            first=struct.pack(f"={len(groups)}Q", *groups),
        )

    def _lead(self) -> None:
        self._ask(Verb.GROUP_STATE, self._say_elected, numbers=(GroupOf.CONTROL,))
        if not self.leader.take_office():
            self._report("A newer version has written to the meta group: another server must lead")
            self._ask(Verb.STEP_DOWN, lambda _: None, numbers=(GroupOf.CONTROL, 0))
            return
        self._take_up_servers()
        self._ask(Verb.GROUP_STATE, self._take_state, numbers=(GroupOf.CONTROL,))

    def _say_elected(self, told: EngineAnswer) -> None:
        """Let who listens in the system account know who leads now."""
        self._take_state(told)
        meta = self._view.meta_cluster()
        if meta is not None and self._view.state.is_leader:
            self._advisories.say_meta_leader(self._host.system_account(), meta)

    def _take_up_servers(self) -> None:
        """Let all that are there belong to the group, as they describe themselves now."""
        if not self.leader.is_in_office:
            return
        own = () if self._is_removed else (self._describe(),)
        for record in (*own, *self._records.values()):
            if self._view.machine.state.servers.get(record.peer) != record:
                self._take_up(record)

    def _take_up(self, record: ServerRecord) -> None:
        self.decisions.decide(lambda: self.leader.put_server(record))

    def _propose(self, data: bytes, dropped: Callable[[], object]) -> None:
        def told(answer: EngineAnswer) -> None:
            if answer.status:
                dropped()

        self._ask(Verb.PROPOSE, told, first=data)

    def _save(self) -> None:
        """Let the state take the place of entries: of many, or of some that hold files."""
        if self._is_unread or self._index <= self._saved_index:
            return
        self._saved_index = index = self._index

        def told(answer: EngineAnswer) -> None:
            if answer.status:
                self._saved_index = 0  # the log had no room: another time

        state = self._view.machine.snapshot()
        self._ask(Verb.SNAPSHOT_GROUP, told, numbers=(index,), first=state)

    # -- what follows ----------------------------------------------------------------------------

    def _perform(self, effects: Iterable[Effect], index: int) -> None:
        """Do what follows from the entry of an index; 0: from a state, of many."""
        for effect in effects:
            match effect:
                case Answer(number, outcome):
                    self.decisions.answered(number, outcome)
                case StartAsset() | ChangeAsset() | StopAsset():
                    self._said_again.take(effect, index)
                case ServerRemoved():
                    self._forget_server(effect)
                case _:
                    pass

    def _forget_server(self, removed: ServerRemoved) -> None:
        """Take a server up no more, until it is started again and says so."""
        if not self._said_again.is_over:
            return  # it was removed before this start; if it is heard now, it has come back
        self._records.pop(removed.peer, None)
        self._view.fleet.lose(removed.peer)
        if removed.is_here:
            self._is_removed = True
            self._report("This server belongs to the meta group no more, until it is started again")

    def _tell_once(self, what: str) -> None:
        if what not in self._told:
            self._told.add(what)
            self._report(what)
