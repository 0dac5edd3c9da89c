"""The core of the plane: commands come in, bytes are fed, events and output come out. No socket, no clock, no thread.

Commands are posted by any thread and applied in order at the beginning of the next turn. Events gather during a turn and are handed over
at its end. A `Plane` turns the core in a loop thread of its own; tests and the simulator turn it themselves.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, strlen

from framework.dataplane._delivery cimport (
    interest_send, link_doom, link_say, record_chars, record_new, subscription_drop,
)
from framework.dataplane._interest cimport is_valid_subject, subscription_add
from framework.dataplane._links cimport (
    account_new, link_hung_up, link_info, link_of, link_open, link_received, link_register, link_row, link_window, links_bury,
    links_tick, links_unpause, state_free, state_new, state_sweep,
)
from framework.dataplane._output cimport block_chars, output_append, output_sent
from framework.dataplane._parser cimport parse
from framework.dataplane._sinkbatch cimport atomic_add, batch_free, batch_made, sink_flush, sink_release
from framework.dataplane._state cimport (
    CLIENT, RECORD_CLOSED, RECORD_DELIVERED, RECORD_ERR, RECORD_GREETING, RECORD_INTEREST, RECORD_LINKS, RECORD_OPENED, RECORD_PONG,
    READ_BLOCK_BYTES, RECORD_SUBSCRIPTIONS, RECORD_TRACE, ROUTE, Account, ClosedStateC, Command, Farewell, Limits, Link, LinkKindC, Record, Row, Segment, Sink, State,
    Subscription, Totals as TotalsC,
)
from framework.sublist._bytes cimport COPY_SLACK, write_decimal

import os
from collections.abc import Sequence

from framework.dataplane.event import (
    Closed, Delivered, ErrReceived, Greeting, InterestChanged, LinksAnswered, Opened, PongReceived, SubscriptionsAnswered, Traced,
)
from framework.dataplane.limits import PlaneLimits
from framework.dataplane.link import LinkKind, LinkRow, SubscriptionRow
from framework.dataplane.sink import Overflow
from framework.dataplane.totals import Totals
from framework.wire.closed_state import ClosedState

cdef extern from "unistd.h" nogil:
    ssize_t read(int fd, void* into, size_t count)
    ssize_t write(int fd, const void* source, size_t count)

cdef enum Verb:
    SET_INFO = 1
    ANNOUNCE_INFO
    RESUME_CLIENT
    RESUME
    REGISTER_ROUTE
    SEND
    CLOSE
    ADD_ACCOUNT
    SUBSCRIBE_SINK
    UNSUBSCRIBE_SINK
    PUBLISH
    ASK_LINKS
    ASK_SUBSCRIPTIONS
    SET_LIMITS
    WATCH_INTEREST
    TRACE

cdef enum:
    FLAG_VERBOSE = 1
    FLAG_PEDANTIC = 2
    FLAG_ECHO = 4
    FLAG_HEADERS = 8
    FLAG_NO_RESPONDERS = 16
    FLAG_ACCOUNT_OMITTED = 32
    SECOND_NS = 1000000000
    SINK_BYTES_MAX = 16777216

KINDS = tuple(LinkKind)
REASONS = {int(reason): reason for reason in ClosedState}


cdef struct SubscriptionRecord:
    # Head of one row in the answer to ask_subscriptions; subject, queue and sid follow.
    uint64_t link
    int64_t msgs
    int64_t max_msgs
    uint32_t account
    uint32_t weight
    uint32_t subject_length
    uint32_t queue_length
    uint32_t sid_length


cdef char* command_chars(Command* command) noexcept nogil:
    return <char*> (command + 1)


cdef Limits limits_made(limits: PlaneLimits):
    cdef Limits made
    made.max_payload = limits.max_payload
    made.max_control_line = limits.max_control_line
    made.max_pending = limits.max_pending
    made.max_connections = limits.max_connections
    made.max_subscriptions = limits.max_subscriptions
    made.ping_interval_ns = <int64_t> (limits.ping_interval_s * SECOND_NS)
    made.ping_max = limits.ping_max
    made.write_deadline_ns = <int64_t> (limits.write_deadline_s * SECOND_NS)
    made.auth_timeout_ns = <int64_t> (limits.auth_timeout_s * SECOND_NS)
    made.auth_required = limits.auth_required
    return made


# ---- carrying out commands ---------------------------------------------------------------------------------------------


cdef void _set_info(State* state, Command* command) noexcept nogil:
    cdef char* document = <char*> malloc(command.length + 1)
    if document == NULL:
        return
    memcpy(document, command_chars(command), command.length)
    free(state.info[command.number])
    state.info[command.number] = document
    state.info_length[command.number] = command.length


cdef void _announce_info(State* state) noexcept nogil:
    cdef uint32_t at
    for at in range(state.link_count):
        if state.links[at].kind == CLIENT and state.links[at].registered and state.links[at].protocol >= 1 and not state.links[at].doomed:
            link_info(state, state.links[at])


cdef void _resume(State* state, Link* link) noexcept nogil:
    """Go on with what the link had sent behind its greeting."""
    cdef size_t room
    link.parked = 0
    link.greeted = 1
    if link_window(state, link, &room) == NULL:
        return
    link_received(state, link, 0)
    if not link.parked and not link.doomed and state.shell.watch != NULL:
        state.shell.watch(state.shell.self, link)


cdef void _resume_client(State* state, Link* link, Command* command) noexcept nogil:
    link.verbose = command.flags & FLAG_VERBOSE != 0
    link.pedantic = command.flags & FLAG_PEDANTIC != 0
    link.echo = command.flags & FLAG_ECHO != 0
    link.headers = command.flags & FLAG_HEADERS != 0
    link.no_responders = command.flags & FLAG_NO_RESPONDERS != 0
    link.protocol = <int> command.other
    link.account = state.accounts[command.number]
    if link.memo != NULL:
        link.memo.line_length = 0
    link_register(state, link)
    if link.verbose:
        link_say(state, link, b"+OK\r\n")
    _resume(state, link)


cdef void _join_account(Account* account, Link* link) noexcept nogil:
    cdef Link** grown
    cdef uint32_t room
    if account.route_count == account.route_room:
        room = account.route_room * 2 + 4
        grown = <Link**> realloc_links(account.routes, room)
        if grown == NULL:
            return
        account.routes = grown
        account.route_room = room
    account.routes[account.route_count] = link
    account.route_count += 1


cdef extern from "stdlib.h" nogil:
    void* realloc(void* memory, size_t count)


cdef void* realloc_links(Link** links, uint32_t room) noexcept nogil:
    return realloc(links, room * sizeof(Link*))


cdef void _register_route(State* state, Link* link, Command* command) noexcept nogil:
    cdef uint32_t* accounts = <uint32_t*> command_chars(command)
    cdef size_t at
    if link.registered:
        return
    link.headers = command.flags & FLAG_HEADERS != 0
    link.account_omitted = command.flags & FLAG_ACCOUNT_OMITTED != 0
    link.verbose = link.pedantic = 0
    link_register(state, link)
    link.ping_due_ns = state.now_ns + SECOND_NS
    for at in range(command.length // sizeof(uint32_t)):
        if accounts[at] < state.account_count:
            link.account = state.accounts[accounts[at]]
            _join_account(link.account, link)
            interest_send(state, link.account, link)
    _resume(state, link)


cdef void _subscribe_sink(State* state, Command* command) noexcept nogil:
    cdef Sink* sink = command.sink
    cdef char* subject = command_chars(command)
    sink.account = state.accounts[command.number]
    sink.subscription = subscription_add(
        state, NULL, sink.account, NULL, 0, subject, command.split, subject + command.split, command.length - command.split, 1
    )
    if sink.subscription == NULL:
        sink_release(sink)
        return
    sink.subscription.sink = sink
    sink.next = state.sinks
    state.sinks = sink


cdef void _unsubscribe_sink(State* state, int64_t id) noexcept nogil:
    cdef Sink** at = &state.sinks
    cdef Sink* sink
    cdef Sink** filled = &state.filled
    while at[0] != NULL and at[0].id != id:
        at = &at[0].next
    sink = at[0]
    if sink == NULL:
        return
    at[0] = sink.next
    subscription_drop(state, sink.subscription)
    sink_flush(state, sink)
    while filled[0] != NULL:
        if filled[0] == sink:
            filled[0] = sink.next_filled
            break
        filled = &filled[0].next_filled
    sink_release(sink)


cdef void _publish(State* state, Command* command) noexcept nogil:
    cdef size_t need = 0
    cdef char* chars = command_chars(command)
    if state.system.account != state.accounts[command.number]:
        state.system.account = state.accounts[command.number]
        if state.system.memo != NULL:
            state.system.memo.line_length = 0
    parse(state, state.system, chars, chars + command.length, NULL, &need)


cdef void _answer_links(State* state, Command* command) noexcept nogil:
    cdef uint32_t at, count = 0
    cdef Record* record
    cdef Row* rows
    record = record_new(state, RECORD_LINKS, NULL, state.link_count * sizeof(Row))
    if record == NULL:
        return
    rows = <Row*> record_chars(record)
    for at in range(state.link_count):
        if command.other < 0 or state.links[at].kind == command.other:
            link_row(state.links[at], &rows[count])
            count += 1
    record.number = command.number
    record.length = count * sizeof(Row)


cdef size_t _subscription_size(Subscription* subscription) noexcept nogil:
    return (
        sizeof(SubscriptionRecord) + subscription.interest.subject_length + subscription.interest.queue_length + subscription.sid_length
    )


cdef char* _put_subscription(char* at, Subscription* subscription) noexcept nogil:
    cdef SubscriptionRecord head
    head.link = subscription.link.id
    head.msgs = subscription.msgs
    head.max_msgs = subscription.max_msgs
    head.account = subscription.account.index
    head.weight = subscription.interest.weight
    head.subject_length = subscription.interest.subject_length
    head.queue_length = subscription.interest.queue_length
    head.sid_length = subscription.sid_length
    memcpy(at, &head, sizeof(head))
    at += sizeof(head)
    memcpy(at, subscription.interest.subject, head.subject_length)
    at += head.subject_length
    memcpy(at, subscription.interest.queue, head.queue_length)
    at += head.queue_length
    memcpy(at, subscription.sid, head.sid_length)
    return at + head.sid_length


cdef void _answer_subscriptions(State* state, Command* command) noexcept nogil:
    cdef size_t total = 0
    cdef uint32_t at
    cdef Subscription* subscription
    cdef Record* record
    cdef char* chars = NULL
    cdef int stage
    for stage in range(2):
        if stage == 1:
            record = record_new(state, RECORD_SUBSCRIPTIONS, NULL, total)
            if record == NULL:
                return
            record.number = command.number
            chars = record_chars(record)
        for at in range(state.link_count):
            if command.link and state.links[at].id != command.link:
                continue
            subscription = state.links[at].subscriptions
            while subscription != NULL:
                if stage == 0:
                    total += _subscription_size(subscription)
                else:
                    chars = _put_subscription(chars, subscription)
                subscription = subscription.next


cdef void _forget_lines(State* state) noexcept nogil:
    """Look at every line again: a remembered one was checked against what was in force before."""
    cdef uint32_t at
    for at in range(state.link_count):
        if state.links[at].memo != NULL:
            state.links[at].memo.line_length = 0


cdef void _set_limits(State* state, Command* command) noexcept nogil:
    memcpy(&state.limits, command_chars(command), sizeof(Limits))
    _forget_lines(state)


# ---- events for Python -------------------------------------------------------------------------------------------------


cdef bytes _text(Record* record):
    return PyBytes_FromStringAndSize(record_chars(record), record.length)


cdef object _row_made(Row* row):
    return LinkRow(
        row.link, KINDS[row.kind], row.cid, row.host.decode(), row.port, row.opened_ns, row.received_ns, row.rtt_ns, row.pending,
        row.in_msgs, row.in_bytes, row.out_msgs, row.out_bytes, row.subscriptions, row.stalls,
    )


cdef object _subscriptions_made(Record* record):
    cdef SubscriptionRecord head
    cdef const char* at = record_chars(record)
    cdef const char* end = at + record.length
    rows = []
    while at < end:
        memcpy(&head, at, sizeof(head))
        at += sizeof(head)
        subject = at[: head.subject_length]
        at += head.subject_length
        queue = at[: head.queue_length]
        at += head.queue_length
        rows.append(SubscriptionRow(
            head.link, head.account, subject, queue, at[: head.sid_length], head.msgs, head.max_msgs, head.weight
        ))
        at += head.sid_length
    return SubscriptionsAnswered(record.number, tuple(rows))


cdef object _event_made(Record* record):
    cdef Row* rows
    cdef size_t at
    cdef bytes text
    if record.type == RECORD_OPENED:
        return Opened(
            record.link, KINDS[record.kind], record.row.cid, record.row.host.decode(), record.row.port, record.number,
            record.row.opened_ns,
        )
    if record.type == RECORD_GREETING:
        return Greeting(
            record.link, KINDS[record.kind], "INFO" if record.number else "CONNECT", _text(record), record.flag != 0
        )
    if record.type == RECORD_CLOSED:
        return Closed(
            record.link, KINDS[record.kind], REASONS[record.number], _text(record).decode("ascii", "replace"), _row_made(&record.row),
            record.other,
        )
    if record.type == RECORD_DELIVERED:
        batch = batch_made(record.batch)
        record.batch = NULL
        return Delivered(record.number, batch)
    if record.type == RECORD_TRACE:
        return Traced(record.link, KINDS[record.kind], record.flag != 0, _text(record))
    if record.type == RECORD_ERR:
        return ErrReceived(record.link, KINDS[record.kind], _text(record))
    if record.type == RECORD_PONG:
        return PongReceived(record.link, KINDS[record.kind], record.number)
    if record.type == RECORD_INTEREST:
        text = _text(record)
        return InterestChanged(record.number, text[: record.link], text[record.link + 1 :], record.other)
    if record.type == RECORD_LINKS:
        rows = <Row*> record_chars(record)
        return LinksAnswered(record.number, tuple([_row_made(&rows[at]) for at in range(record.length // sizeof(Row))]))
    return _subscriptions_made(record)


# ---- the class ---------------------------------------------------------------------------------------------------------


cdef bytes _plain(what, value):
    """Check a word that goes into a protocol line."""
    if not isinstance(value, bytes) or any(byte <= 32 or byte == 127 for byte in value):
        raise ValueError(f"{what} must be bytes without blanks and control characters: {value!r}")
    return value


cdef class Core:
    """The plane without sockets: fed with bytes and a clock, it returns output and events.

    Methods above `take_events` may be called from any thread; what drives it (`open`, `feed`, `turn`, `hang_up`, `take_output`) from one.

    Args:
        limits: What peers may do.
        seed: Fixes hashing and the choice of queue members, so that one seed gives one run; 64 bits. None: from the system.
    """

    def __cinit__(self, limits: PlaneLimits, *, seed: int | None = None, **_: object) -> None:
        cdef Limits made = limits_made(limits)
        if seed is None:
            seed = int.from_bytes(os.urandom(8), "little")
        pthread_mutex_init(&self.lock, NULL)
        self.wake_fd = self.event_write_fd = self.event_fd = -1
        self.account_names = [b"$G"]
        self.next_sink = 0
        self.state = state_new(&made, seed)
        if self.state == NULL:
            raise MemoryError

    def __dealloc__(self) -> None:
        cdef Command* command
        cdef Record* record
        while self.first_command != NULL:
            command = self.first_command
            self.first_command = command.next
            if command.sink != NULL:
                sink_release(command.sink)
            free(command)
        while self.first_shared != NULL:
            record = self.first_shared
            self.first_shared = record.next
            if record.batch != NULL:
                batch_free(record.batch)
            free(record)
        if self.state != NULL:
            state_free(self.state)
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
        cdef bint first
        pthread_mutex_lock(&self.lock)
        first = self.first_command == NULL
        if first:
            self.first_command = command
        else:
            self.last_command.next = command
        self.last_command = command
        pthread_mutex_unlock(&self.lock)
        if first and self.wake_fd >= 0:
            write(self.wake_fd, b"c", 1)

    cdef void begin_turn(self, int64_t now_ns) noexcept nogil:
        """Apply what was posted, then look at the clocks."""
        cdef Command* command
        cdef Command* done
        self.state.now_ns = now_ns
        pthread_mutex_lock(&self.lock)
        command = self.first_command
        self.first_command = self.last_command = NULL
        pthread_mutex_unlock(&self.lock)
        while command != NULL:
            if command.verb >= SHELL_VERBS:
                self.apply_shell(command)
            else:
                self._apply(command)
            done = command
            command = command.next
            free(done)
        links_unpause(self.state)
        links_tick(self.state)

    cdef void end_turn(self) noexcept nogil:
        """Bury what ended, and hand the events over."""
        cdef bint first
        links_bury(self.state)
        state_sweep(self.state)
        if self.state.first_record == NULL:
            return
        pthread_mutex_lock(&self.lock)
        first = self.first_shared == NULL
        if first:
            self.first_shared = self.state.first_record
        else:
            self.last_shared.next = self.state.first_record
        self.last_shared = self.state.last_record
        pthread_mutex_unlock(&self.lock)
        self.state.first_record = self.state.last_record = NULL
        if first and self.event_write_fd >= 0:
            write(self.event_write_fd, b"e", 1)

    cdef void apply_shell(self, Command* command) noexcept nogil:
        """Apply what only a plane with sockets has."""

    cdef void _apply(self, Command* command) noexcept nogil:
        cdef State* state = self.state
        cdef Link* link
        if command.verb == SET_INFO:
            _set_info(state, command)
        elif command.verb == ANNOUNCE_INFO:
            _announce_info(state)
        elif command.verb == ADD_ACCOUNT:
            account_new(state, command_chars(command), command.length)
        elif command.verb == SUBSCRIBE_SINK:
            _subscribe_sink(state, command)
        elif command.verb == UNSUBSCRIBE_SINK:
            _unsubscribe_sink(state, command.number)
        elif command.verb == PUBLISH:
            _publish(state, command)
        elif command.verb == ASK_LINKS:
            _answer_links(state, command)
        elif command.verb == ASK_SUBSCRIPTIONS:
            _answer_subscriptions(state, command)
        elif command.verb == SET_LIMITS:
            _set_limits(state, command)
        elif command.verb == WATCH_INTEREST:
            state.watch_interest = command.number != 0
        elif command.verb == TRACE:
            state.trace = command.number != 0
            _forget_lines(state)
        else:
            link = link_of(state, command.link)
            if link == NULL:
                return
            if command.verb == RESUME_CLIENT:
                _resume_client(state, link, command)
            elif command.verb == RESUME:
                _resume(state, link)
            elif command.verb == REGISTER_ROUTE:
                _register_route(state, link, command)
            elif command.verb == SEND:
                output_append(state, link, command_chars(command), command.length)
            elif command.verb == CLOSE:
                output_append(state, link, command_chars(command), command.length)
                link_doom(state, link, <ClosedStateC> command.number, True, NULL)

    # ---- commands

    def set_info(self, kind: LinkKind, document: bytes, *, announce: bool = False) -> None:
        """Set the JSON object that links of this kind are greeted with.

        Args:
            kind: Which links.
            document: Ends with its closing brace. A client's is sent with `client_id` and `client_ip` added.
            announce: Send it to every client that has logged in with protocol 1 as well.
        """
        if not document.endswith(b"}"):
            raise ValueError("an INFO document ends with its closing brace")
        self._post(self._order(SET_INFO, 0, kind, 0, document))
        if announce:
            self._post(self._order(ANNOUNCE_INFO, 0, 0, 0, b""))

    def resume_client(
        self, link: int, *, account: int = 0, verbose: bool, pedantic: bool, echo: bool, headers: bool, no_responders: bool,
        protocol: int,
    ) -> None:
        """Accept a client's CONNECT: it may act in `account` from now on."""
        if not 0 <= account < len(self.account_names):
            raise ValueError(f"no account {account}")
        cdef Command* command = self._order(RESUME_CLIENT, link, account, 1 if protocol else 0, b"")
        command.flags = (
            FLAG_VERBOSE * bool(verbose) + FLAG_PEDANTIC * bool(pedantic) + FLAG_ECHO * bool(echo) + FLAG_HEADERS * bool(headers)
            + FLAG_NO_RESPONDERS * bool(no_responders)
        )
        self._post(command)

    def resume(self, link: int) -> None:
        """Let a parked link go on without registering it: an accepted route whose CONNECT was good."""
        self._post(self._order(RESUME, link, 0, 0, b""))

    def register_route(
        self, link: int, *, accounts: Sequence[int] = (0,), headers: bool = True, account_omitted: bool = False
    ) -> None:
        """Finish a route's handshake: all local interest of its accounts is sent, then messages and interest flow.

        Args:
            link: A route that is not registered yet; nothing happens otherwise.
            accounts: Indexes of the accounts that this connection carries.
            headers: The peer takes messages with headers.
            account_omitted: The connection carries one account, whose name is left out of its lines.
        """
        cdef Command* command = self._order(
            REGISTER_ROUTE, link, 0, 0, b"".join(int(account).to_bytes(4, "little") for account in accounts)
        )
        command.flags = FLAG_HEADERS * bool(headers) + FLAG_ACCOUNT_OMITTED * bool(account_omitted)
        self._post(command)

    def send(self, link: int, data: bytes) -> None:
        """Send raw protocol lines."""
        self._post(self._order(SEND, link, 0, 0, data))

    def close(self, link: int, reason: ClosedState, last_words: bytes = b"") -> None:
        """End a link; what waits for it and `last_words` are tried once more."""
        self._post(self._order(CLOSE, link, reason, 0, last_words))

    def add_account(self, name: bytes) -> int:
        """Return the index of an account; it is made when it is new."""
        if _plain("an account's name", name) in self.account_names:
            return self.account_names.index(name)
        self.account_names.append(name)
        self._post(self._order(ADD_ACCOUNT, 0, 0, 0, name))
        return len(self.account_names) - 1

    def subscribe_sink(
        self, account: int, subject: bytes, queue: bytes | None = None, *, bytes_max: int = SINK_BYTES_MAX,
        overflow: Overflow = Overflow.DROP,
    ) -> int:
        """Subscribe within this process; messages come as `Delivered` events.

        Args:
            account: Index of the account.
            subject: Valid; may have wildcards.
            queue: Queue group; None: plain.
            bytes_max: Bytes of messages that may be held, in batches that were not let go of; at least 1.
            overflow: What happens to more.

        Returns:
            The sink's number, for `unsubscribe_sink`.
        """
        if not 0 <= account < len(self.account_names) or bytes_max < 1:
            raise ValueError(f"no account {account}, or bytes_max {bytes_max} below 1")
        if not is_valid_subject(_plain("a subject", subject), len(subject)):
            raise ValueError(f"not a valid subject: {subject!r}")
        cdef bytes group = _plain("a queue group", queue or b"")
        cdef Command* command = self._order(SUBSCRIBE_SINK, 0, account, 0, subject + group)
        command.split = len(subject)
        command.sink = <Sink*> calloc(1, sizeof(Sink))
        if command.sink == NULL:
            free(command)
            raise MemoryError
        self.next_sink += 1
        command.sink.id = self.next_sink
        command.sink.bytes_max = bytes_max
        command.sink.overflow = overflow
        command.sink.users = 1
        self._post(command)
        return self.next_sink

    def unsubscribe_sink(self, sink: int) -> None:
        """End a sink; what it holds is still delivered."""
        self._post(self._order(UNSUBSCRIBE_SINK, 0, sink, 0, b""))

    def publish(self, account: int, messages: Sequence[tuple[bytes, bytes, bytes, bytes]]) -> None:
        """Publish from this process. Cost: one command a call; some hundred messages a call are best.

        Args:
            account: Index of the account.
            messages: (subject, reply or empty, header block or empty, payload) each; a header block begins with `NATS/1.0`.

        Raises:
            ValueError: A subject is empty, or has blanks or control characters.
        """
        if not 0 <= account < len(self.account_names):
            raise ValueError(f"no account {account}")
        lines = []
        for subject, reply, header, payload in messages:
            if not _plain("a subject", subject):
                raise ValueError("a message needs a subject")
            words = subject + b" " + _plain("a reply", reply) if reply else subject
            if header:
                lines.append(b"HPUB %b %d %d\r\n%b%b\r\n" % (words, len(header), len(header) + len(payload), header, payload))
            else:
                lines.append(b"PUB %b %d\r\n%b\r\n" % (words, len(payload), payload))
        if lines:
            self._post(self._order(PUBLISH, 0, account, 0, b"".join(lines)))

    def ask_links(self, token: int, kind: LinkKind | None = None) -> None:
        """Ask for the state of all links of a kind; answered by `LinksAnswered`."""
        self._post(self._order(ASK_LINKS, 0, token, -1 if kind is None else kind, b""))

    def ask_subscriptions(self, token: int, link: int | None = None) -> None:
        """Ask for the subscriptions of one link, or of all; answered by `SubscriptionsAnswered`."""
        self._post(self._order(ASK_SUBSCRIPTIONS, link or 0, token, 0, b""))

    def set_limits(self, limits: PlaneLimits) -> None:
        """Change the limits; who is above a new one already stays."""
        cdef Limits made = limits_made(limits)
        self._post(self._order(SET_LIMITS, 0, 0, 0, PyBytes_FromStringAndSize(<char*> &made, sizeof(made))))

    def watch_interest(self, watch: bool) -> None:
        """Report local interest as `InterestChanged` from now on, or no more."""
        self._post(self._order(WATCH_INTEREST, 0, bool(watch), 0, b""))

    def trace(self, on: bool) -> None:
        """Report the protocol lines of all links as `Traced` from now on, or no more; at most 10,000 wait."""
        self._post(self._order(TRACE, 0, bool(on), 0, b""))

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
            events.append(_event_made(record))
            done = record
            record = record.next
            free(done)
        return events

    def totals(self) -> Totals:
        """Return the counters of all links together, as they stand."""
        cdef TotalsC totals = self.state.totals
        return Totals(**totals)

    # ---- driving it without sockets

    def open(self, kind: LinkKind, host: str, port: int, *, accepted: bool, token: int = 0) -> int:
        """Begin a link and return it."""
        cdef Link* link = link_open(self.state, kind, accepted, host.encode(), port, token)
        if link == NULL:
            raise MemoryError
        return link.id

    def feed(self, link: int, data: bytes, now_ns: int) -> None:
        """Let a link have sent `data`; what comes after its end is ignored."""
        cdef Link* to = link_of(self.state, link)
        cdef const char* at = data
        cdef size_t left = len(data)
        cdef size_t room, part
        cdef char* window
        self.state.now_ns = now_ns
        while to != NULL and left:
            if to.parked:
                self._feed_parked(to, at, left)
                return
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
        cdef bytes kept = link.left[: link.left_length] + at[:count]
        if len(kept) > READ_BLOCK_BYTES:
            raise ValueError("a parked link is not read: resume it first")
        free(link.left)
        link.left = <char*> malloc(len(kept))
        if link.left == NULL:
            raise MemoryError
        memcpy(link.left, <const char*> kept, len(kept))
        link.left_length = <uint32_t> len(kept)

    def hang_up(self, link: int) -> None:
        """Let the peer have closed its end."""
        cdef Link* gone = link_of(self.state, link)
        if gone != NULL:
            link_hung_up(self.state, gone, 0)

    def turn(self, now_ns: int) -> None:
        """Apply what was posted, look at the clocks, end what is doomed, hand over events."""
        self.begin_turn(now_ns)
        self.end_turn()

    def take_output(self, link: int) -> bytes:
        """Return and forget what waits to be sent on a link; of a link that has ended, its last words."""
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
        parts = []
        segment = of.output_head
        while segment != NULL:
            parts.append(segment.chars[: segment.length])
            segment = segment.next
        output_sent(self.state, of, of.pending)
        return b"".join(parts)
