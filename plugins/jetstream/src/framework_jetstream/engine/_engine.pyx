"""The engine: messages for streams, commands, and time, in turns that need no interpreter.

A turn takes the commands that are there, then the messages, and carries the commands out behind them: who asks for a purge behind what it
has published finds that purged. It has no clock and no thread of its own; `run` is the thread that drives it in a server, and a test or
the simulator calls `turn`.

Size: a turn, and the object that Python has of the engine with its log.
"""

cimport cython
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from framework_jetstream.consumer._terms cimport terms_made
from framework_jetstream.engine._accounts cimport accounts_begin, accounts_free
from framework_jetstream.engine._alarms cimport alarm_due, alarms_free, alarms_next
from framework_jetstream.engine._answers cimport answers_hand_over, answers_take
from framework_jetstream.engine._apply cimport apply_committed, entry_apply, entry_is_update
from framework_jetstream.engine._arrivals cimport arrival_take
from framework_jetstream.engine._carrying cimport command_carry_out, direct_get_wait, waiting_woken
from framework_jetstream.engine._chains cimport chain_push, chain_take
from framework_jetstream.engine._compressing cimport compressing_free
from framework_jetstream.engine._consumer_commands cimport consumer_close, consumer_forget, consumer_made
from framework_jetstream.engine._consumer_log cimport consumers_tell, consumers_tell_all
from framework_jetstream.engine._control_groups cimport control_made
from framework_jetstream.engine._delivery cimport TOKEN_NUMBER_SHIFT, consumer_expire, deliver_ready, request_undeliverable
from framework_jetstream.engine._direct cimport direct_get_row
from framework_jetstream.engine._doubts cimport doubts_turn
from framework_jetstream.engine._groups cimport (
    CARRIED_BUSY, CARRIED_OUT, group_close, group_describe, group_free, group_made, group_of, groups_are_abandoned, groups_close_rest,
)
from framework_jetstream.engine._held_updates cimport state_is_update
from framework_jetstream.engine._lost cimport lose_rest
from framework_jetstream.engine._operations cimport operation_time, slot_expire_by_log
from framework_jetstream.engine._outbox cimport outbox_flush, outbox_free
from framework_jetstream.engine._log_ranges cimport range_want
from framework_jetstream.engine._pieces cimport pieces_give
from framework_jetstream.engine._port cimport (
    FRAMEWORK_PORT_CAPSULE, FRAMEWORK_ROW_ANSWER, FRAMEWORK_ROW_MESSAGE, FRAMEWORK_WORD_FULL, FRAMEWORK_WORD_NOBODY,
    FRAMEWORK_WORD_ROOM, FRAMEWORK_WORD_SOMEBODY, framework_batch, framework_port, framework_row,
)
from framework_jetstream.engine._publishing cimport publish_row
from framework_jetstream.engine._pacing cimport flow_row
from framework_jetstream.engine._reading cimport reading_sweep
from framework_jetstream.engine._replicated cimport REPLICAS_AT, replicated_hear, replicated_join, replicated_settle, replicated_speak
from framework_jetstream.engine._requests cimport ack_row, next_row
from framework_jetstream.engine._retention cimport removals_propose, retention_fence, retention_sweep
from framework_jetstream.engine._scrub cimport scrub_turn, scrub_wake
from framework_jetstream.engine._segment_jobs cimport SegmentJobs
from framework_jetstream.engine._segments cimport SegmentsHead, segments_free, segments_of, segments_restore, segments_wake
from framework_jetstream.engine._staging cimport publish_stage, staging_propose
from framework_jetstream.engine._state cimport (
    BATCHES_MAX, KEPT_BY_ENTRIES, KEPT_IN_FILES, REKEYING_DUE, REKEYING_OVER, TAG_ACK, TAG_DIRECT_GET, TAG_FLOW, TAG_KIND_SHIFT, TAG_NEXT,
    TAG_NUMBER_SHIFT, TAG_PUBLISH, TAG_SOURCE, Command, ConsumerSlot, Engine as State, Group, ScrubPass, Slot, command_free, consumer_of,
    input_of, ready_add, slot_of,
)
from framework_jetstream.engine._stream_commands cimport slot_close, slot_expire, slot_made
from framework_jetstream.engine._trimming cimport trim_turn
from framework_jetstream.engine._waiting cimport consumer_unrequest
from framework_jetstream.engine._wakes cimport FAR_NS, wake_at, wake_at_unix
from framework_jetstream.log._face cimport Log
from framework_jetstream.log._committed cimport log_forget
from framework_jetstream.log._log cimport Log as LogStruct, LogEntry, LogGroup
from framework_jetstream.log._log_groups cimport log_group
from framework_jetstream.log._performing cimport log_is_small
from framework_jetstream.log._record cimport OP
from framework_jetstream.log._solo cimport solo_committer
from framework_jetstream.log._thread cimport LogRunner, LogThread, log_kick, log_perform_small
from framework_jetstream.raft._digests cimport DIGESTS_KEPT, Digests, digest_told, digests_restored
from framework_jetstream.raft._raftface cimport settings_of
from framework_jetstream.raft._state cimport RaftMembers, RaftSettings
from framework_jetstream.replication._replica_log cimport log_has_alone, log_misses, snapshot_read
from framework_jetstream.replication._replicas cimport replicas_begin, replicas_free, replicas_new, replicated_committer
from framework_jetstream.sourcing._giving cimport source_row
from framework_jetstream.sourcing._inputs cimport inputs_expire
from framework_jetstream.sourcing._programs cimport Programs, programs_free, programs_made
from framework_jetstream.stream._headers cimport Text
from framework_jetstream.stream._machine cimport REFUSALS, Limits, limits_made, stream_set_limits
from framework_jetstream.stream._subject_terms cimport room_free, terms_drop

import os

from framework_jetstream.raft.records import Settings
from framework_jetstream.store._segmentface import SegmentDamage

cdef extern from "time.h" nogil:
    struct timespec:
        long tv_sec
        long tv_nsec
    enum:
        CLOCK_MONOTONIC
        CLOCK_REALTIME
    int clock_gettime(int which, timespec* to)

cdef extern from "poll.h" nogil:
    struct pollfd:
        int fd
        short events
        short revents
    enum:
        POLLIN
    int ppoll(pollfd* waits, unsigned long count, const timespec* timeout, const void* signals)

cdef extern from "sched.h" nogil:
    int sched_yield()

cdef extern from "unistd.h" nogil:
    ssize_t read(int fd, void* into, size_t count)
    ssize_t write(int fd, const void* source, size_t count)

cdef enum:
    SECOND_NS = 1000000000
    SEGMENT_BYTES = 1 << 25
    SMALL_STREAM_BYTES = 1 << 20
    CACHE_BYTES = 1 << 25
    LOG_BYTES = 1 << 29
    LOG_FILE_BYTES = 1 << 26
    COMPRESSED_FROM = 1 << 12
    FILES_AHEAD = 2
    # Of the log: the one that is written while others are given up, and the one behind it.
    UNSAID_MAX_S = 30
    # By then the kernel has written what was left to it, where nobody has set it otherwise, and a sync costs little.
    SPIN_NS = 50000
    # About what it takes to be woken: 13,000 synchronous publishes a second without, 33,000 with it.
    SMALL_BYTES = 16384
    # A round that the engine writes by itself.
    ALONE_NS = 20000000
    # It does so while nobody else has asked anything of it for so long.
    SLOW_NS = 50000000
    # Behind a sync that took longer they are left to the log's thread for a while.
    REST_NS = 5000000
    # The log's thread marks what was synced when there was nothing to do for so long; what is due waits so long where nothing can be said.


cdef int64_t _clock(int which) noexcept nogil:
    cdef timespec now
    clock_gettime(which, &now)
    return <int64_t> now.tv_sec * SECOND_NS + now.tv_nsec


# ---- a turn --------------------------------------------------------------------------------------------------------------


cdef ConsumerSlot* _served(State* state, uint64_t number) noexcept nogil:
    """Return a consumer that clients reach here; NULL: it is gone, or led by another server."""
    cdef ConsumerSlot* consumer = consumer_of(state, number)
    return consumer if consumer != NULL and consumer.slot != NULL else NULL


cdef void _take_word(State* state, const framework_row* row, uint64_t number) noexcept nogil:
    """Hear of interest, or what became of a message."""
    cdef ConsumerSlot* consumer
    if row.kind == FRAMEWORK_ROW_ANSWER:
        if not row.tag >> TOKEN_NUMBER_SHIFT:
            state.fences_answered = max(state.fences_answered, <uint64_t> row.tag)
            return
        consumer = _served(state, <uint64_t> row.tag >> TOKEN_NUMBER_SHIFT)
        if consumer == NULL:
            return
        if row.word == FRAMEWORK_WORD_NOBODY:
            request_undeliverable(state, row.tag)
        elif row.word == FRAMEWORK_WORD_FULL:
            consumer.is_stalled = 1
        elif row.word == FRAMEWORK_WORD_ROOM:
            consumer.is_stalled = 0
            ready_add(state, consumer)
        return
    consumer = _served(state, number)
    if consumer == NULL:
        return
    if row.tag & 0xffffff:
        if row.word == FRAMEWORK_WORD_NOBODY:
            consumer_unrequest(state, consumer, <uint64_t> (row.tag & 0xffffff))
        return
    consumer.has_interest = row.word == FRAMEWORK_WORD_SOMEBODY
    consumer.active_ns = state.now_ns
    consumer.is_stalled = 0
    consumer_expire(state, consumer)
    ready_add(state, consumer)


cdef void _take_row(State* state, const framework_batch* batch, const framework_row* row) noexcept nogil:
    cdef uint64_t number = <uint32_t> (row.tag >> TAG_NUMBER_SHIFT)
    cdef int64_t kind = row.tag >> TAG_KIND_SHIFT
    cdef Slot* slot
    cdef ConsumerSlot* consumer
    if row.kind == FRAMEWORK_ROW_MESSAGE and kind == TAG_PUBLISH:
        slot = slot_of(state, number)
        if slot != NULL and slot.group != NULL:
            publish_stage(state, slot, batch, row)
            return
    state.not_here_ns = max(state.not_here_ns, state.now_ns + ALONE_NS)
    if row.kind != FRAMEWORK_ROW_MESSAGE:
        _take_word(state, row, number)
    elif kind == TAG_PUBLISH:
        if slot != NULL:
            publish_row(state, slot, batch, row)
    elif kind == TAG_SOURCE:
        source_row(state, input_of(state, number), batch, row)
    elif kind == TAG_DIRECT_GET:
        slot = slot_of(state, number)
        if slot != NULL and not direct_get_wait(slot, batch, row):
            direct_get_row(state, slot, batch, row, NULL)
    else:
        consumer = _served(state, number)
        if consumer != NULL and kind == TAG_NEXT:
            next_row(state, consumer, batch, row)
        elif consumer != NULL and kind == TAG_ACK:
            ack_row(state, consumer, batch, row)
        elif consumer != NULL and kind == TAG_FLOW:
            flow_row(state, consumer, batch, row)


cdef Command* _oldest_first(Command* commands) noexcept nogil:
    cdef Command* first = NULL
    cdef Command* following
    while commands != NULL:
        following = commands.next
        commands.next = first
        first = commands
        commands = following
    return first


cdef void _expire(State* state) noexcept nogil:
    """Do what the time says, and find out when it says something again."""
    cdef uint32_t left = state.alarms.count
    cdef void* owner = alarm_due(&state.alarms, state.now_ns) if left else NULL
    state.wakes_ns = state.now_ns + FAR_NS
    # Each one once: it may want to be looked at again at once.
    while owner != NULL:
        consumer_expire(state, <ConsumerSlot*> owner)
        left -= 1
        owner = alarm_due(&state.alarms, state.now_ns) if left else NULL
    left = state.expiries.count
    owner = alarm_due(&state.expiries, state.unix_ns) if left else NULL
    while owner != NULL:
        if (<Slot*> owner).group != NULL:
            slot_expire_by_log(state, <Slot*> owner)
        else:
            slot_expire(state, <Slot*> owner)
        left -= 1
        owner = alarm_due(&state.expiries, state.unix_ns) if left else NULL
    wake_at(state, alarms_next(&state.alarms))
    wake_at_unix(state, alarms_next(&state.expiries))
    if state.saves_again_ns > state.now_ns:
        wake_at(state, state.saves_again_ns)
    if state.reads_delayed != NULL:
        wake_at(state, state.reads_again_ns)
    segments_wake(state)
    scrub_wake(state)
    inputs_expire(state)


cdef bint _propose_held(State* state) noexcept nogil:
    """Propose what came for streams in files, and let go of it; False: some of it has to wait."""
    cdef uint32_t at
    if not staging_propose(state):
        return False
    for at in range(state.held_count):
        state.port.release(state.port.self, state.held[at])
    state.held_count = 0
    return True


cdef bint _take_batches(State* state) noexcept nogil:
    """Take what clients say; True: there may be more. While the disk is too slow nothing is taken, and the port holds up who publishes."""
    cdef const framework_batch* batch = NULL
    cdef uint32_t at
    if not _propose_held(state):
        return False
    while state.held_count < BATCHES_MAX:
        batch = state.port.take(state.port.self)
        if batch == NULL:
            break
        for at in range(batch.count):
            _take_row(state, batch, &batch.rows[at])
        state.held[state.held_count] = batch
        state.held_count += 1
        state.took_ns = state.now_ns
    _propose_held(state)
    return batch != NULL


cdef void _carry_out(State* state, Command* command) noexcept nogil:
    """Carry commands out, the oldest first, behind those that wait for room in the log."""
    cdef Command** last = &state.todo
    cdef int carried
    state.settles_all = state.settles_all or command != NULL or state.todo != NULL
    while last[0] != NULL:
        last = &last[0].next
    last[0] = command
    while state.todo != NULL:
        command = state.todo
        state.todo = command.next
        command.next = NULL
        carried = command_carry_out(state, command)
        if carried == CARRIED_BUSY:
            command.next = state.todo
            state.todo = command
            return
        if carried == CARRIED_OUT:
            command_free(command)


cdef void _speak_blocked(State* state) noexcept nogil:
    """Go on to lead, and to follow, while those who read slowly hold up everything else.

    What is due meanwhile is looked at again a little later: left as it is it would say without end that it is due.
    """
    if state.now_ns >= state.wakes_ns:
        state.wakes_ns = state.now_ns + REST_NS
    replicated_speak(state)


cdef bint engine_turn(State* state, int64_t now_ns, int64_t unix_ns) noexcept nogil:
    """Take what there is, and say what follows; True: there may be more at once."""
    cdef Command* command
    cdef bint goes_on
    state.now_ns = now_ns
    state.unix_ns = max(state.unix_ns, unix_ns)
    if state.outbox.is_blocked and not outbox_flush(&state.outbox):
        replicated_hear(state)
        _speak_blocked(state)
        return False
    if state.log != NULL:
        replicated_hear(state)
        # What others sent goes to the disk first: they wait for that, and for nothing else of this turn.
        _kick(state)
        replicated_settle(state, False)
        if not apply_committed(state):
            _speak_blocked(state)
            return False
        replicated_settle(state, True)
        groups_close_rest(state)
        trim_turn(state)
        scrub_turn(state)
        if state.woken != NULL:
            waiting_woken(state)
    command = <Command*> chain_take(<void**> &state.commands)
    goes_on = _take_batches(state)
    if state.leaving_count:
        retention_sweep(state)
    if state.has_appended and state.runner != NULL and not log_is_small(state.log, SMALL_BYTES):
        _kick(state)
    _carry_out(state, _oldest_first(command))
    if state.now_ns >= state.wakes_ns:
        _expire(state)
    deliver_ready(state)
    if state.wants_fence:
        retention_fence(state)
    # A message is gone before its consumer need not hear of it any more: what was lost of the log in between comes again.
    doubts_turn(state)
    removals_propose(state)
    consumers_tell(state)
    replicated_speak(state)
    if outbox_flush(&state.outbox):
        reading_sweep(state)
    return goes_on or (state.ready != NULL and not state.outbox.is_blocked)


cdef void _kick(State* state) noexcept nogil:
    """Let the log's thread look at what was appended."""
    if state.has_appended and state.runner != NULL:
        log_kick(<LogRunner*> state.runner)
        state.has_appended = False


cdef tuple _shown(const ScrubPass* it):
    return it.began_unix_ns, it.ended_unix_ns, it.bytes, it.files, it.damages, it.errors


# ---- as Python has it ----------------------------------------------------------------------------------------------------


@cython.final
@cython.no_gc_clear  # its end needs the log and the port, also where it is garbage together with them
cdef class Engine:
    """Commands to the engine from the control plane, its answers, and what drives it.

    `command` is called in one thread, `turn` or `run` in one other; `answers` by whom `fileno` has told that there are some.

    Args:
        refusals: What publishers are told, in the order of `Refusal`: JSON up to where a sequence or an id stands, and behind it.
        seed: Secret, of hashes.
        domain: Of JetStream; empty: none.
        id_prefix: 12 characters that no other server draws.
    """

    cdef State state
    cdef object capsule
    cdef list texts
    cdef bytes domain
    cdef object peers_capsule
    cdef bytes peers_prefix
    cdef Log log
    cdef LogThread log_thread
    cdef SegmentJobs jobs
    cdef int log_fd
    cdef int answers_fd
    cdef int answers_write_fd
    cdef int commands_fd
    cdef int commands_write_fd
    cdef int64_t last_id

    def __cinit__(
        self, refusals: list[tuple[bytes, bytes]], seed: int, domain: bytes = b"", id_prefix: bytes = b"000000000000"
    ) -> None:
        cdef int at
        if len(id_prefix) != sizeof(self.state.id_prefix):
            raise ValueError(f"{id_prefix!r} has not the length of a prefix")
        self.domain = domain
        self.state.domain.chars, self.state.domain.length = <const char*> self.domain, <uint32_t> len(domain)
        memcpy(self.state.id_prefix, <const char*> id_prefix, sizeof(self.state.id_prefix))
        self.texts = [text for pair in refusals for text in pair]
        if len(refusals) != REFUSALS:
            raise ValueError(f"{len(refusals)} refusals: there are {REFUSALS}")
        for at in range(REFUSALS):
            self.state.refusals[at].chars, self.state.refusals[at].length = self.texts[2 * at], <uint32_t> len(self.texts[2 * at])
            self.state.refusal_ends[at].chars = self.texts[2 * at + 1]
            self.state.refusal_ends[at].length = <uint32_t> len(self.texts[2 * at + 1])
        self.state.seed = seed
        accounts_begin(&self.state)
        self.log_fd = self.state.jobs_fd = -1
        self.state.segment_bytes, self.state.small_bytes = SEGMENT_BYTES, SMALL_STREAM_BYTES
        self.state.log_files = LOG_BYTES // LOG_FILE_BYTES
        self.answers_fd, self.answers_write_fd = os.pipe()
        self.commands_fd, self.commands_write_fd = os.pipe()
        for fd in (self.answers_fd, self.answers_write_fd, self.commands_fd, self.commands_write_fd):
            os.set_blocking(fd, False)

    def __dealloc__(self) -> None:
        cdef Command* command = <Command*> chain_take(<void**> &self.state.commands)
        cdef Command* gone
        cdef uint32_t at
        while command != NULL:
            gone = command
            command = command.next
            command_free(gone)
        command = self.state.todo
        while command != NULL:
            gone = command
            command = command.next
            command_free(gone)
        if self.state.port != NULL:
            for at in range(self.state.consumer_room):
                if self.state.consumers[at] != NULL and self.state.consumers[at].slot != NULL:
                    consumer_close(&self.state, self.state.consumers[at])
            for at in range(self.state.slot_count):
                if self.state.slots[at] != NULL:
                    slot_close(&self.state, self.state.slots[at])
        self._free_groups()
        replicas_free(self.state.replicas)
        segments_free(&self.state)
        free(self.state.lost)
        free(self.state.peer_links)
        free(self.state.slots)
        free(self.state.inputs)
        free(self.state.consumers)
        alarms_free(&self.state.alarms)
        alarms_free(&self.state.expiries)
        free(self.state.leaving)
        accounts_free(&self.state)
        room_free(&self.state.subject_room)
        compressing_free(&self.state)
        outbox_free(&self.state.outbox)
        answers_hand_over(&self.state)
        answers_take(&self.state)
        for fd in (self.answers_fd, self.answers_write_fd, self.commands_fd, self.commands_write_fd):
            if fd:
                os.close(fd)

    def open(self, capsule: object) -> None:
        """Use a port, by its capsule; once, before any turn."""
        self.state.port = <const framework_port*> PyCapsule_GetPointer(capsule, FRAMEWORK_PORT_CAPSULE)
        self.state.outbox.port = self.state.port
        self.capsule = capsule

    def command(
        self, verb: int, number: int, *, numbers: tuple[int, ...] = (), limits: dict[str, int] | None = None,
        terms: dict[str, int] | None = None, first: bytes = b"", second: bytes = b"", third: bytes = b"", programs: list | None = None,
    ) -> int:
        """Ask something of the engine, as `verbs.py` says it; return the id of the answer.

        Args:
            verb: A `Verb`.
            number: Of the stream or consumer.
            numbers: At most 16.
            limits: Of a stream.
            terms: Of a consumer.
            first: The first text.
            second: The second text.
            third: What the log is to know of it.
            programs: What becomes of subjects of a source.
        """
        cdef Programs* taken = programs_made(programs) if programs is not None else NULL
        cdef Command* made = <Command*> calloc(1, sizeof(Command) + len(first) + len(second) + len(third))
        cdef char byte = 0
        if made == NULL:
            programs_free(taken)
            raise MemoryError
        self.last_id += 1
        made.id = self.last_id
        made.verb = verb
        made.number = number
        for at, value in enumerate(numbers):
            made.numbers[at] = <int64_t> (<uint64_t> (value & 0xFFFFFFFFFFFFFFFF))
        if limits is not None:
            made.limits = limits_made(limits)
        if terms is not None:
            made.terms = terms_made(terms)
        made.programs = taken
        made.lengths[0] = len(first)
        made.lengths[1] = len(second)
        made.lengths[2] = len(third)
        memcpy(<char*> (made + 1), <const char*> first, len(first))
        memcpy(<char*> (made + 1) + len(first), <const char*> second, len(second))
        memcpy(<char*> (made + 1) + len(first) + len(second), <const char*> third, len(third))
        if chain_push(<void**> &self.state.commands, made, made):
            write(self.commands_write_fd, &byte, 1)
        return self.last_id

    def fileno(self) -> int:
        """Return a descriptor that is readable when there are answers."""
        return self.answers_fd

    def answers(self) -> list[tuple[int, int, tuple[int, ...], bytes, PortMemory | None]]:
        """Return (id, status, numbers, bytes, payload) of each answer since the last call, in order."""
        cdef char drained[64]
        while read(self.answers_fd, drained, sizeof(drained)) == sizeof(drained):
            pass
        return answers_take(&self.state)

    def turn(self, now_ns: int, unix_ns: int) -> bool:
        """Take one turn; return whether there may be more to do at once.

        Args:
            now_ns: Of a clock that never goes back.
            unix_ns: Time of day, which messages get.
        """
        cdef bint goes_on = engine_turn(&self.state, now_ns, unix_ns)
        _kick(&self.state)
        self._hand_over()
        return goes_on

    # ---- the log

    cdef void _free_groups(self) noexcept:
        cdef LogStruct* log = self.state.log
        cdef size_t at
        if log == NULL or log.groups == NULL:
            return
        for at in range(log.group_mask + 1):
            if log.groups[at] != NULL and log.groups[at].owner != NULL:
                group_free(<Group*> log.groups[at].owner)
                log.groups[at].owner = NULL

    def use_log(self, log: Log, thread: LogThread | None = None, log_fd: int = -1) -> None:
        """Keep streams in a log; once, before any turn.

        Args:
            log: Was recovered; its entries are read by `replay`.
            thread: Performs the log's rounds, and is kicked; None: somebody else does, between turns.
            log_fd: Becomes readable when a round is done.
        """
        self.log = log
        self.log_thread = thread
        self.log_fd = log_fd
        self.state.log = log.log
        self.state.rekeying = REKEYING_DUE if log.log.has_other_keys else REKEYING_OVER
        log.log.gives_damaged = True
        self.state.committer = solo_committer(log.log)
        if thread is not None:
            self.state.runner = thread.runner

    def use_replicas(
        self, port: object, *, server: int, account: int, prefix: bytes, seed: int, settings: Settings,
        compressed_from: int = COMPRESSED_FROM,
    ) -> None:
        """Have groups that other servers have too; once, behind `use_log` and before anything is restored.

        Args:
            port: The capsule of a port of its own, by which servers hear of each other.
            server: Number of this one, which no other one has.
            account: Where they do.
            prefix: A server is told by the subject with its number, of 16 hexadecimal digits, behind this.
            seed: Of the random numbers of elections.
            settings: What all groups keep to.
            compressed_from: An entry is compressed, if that is worth it, where its messages have so many bytes.
        """
        cdef RaftSettings wanted = settings_of(settings)
        self.state.compressed_from = compressed_from
        self.peers_capsule = port
        self.peers_prefix = prefix
        self.state.peers = <const framework_port*> PyCapsule_GetPointer(port, FRAMEWORK_PORT_CAPSULE)
        self.state.peers_account = account
        self.state.peers_prefix.chars, self.state.peers_prefix.length = <const char*> self.peers_prefix, <uint32_t> len(prefix)
        subject = prefix + b"%016x" % server
        self.state.replicas = replicas_new(self.state.log, server, &wanted, seed, True)
        if self.state.replicas == NULL:
            raise MemoryError
        self.state.replicas.frame_before = self.state.peers.memory_before + <uint32_t> len(subject)
        self.state.replicas.frame_behind = self.state.peers.memory_behind
        self.state.replicas.parts.self = &self.state
        self.state.replicas.parts.give = pieces_give
        self.state.replicas.parts.take = arrival_take
        self.state.committer = replicated_committer(self.state.replicas)
        self.state.peers.subscribe(self.state.peers.self, account, subject, <uint32_t> len(subject), NULL, 0, 1)

    def use_segments(
        self, jobs: SegmentJobs, segment_bytes: int = SEGMENT_BYTES, small_bytes: int = SMALL_STREAM_BYTES,
        cache_bytes: int = CACHE_BYTES, scrub_bytes_per_s: int = 0, scrub_interval_ns: int = 0, log_bytes: int = LOG_BYTES,
        unsaid_max_ns: int | None = None,
    ) -> None:
        """Let somebody write segments, and read them; once, before any turn, with a log.

        Args:
            jobs: Who does.
            segment_bytes: A segment ends when its messages have so many.
            small_bytes: A stream with no more is written to the log as a whole.
            cache_bytes: Bytes of messages that may stay in memory although a segment has them.
            scrub_bytes_per_s: Are read to see whether they are as they were written; 0: none.
            scrub_interval_ns: From the begin of reading all of it to the next one.
            log_bytes: So long the log may be, beside twice what lives of small streams, until files of it are given up. They wait then to
                be written anew, where it has no more with them than two files more.
            unsaid_max_ns: So long messages that memory had no place for are in no synced segment, but in the log; None: 30 s.
        """
        self.jobs = jobs
        jobs.begin(&self.state)
        self.state.cache_bytes = cache_bytes
        self.state.jobs_fd = jobs.fd
        if self.state.replicas != NULL:
            self.state.replicas.parts.read = range_want
        self.state.segment_bytes = segment_bytes
        self.state.small_bytes = small_bytes
        self.state.log_files = <int64_t> max(log_bytes // self.state.log.file_bytes, 2)
        self.state.log.files_max = self.state.log_files + FILES_AHEAD
        self.state.unsaid_max_ns = UNSAID_MAX_S * <int64_t> SECOND_NS if unsaid_max_ns is None else unsaid_max_ns
        self.state.scrub.bytes_per_s = scrub_bytes_per_s
        self.state.scrub.interval_ns = scrub_interval_ns

    @property
    def is_rekeying(self) -> bool:
        """Whether files are still being given up that were not written with the key of now."""
        return self.state.rekeying != REKEYING_OVER

    @property
    def segment_error(self) -> int:
        """The errno of the last time that a stream was saved in segments; 0: that went well."""
        return self.state.segment_error

    @property
    def read_error(self) -> int:
        """The errno of the last time that messages were read back; 0: that went well."""
        return self.state.read_error

    @property
    def scrubs(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """How segments were read again: the pass that is on, and the one that has ended last, as they were a moment ago.

        Of each the Unix times in nanoseconds when it began and ended, 0: it has not, bytes, files, places that were damaged, and reads that
        failed.
        """
        return _shown(&self.state.scrub.current), _shown(&self.state.scrub.last)

    @property
    def ranges_read(self) -> int:
        """How many ranges of the log were read from files for other servers, and sent."""
        return self.state.ranges_read

    @property
    def entries_compressed(self) -> int:
        """Entries of messages that were proposed compressed, so far."""
        return self.state.compressed

    @property
    def segments_kept(self) -> int:
        """How many segments of states that came had come before, as a whole or in part, with a state that another one took the place of."""
        return self.state.segments_kept

    @property
    def has_replicas(self) -> bool:
        """Whether there may be groups that other servers have too."""
        return self.state.replicas != NULL

    @property
    def lies(self) -> int:
        """Frames and messages of groups that no server sends that keeps to the rules."""
        return self.state.replicas.lies if self.state.replicas != NULL else 0

    @property
    def strangers(self) -> int:
        """Messages of groups that are not here."""
        return self.state.replicas.strangers if self.state.replicas != NULL else 0

    def digests(self, number: int) -> tuple[int, list[tuple[int, int]]] | None:
        """Return what a stream that others have too is compared by: since which entry, and (index, digest) as it is now, and as it was
        kept; digests as they are told.

        None: it is not here, is this server's alone, or can't be read.
        """
        cdef Slot* slot = slot_of(&self.state, number)
        cdef const Digests* digests = slot.stream.digests if slot != NULL and slot.group != NULL else NULL
        if digests == NULL or slot.group.replica == NULL or slot.group.replica.raft.is_faulty or slot.load != NULL:
            return None
        kept = [(digests.kept[at].index, digest_told(digests.kept[at].sum)) for at in range(min(digests.count, <uint32_t> DIGESTS_KEPT))]
        return digests.since, [(digests.index, digest_told(digests.sum)), *kept]

    @property
    def resident_bytes(self) -> int:
        """Bytes of memory for messages of streams in files, as it was a moment ago."""
        return self.state.resident_bytes

    def has_alone(self, group: int) -> bool:
        """Whether no other server has a group that is damaged in the log, as far as that says; then what is left of it is read."""
        cdef LogGroup* it = log_group(self.state.log, group)
        it.is_alone_here = log_has_alone(self.state.log, group, self.state.replicas.server)
        return it.is_alone_here

    def misses_entries(self, group: int) -> bool:
        """Whether what is missing of a group may have said that other servers have it."""
        return log_misses(self.state.log, group)

    def restore_stream(
        self, number: int, group: int, name: bytes, description: bytes, limits: dict[str, int], first_seq: int, next_segment: int,
        read: object, replicas: tuple[int, ...] = (), is_file: bool = True,
    ) -> list[tuple[int, int, SegmentDamage]]:
        """Make a stream whose entries are going to be read; it is reached when it is opened.

        Args:
            description: As it was before the first of these entries.
            limits: The same.
            next_segment: Above the number of each segment that there is of it.
            read: Returns the bytes of a segment by group and file; none where there is no such file.
            replicas: The number of its group at all servers, and theirs; none: it is this one's alone.
            is_file: Its storage is `file`.

        Returns:
            (group, file, damage) of what is damaged in segments.
        """
        cdef Limits wanted = limits_made(limits)
        cdef int kept = KEPT_IN_FILES if is_file else KEPT_BY_ENTRIES
        cdef Slot* slot = slot_made(&self.state, number, name, len(name), &wanted, kept, first_seq)
        cdef LogGroup* it
        cdef SegmentsHead named
        cdef RaftMembers members
        cdef const char* snapshot
        cdef size_t length
        terms_drop(wanted.subject_terms)
        if slot == NULL:
            raise MemoryError
        slot.is_restored = 1
        slot.group = group_made(&self.state, group, slot, NULL)
        if slot.group == NULL:
            raise MemoryError
        it = log_group(self.state.log, group)
        slot.group.applied = it.snapshot_index
        slot.next_segment = next_segment
        group_describe(slot.group, description, len(description))
        self._join(slot.group, replicas)
        if not replicas:
            return segments_restore(&self.state, slot, it.snapshot, it.snapshot_bytes, read)
        snapshot = snapshot_read(self.state.replicas, slot.group.replica, &members, &length)
        if snapshot == NULL or not segments_of(snapshot, length, &named):
            return []
        # It is what it is from here on, and not given once more.
        slot.group.replica.snapshot_index = 0
        damaged = segments_restore(&self.state, slot, snapshot, length, read)
        digests_restored(slot.stream.digests, it.snapshot_index)
        if slot.stream.losses and slot.group.replica.raft.peer_count > 1:
            slot.group.replica.raft.is_faulty = True
        return damaged

    cdef _join(self, Group* group, tuple replicas):
        cdef Command command
        if not replicas:
            return
        for at, value in enumerate((replicas[0], len(replicas) - 1, *replicas[1:])):
            command.numbers[REPLICAS_AT + at] = <int64_t> (<uint64_t> value)
        if not replicated_join(&self.state, group, &command):
            raise MemoryError

    def restore_consumer(self, number: int, group: int, replicas: tuple[int, ...] = ()) -> None:
        """Make a consumer whose entries are going to be read; it is reached when it is opened."""
        cdef ConsumerSlot* consumer = consumer_made(&self.state, number)
        cdef LogGroup* it
        if consumer == NULL:
            raise MemoryError
        consumer.is_restored = 1
        consumer.group = group_made(&self.state, group, NULL, consumer)
        if consumer.group == NULL:
            raise MemoryError
        it = log_group(self.state.log, group)
        group_describe(consumer.group, it.description, it.description_bytes)
        self._join(consumer.group, replicas)

    def restore_group(self, number: int, group: int, replicas: tuple[int, ...]) -> None:
        """Let a group of the log be a control group, whose entries come as events."""
        cdef Group* made = control_made(&self.state, group, number)
        if made == NULL:
            raise MemoryError
        self._join(made, replicas)
        made.replica.raft.stays_awake = True

    def replay(self, update: object) -> set[int]:
        """Apply what was read from the log; return the groups whose first entry has never come: nobody was told that they exist.

        Args:
            update: Called with a group and its configuration where that has changed; returns limits if it is a stream's.
        """
        cdef LogEntry entry
        cdef Text description
        cdef bint found = True
        self.state.is_replaying = True
        while found:
            with nogil:
                found = self._replay_to_update(&entry, &description)
            if found:
                self._replay_update(&entry, description, update)
        self.state.is_replaying = False
        if self.state.replicas != NULL:
            replicas_begin(self.state.replicas)
        log_forget(self.state.log)
        return self._settle_groups()

    cdef bint _replay_to_update(self, LogEntry* entry, Text* description) noexcept nogil:
        cdef uint64_t file = 0
        while self.state.committer.committed(self.state.committer.self, entry):
            if entry_is_update(entry, description) or state_is_update(&self.state, entry, description):
                return True
            entry_apply(&self.state, entry)
            if entry.file != file:
                # What the files before it had is elsewhere now; not before, since it may be the last of its own.
                log_forget(self.state.log)
                file = entry.file
        return False

    cdef _replay_update(self, LogEntry* entry, Text description, update):
        cdef Group* group = group_of(&self.state, entry.group)
        cdef Limits limits
        if group == NULL:
            return
        group_describe(group, description.chars, description.length)
        changed = update(entry.group, description.chars[:description.length])
        if group.slot != NULL and changed is not None:
            limits = limits_made(changed)
            stream_set_limits(&group.slot.stream, &limits, operation_time(entry) if entry.kind == OP else 0)
            terms_drop(limits.subject_terms)
        entry_apply(&self.state, entry)

    cdef set _settle_groups(self):
        cdef LogStruct* log = self.state.log
        cdef Group* group
        cdef size_t at
        unborn = set()
        for at in range(log.group_mask + 1 if log.groups != NULL else 0):
            group = <Group*> log.groups[at].owner if log.groups[at] != NULL else NULL
            if group != NULL and group.replica != NULL and group.replica.misses_last and group.slot != NULL:
                lose_rest(&self.state, group.slot)
            self.state.has_rescued = self.state.has_rescued or (group != NULL and group.replica != NULL and group.replica.rescued_to != 0)
            if group == NULL or group.replica != NULL:
                continue
            if group.slot != NULL and group.applied < log.groups[at].last_index:
                lose_rest(&self.state, group.slot)
            group.proposed = group.applied = log.groups[at].last_index
            if group.slot != NULL:
                self.state.unix_ns = max(self.state.unix_ns, group.slot.stream.messages.last_time_ns)
            if not group.is_created:
                unborn.add(group.number)
        self.state.keeps_files = groups_are_abandoned(&self.state)
        return unborn

    def lost(self) -> list[tuple[int, int, int]]:
        """Return (group, first sequence, last one) of messages that damage has taken; a last one of 0: it is not known."""
        cdef size_t at
        return [(self.state.lost[at].group, self.state.lost[at].first, self.state.lost[at].last) for at in range(self.state.lost_count)]

    def forget_group(self, group: int) -> None:
        """Close a group that was read, with its stream or consumer, which was not opened."""
        cdef Group* it = group_of(&self.state, group)
        if it == NULL:
            self.log.close_group(group)
            return
        if it.slot != NULL:
            it.slot.group = NULL
            slot_close(&self.state, it.slot)
            it.slot = NULL
        elif it.consumer != NULL:
            consumer_forget(&self.state, it.consumer)
        group_close(&self.state, it, NULL)

    def abandon_stream(self, group: int) -> None:
        """Forget a stream that was being restored, and leave its group in the log as it is: it is read again at the next start."""
        cdef Group* it = group_of(&self.state, group)
        if it == NULL:
            return
        log_group(self.state.log, group).owner = NULL
        it.slot.group = NULL
        slot_close(&self.state, it.slot)
        it.slot = NULL
        group_free(it)

    def read_again(self) -> None:
        """Read what was not here: some of it may be now. Callable from any thread; the engine is to be woken."""
        self.state.has_fetched = True

    @property
    def wakes_ns(self) -> int:
        """When it has to turn at the latest, in the clock of `now_ns`."""
        return self.state.wakes_ns

    cdef void _hand_over(self) noexcept nogil:
        cdef char byte = 0
        if answers_hand_over(&self.state):
            write(self.answers_write_fd, &byte, 1)

    cdef bint _writes_here(self, bint goes_on) noexcept nogil:
        """Write and sync what was appended in this thread, if that is sooner and nobody else waits for it; else the log's thread does it.

        To wake another thread and to be woken by it takes a good part of what a sync takes, and much longer than to write alone.
        """
        cdef State* state = &self.state
        cdef int64_t not_here_ns = state.not_here_ns
        if not state.has_appended or state.runner == NULL:
            return False
        if state.replicas != NULL and state.replicas.count:
            # Other servers take a leader that waits for a disk for one that is gone.
            _kick(state)
            return False
        if not state.log.syncs_always:
            not_here_ns = 0
        if goes_on or state.now_ns < not_here_ns or not log_perform_small(<LogRunner*> state.runner, SMALL_BYTES):
            _kick(state)
            return False
        if _clock(CLOCK_MONOTONIC) - state.now_ns > SLOW_NS:
            state.not_here_ns = state.now_ns + 20 * SLOW_NS
        state.has_appended = not log_is_small(state.log, 0)
        _kick(state)
        return True

    def run(self) -> None:
        """Turn until the port has ended; the interpreter is not held meanwhile."""
        cdef pollfd waits[4]
        cdef int wait_count = 3 if self.state.peers == NULL else 4
        cdef char drained[64]
        cdef bint goes_on, owes_mark
        cdef int at
        cdef int64_t left_ns
        cdef timespec left
        waits[0].fd = self.state.port.wake_fd
        waits[1].fd = self.commands_fd
        waits[2].fd = self.log_fd
        waits[0].events = waits[1].events = waits[2].events = waits[3].events = POLLIN
        waits[3].fd = self.state.peers.wake_fd if self.state.peers != NULL else -1
        with nogil:
            while not self.state.port.has_ended(self.state.port.self):
                goes_on = engine_turn(&self.state, _clock(CLOCK_MONOTONIC), _clock(CLOCK_REALTIME))
                self._hand_over()
                if self._writes_here(goes_on) or goes_on:
                    continue
                # To be woken takes longer than most publishers take to send the next message.
                if self.state.now_ns - self.state.took_ns < SPIN_NS:
                    sched_yield()
                    continue
                owes_mark = self.state.runner != NULL and self.state.log.mark_is_due
                left_ns = min(self.state.wakes_ns - _clock(CLOCK_MONOTONIC), <int64_t> (REST_NS if owes_mark else FAR_NS))
                left.tv_sec = max(left_ns, <int64_t> 0) // SECOND_NS
                left.tv_nsec = max(left_ns, <int64_t> 0) % SECOND_NS
                if ppoll(waits, wait_count, &left, NULL) == 0 and owes_mark:
                    log_kick(<LogRunner*> self.state.runner)
                # What the port has may have to wait, for the disk or for who reads slowly: then it would say at once that it is there.
                for at in range(2):
                    if waits[at].revents:
                        while read(waits[at].fd, drained, sizeof(drained)) == sizeof(drained):
                            pass
                if waits[2].revents:
                    read(self.log_fd, drained, 8)
            if self.state.log != NULL:
                consumers_tell_all(&self.state)
