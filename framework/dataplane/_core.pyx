"""The core of the plane: commands come in, bytes are fed, events and output come out. No socket, no clock, no thread.

Commands are posted by any thread and applied in order at the beginning of the next turn. Events gather during a turn and are handed over
at its end. A `Plane` turns the core in a loop thread of its own; tests and the simulator turn it themselves.

Size: all that a plane can be told stands in one class, each command in some lines.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport UINT64_MAX, int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

from framework.dataplane.links._addresses cimport RANGE_BYTES, is_address_refused
from framework.dataplane.links._clocks cimport links_tick, logins_time_out
from framework.dataplane.links._coding cimport coding_flush, coding_waits
from framework.dataplane._commands cimport (
    ADD_ACCOUNT, ADD_GATE, ANNOUNCE_INFO, ANSWER_GATE, CHANGE_ADDRESSES, CHANGE_GATE, CHANGE_QUOTA, CLOSE, CLOSE_LISTING, CONFIRM,
    DROP_QUOTA,
    FLAG_ACCOUNT_OMITTED, FLAG_ALL_ACCOUNTS, FLAG_ASSUMES, FLAG_ECHO, FLAG_HEADERS, FLAG_NO_RESPONDERS, FLAG_PEDANTIC,
    FLAG_TAKES_ORIGINS,
    FLAG_TELLS_NOTHING, FLAG_TELLS_UNKNOWN, FLAG_TRACES, FLAG_VERBOSE, GIVE_QUOTAS, KEEP_PERMISSIONS, MARK_ACCOUNTS, NEXT_ROWS,
    OPEN_LISTING, PIN_ACCOUNTS, PUBLISH, REGISTER_PEER,
    REMOVE_ACCOUNT, REMOVE_GATE, REPEAT_INTEREST, RESUME, RESUME_CLIENT, SEND, SET_ADDRESS, SET_CLIENT, SET_CLIENT_INFO, SET_CODING,
    SET_FORWARD, SET_DEFLATE, SET_INFO, SET_LIMITS, SET_LINK_TIMES, SET_LOGIN_TERMS, SET_LOOP, SET_NAMES, SET_NONCES, SET_ORIGIN,
    SET_PEER_PERMISSIONS, SET_SYSTEM_ACCOUNT, SET_TABLES, SET_TRACE, SHELL_VERBS, SUBSCRIBE_SINK, TELL_ACCOUNT, TRACE_HEADERS_ONLY,
    TRACE_INTERNAL, UNSUBSCRIBE_SINK, WATCH_INTEREST, ClientTerms, PeerTerms as PeerTermsC, command_apply, command_chars, stages_add,
)
from framework.dataplane._slices cimport checks_settle, link_go_on
from framework.dataplane._work cimport COMMAND_WORK, WORK_A_SLICE, WORK_A_TURN, is_work_done, ready_leave, work_begin
from framework.dataplane.links._decoding cimport coded_go_on, coded_received, coded_window
from framework.dataplane._events cimport event_made
from framework.dataplane.inner._inner_interest cimport inner_received
from framework.dataplane.inner._inner_messages cimport ALL_RECORDS, inner_is_busy, inner_listen, inner_look, inner_show
from framework.dataplane.inner._joining cimport CORES_MAX, cores_join
from framework.dataplane.accounts._interest cimport is_valid_subject
from framework.dataplane.delivery._gates cimport gate_release, gates_tick
from framework.dataplane.delivery._quotas cimport QuotaTerms, quota_release, quota_set, quotas_settle, quotas_tick
from framework.dataplane.links._links cimport (
    link_hung_up, link_of, link_open, link_received, link_window, links_end, links_unpause, state_free, state_new,
    state_sweep,
)
from framework.dataplane.links._output cimport output_sent
from framework.dataplane.protocol._server_info cimport link_info
from framework.dataplane.accounts._permissions cimport permission_table_release
from framework.dataplane.accounts._rules cimport table_made
from framework.dataplane.ports._gatequeue cimport gate_made, gate_queue
from framework.dataplane.ports._portface cimport FRAMEWORK_PORT_CAPSULE, FRAMEWORK_ROW_GATED, Face
from framework.dataplane.ports._port cimport port_release, ports_hear_interest, ports_listen
from framework.dataplane.ports._sinkbatch cimport atomic_add, atomic_add_users, batch_free, seen_pointer, sink_release
from framework.dataplane._state cimport (
    ADDRESS_TABLES_MAX, ASKS_EACH_CONNECT, DIRTY_GATHERED, DIRTY_PROMPT, ENTERS,
    HEARS_PEER, HIDES_ADDRESS, INFOS_MAX, IS_LIMITED, IS_PEER, IS_TOLD_INTEREST, IS_USER,
    KEEPS_REPLY, KINDS_MAX, LEAF, MAY_BE_ANONYMOUS, MAY_INTRODUCE,
    NEEDED_BY_SERVERS, NODE_BYTES, NO_PUBLISH, NO_REPLY, NUMBERED, PINGS_WHEN_QUIET,
    READ_BLOCK_BYTES,
    RECORD_DELIVERED, RECORD_TRACE, RESERVED_BYTES_MAX, RESERVED_MAX, S2_STAGE, SCOPE_HERE, SCOPE_ROUTE, SHOWS_SUBJECT, STALLS,
    STALL_PENDING_BYTES, STAYS_IN_ACCOUNT, SYSTEM, VERBS_MAX, WEBSOCKET_DEFLATE, WEBSOCKET_MASKS, WEBSOCKET_PLAIN_FRAMES,
    WEBSOCKET_STAGE, Account,
    Command, Dialect, Farewell, Gate, GateTerms, KindTraits as KindTraitsC, Limits, Link, ListingTerms, LoginTerms, Port as PortStruct,
    Quota, Record, Segment, Sink, State, Tables, Times, Totals as TotalsC, Traffic,
)
from framework.dataplane.accounts._tables cimport tables_free, tables_made
from framework.sublist._bytes cimport COPY_SLACK
from framework.sublist._sublist cimport SublistState

import os
import re
import threading
from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence

from framework.dataplane.limits import PlaneLimits
from framework.dataplane.coding import Coding, PlaneStage, WebSocketFrames
from framework.dataplane.dialects import CLIENT_DIALECT
from framework.dataplane.kinds import KIND_TRAITS, KindTraits
from framework.dataplane.link import LinkKind
from framework.dataplane.peers import PeerTerms
from framework.dataplane.permissions import Permissions
from framework.dataplane.reserved import RESERVED_PREFIXES, ReservedPrefix
from framework.dataplane.scopes import SCOPES, Scope
from framework.dataplane.ports._gatequeue import GateQueue
from framework.dataplane.sink import ALL_OF_IT, PAYLOAD_UNCUT, Overflow, TapKind, WatchTerms
from framework.dataplane.tables import AccountTables
from framework.dataplane.totals import AccountTraffic, KindTotals, PeerTraffic, SublistCounters, Totals
from framework.wire.address import packed_address
from framework.wire.closed_state import ClosedState
from framework.wire.websocket import close_status

cdef extern from "unistd.h" nogil:
    ssize_t read(int fd, void* into, size_t count)
    ssize_t write(int fd, const void* source, size_t count)

cdef enum:
    SECOND_NS = 1000000000
    SINK_BYTES_MAX = 16777216
    QUOTAS_MAX = 8
    # Of a link: its `Memo` has a bit for each.
    QUOTA_ROWS = 256
    # Of links, in one command.
    HELD_MAX = 64
    MESSAGE_BYTES_END = 1000000000
    # Sizes have nine digits.


cdef Limits limits_made(limits: PlaneLimits):
    cdef Limits made
    made.max_payload = limits.max_payload if limits.max_payload >= 0 else 0x7FFFFFFF
    made.max_control_line = limits.max_control_line
    made.max_pending = limits.max_pending
    made.pending_free = min(<int64_t> STALL_PENDING_BYTES, made.max_pending)
    made.max_connections = limits.max_connections
    made.max_subscriptions = limits.max_subscriptions
    made.ping_interval_ns = <int64_t> (limits.ping_interval_s * SECOND_NS)
    made.ping_max = limits.ping_max
    made.write_deadline_ns = <int64_t> (limits.write_deadline_s * SECOND_NS)
    made.login.timeout_ns = <int64_t> (limits.auth_timeout_s * SECOND_NS)
    made.login.is_own = False
    made.login.required = limits.auth_required
    made.login.lets_anybody_in = limits.lets_anybody_in
    made.max_subscription_tokens = limits.max_subscription_tokens
    made.max_traced_bytes = limits.max_traced_bytes
    made.fast_producer_stall = limits.fast_producer_stall
    return made


cdef bytes _plain(what, value):
    """Check a word that goes into a protocol line."""
    if not isinstance(value, bytes) or any(byte <= 32 or byte == 127 for byte in value):
        raise ValueError(f"{what} must be bytes without blanks and control characters: {value!r}")
    return value


def _check_listener(listener):
    if not 0 <= listener < INFOS_MAX:
        raise ValueError(f"no listener {listener}")


def _check_times(*values):
    if any(value is not None and value <= 0 for value in values):
        raise ValueError(f"times of links are above 0: {values}")


cdef void _letters_put(char* into, bytes letters):
    memcpy(into, <const char*> letters, len(letters))


cdef int _verbs_put(Dialect* made, verbs) except -1:
    """Write the verbs of a dialect, sorted by their first letters."""
    if len(verbs) > VERBS_MAX:
        raise ValueError(f"a dialect has at most {VERBS_MAX} verbs")
    memset(made.by_letter, len(verbs), sizeof(made.by_letter))
    for at, (verb, operation) in enumerate(sorted(verbs.items())):
        if not re.fullmatch(rb"[A-Z][A-Z0-9+-]{0,5}", verb):
            raise ValueError(f"a verb is a capital letter, and up to five more, digits, + or -: {verb!r}")
        made.verbs[at].length = len(verb)
        made.verbs[at].operation = operation
        _letters_put(made.verbs[at].letters, verb.lower())
        _letters_put(<char*> &made.verbs[at].key, verb.lower())
        _letters_put(<char*> &made.verbs[at].fold, bytes(0x20 if 64 < letter < 91 else 0 for letter in verb))
        _letters_put(<char*> &made.verbs[at].mask, b"\xff" * len(verb))
        made.by_letter[verb[0] & 31] = min(made.by_letter[verb[0] & 31], at)
    return 0


cdef int _dialect_put(Dialect* made, dialect) except -1:
    for what, words, length in (("message", (dialect.message,), 4), ("interest", (dialect.interest, dialect.no_interest), 3)):
        if any(len(_plain(f"the verb for {what}", word)) != length for word in words):
            raise ValueError(f"verbs for {what} have {length} letters: {words}")
    _verbs_put(made, dialect.verbs)
    _letters_put(made.message, dialect.message + b" ")
    _letters_put(made.interest, dialect.interest + b" ")
    _letters_put(made.no_interest, dialect.no_interest + b" ")
    if dialect.no_account and len(_plain("the verb for an unknown account", dialect.no_account)) != 2:
        raise ValueError(f"the verb for an unknown account has 2 letters: {dialect.no_account!r}")
    _letters_put(made.no_account, dialect.no_account + b" ")
    made.account = dialect.account
    made.weighs_groups = dialect.weighs_groups
    return 0


cdef int _traits_put(KindTraitsC* made, traits) except -1:
    made.ping_interval_max_ns = <int64_t> ((traits.ping_interval_max_s or 0) * SECOND_NS)
    made.first_ping_ns = <int64_t> (traits.first_ping_s * SECOND_NS)
    made.scope = traits.scope
    made.rank = traits.group_class if traits.is_peer else 0
    made.traits = (
        IS_USER * traits.is_user | IS_PEER * traits.is_peer | IS_LIMITED * traits.is_limited | MAY_BE_ANONYMOUS * traits.may_be_anonymous
        | ASKS_EACH_CONNECT * traits.asks_each_connect | HEARS_PEER * traits.hears_peer | IS_TOLD_INTEREST * traits.is_told_interest
        | STALLS * traits.stalls | PINGS_WHEN_QUIET * traits.pings_when_quiet
        | ENTERS * traits.enters | NUMBERED * traits.is_numbered | MAY_INTRODUCE * traits.may_introduce
    )
    return _dialect_put(&made.dialect, traits.dialect)


cdef int _kinds_put(State* state, kinds) except -1:
    """Write the rows of all kinds, and whose interest is counted since one of them is told it."""
    _dialect_put(&state.kinds[<int> SYSTEM].dialect, CLIENT_DIALECT)
    for kind, traits in kinds.items():
        if kind == SYSTEM or not 0 <= kind < KINDS_MAX:
            raise ValueError(f"kinds of links are numbers below {KINDS_MAX}, without {<int> SYSTEM}: {kind}")
        _traits_put(&state.kinds[<int> kind], traits)
    scopes = {Scope.HERE}.union(*((traits.scope, *traits.other_scopes) for traits in kinds.values()))
    for scope, row in SCOPES.items():
        state.hears[<int> scope] = sum(1 << to for to in row.heard_by)
        state.picks_groups |= row.picks_groups << scope
        state.enters_services |= row.enters_services << scope
    for scope in scopes - {Scope.HERE}:
        state.counted |= state.hears[<int> scope]
    # Who watches interest is told of that here.
    state.counted |= 1 << SCOPE_HERE
    return 0


cdef int _reserved_put(State* state, reserved) except -1:
    if len(reserved) > RESERVED_MAX:
        raise ValueError(f"at most {RESERVED_MAX} prefixes of subjects are reserved")
    for at, it in enumerate(reserved):
        if not 1 < len(_plain("a reserved prefix", it.prefix)) <= RESERVED_BYTES_MAX:
            raise ValueError(f"a reserved prefix has 2 to {RESERVED_BYTES_MAX} bytes: {it.prefix}")
        state.reserved[<int> at].length = len(it.prefix)
        _letters_put(state.reserved[<int> at].prefix, it.prefix)
        state.reserved[<int> at].treatment = (
            NO_PUBLISH * it.no_publish | NO_REPLY * it.no_reply | SHOWS_SUBJECT * it.shows_subject
            | NEEDED_BY_SERVERS * it.needed_by_servers | STAYS_IN_ACCOUNT * it.stays_in_account
            | KEEPS_REPLY * it.keeps_reply | HIDES_ADDRESS * (it.hidden_tokens > 0)
        )
        state.reserved[<int> at].hidden_tokens = it.hidden_tokens
        state.reserved_first[<int> it.prefix[0]] |= state.reserved[<int> at].treatment
    state.reserved_count = len(reserved)
    return 0


cdef bytes _stages_packed(stages):
    """Return two numbers of 32 bits for each stage, its kind and its options.

    Raises:
        ValueError: Frames of WebSocket are not next to the socket.
    """
    made = array("I")
    for at, stage in enumerate(stages):
        if isinstance(stage, WebSocketFrames):
            if at:
                raise ValueError("frames of WebSocket stand next to the socket")
            made.append(WEBSOCKET_STAGE)
            made.append(
                WEBSOCKET_DEFLATE * stage.is_compressed + WEBSOCKET_PLAIN_FRAMES * (not stage.is_masked) + WEBSOCKET_MASKS * stage.masks
            )
        else:
            made.append(S2_STAGE)
            made.append(Coding(stage))
    return made.tobytes()


cdef QuotaTerms _quota_terms(double messages_per_s, double bytes_per_s, double burst_messages, double burst_bytes, bint refuses) except *:
    """Return the terms of a quota.

    Raises:
        ValueError: A number is negative, or none.
    """
    cdef QuotaTerms terms
    if not (messages_per_s >= 0 and bytes_per_s >= 0 and burst_messages >= 0 and burst_bytes >= 0):
        raise ValueError("a quota has no negative rate or burst")
    terms.messages_per_s, terms.bytes_per_s = messages_per_s, bytes_per_s
    terms.burst_messages, terms.burst_bytes = burst_messages, burst_bytes
    terms.refuses = refuses
    return terms


cdef GateTerms _gate_terms(is_open, bytes_max, limit_s) except *:
    """Return what `add_gate` says of how a gate decides."""
    cdef GateTerms terms
    if bytes_max < 1 or limit_s <= 0:
        raise ValueError(f"bytes_max {bytes_max} below 1, or limit_s {limit_s} not above 0")
    terms.is_open, terms.bytes_max, terms.limit_ns = is_open, bytes_max, <int64_t> (limit_s * SECOND_NS)
    return terms


cdef int _gate_by_port(Gate* gate, capsule, int64_t tag) except -1:
    """Let the thread of a port decide at a gate."""
    cdef Face* face = <Face*> PyCapsule_GetPointer(capsule, FRAMEWORK_PORT_CAPSULE)
    gate.row_kind = FRAMEWORK_ROW_GATED
    gate.tag = tag
    gate.port = face.port
    atomic_add_users(&gate.port.users, 1)
    return 0


cdef class Core:
    """The plane without sockets: fed with bytes and a clock, it returns output and events.

    Methods above `take_events` may be called from any thread; what drives it (`open`, `feed`, `turn`, `hang_up`, `take_output`) from one.

    Args:
        limits: What peers may do.
        seed: Fixes hashing and the choice of queue members, so that one seed gives one run; 64 bits. None: from the system.
        kinds: What links of each kind are; all that are opened must be there.
        reserved: Prefixes of subjects that are treated apart.

    Raises:
        ValueError: A kind, a verb or a prefix that can't be; the text says which.
    """

    def __cinit__(
        self, limits: PlaneLimits, *, seed: int | None = None, kinds: Mapping[LinkKind, KindTraits] = KIND_TRAITS,
        reserved: Sequence[ReservedPrefix] = RESERVED_PREFIXES, **_: object,
    ) -> None:
        cdef Limits made = limits_made(limits)
        if seed is None:
            seed = int.from_bytes(os.urandom(8), "little")
        pthread_mutex_init(&self.lock, NULL)
        self.wake_fd = self.event_write_fd = self.event_fd = -1
        self.account_indexes = {b"$G": 0}
        self.removed_accounts = set()
        self.permissions = {}
        self.permission_numbers = {}
        self.free_permissions = []
        self.permissions_lock = threading.Lock()
        self.next_sink = 0
        self.quotas = {}
        self.state = state_new(&made, seed)
        if self.state == NULL:
            raise MemoryError
        self.kinds = frozenset(kinds)
        _kinds_put(self.state, kinds)
        _reserved_put(self.state, reserved)
        for reason in ClosedState:
            self.state.coder.close_words[<int> reason].status = close_status(reason)
            text = reason.text.encode()
            memcpy(self.state.coder.close_words[<int> reason].text, <const char*> text, len(text))

    def __dealloc__(self) -> None:
        cdef Command* command
        cdef Record* record
        cdef Quota* quota
        self._give_back()
        while self.first_command != NULL:
            command = self.first_command
            self.first_command = command.next
            if command.sink != NULL:
                sink_release(command.sink)
            if command.port != NULL:
                port_release(command.port)
            if command.verb == DROP_QUOTA:
                quota_release(command.quota)
            if command.permissions != NULL:
                permission_table_release(command.permissions)
            tables_free(command.tables)
            if command.gate != NULL:
                if command.gate.port != NULL:
                    port_release(command.gate.port)
                gate_release(command.gate)
            free(command)
        while self.first_shared != NULL:
            record = self.first_shared
            self.first_shared = record.next
            if record.batch != NULL:
                batch_free(record.batch)
            free(record)
        free(self.seen)
        if self.state != NULL:
            state_free(self.state)
        while self.first_quota != NULL:
            quota = self.first_quota
            self.first_quota = quota.next
            quota_release(quota)
        pthread_mutex_destroy(&self.lock)

    # ---- posting and applying

    cdef Command* _order(self, int verb, uint64_t link, int64_t number, int64_t other, bytes data) except NULL:
        cdef size_t length = len(data)
        cdef Command* command = <Command*> calloc(1, sizeof(Command) + length + COPY_SLACK)
        if command == NULL:
            raise MemoryError
        command.verb = verb
        command.link = link
        command.number = number
        command.other = other
        command.length = length
        memcpy(command_chars(command), <const char*> data, length)
        return command

    cdef void _post(self, Command* command) noexcept nogil:
        cdef bint wakes
        pthread_mutex_lock(&self.lock)
        wakes = self.first_command == NULL
        if wakes:
            self.first_command = command
        else:
            self.last_command.next = command
        self.last_command = command
        if self.holding:
            self.held += 1
            wakes = self.held % HELD_MAX == 0
        pthread_mutex_unlock(&self.lock)
        if wakes and self.wake_fd >= 0:
            write(self.wake_fd, b"c", 1)

    def hold(self) -> None:
        """Let the plane sleep until `release`, or until 64 commands wait: to wake it costs more than a command does."""
        pthread_mutex_lock(&self.lock)
        if self.holding == 0:
            self.held = 0
        self.holding += 1
        pthread_mutex_unlock(&self.lock)

    def release(self) -> None:
        """Let the plane know of what was posted since `hold`."""
        cdef bint wakes
        pthread_mutex_lock(&self.lock)
        self.holding -= 1
        wakes = self.holding == 0 and self.first_command != NULL
        pthread_mutex_unlock(&self.lock)
        if wakes and self.wake_fd >= 0:
            write(self.wake_fd, b"c", 1)

    cdef void _give_back(self) noexcept nogil:
        """Put the commands that were taken and not carried out back before the others."""
        if self.first_taken != NULL:
            self.last_taken.next = self.first_command
            self.first_command = self.first_taken
            self.first_taken = NULL

    cdef bint _commands_next(self) noexcept nogil:
        """Carry out the next command; False: there is none, or it goes on in the next turn."""
        cdef Command* command = self.first_taken
        if command == NULL:
            pthread_mutex_lock(&self.lock)
            command = self.first_taken = self.first_command
            self.last_taken = self.last_command
            self.first_command = self.last_command = NULL
            pthread_mutex_unlock(&self.lock)
        if command == NULL:
            return False
        if command.verb >= SHELL_VERBS:
            self.state.work += COMMAND_WORK
            self.apply_shell(command)
        elif not command_apply(self.state, command):
            return False
        self.first_taken = command.next
        free(command)
        return True

    cdef void begin_turn(self, int64_t now_ns) noexcept nogil:
        """Apply what was posted, as far as the turn's work goes, then look at the clocks."""
        quotas_settle(self.state)
        self.state.now_ns = now_ns
        work_begin(self.state, WORK_A_TURN)
        self.state.dirties = DIRTY_PROMPT
        # Who hears of it by a command, as that a stream was made, may use it at once: other servers are told before he is.
        if self.state.ports != NULL:
            ports_hear_interest(self.state)
        while not is_work_done(self.state) and self._commands_next():
            pass
        self.state.dirties = DIRTY_GATHERED
        if self.state.ports != NULL:
            ports_listen(self.state)
        if self.state.inner != NULL:
            inner_listen(self.state)
        links_unpause(self.state)
        links_tick(self.state)
        if self.state.gates != NULL or self.state.first_delayed != NULL:
            gates_tick(self.state)
        if self.state.paced_count:
            quotas_tick(self.state)
        if self.state.late_at:
            logins_time_out(self.state)

    cdef void end_turn(self) noexcept nogil:
        """Bury what ended, and hand the events over."""
        quotas_settle(self.state)
        self.state.last_asked = NULL
        links_end(self.state)
        checks_settle(self.state)
        state_sweep(self.state)
        if self.state.inner != NULL:
            inner_show(self.state)
        self.hand_over()

    cdef void hand_over(self) noexcept nogil:
        """Let Python take the events there are, once its loop looks."""
        cdef bint first
        if self.state.first_record == NULL:
            return
        atomic_add(&self.state.records_waiting, self.state.record_bytes)
        pthread_mutex_lock(&self.lock)
        first = self.first_shared == NULL
        if first:
            self.first_shared = self.state.first_record
        else:
            self.last_shared.next = self.state.first_record
        self.last_shared = self.state.last_record
        pthread_mutex_unlock(&self.lock)
        self.state.first_record = self.state.last_record = NULL
        self.state.record_bytes = 0
        if first and self.event_write_fd >= 0:
            write(self.event_write_fd, b"e", 1)

    cdef void apply_shell(self, Command* command) noexcept nogil:
        """Apply what only a plane with sockets has."""

    cdef Command* _stages(self, int verb, uint64_t link, stages, bytes left) except NULL:
        """Return a command with stages, and what came before them."""
        cdef bytes packed = _stages_packed(stages)
        cdef Command* command = self._order(verb, link, 0, 0, packed + left)
        command.split = len(packed)
        return command

    # ---- commands

    def set_info(self, listener: int, document: bytes, *, announce: bool = False) -> None:
        """Set the JSON object that links are greeted with.

        Args:
            listener: Number of the one that accepts them; a LinkKind: of all of that kind whose listener has no document of its own.
            document: Ends with its closing brace. A client's is sent with `client_id` and `client_ip` added, and with its own
                `max_payload` once it has logged in; behind its first PONG with its account, too.
            announce: Send it to every such client that has logged in with protocol 1 as well.
        """
        if not document.endswith(b"}"):
            raise ValueError("an INFO document ends with its closing brace")
        _check_listener(listener)
        self._post(self._order(SET_INFO, 0, listener, 0, document))
        if announce:
            self._post(self._order(ANNOUNCE_INFO, 0, 0, 0, b""))

    def resume_client(
        self, link: int, *, account: int = 0, permissions: int = 0, max_subscriptions: int = -1, max_payload: int = -1,
        verbose: bool, pedantic: bool, echo: bool, headers: bool, no_responders: bool, protocol: int,
    ) -> None:
        """Accept a client's CONNECT: it may act in `account` from now on.

        Args:
            link: A client that is parked.
            account: Index of its account.
            permissions: A number that `add_permissions` gave, which is not dropped yet; 0: it may do everything.
            max_subscriptions: Of this client, beside the limit of all; negative: no other.
            max_payload: Bytes of a message of this client, beside the limit of all; negative: no other.
        """
        if not 0 <= account < len(self.account_indexes):
            raise ValueError(f"no account {account}")
        cdef Command* command = self._order(
            RESUME_CLIENT, link, account, 1 if protocol else 0, self._terms(permissions, max_subscriptions, max_payload)
        )
        command.flags = (
            FLAG_VERBOSE * bool(verbose) + FLAG_PEDANTIC * bool(pedantic) + FLAG_ECHO * bool(echo) + FLAG_HEADERS * bool(headers)
            + FLAG_NO_RESPONDERS * bool(no_responders)
        )
        self._post(command)

    def set_client(self, link: int, *, permissions: int, max_subscriptions: int = -1, max_payload: int = -1) -> None:
        """Change what a client may do; see `resume_client`. Subscriptions that are not allowed any more end, and it is told.

        A client with more subscriptions than it may have is closed.
        """
        self._post(self._order(SET_CLIENT, link, 0, 0, self._terms(permissions, max_subscriptions, max_payload)))

    cdef bytes _terms(self, permissions, max_subscriptions, max_payload):
        cdef ClientTerms terms
        self._check_permissions(permissions)
        terms.permissions = permissions
        terms.max_subscriptions = max_subscriptions
        terms.max_payload = max_payload
        return PyBytes_FromStringAndSize(<char*> &terms, sizeof(terms))

    cdef object _check_permissions(self, permissions):
        if permissions and permissions not in self.permissions:
            raise ValueError(f"no permissions {permissions}")

    def add_permissions(self, permissions: Permissions) -> int:
        """Return the number of these permissions, which are made when they are new. Each call is answered by one `drop_permissions`.

        Raises:
            ValueError: A rule is no valid subject, or no subject and queue group.
        """
        cdef Command* command
        if permissions == Permissions():
            return 0
        with self.permissions_lock:
            number = self.permission_numbers.get(permissions)
            if number is None:
                command = self._order(KEEP_PERMISSIONS, 0, 0, 0, b"")
                self.next_permissions += 1
                try:
                    command.permissions = table_made(permissions, self.state.seed, self.next_permissions)
                except BaseException:
                    free(command)
                    raise
                number = self.free_permissions.pop() if self.free_permissions else len(self.permissions) + 1
                command.number = number
                self.permission_numbers[permissions] = number
                self.permissions[number] = [permissions, 0]
                self._post(command)
            self.permissions[number][1] += 1
            return number

    def drop_permissions(self, permissions: int) -> None:
        """Let go of what `add_permissions` gave. Clients that have it keep it until they are told otherwise."""
        if not permissions:
            return
        with self.permissions_lock:
            if permissions not in self.permissions:
                raise ValueError(f"no permissions {permissions}")
            held = self.permissions[permissions]
            held[1] -= 1
            if held[1] == 0:
                del self.permissions[permissions]
                del self.permission_numbers[held[0]]
                self.free_permissions.append(permissions)
                self._post(self._order(KEEP_PERMISSIONS, 0, permissions, 0, b""))

    def resume(self, link: int) -> None:
        """Let a parked link go on without registering it: an accepted route whose CONNECT was good."""
        self._post(self._order(RESUME, link, 0, 0, b""))

    def register_peer(self, link: int, terms: PeerTerms = PeerTerms()) -> None:
        """Finish the handshake of a link to another server: all interest in its accounts that the server may hear of is sent, then
        messages and interest flow.

        The peer is pinged at once: the answer says that it has taken the link.

        Args:
            link: A link that is not registered yet, of a kind whose scope is not HERE; nothing happens otherwise.
            terms: What it carries, and how.

        Raises:
            ValueError: There is no such account or index, or there are no such permissions.
        """
        cdef PeerTermsC head
        cdef Command* command
        if terms.pool_size < 0 or not 0 <= terms.pool_index < max(terms.pool_size, 1):
            raise ValueError(f"no connection {terms.pool_index} in a pool of {terms.pool_size}")
        if terms.account_omitted and len(terms.accounts or ()) != 1:
            raise ValueError("a connection that leaves its account out carries one account")
        self._check_permissions(terms.permissions)
        head.peer, head.permissions = terms.peer, terms.permissions
        head.pool_index, head.pool_size = terms.pool_index, terms.pool_size
        head.has_scope, head.scope = terms.scope is not None, terms.scope or 0
        head.guard, head.untold = terms.guard, sum(1 << scope for scope in terms.untold)
        if terms.loop:
            subject, words = terms.loop
            command = self._order(SET_LOOP, link, 0, 0, _plain("a subject", subject) + words)
            command.split = len(subject)
            self._post(command)
        if terms.address:
            self._post(self._order(SET_ADDRESS, link, 0, 0, _plain("an address", terms.address)))
        if terms.origin:
            self._post(self._order(SET_ORIGIN, link, 0, 0, _plain("an origin", terms.origin)))
        if terms.marks:
            begins, ends = terms.marks
            command = self._order(MARK_ACCOUNTS, link, 0, 0, begins + ends)
            command.split = len(begins)
            self._post(command)
        command = self._order(
            REGISTER_PEER, link, 0, 0, PyBytes_FromStringAndSize(<char*> &head, sizeof(head)) + self._indexes(terms.accounts or ())
        )
        command.flags = (
            FLAG_HEADERS * bool(terms.headers) + FLAG_ACCOUNT_OMITTED * bool(terms.account_omitted)
            + FLAG_ALL_ACCOUNTS * (terms.accounts is None) + FLAG_TRACES * bool(terms.traces)
            + FLAG_TELLS_NOTHING * (not terms.tells_interest) + FLAG_ASSUMES * bool(terms.assumes_interest)
            + FLAG_TELLS_UNKNOWN * bool(terms.tells_unknown) + FLAG_TAKES_ORIGINS * bool(terms.takes_origins)
        )
        self._post(command)

    def set_interest_told(self, link: int, account: int, *, ends: bool) -> None:
        """Take that a peer which is taken to want everything is about to tell all its interest in an account, or has told it.

        Args:
            link: Parked by INFO; nothing happens with others than those of `PeerTerms.assumes_interest`.
            account: Its index.
            ends: It has told all.
        """
        if not 0 <= account < len(self.account_indexes):
            raise ValueError(f"no account {account}")
        self._post(self._order(TELL_ACCOUNT, link, account, ends, b""))

    cdef bytes _indexes(self, accounts):
        for account in accounts:
            if not 0 <= account < len(self.account_indexes):
                raise ValueError(f"no account {account}")
        return array("I", accounts).tobytes()

    def pin_accounts(self, accounts: Sequence[int]) -> None:
        """Set the pinned accounts: pools carry them no more, and the interest of those that they carry from now on is sent whole.

        Args:
            accounts: Indexes of all of them.

        Raises:
            ValueError: There is no such account.
        """
        self._post(self._order(PIN_ACCOUNTS, 0, 0, 0, self._indexes(accounts)))

    def set_peer_permissions(self, kind: LinkKind, permissions: int) -> None:
        """Change the permissions of all servers of a kind in place: what they are told of interest here, and theirs, follows.

        Args:
            kind: Of their links.
            permissions: A number that `add_permissions` gave, which is not dropped yet; 0: everything. Rules for publishing say what
                interest here is told (import), rules for subscribing what interest of other servers counts (export).
        """
        self._check_permissions(permissions)
        self._post(self._order(SET_PEER_PERMISSIONS, 0, permissions, kind, b""))

    def set_forward(self, prefix: bytes, link: int | None = None) -> None:
        """Let messages of servers and of this process whose subjects begin with a prefix go to a link, whoever is interested.

        Args:
            prefix: Longer ones go before; at most 256.
            link: To another server; what is sent to one that is gone is lost. None: here, as what follows the prefix.
        """
        if not _plain("a prefix", prefix):
            raise ValueError("a prefix has at least one byte")
        self._post(self._order(SET_FORWARD, link or 0, 1, 0, prefix))

    def remove_forward(self, prefix: bytes) -> None:
        """Match subjects with a prefix as all others again."""
        self._post(self._order(SET_FORWARD, 0, 0, 0, prefix))

    def repeat_interest(self, link: int) -> None:
        """Tell a server all interest that it may hear of once more, since it has announced that it lets in more."""
        self._post(self._order(REPEAT_INTEREST, link, 0, 0, b""))

    def send(self, link: int, data: bytes) -> None:
        """Send raw protocol lines."""
        self._post(self._order(SEND, link, 0, 0, data))

    def set_coding(self, link: int, coding: Coding) -> None:
        """Compress what a link is sent from now on, and read what it sends as S2; or only compress it in another way.

        Args:
            link: Parked: what it was told before goes out plain, what it sent behind its greeting is coded. One that is coded
                already changes with its next flush. Nothing happens to any other.
            coding: How its output is compressed; a stream of its own for each flush.
        """
        self._post(self._order(SET_CODING, link, Coding(coding), 0, b""))

    def load_deflate(self) -> bool:
        """See to it that links can have compressed WebSocket messages; False: this Python shows nothing of its zlib."""
        from framework.dataplane.zlib_functions import zlib_functions

        functions = zlib_functions()
        if functions is None:
            return False
        self._post(self._order(SET_DEFLATE, 0, 0, 0, functions))
        return True

    def close(self, link: int, reason: ClosedState, last_words: bytes = b"") -> None:
        """End a link; what waits for it and `last_words` are tried once more."""
        self._post(self._order(CLOSE, link, reason, 0, last_words))

    def add_account(self, name: bytes) -> int:
        """Return the index of an account; it is made when it is new."""
        if not _plain("an account's name", name):
            raise ValueError("an account needs a name")
        index = self.account_indexes.get(name)
        if index is not None and index not in self.removed_accounts:
            return index
        if index is None:
            index = self.account_indexes[name] = len(self.account_indexes)
        self.removed_accounts.discard(index)
        self._post(self._order(ADD_ACCOUNT, 0, 0, 0, name))
        return index

    def remove_account(self, account: int) -> None:
        """End all that is subscribed in an account; routes carry it no more. Its number stays its name's.

        Its clients are closed before. Adding it again brings it back, without what was subscribed.
        """
        if not 0 < account < len(self.account_indexes):
            raise ValueError(f"no account {account} that can be removed")
        self.removed_accounts.add(account)
        self._post(self._order(REMOVE_ACCOUNT, 0, account, 0, b""))

    def subscribe_sink(
        self, account: int, subject: bytes, queue: bytes | None = None, *, bytes_max: int = SINK_BYTES_MAX,
        overflow: Overflow = Overflow.DROP, kind: TapKind = TapKind.SUBSCRIBER, terms: WatchTerms = ALL_OF_IT, replaces: int = 0,
    ) -> int:
        """Subscribe within this process, or watch; messages come as `Delivered` events.

        Args:
            account: Index of the account.
            subject: Valid; may have wildcards.
            queue: Queue group; None: plain.
            bytes_max: Bytes of messages that may be held, in batches that were not let go of; at least 1.
            overflow: What happens to more; one that watches drops.
            kind: Which messages it gets, and whether it counts as interest.
            terms: What of them, for one that watches.
            replaces: Sink that ends in the same moment, as by `unsubscribe_sink`; 0: none does.

        Returns:
            The sink's number, for `unsubscribe_sink`.
        """
        if not 0 <= account < len(self.account_indexes) or bytes_max < 1:
            raise ValueError(f"no account {account}, or bytes_max {bytes_max} below 1")
        if not is_valid_subject(_plain("a subject", subject), len(subject)):
            raise ValueError(f"not a valid subject: {subject!r}")
        if kind != TapKind.SUBSCRIBER and (queue or overflow != Overflow.DROP):
            raise ValueError("who watches is in no queue group, and drops what it has no room for")
        if kind == TapKind.SUBSCRIBER and terms != ALL_OF_IT:
            raise ValueError("a subscriber gets all of its messages")
        cdef bytes group = _plain("a queue group", queue or b"")
        cdef Command* command = self._order(SUBSCRIBE_SINK, 0, account, replaces, subject + group)
        command.split = len(subject)
        command.flags = kind
        command.sink = <Sink*> calloc(1, sizeof(Sink))
        if command.sink == NULL:
            free(command)
            raise MemoryError
        self.next_sink += 1
        command.sink.id = self.next_sink
        command.sink.bytes_max = bytes_max
        command.sink.overflow = overflow
        command.sink.users = 1
        command.sink.no_headers = not terms.headers
        command.sink.no_reserved = not terms.reserved_subjects
        command.sink.payload_max = PAYLOAD_UNCUT if terms.payload_max is None else terms.payload_max
        command.sink.sample = 0 if terms.sample == 1 else max(1, int(terms.sample * 2**32))
        command.sink.random = <uint64_t> command.sink.id * <uint64_t> 0x9E3779B97F4A7C15
        self._post(command)
        return self.next_sink

    def unsubscribe_sink(self, sink: int) -> None:
        """End a sink; what it holds is still delivered."""
        self._post(self._order(UNSUBSCRIBE_SINK, 0, sink, 0, b""))

    def open_port(
        self, *, bytes_max: int = SINK_BYTES_MAX, overflow: Overflow = Overflow.REFUSE, said_bytes_max: int = SINK_BYTES_MAX,
    ) -> object:
        """Let a thread of its own subscribe and publish, by `Port`; until `Port.close`.

        Args:
            bytes_max: Bytes of messages that it may hold, in batches that were not released; at least 1.
            overflow: What happens to more.
            said_bytes_max: Bytes of messages that it has published and the plane has not taken; at least 1.
        """
        # Few servers have one, and it stands upon this class.
        from framework.dataplane.ports._porthandle import open_port
        if bytes_max < 1 or said_bytes_max < 1:
            raise ValueError(f"bytes_max {bytes_max} or said_bytes_max {said_bytes_max} below 1")
        self.next_sink += 1
        return open_port(self, self.next_sink, bytes_max, overflow, said_bytes_max)

    cdef int post_port(self, int verb, PortStruct* port) except -1:
        """Have the plane take a port in, or end it; the command is one of its users."""
        cdef Command* command = self._order(verb, 0, 0, 0, b"")
        command.port = port
        self._post(command)
        return 0

    def add_gate(
        self, account: int, subject: bytes, *, order: int = 0, is_open: bool = False, bytes_max: int = SINK_BYTES_MAX, limit_s: float = 1.0,
        port: object = None, tag: int = 0, replaces: int = 0,
    ) -> GateQueue:
        """Let what clients and leaf nodes publish wait for verdicts; return where to take it from, for `answer_gate`.

        Args:
            account: Index of the account.
            subject: Valid; may have wildcards. It is that behind mappings.
            order: Of several gates on a subject the lowest is the first; no two may have one order.
            is_open: What it does not decide on in time passes; else it is refused.
            bytes_max: Bytes that may wait; at least 1. Who publishes more is read no further.
            limit_s: Seconds from a message's arrival until there must be a verdict; above 0.
            port: A `Port` of this core, whose thread takes the batches, and decides on them; None: whoever takes them here does.
            tag: That a port's rows show; 64 bits with a sign.
            replaces: Gate that leaves in the same moment, as by `remove_gate`; 0: none does.
        """
        cdef GateTerms terms = _gate_terms(is_open, bytes_max, limit_s)
        if not 0 <= account < len(self.account_indexes):
            raise ValueError(f"no account {account}")
        if not is_valid_subject(_plain("a subject", subject), len(subject)):
            raise ValueError(f"not a valid subject: {subject!r}")
        cdef Command* command = self._order(ADD_GATE, 0, account, replaces, b"")
        self.next_sink += 1
        try:
            command.gate = gate_made(subject, self.next_sink, order, terms)
            queue = gate_queue(command.gate)
            if port is not None:
                _gate_by_port(command.gate, port.capsule(), tag)
        except BaseException:
            free(command)
            raise
        self._post(command)
        return queue

    def remove_gate(self, gate: int) -> None:
        """Take a gate away: nothing new comes to it, and when all that waits there is decided, its queue is closed."""
        self._post(self._order(REMOVE_GATE, 0, gate, 0, b""))

    def change_gate(self, gate: int, *, is_open: bool, bytes_max: int, limit_s: float) -> None:
        """Change the terms of a gate, as `add_gate` has them; what waits there keeps the time that it had."""
        cdef GateTerms terms = _gate_terms(is_open, bytes_max, limit_s)
        self._post(self._order(CHANGE_GATE, 0, gate, 0, (<char*> &terms)[: sizeof(GateTerms)]))

    def answer_gate(self, gate: int, batch: int, answer: bytes | None) -> None:
        """Decide on a batch; an answer that comes too late does nothing. Callable from any thread.

        Args:
            gate: `GateQueue.id`.
            batch: The number that `GateQueue.take` returned.
            answer: As of `encoded_verdicts`. None: there is none, since who was to decide has failed.
        """
        cdef Command* command = self._order(ANSWER_GATE, 0, gate, batch, answer or b"")
        command.flags = answer is None
        self._post(command)

    def add_quota(
        self, *, messages_per_s: float = 0.0, bytes_per_s: float = 0.0, burst_messages: float = 0.0, burst_bytes: float = 0.0,
        subject: bytes = b"", refuses: bool = False,
    ) -> int:
        """Return the number of a limit on what clients publish, for `give_quotas`; it stands until `drop_quota`.

        Args:
            messages_per_s: 0: no limit.
            bytes_per_s: Of header and payload; 0: no limit. A message that is larger than what is left passes, and is paid for later.
            burst_messages: That may come at once; at least 1.
            burst_bytes: That may come at once; at least 1.
            subject: As clients publish it, with wildcards; empty: all.
            refuses: What is over it is dropped, and the client told once a second; else the client is read no further for a while.
        """
        cdef QuotaTerms terms = _quota_terms(messages_per_s, bytes_per_s, burst_messages, burst_bytes, refuses)
        if subject and not is_valid_subject(_plain("a subject", subject), len(subject)):
            raise ValueError(f"not a valid subject: {subject!r}")
        cdef Quota* quota = <Quota*> calloc(1, sizeof(Quota) + len(subject))
        if quota == NULL:
            raise MemoryError
        memcpy(quota + 1, <const char*> subject, len(subject))
        quota.subject_length = <uint32_t> len(subject)
        quota.users = 1
        quota_set(quota, &terms)
        with self.permissions_lock:
            self.next_quota += 1
            self.quotas[self.next_quota] = <size_t> quota
            quota.next = self.first_quota
            if quota.next != NULL:
                quota.next.previous = quota
            self.first_quota = quota
            return self.next_quota

    def change_quota(
        self, quota: int, *, messages_per_s: float = 0.0, bytes_per_s: float = 0.0, burst_messages: float = 0.0, burst_bytes: float = 0.0,
        refuses: bool = False,
    ) -> None:
        """Change a limit for all who are under it; see `add_quota`. Its subject stays."""
        cdef QuotaTerms terms = _quota_terms(messages_per_s, bytes_per_s, burst_messages, burst_bytes, refuses)
        cdef size_t pointer
        cdef Command* command
        with self.permissions_lock:
            pointer = self.quotas[quota]
            command = self._order(CHANGE_QUOTA, 0, 0, 0, PyBytes_FromStringAndSize(<char*> &terms, sizeof(terms)))
            command.quota = <Quota*> pointer
            self._post(command)

    def drop_quota(self, quota: int) -> None:
        """Let go of what `add_quota` gave. Clients that are under it stay so until they are given others."""
        cdef size_t pointer
        cdef Quota* found
        cdef Command* command = self._order(DROP_QUOTA, 0, 0, 0, b"")
        with self.permissions_lock:
            pointer = self.quotas.pop(quota)
            found = command.quota = <Quota*> pointer
            if found.next != NULL:
                found.next.previous = found.previous
            if found.previous != NULL:
                found.previous.next = found.next
            else:
                self.first_quota = found.next
            self._post(command)

    def give_quotas(self, rows: Iterable[tuple[int, Sequence[int]]]) -> None:
        """Put clients under quotas, instead of those that they are under. Who waits for one asks again.

        Args:
            rows: (link, at most 8 numbers of quotas) each; a command takes 256 of them.
        """
        packed = array("Q")
        with self.permissions_lock:
            for at, (link, numbers) in enumerate(rows, 1):
                if len(numbers) > QUOTAS_MAX:
                    raise ValueError(f"{len(numbers)} quotas are more than {QUOTAS_MAX}")
                packed.extend((link, len(numbers), *(self.quotas[number] for number in numbers)))
                if at % QUOTA_ROWS == 0:
                    self._post(self._order(GIVE_QUOTAS, 0, 0, 0, packed.tobytes()))
                    del packed[:]
            if packed:
                self._post(self._order(GIVE_QUOTAS, 0, 0, 0, packed.tobytes()))

    def quota_counters(self, quota: int) -> tuple[int, int, int]:
        """Return messages that passed, times that a client had to wait, and messages that were refused; callable from any thread."""
        cdef size_t pointer = self.quotas[quota]
        cdef Quota* found = <Quota*> pointer
        return found.messages, found.waits, found.refused

    def publish(self, account: int, messages: Sequence[tuple[bytes, bytes, bytes, bytes]]) -> None:
        """Publish from this process. Cost: one command a call; some hundred messages a call are best.

        Args:
            account: Index of the account.
            messages: (subject, reply or empty, header block or empty, payload) each; a header block begins with `NATS/1.0`.

        Raises:
            ValueError: A subject is empty, or has blanks or control characters; a message has 1 GB or more.
        """
        if not 0 <= account < len(self.account_indexes):
            raise ValueError(f"no account {account}")
        lines = []
        for subject, reply, header, payload in messages:
            if not _plain("a subject", subject):
                raise ValueError("a message needs a subject")
            if len(header) + len(payload) >= MESSAGE_BYTES_END:
                raise ValueError(f"a message of {len(header) + len(payload)} bytes is too long")
            words = subject + b" " + _plain("a reply", reply) if reply else subject
            if header:
                lines.append(b"HPUB %b %d %d\r\n%b%b\r\n" % (words, len(header), len(header) + len(payload), header, payload))
            else:
                lines.append(b"PUB %b %d\r\n%b\r\n" % (words, len(payload), payload))
        if lines:
            self._post(self._order(PUBLISH, 0, account, 0, b"".join(lines)))

    def set_account_tables(self, account: int, tables: AccountTables) -> None:
        """Put mappings and imports of an account in force, in place of those before; its subscriptions follow.

        Raises:
            BadTransform: A subject, a transform or a weight makes no sense; nothing changes.
            ValueError: There is no such account.
        """
        if not 0 <= account < len(self.account_indexes):
            raise ValueError(f"no account {account}")
        cdef Tables* made = tables_made(tables, len(self.account_indexes))
        cdef Command* command
        try:
            command = self._order(SET_TABLES, 0, account, 0, b"")
        except MemoryError:
            tables_free(made)
            raise
        command.tables = made
        self._post(command)

    def set_names(self, server: bytes, cluster: bytes, node: bytes = b"") -> None:
        """Set the names of this server and its cluster: mappings of one cluster, and services that are told who asks, need it.

        Args:
            server: Its name.
            cluster: Empty: it is in none.
            node: Eight characters by which other servers address it; empty: they send it no remote latencies.

        Raises:
            ValueError: A name has blanks, or `node` another length.
        """
        cdef Command* command
        if len(node) not in {0, NODE_BYTES}:
            raise ValueError(f"node must have {NODE_BYTES} bytes, or none: {node!r}")
        command = self._order(SET_NAMES, 0, len(node), 0, _plain("a name", server) + _plain("a name", cluster) + _plain("node", node))
        command.split = len(server)
        self._post(command)

    def set_system_account(self, account: int | None) -> None:
        """Set the system account, as INFO tells clients; None: there is none.

        Raises:
            ValueError: There is no such account.
        """
        if account is not None and not 0 <= account < len(self.account_indexes):
            raise ValueError(f"no account {account}")
        self._post(self._order(SET_SYSTEM_ACCOUNT, 0, -1 if account is None else account, 0, b""))

    def set_client_info(self, link: int, brief: bytes, full: bytes) -> None:
        """Set the `Nats-Request-Info` of a client: JSON objects, to which the plane adds the round trip.

        Args:
            link: A client; before it is resumed, if the first request is to have it.
            brief: Its account: `{"acc":"A"}`.
            full: All that nats-server's `ClientInfo` has, for services that requests are shared with.
        """
        if not (brief.endswith(b"}") and full.endswith(b"}")):
            raise ValueError("what is known of a client are two JSON objects")
        cdef Command* command = self._order(SET_CLIENT_INFO, link, 0, 0, brief + full)
        command.split = len(brief)
        self._post(command)

    def open_listing(
        self, listing: int, *, links: bool = False, kinds: Sequence[LinkKind] | None = None, link: int | None = None,
        account: int | None = None, subject: bytes = b"", once: bool = False, offset: int = 0, limit: int | None = None,
    ) -> None:
        """Begin to list links or subscriptions; their rows come by `next_rows`.

        Args:
            listing: A number that no other listing has now, of the caller's choice.
            links: List links; otherwise what they subscribe to.
            kinds: Of links; None: all.
            link: This one alone; None: all.
            account: Only clients and subscriptions of the account with this number; None: of all.
            subject: Only subscriptions that can get the same message as this one; empty: all.
            once: At most one subscription of each link.
            offset: Rows that are left out at the beginning.
            limit: Rows at most; 0: they are only counted. None: all.
        """
        cdef ListingTerms terms
        memset(&terms, 0, sizeof(terms))
        terms.link = link or 0
        terms.account = -1 if account is None else account
        terms.offset = offset
        terms.limit = UINT64_MAX if limit is None else limit
        terms.links = bool(links)
        terms.once = bool(once)
        for kind in LinkKind.all() if kinds is None else kinds:
            terms.kinds |= 1 << <int> kind
        self._post(self._order(OPEN_LISTING, 0, listing, 0, PyBytes_FromStringAndSize(<char*> &terms, sizeof(terms)) + subject))

    def next_rows(self, token: int, listing: int) -> None:
        """Ask for the next slice of a listing: some hundred rows at most; answered by `Listed`."""
        self._post(self._order(NEXT_ROWS, 0, listing, token, b""))

    def close_listing(self, listing: int) -> None:
        """End a listing before its last slice."""
        self._post(self._order(CLOSE_LISTING, 0, listing, 0, b""))

    def set_limits(self, limits: PlaneLimits) -> None:
        """Change the limits; who is above a new one already stays."""
        cdef Limits made = limits_made(limits)
        self._post(self._order(SET_LIMITS, 0, 0, 0, PyBytes_FromStringAndSize(<char*> &made, sizeof(made))))

    def set_link_times(
        self, listener: int, *, ping_interval_s: float | None = None, ping_max: int | None = None,
        write_deadline_s: float | None = None, closes_slow: bool = False,
    ) -> None:
        """Change the times of links of a listener, of those as well that are there; None: as their kind's, or as the limits say.

        Args:
            listener: Number of the one that accepts them; a LinkKind: all of that kind whose listener has no such time of its own.
            ping_interval_s: Between PINGs; of links that are no clients' at most 30 s.
            ping_max: PINGs that may be without an answer.
            write_deadline_s: A link that takes no byte for so long ends.
            closes_slow: So does one that needs longer for what waited when the time began.

        Raises:
            ValueError: One of them is not above 0.
        """
        cdef Times times
        _check_listener(listener)
        _check_times(ping_interval_s, ping_max, write_deadline_s)
        times.ping_interval_ns = <int64_t> ((ping_interval_s or 0) * SECOND_NS)
        times.ping_max = ping_max or 0
        times.write_deadline_ns = <int64_t> ((write_deadline_s or 0) * SECOND_NS)
        times.closes_slow = bool(closes_slow)
        self._post(self._order(SET_LINK_TIMES, 0, listener, 0, PyBytes_FromStringAndSize(<char*> &times, sizeof(times))))

    def set_login_terms(self, listener: int, *, required: bool, lets_anybody_in: bool = False, timeout_s: float) -> None:
        """Change what links of a listener must do before anything else, in place of what the limits say.

        Args:
            listener: Number of the one that accepts them.
            required: They may do nothing before their CONNECT was accepted.
            lets_anybody_in: One that begins without CONNECT is asked about instead of refused.
            timeout_s: They have this long for it.

        Raises:
            ValueError: There can be no such listener, or the time is not above 0.
        """
        cdef LoginTerms terms
        _check_listener(listener)
        _check_times(timeout_s)
        terms.timeout_ns = <int64_t> (timeout_s * SECOND_NS)
        terms.is_own = True
        terms.required = required
        terms.lets_anybody_in = lets_anybody_in
        self._post(self._order(SET_LOGIN_TERMS, 0, listener, 0, PyBytes_FromStringAndSize(<char*> &terms, sizeof(terms))))

    def refuse_addresses(
        self, table: int, kinds: Sequence[LinkKind], *, add: Collection[bytes] = (), remove: Collection[bytes] = (),
    ) -> None:
        """Change a table of addresses that are refused at accept, before a byte is said; links that are there stay.

        What comes and what goes may take several turns, in that order.

        Args:
            table: From 0 on, below 16.
            kinds: Of listeners that refuse them.
            add: Ranges: 16 bytes of IPv6, IPv4 as ::ffff:0:0/96, then one byte: how many bits count; the others are zero.
            remove: The same; what is not there is passed over.

        Raises:
            ValueError: There can be no such table, or a range has another length.
        """
        cdef int64_t mask = 0
        if not 0 <= table < ADDRESS_TABLES_MAX or any(len(it) != RANGE_BYTES or it[-1] > 128 for it in (*add, *remove)):
            raise ValueError(f"there are {ADDRESS_TABLES_MAX} tables, and a range has {RANGE_BYTES} bytes")
        for kind in kinds:
            mask |= 1 << <int> kind
        rows = b"".join([it + b"\1" for it in add] + [it + b"\0" for it in remove])
        self._post(self._order(CHANGE_ADDRESSES, 0, table, mask, rows))

    def watch_interest(self, watch: bool) -> None:
        """Report local interest as `InterestChanged` from now on, or no more."""
        self._post(self._order(WATCH_INTEREST, 0, bool(watch), 0, b""))

    def trace(self, on: bool, *, headers_only: bool = False, internal: bool = False) -> None:
        """Report protocol lines and messages of all links as `Traced` from now on, or no more; at most 10,000 wait.

        Args:
            on: Report them.
            headers_only: Of messages report the headers alone.
            internal: Report what this process publishes, too.
        """
        cdef int64_t wanted = TRACE_HEADERS_ONLY * bool(headers_only) + TRACE_INTERNAL * bool(internal)
        self._post(self._order(SET_TRACE, 0, bool(on), wanted, b""))

    def set_nonces(self, kind: LinkKind, *, on: bool) -> None:
        """Give links of this kind that are accepted from now on a nonce to sign, in their INFO and in `Opened`, or no more."""
        self._post(self._order(SET_NONCES, 0, bool(on), kind, b""))

    def confirm(self, token: int) -> None:
        """Ask for `Confirmed`, which says that all commands before this one are in force."""
        self._post(self._order(CONFIRM, 0, token, 0, b""))

    # ---- answers

    def take_events(self) -> list[object]:
        """Return the events since the last call, in order."""
        cdef Record* record
        cdef Record* done
        cdef char drained[64]
        while self.event_fd >= 0 and read(self.event_fd, drained, sizeof(drained)) == sizeof(drained):
            pass
        pthread_mutex_lock(&self.lock)
        record = self.first_shared
        self.first_shared = self.last_shared = NULL
        pthread_mutex_unlock(&self.lock)
        events = []
        while record != NULL:
            if record.type == RECORD_TRACE:
                atomic_add(&self.state.traces_waiting, -1)
            if record.type != RECORD_DELIVERED:
                atomic_add(&self.state.records_waiting, -<int64_t> (sizeof(Record) + record.length))
            events.append(event_made(record))
            done = record
            record = record.next
            free(done)
        return events

    def totals(self) -> Totals:
        """Return the counters of all links together, as they stand."""
        cdef TotalsC totals = self.state.totals
        sums = [KindTotals(**totals.kinds[at]) for at in range(KINDS_MAX)]
        kinds = {kind: sums[kind] for kind in LinkKind.all() if kind in self.kinds or kind <= <int> LEAF}
        return Totals(
            kinds, sum(it.in_msgs for it in sums), sum(it.in_bytes for it in sums),
            sum(it.out_msgs for it in sums), sum(it.out_bytes for it in sums), totals.subscriptions, totals.dropped,
            totals.answers_dropped, totals.circles,
        )

    def refused_count(self, table: int) -> int:
        """Return how many connections a table of `refuse_addresses` has refused so far. Callable from any thread."""
        if not 0 <= table < ADDRESS_TABLES_MAX:
            raise ValueError(f"there are {ADDRESS_TABLES_MAX} tables")
        return self.state.address_tables[table].refused

    def account_traffic(self, account: int) -> AccountTraffic:
        """Return what passed through an account, as it stands. Callable from any thread."""
        cdef Account* at = self._account(account)
        cdef Traffic traffic
        if at == NULL:
            raise KeyError(account)
        traffic = at.traffic
        peers = {
            scope: PeerTraffic(**traffic.peers[scope - SCOPE_ROUTE]) for scope in (Scope.ROUTE, Scope.GATEWAY, Scope.LEAF)
        }
        return AccountTraffic(
            traffic.in_msgs, traffic.in_bytes, traffic.out_msgs, traffic.out_bytes, traffic.slow_consumers, peers
        )

    cdef Account* _account(self, size_t number) except? NULL:
        """Return an account by its number, for who has the GIL: the loop's own table may move. NULL: there is none yet."""
        cdef Account* at
        cdef Account** grown
        while self.seen_count <= number:
            if self.seen_count == 0:
                at = self.state.first_account
            else:
                at = <Account*> seen_pointer(<void**> &self.seen[self.seen_count - 1].next)
            if at == NULL:
                return NULL
            if self.seen_count == self.seen_room:
                grown = <Account**> realloc(self.seen, (self.seen_room * 2 + 16) * sizeof(Account*))
                if grown == NULL:
                    raise MemoryError
                self.seen = grown
                self.seen_room = self.seen_room * 2 + 16
            self.seen[self.seen_count] = at
            self.seen_count += 1
        return self.seen[number]

    def sublist_counters(self, account: int | None = None) -> SublistCounters:
        """Return the counters of the subject tables of one or all accounts, as they stand. Callable from any thread."""
        cdef Account* at = self.state.first_account if account is None else self._account(account)
        cdef SublistState* sublist
        cdef uint64_t count = 0, inserts = 0, removes = 0, hits = 0, misses = 0, cached = 0, fanout = 0, fanout_max = 0, apart = 0
        while at != NULL:
            sublist = &at.sublist
            count += sublist.count
            apart += at.apart
            inserts += sublist.inserts
            removes += sublist.removes
            hits += sublist.hits
            misses += sublist.misses
            cached += sublist.cache.count
            fanout += sublist.fanout
            fanout_max = max(fanout_max, sublist.fanout_max)
            if account is not None:
                break
            at = <Account*> seen_pointer(<void**> &at.next)
        return SublistCounters(count, inserts, removes, hits, misses, cached, fanout, fanout_max, apart)

    # ---- joined with others

    @staticmethod
    def join(cores: Sequence[Core], *, plant: int = 0) -> None:
        """Let cores be one server: what a client says to one of them, those of all hear.

        Each has its own links, and all have the same accounts, added in the same order, and the same tables.

        Args:
            cores: 2 to 32, none of which has had a link, each with a seed of its own; who turns them takes care that they live as long.
            plant: A mistake, for tests of tests: `Plant`.

        Raises:
            ValueError: They can't be joined.
        """
        cdef State* states[CORES_MAX]
        cdef Core core
        if not 2 <= len(cores) <= CORES_MAX or len({id(it) for it in cores}) != len(cores):
            raise ValueError(f"2 to {CORES_MAX} cores can be joined, each once")
        if len({(<Core> it).state.seed for it in cores}) != len(cores):
            raise ValueError("joined cores have seeds of their own: subjects for answers come from them")
        for at, core in enumerate(cores):
            if core.state.inner != NULL or core.state.next_cid:
                raise ValueError("a core that is joined already, or has had links, can't be joined")
            states[<int> at] = core.state
        if not cores_join(states, len(cores), plant):
            raise MemoryError

    def look(self, messages_max: int | None = None) -> None:
        """Begin a turn that another core may come between: see which messages of other cores are there. `turn` takes these.

        Args:
            messages_max: Of each core see no more new ones; None: all that are there.
        """
        if self.state.inner == NULL:
            raise ValueError("this core is not joined with others")
        inner_look(self.state, ALL_RECORDS if messages_max is None else messages_max)

    # ---- driving it without sockets

    def open(
        self, kind: LinkKind, host: str, port: int, *, accepted: bool, token: int = 0, listener: int | None = None,
        stages: Sequence[PlaneStage] = (),
    ) -> int:
        """Begin a link and return it; 0: it was accepted from an address that is refused.

        Args:
            listener: Number of the one that accepts it; None: its kind's own.
            stages: As `Plane.attach` takes them.

        Raises:
            ValueError: There is no row for the kind.
        """
        cdef Command* command
        cdef bint good
        cdef bint informed = accepted and not stages
        cdef bytes address
        if kind not in self.kinds:
            raise ValueError(f"there are no links of kind {kind!r} here")
        if accepted:
            address = packed_address(host)
            if is_address_refused(self.state, kind, address, host.encode(), port):
                return 0
        if listener is None:
            listener = kind
        cdef Link* link = link_open(self.state, kind, listener, accepted, informed, host.encode(), port, token)
        if link == NULL:
            raise MemoryError
        if stages:
            command = self._stages(0, 0, stages, b"")
            good = stages_add(self.state, link, command)
            free(command)
            if not good:
                raise MemoryError
            if accepted:
                link_info(self.state, link)
        return link.id

    def feed(self, link: int, data: bytes, now_ns: int) -> None:
        """Parse `data` that a link has sent; what comes after its end is ignored.

        A slice of work is done of what it sent last; the rest, and what goes out for it, comes with the turns that follow.
        """
        self.state.now_ns = now_ns
        if self.state.ports != NULL:
            ports_hear_interest(self.state)
        if self.state.inner != NULL:
            inner_received(self.state)
        self._parse_fed(link, data)
        if self.state.inner != NULL:
            inner_show(self.state)

    cdef object _parse_fed(self, uint64_t link, bytes data):
        cdef Link* to = link_of(self.state, link)
        cdef const char* at = data
        cdef size_t left = len(data)
        cdef size_t room, part
        cdef char* window
        while to != NULL and left:
            if to.coding != NULL:
                self._feed_coded(to, at, left)
                return
            if to.parked or to.held:
                self._feed_parked(to, at, left)
                return
            if to.ready:
                # It is not read before it has done what it has left.
                self._go_on()
                to = link_of(self.state, link)
                continue
            work_begin(self.state, WORK_A_SLICE)
            window = link_window(self.state, to, &room)
            if window == NULL:
                raise MemoryError
            part = min(left, room)
            memcpy(window, at, part)
            link_received(self.state, to, part)
            at += part
            left -= part
            to = link_of(self.state, link)

    cdef object _feed_parked(self, Link* link, const char* at, size_t count):
        """Keep what a socket would keep: a parked link is not read."""
        cdef bytes kept
        if link.big != NULL:
            raise ValueError("a link with so much that waits is not read")
        kept = link.left[: link.left_length] + at[:count]
        if len(kept) > READ_BLOCK_BYTES:
            raise ValueError("a parked link is not read: resume it first")
        free(link.left)
        link.left = <char*> malloc(len(kept))
        if link.left == NULL:
            raise MemoryError
        memcpy(link.left, <const char*> kept, len(kept))
        link.left_length = <uint32_t> len(kept)
        link.wire_in_bytes += count

    cdef object _feed_coded(self, Link* link, const char* at, size_t count):
        """Keep what a coded link sends, and handle as much of it as a turn may."""
        cdef bint waits = coding_waits(link) or link.tellings != NULL
        cdef size_t room, part
        cdef char* window
        while count:
            window = coded_window(self.state, link, &room)
            if window == NULL:
                raise MemoryError
            part = min(count, room)
            memcpy(window, at, part)
            coded_received(self.state, link, part)
            at += part
            count -= part
        if not waits:
            work_begin(self.state, WORK_A_SLICE)
            coded_go_on(self.state, link, READ_BLOCK_BYTES)

    def hang_up(self, link: int) -> None:
        """Let the peer have closed its end."""
        cdef Link* gone = link_of(self.state, link)
        while gone != NULL and gone.ready:
            self._go_on()
        if gone != NULL:
            link_hung_up(self.state, gone, 0)

    def turn(self, now_ns: int) -> None:
        """Apply what was posted, look at the clocks, go on with coded input, end what is doomed, hand over events."""
        self.begin_turn(now_ns)
        self._go_on()
        self.end_turn()

    cdef void _go_on(self) noexcept nogil:
        """Give each link that has something left to do a slice of work."""
        cdef Link* last = self.state.last_ready
        cdef Link* link = NULL
        while link != last:
            link = self.state.first_ready
            ready_leave(self.state, link)
            work_begin(self.state, WORK_A_SLICE)
            link_go_on(self.state, link)

    @property
    def work(self) -> int:
        """Units of work done so far: some 100 ns each, as `_work.pxd` counts them."""
        return self.state.work

    @property
    def is_busy(self) -> bool:
        """Whether another turn has something to do that needs no input: messages under way, lines that wait, commands, ends of links."""
        if self.state.inner != NULL and inner_is_busy(self.state):
            return True
        return self.first_taken != NULL or self.state.first_ready != NULL or self.state.doomed_count > 0 or self.state.late_at > 0

    def take_output(self, link: int) -> bytes:
        """Return and forget what waits to be sent on a link, coded if it is; of a link that has ended, its last words."""
        cdef uint32_t slot = <uint32_t> <uint64_t> link
        cdef Link* of
        cdef Segment* segment
        cdef Farewell** farewell = &self.state.farewells
        cdef Farewell* taken
        if slot >= self.state.slot_room or self.state.slots[slot] == NULL or self.state.slots[slot].id != <uint64_t> link:
            while farewell[0] != NULL and farewell[0].link != <uint64_t> link:
                farewell = &farewell[0].next
            taken = farewell[0]
            if taken == NULL:
                return b""
            farewell[0] = taken.next
            words = (<char*> (taken + 1))[: taken.length]
            free(taken)
            return words
        of = self.state.slots[slot]
        if not coding_flush(self.state, of):
            raise MemoryError
        parts = []
        segment = of.output_head
        while segment != NULL:
            parts.append(segment.chars[: segment.length])
            segment = segment.next
        output_sent(self.state, of, of.pending)
        return b"".join(parts)
