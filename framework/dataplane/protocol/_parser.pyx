"""Parse protocol lines, and carry out what they say at once.

    all:     CONNECT {json}   INFO {json}   PING   PONG   +OK   -ERR text
    client:  PUB subject [reply] #bytes CRLF payload CRLF
             HPUB subject [reply] #header #total CRLF header payload CRLF
             SUB subject [queue] sid          UNSUB sid [max]
    route:   RS+ account subject [queue weight]          RS- account subject [queue]          A+ A- (ignored)
             RMSG account subject [reply | + reply queue... | | queue...] #bytes CRLF payload CRLF
             HMSG account subject [...] #header #total CRLF header payload CRLF
             LS+ LS- origin ..., LMSG origin ... #header #total, of a leaf node's cluster: as RS+ RS- HMSG
    gateway: as a route, and A+ account, A- account
    leaf:    LS+ LS- LMSG HMSG, as RS+ RS- RMSG HMSG without the account

The verbs of a dialect are rows of a table (`dialects.py`), which say the operation; `_take` has the functions that take operations.
Verbs are told by any case; words are parted by blanks and tabs; a line ends with LF, with or without CR. A line that is not complete is
not looked at but for its length and whether a verb can begin so. Source: nats-server `parser.go`, `parse`; `client.go`; `route.go`.

Size: one grammar; all dialects share the words, the payloads, the answers and the order of checks.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, realloc
from libc.string cimport memchr, memcmp, memcpy

from framework.dataplane.accounts._accounts cimport account_foreign, account_named, account_spare
from framework.dataplane.links._clocks cimport link_answered, login_terms
from framework.dataplane.delivery._delivery cimport (
    deliver, deliver_matched, link_doom, link_fills, link_say, link_way, record_chars, record_new, subscription_drop,
    trace, trace_body, traffic_of,
)
from framework.dataplane.accounts._interest cimport interest_weigh, is_literal_subject, is_valid_subject, subscription_add
from framework.dataplane.accounts._mappings cimport is_mapped, mapping_apply
from framework.dataplane.delivery._forwards cimport is_forwarded
from framework.dataplane.delivery._message_trace cimport (
    FAULT_PUBLISH, FAULT_REPLY, TRACE_SKIPPED, step_mapped, tracing_begin, tracing_end, tracing_refused,
)
from framework.dataplane.delivery._entrance cimport message_enter, message_watched
from framework.dataplane.delivery._gates cimport (
    gate_enter, gate_has_room, gate_holds, gate_lets_bring, gate_lets_in, gate_of, gate_take, is_gated,
)
from framework.dataplane.delivery._quotas cimport (
    QUOTA_LETS, QUOTA_REFUSES, QuotaAnswer, quotas_ask, quotas_charge, quotas_room,
)
from framework.dataplane.delivery._ways cimport address_hide, is_way
from framework.dataplane.delivery._watches cimport (
    WATCHED_BY_GATES, is_heard_unheard, unheard_copy, watch_match, watched_by, watchers_copy_run, watches_of,
)
from framework.dataplane.links._output cimport output_commit, output_reserve
from framework.dataplane.accounts._origins cimport origin_number
from framework.dataplane.accounts._permissions cimport (
    ALLOWED, FORBIDDEN, Allowed, is_allowed_to_publish, may_bring, may_export, may_hear, may_publish, may_send, may_subscribe, needs_filter,
)
from framework.dataplane.accounts._remote_latency cimport is_tracked_reply, remote_latency_begin
from framework.dataplane.accounts._assumed cimport (
    account_unknown, account_unwanted, account_wanted, interest_is_kept, is_refused,
)
from framework.dataplane.accounts._routes cimport fences_pass
from framework.dataplane.protocol._reserved cimport is_reserved
from framework.dataplane.protocol._server_info cimport link_info_connected
from framework.dataplane.accounts._sids cimport subscription_find
from framework.dataplane._state cimport (
    ACCOUNT_INTEREST, ASKS_EACH_CONNECT, AUTHENTICATION_VIOLATION, CONNECT_BYTES_MAX, FRAME_OWN_BLOCK_BYTES, GUARD_ENDS, GUARD_NONE,
    HEARS_PEER, HIDES_ADDRESS, IGNORE, INTEREST, INTEREST_OF_ORIGIN, IS_PEER, IS_USER, LINE_BYTES_MAX, MAX_CONTROL_LINE_EXCEEDED,
    MAX_PAYLOAD_EXCEEDED, MAY_BE_ANONYMOUS, MAY_INTRODUCE, MEMO_HEAD_BYTES, MEMO_LINE_BYTES, MESSAGE, MESSAGE_OF_ORIGIN,
    MESSAGE_WITH_HEADERS,
    NO_ACCOUNT_INTEREST, NO_INTEREST, NO_INTEREST_OF_ORIGIN, NO_PUBLISH, NO_REPLY, PARSE_ERROR, PROTOCOL_VIOLATION, PUBLISH_MESSAGE,
    PUBLISH_WITH_HEADERS, RECORD_ERR, RECORD_GREETING, RECORD_PONG, REFERENCE_BYTES, SCOPE_LEAF, SCOPE_ROUTE, SHOWS_SUBJECT, SUBSCRIBE,
    SYSTEM, TRACED_LINE_BYTES_MAX, UNSUBSCRIBE, Account, Block, ClosedStateC, Line, Link, Memo, Message, MessageTrace, Operation, Record,
    State, Subscription, Verb, Watches,
)
from framework.dataplane.accounts._stream_imports cimport casts_shadows, shadows_add
from framework.dataplane.protocol._violations cimport (
    PUBLISH_REPLY, PUBLISH_SUBJECT, SUBSCRIBE_SUBJECT, SUBSCRIBE_TOKENS, ViolationC, is_reserved_group, violation_say,
)
from framework.dataplane._work cimport BYTES_A_WORK, LINE_WORK, REPEATS_A_WORK, is_work_done
from framework.sublist._bytes cimport copy_short, same_bytes, write_decimal
from framework.sublist._sublist cimport Match, sublist_fresh, sublist_match, sublist_touch
from framework.sublist._table cimport Key

cdef enum:
    SHOWN_BEHIND_DOTS = 8
    # Of a reply that an `@` may end: stream and consumer may have one, too.
    WORDS_FIRST = 64
    VERB_LONGEST = 8
    SIZE_DIGITS_MAX = 9
    PEER_ERROR_BYTES_MAX = 1024
    DECISION_SPARE_NS = 1000000000


# ---- refusing ----------------------------------------------------------------------------------------------------------


cdef void _refuse(State* state, Link* link, ClosedStateC reason, const char* text, const char* detail) noexcept nogil:
    """Say `-ERR` and end the link; not before what it said earlier has been decided on."""
    if link.at_gate != NULL:
        link.held = 1
        return
    link_say(state, link, b"-ERR '")
    link_say(state, link, text)
    link_say(state, link, b"'\r\n")
    link_doom(state, link, reason, True, detail)


cdef void _complain(State* state, Link* link, const char* text) noexcept nogil:
    """Say `-ERR` and go on."""
    link_say(state, link, b"-ERR '")
    link_say(state, link, text)
    link_say(state, link, b"'\r\n")


cdef void _refuse_line(State* state, Link* link, const char* at, const char* end) noexcept nogil:
    """Refuse what is no operation, with the beginning of it for the log."""
    cdef char detail[64]
    cdef size_t count = 0
    while at < end and count < 32 and at[0] != c"\n" and at[0] != c"\r":
        detail[count] = at[0] if 32 <= at[0] < 127 else c"?"
        count += 1
        at += 1
    detail[count] = 0
    _refuse(state, link, PROTOCOL_VIOLATION, b"Unknown Protocol Operation", detail)


# ---- words and numbers -------------------------------------------------------------------------------------------------


cdef inline bint _is_blank(char c) noexcept nogil:
    return c == c" " or c == c"\t"


cdef inline bint _is_gap(char c) noexcept nogil:
    """Whether it parts words: a blank, or a CR within the line. Source: nats-server `client.go`, `splitArg`."""
    return <unsigned char> c <= 32 and (c == c" " or c == c"\t" or c == c"\r")


cdef bint _line_grow(Line* line) noexcept nogil:
    """Make room for more words; False: no memory. A line has an end, so its words have."""
    cdef uint32_t room = line.room * 2 if line.room else WORDS_FIRST
    cdef void* grown = realloc(line.words, room * sizeof(char*))
    if grown == NULL:
        return False
    line.words = <const char**> grown
    grown = realloc(line.lengths, room * sizeof(uint32_t))
    if grown == NULL:
        return False
    line.lengths = <uint32_t*> grown
    line.room = room
    return True


cdef bint _split(Line* line, const char* at, const char* end) noexcept nogil:
    """Part the words; False: no memory."""
    cdef const char* start
    line.count = 0
    if line.room == 0 and not _line_grow(line):
        return False
    while True:
        while at < end and _is_gap(at[0]):
            at += 1
        if at == end:
            return True
        if line.count + 4 > line.room and not _line_grow(line):
            # Some more than there are may be looked at, if never used.
            return False
        start = at
        while at < end and not _is_gap(at[0]):
            at += 1
        line.words[line.count] = start
        line.lengths[line.count] = <uint32_t> (at - start)
        line.count += 1


cdef int64_t _number(const char* chars, uint32_t length) noexcept nogil:
    """Read a number of at most nine digits; -1: it is none. Source: nats-server `util.go`, `parseSize`."""
    cdef int64_t value = 0
    cdef uint32_t at
    if length == 0 or length > SIZE_DIGITS_MAX:
        return -1
    for at in range(length):
        if not c"0" <= chars[at] <= c"9":
            return -1
        value = value * 10 + (chars[at] - c"0")
    return value


cdef inline bint _is_verb(const char* at, const char* end, const char* lower, size_t length) noexcept nogil:
    """Whether the line begins with a verb, given in small letters."""
    cdef size_t index
    if <size_t> (end - at) < length:
        return False
    for index in range(length):
        if (at[index] | 0x20 if c"A" <= at[index] <= c"Z" else at[index]) != lower[index]:
            return False
    return True


cdef inline bint _is_verb_with_words(const char* at, const char* end, const char* lower, size_t length) noexcept nogil:
    return _is_verb(at, end, lower, length) and at + length < end and _is_blank(at[length])


cdef int64_t _words_length(const char* at, const char* end) noexcept nogil:
    """Return the length of a line without its verb and the blanks behind it: what the limit counts."""
    while at < end and not _is_blank(at[0]):
        at += 1
    while at < end and _is_blank(at[0]):
        at += 1
    return end - at


cdef const Verb* _verb_of(Link* link, const char* at, const char* end) noexcept nogil:
    """Return the row of the verb that a line begins with, in the dialect of its link; NULL: it has none."""
    cdef uint8_t place = link.dialect.by_letter[at[0] & 31]
    cdef const Verb* verb = &link.dialect.verbs[place]
    cdef uint64_t word
    memcpy(&word, at, 8)
    # There are bytes behind the line; those that do not count are masked.
    while (verb.letters[0] ^ at[0]) & 31 == 0 and verb.length:
        if (word | verb.fold) & verb.mask == verb.key:
            return verb if at + verb.length < end and _is_blank(at[verb.length]) else NULL
        verb += 1
    return NULL


cdef bint _verb_may_begin(Link* link, const char* at, const char* end) noexcept nogil:
    """Whether an incomplete line may still become one with a verb of its link's dialect."""
    cdef const Verb* verb = &link.dialect.verbs[0]
    cdef size_t got = end - at
    while verb.length:
        if got > verb.length:
            if _is_verb_with_words(at, end, verb.letters, verb.length) or (
                _is_verb(at, end, verb.letters, verb.length) and at[verb.length] == c"{"
            ):
                return True
        elif _is_verb(at, end, verb.letters, got):
            return True
        verb += 1
    return False


cdef bint _may_begin(Link* link, const char* at, const char* end) noexcept nogil:
    """Whether an incomplete line may still become an operation."""
    cdef const char* verb = b"connect|ping|pong|info |+ok|-err|"
    cdef const char* got
    cdef char c
    if _verb_may_begin(link, at, end):
        return True
    while verb[0]:
        got = at
        while verb[0] != c"|" and got < end:
            c = got[0] | 0x20 if c"A" <= got[0] <= c"Z" else got[0]
            if c != verb[0] and not (verb[0] == c" " and (c == c"\t" or c == c"{")):
                break
            got += 1
            verb += 1
        if verb[0] == c"|" or got == end:
            return True
        while verb[0] != c"|":
            verb += 1
        verb += 1
    return False


# ---- messages ----------------------------------------------------------------------------------------------------------


cdef void _count_in(State* state, Link* link, Account* account, int64_t messages, int64_t length) noexcept nogil:
    if link == state.system:
        return  # what this server says itself, nobody has sent it; nats-server counts so, too
    link.in_msgs += messages
    link.in_bytes += length
    state.totals.kinds[link.kind].in_msgs += messages
    state.totals.kinds[link.kind].in_bytes += length
    if account == NULL:
        return
    account.traffic.in_msgs += messages
    account.traffic.in_bytes += length
    if link.scope >= SCOPE_ROUTE:
        account.traffic.peers[traffic_of(link)].in_msgs += messages
        account.traffic.peers[traffic_of(link)].in_bytes += length


cdef void _remember(State* state, Link* link, const char* line, size_t length, Message* message) noexcept nogil:
    """Remember a PUB or RMSG line without reply and groups, for the case that the next one is the same; see `_repeat`."""
    cdef Memo* memo = link.memo
    if memo == NULL:
        memo = link.memo = <Memo*> calloc(1, sizeof(Memo))
        if memo == NULL:
            return
    memcpy(memo.line, line, length)
    memo.account = message.account
    memo.line_length = <uint32_t> length
    memo.lines_version = state.lines_version
    memo.body_length = <uint32_t> message.body_length
    memo.subject_at = <uint32_t> (message.subject - line)
    memo.subject_length = <uint32_t> message.subject_length
    memo.origin = message.origin
    memo.serial = 0
    memo.quotas = link.quotas_asked


cdef void _aim_head(Memo* memo, char* at) noexcept nogil:
    """End the head that is written up to `at`: with the size."""
    at += write_decimal(at, memo.body_length)
    memcpy(at, b"\r\n", 2)
    memo.head_length = <uint32_t> (at + 2 - memo.head)


cdef bint _aim_at_client(State* state, Link* link, Memo* memo, Subscription* target) noexcept nogil:
    """Prepare the MSG line for a subscription, if it is one that gets nothing but that; `to` stays NULL when it may not hear it."""
    cdef char* at = memo.head
    if target.link == NULL or target.max_msgs or (target.link == link and not link.echo):
        return False
    if target.filtered and not may_hear(state, target, memo.line + memo.subject_at, memo.subject_length):
        return True
    if memo.subject_length + target.sid_length + 32 > MEMO_HEAD_BYTES:
        return False
    memcpy(at, b"MSG ", 4)
    memcpy(at + 4, memo.line + memo.subject_at, memo.subject_length)
    at += 4 + memo.subject_length
    at[0] = c" "
    memcpy(at + 1, target.sid, target.sid_length)
    at += 1 + target.sid_length
    at[0] = c" "
    _aim_head(memo, at + 1)
    memo.to = target.link
    memo.target = target
    return True


cdef bint _aim_at_peer(State* state, Link* link, Memo* memo, Link* peer) noexcept nogil:
    """Prepare the line for another server; `to` stays NULL when it is not to be sent there."""
    cdef char* at = memo.head
    cdef Link* to = link_way(peer, memo.account)
    cdef Key nothing
    cdef Key* origin = &nothing
    nothing.length = 0
    if memo.origin and peer.origin != NULL and peer.origin.number == memo.origin:
        return True
    if peer.peer == link.peer or not may_send(state, peer, memo.line + memo.subject_at, memo.subject_length):
        return True
    if peer.assumed != NULL and is_refused(state, peer, memo.account, memo.line + memo.subject_at, memo.subject_length):
        return True
    if memo.origin and to.takes_origins and link.origin != NULL:
        origin = &link.origin.key
    if peer.joined != NULL or memo.subject_length + memo.account.name_length + origin.length + 32 > MEMO_HEAD_BYTES:
        return False
    if origin.length == 0:
        memcpy(at, to.dialect.message, 5)
        at += 5
    else:
        memcpy(at, b"LMSG ", 5)
        memcpy(at + 5, origin.chars, origin.length)
        at[5 + origin.length] = c" "
        at += origin.length + 6
    if not to.account_omitted:
        memcpy(at, memo.account.name, memo.account.name_length)
        at += memo.account.name_length
        at[0] = c" "
        at += 1
    memcpy(at, memo.line + memo.subject_at, memo.subject_length)
    at += memo.subject_length
    at[0] = c" "
    at += 1
    if origin.length:
        # Source: nats-server `client.go`, `msgHeaderForRouteOrLeaf`: always with the length of a header.
        memcpy(at, b"0 ", 2)
        at += 2
    _aim_head(memo, at)
    memo.to = to
    return True


cdef void _aim_at_watchers(Link* link, Memo* memo) noexcept nogil:
    """Find out who watches the remembered line."""
    cdef Watches* watches = watches_of(link, memo.account)
    memo.watchers = NULL
    memo.gate = NULL
    if watches != NULL and watches.gates.count and (link.traits & IS_USER or link.scope == SCOPE_LEAF):
        memo.gate = gate_of(watches, memo.line + memo.subject_at, memo.subject_length)
    if watches != NULL:
        memo.watchers = watch_match(watches, memo.line + memo.subject_at, memo.subject_length)
        if memo.watchers != NULL:
            memo.watch_serial = memo.watchers.serial


cdef void _aim(State* state, Link* link, Memo* memo) noexcept nogil:
    """Find out who gets messages of the remembered line, and whether that is nobody, or one link."""
    cdef Match* match = sublist_match(&memo.account.sublist, memo.line + memo.subject_at, memo.subject_length)
    cdef Watches* watches = watches_of(link, memo.account)
    cdef uint32_t others = 0
    if match.scopes & state.hears[link.scope]:
        others = match.remote_count
    if state.picks_groups >> link.scope & 1:
        # Else it goes to groups only where it names them.
        others += match.group_count
    memo.match = match
    memo.serial = match.serial
    memo.to = NULL
    memo.target = NULL
    memo.simple = False
    _aim_at_watchers(link, memo)
    if match.plain_count + others == 0:
        memo.simple = not (watches != NULL and is_heard_unheard(watches, memo.line + memo.subject_at, memo.subject_length))
    elif match.plain_count + others > 1 or memo.body_length >= REFERENCE_BYTES:
        return
    elif match.plain_count:
        memo.simple = _aim_at_client(state, link, memo, <Subscription*> match.plain[0])
    elif match.group_count == 0 or not state.picks_groups >> link.scope & 1:
        memo.simple = _aim_at_peer(state, link, memo, <Link*> match.remote[0].owner)


cdef inline bint _is_next(Memo* memo, char* at, char* end, size_t frame) noexcept nogil:
    """Whether a whole message with the remembered line comes next."""
    return (
        <size_t> (end - at) >= frame and same_bytes(at, memo.line, memo.line_length)
        and at[frame - 2] == c"\r" and at[frame - 1] == c"\n"
    )


cdef void _count_repeated(State* state, Link* link, Memo* memo, int64_t count) noexcept nogil:
    """Count messages with the remembered line that came, and went out to the link that they reach."""
    cdef int64_t length = count * <int64_t> memo.body_length
    cdef Link* to = memo.to
    _count_in(state, link, memo.account, count, length)
    if to == NULL:
        return
    to.out_msgs += count
    to.out_bytes += length
    state.totals.kinds[to.kind].out_msgs += count
    state.totals.kinds[to.kind].out_bytes += length
    memo.account.traffic.out_msgs += count
    memo.account.traffic.out_bytes += length
    if memo.target != NULL:
        memo.target.msgs += count
    else:
        memo.account.traffic.peers[traffic_of(to)].out_msgs += count
        memo.account.traffic.peers[traffic_of(to)].out_bytes += length


cdef char* _repeat_to_link(State* state, Link* link, Memo* memo, char* at, char* end, size_t frame) noexcept nogil:
    """Copy a run of messages to the one link that the remembered line reaches; return what follows."""
    cdef Link* to = memo.to
    cdef size_t body = memo.body_length
    cdef size_t need = memo.head_length + body + 2
    cdef size_t used, space
    cdef int64_t count = 0
    cdef char* room
    while not to.doomed and <int64_t> to.pending <= state.limits.pending_free and _is_next(memo, at, end, frame):
        room = output_reserve(state, to, need)
        if room == NULL:
            break
        used = 0
        space = to.write_end - to.write_at
        while used + need <= space and _is_next(memo, at, end, frame):
            copy_short(room + used, memo.head, memo.head_length)
            copy_short(room + used + memo.head_length, at + memo.line_length, body + 2)
            used += need
            at += frame
            count += 1
        if not output_commit(state, to, used):
            break
    state.work += 1 + count * <int64_t> body // BYTES_A_WORK + count // REPEATS_A_WORK
    _count_repeated(state, link, memo, count)
    if not to.doomed and <int64_t> to.pending > state.limits.pending_free:
        link_fills(state, to, link)
    return at


cdef char* _repeat_to_gate(State* state, Link* link, Memo* memo, Message* message, char* at, char* end, size_t frame) noexcept nogil:
    """Let a run of messages wait at the gate that stands on the remembered line, as far as that has room; return what follows."""
    cdef int64_t count = 0
    while _is_next(memo, at, end, frame):
        if not gate_has_room(state, link, memo.gate):
            link.held = 1
            break
        message.body = at + memo.line_length
        if not gate_take(state, link, message, memo.gate):
            gate_enter(state, link, message)
        at += frame
        count += 1
    state.work += 1 + count * <int64_t> memo.body_length // BYTES_A_WORK + count // REPEATS_A_WORK
    _count_in(state, link, memo.account, count, count * <int64_t> memo.body_length)
    return at


cdef void _copy_repeated(State* state, Memo* memo, Message* message, char* at, size_t frame, size_t count) noexcept nogil:
    """Give the watchers of the remembered line a run of messages that begins at `at`."""
    if memo.watchers != NULL:
        watchers_copy_run(state, memo.watchers, message, at + memo.line_length, frame, count)


cdef char* _repeat(State* state, Link* link, char* at, char* end, Block* block) noexcept nogil:
    """Handle the messages that begin with the remembered line, of which one comes next, one after the other; return what follows.

    This is what a publisher of one subject costs: a comparison of its line, and one copy for each receiver.
    """
    cdef Memo* memo = link.memo
    cdef size_t body = memo.body_length
    cdef size_t frame = memo.line_length + body + 2
    cdef int64_t count = 0
    cdef char* start = at
    cdef Message message
    if memo.serial == 0 or memo.match.serial != memo.serial or not sublist_fresh(&memo.account.sublist, memo.match):
        _aim(state, link, memo)
    elif memo.watchers != NULL and memo.watchers.serial != memo.watch_serial:
        _aim_at_watchers(link, memo)
    memo.match.recent = 1
    message.source = link
    message.account = memo.account
    message.subject = memo.line + memo.subject_at
    message.subject_length = memo.subject_length
    message.reply_length = 0
    message.header_length = 0
    message.body_length = body
    message.block = block
    message.queue_count = 0
    message.hops = NULL
    message.scope = link.scope
    message.hidden = 0
    message.origin = memo.origin
    message.shown = NULL
    message.trace = NULL
    if link.at_gate != NULL and memo.gate != link.at_gate.gate:
        link.held = 1
        return at
    if memo.gate != NULL:
        return _repeat_to_gate(state, link, memo, &message, at, end, frame)
    if memo.simple and memo.to != NULL:
        at = _repeat_to_link(state, link, memo, at, end, frame)
        _copy_repeated(state, memo, &message, start, frame, (at - start) // frame)
        return at
    if memo.simple:
        while _is_next(memo, at, end, frame):
            at += frame
            count += 1
        state.work += 1 + count // REPEATS_A_WORK
        _count_repeated(state, link, memo, count)
        _copy_repeated(state, memo, &message, start, frame, count)
        return at
    while True:
        _copy_repeated(state, memo, &message, at, frame, 1)
        message.body = at + memo.line_length
        if deliver_matched(state, memo.match, &message) == 0 and watches_of(link, memo.account) != NULL:
            unheard_copy(state, &message)
        state.work += LINE_WORK
        at += frame
        count += 1
        if link.doomed or link.first_fanout != NULL or is_work_done(state) or not _is_next(memo, at, end, frame):
            break
        if memo.match.serial != memo.serial or not sublist_fresh(&memo.account.sublist, memo.match):
            break
    _count_in(state, link, memo.account, count, count * <int64_t> body)
    return at


cdef char* _repeat_within(State* state, Link* link, char* at, char* end, Block* block) noexcept nogil:
    """As `_repeat`, of a link that has quotas: as far as they have room. What follows is for `_publish`, which says what comes of it."""
    cdef Memo* memo = link.memo
    cdef size_t frame = memo.line_length + memo.body_length + 2
    cdef int64_t room
    cdef char* rest
    room = quotas_room(state, link, memo.quotas, memo.body_length)
    if room == 0:
        return at
    if room * <int64_t> frame < end - at:
        end = at + room * <int64_t> frame
    rest = _repeat(state, link, at, end, block)
    room = (rest - at) // <int64_t> frame
    quotas_charge(state, link, memo.quotas, room, room * <int64_t> memo.body_length)
    return rest


cdef char* _take_body(State* state, Link* link, Message* message, char* line, char* body, char* end, size_t* need) noexcept nogil:
    """Return what follows the body; NULL when it is not complete (`need` says how long the frame is) or was refused."""
    cdef size_t length = message.body_length
    if link.traits & IS_USER and (
        <int64_t> length > state.limits.max_payload or (link.max_payload >= 0 and <int64_t> length > link.max_payload)
    ):
        _refuse(state, link, MAX_PAYLOAD_EXCEEDED, b"Maximum Payload Violation", NULL)
        return NULL
    if <size_t> (end - body) < length + 2:
        need[0] = (body - line) + length + 2
        return NULL
    if body[length] != c"\r" or body[length + 1] != c"\n":
        _refuse_line(state, link, body + length, end)
        return NULL
    message.body = body
    return body + length + 2


cdef Allowed _check_publish(State* state, Link* link, Message* message, Match** match) noexcept nogil:
    """Whether a client may publish this; it is told when not. Source: nats-server `client.go`, `processInboundClientMsg`.

    Args:
        match: Set to that of the subject, when it was looked up.
    """
    cdef Allowed allowed = ALLOWED
    if is_reserved(state, NO_PUBLISH, message.subject, message.subject_length):
        allowed = FORBIDDEN
    elif link.permissions != NULL and link.permissions.publish_checked:
        if match[0] == NULL:
            match[0] = sublist_match(&message.account.sublist, message.subject, message.subject_length)
        if match[0].judge != link.permissions.serial or not match[0].judgement:
            allowed = may_publish(state, link, message.subject, message.subject_length, match[0])
    if allowed == FORBIDDEN:
        violation_say(state, link, PUBLISH_SUBJECT, message.subject, message.subject_length, NULL, 0, NULL, 0)
        tracing_refused(message, FAULT_PUBLISH, message.subject, message.subject_length)
    elif message.reply_length and is_reserved(state, NO_REPLY, message.reply, message.reply_length):
        violation_say(state, link, PUBLISH_REPLY, message.reply, message.reply_length, NULL, 0, NULL, 0)
        tracing_refused(message, FAULT_REPLY, message.reply, message.reply_length)
        return FORBIDDEN
    return allowed


cdef void _trace_mapping(State* state, Link* link, const char* came, size_t length, Message* message) noexcept nogil:
    """Record the subject of a message before and after mappings. Source: nats-server `parser.go`, `parse`."""
    cdef char line[TRACED_LINE_BYTES_MAX]
    cdef char* at = line + 8
    if message.subject_length == 0 or length + message.subject_length + 12 > TRACED_LINE_BYTES_MAX:
        return
    memcpy(line, b"MAPPING ", 8)
    memcpy(at, came, length)
    memcpy(at + length, b" -> ", 4)
    at += length + 4
    memcpy(at, message.subject, message.subject_length)
    trace(state, link, True, line, at + message.subject_length - line)


cdef Allowed _send(State* state, Link* link, Message* message, Match* match, bint* mapped) noexcept nogil:
    """Map what a client publishes, look whether it may, and deliver it, or let it wait at a gate.

    Args:
        match: Of the subject, which no mapping has to do with; NULL: it was not looked up.
        mapped: Set when a mapping had to do with it.
    """
    cdef Allowed allowed = ALLOWED
    cdef int served = 0
    cdef Watches* watches
    cdef const char* came = message.subject
    cdef size_t came_length = message.subject_length
    if link.traits & IS_USER:
        if link.account.tables != NULL:
            mapped[0] = mapping_apply(state, message)
            if message.trace != NULL and mapped[0]:
                step_mapped(message)
            if state.trace and mapped[0]:
                _trace_mapping(state, link, came, came_length, message)
        if state.trace:
            trace_body(state, link, True, message.body, message.header_length, message.body_length)
        if message.subject_length:
            # Else a mapping has lost it.
            allowed = _check_publish(state, link, message, &match)
        if allowed == FORBIDDEN:
            return allowed
    elif state.trace:
        trace_body(state, link, True, message.body, message.header_length, message.body_length)
    if not link.traits & IS_USER and is_forwarded(state, message, &served):
        # Users are held to permissions for what they say, not for what would be left of it.
        mapped[0] = True
        return allowed
    if match == NULL:
        match = sublist_match(&message.account.sublist, message.subject, message.subject_length)
    watches = watches_of(link, message.account)
    if (
        watches == NULL or not watched_by(watches, match, message.subject, message.subject_length) & WATCHED_BY_GATES
        or not gate_holds(state, link, watches, message)
    ):
        message_enter(state, link, message, match)
    return allowed


cdef bint _goes_to_gate(State* state, Link* link, Message* message, Match** match) noexcept nogil:
    """Whether a message that is sent now waits at a gate first.

    Args:
        match: Set to that of the subject, when it was looked up.
    """
    cdef Watches* watches = watches_of(link, message.account)
    if watches == NULL or watches.gates.count == 0 or (
        message.account.tables != NULL and is_mapped(message.account, message.subject, message.subject_length)
    ):
        return False
    match[0] = sublist_match(&message.account.sublist, message.subject, message.subject_length)
    return (
        watched_by(watches, match[0], message.subject, message.subject_length) & WATCHED_BY_GATES != 0
        and is_allowed_to_publish(state, link, message.subject, message.subject_length)
    )


cdef Allowed _send_traced(State* state, Link* link, Message* message, Match* match) noexcept nogil:
    """Send a message with a header block, which may ask what becomes of it: behind the gates, if there are any."""
    cdef MessageTrace made
    cdef bint mapped = False
    cdef Allowed allowed = FORBIDDEN
    if link.kind == SYSTEM or _goes_to_gate(state, link, message, &match):
        return _send(state, link, message, match, &mapped)
    if tracing_begin(state, message, &made) != TRACE_SKIPPED:
        allowed = _send(state, link, message, match, &mapped)
    tracing_end(state, message, &made)
    return allowed


cdef int _deliver_routed(State* state, Message* message) noexcept nogil:
    """Deliver a route's message with a header block; return as `deliver`."""
    cdef MessageTrace made
    cdef int served = 0
    if tracing_begin(state, message, &made) != TRACE_SKIPPED:
        served = deliver(state, message)
    tracing_end(state, message, &made)
    return served


cdef char* _publish(
    State* state, Link* link, Line* words, bint headers, char* line, char* body, char* end, Block* block, size_t* need
) noexcept nogil:
    """Handle PUB and HPUB; return what follows, or NULL as `_take_body`."""
    cdef Message message
    cdef uint32_t sizes = 2 if headers else 1
    cdef int64_t total, header = 0
    cdef char* rest
    cdef Match* match = NULL
    cdef Allowed allowed
    cdef QuotaAnswer asked
    cdef bint mapped = False
    if words.count != 1 + sizes and words.count != 2 + sizes:
        _refuse(state, link, PROTOCOL_VIOLATION, b"Unknown Protocol Operation", b"wrong number of words in PUB")
        return NULL
    total = _number(words.words[words.count - 1], words.lengths[words.count - 1])
    if headers:
        header = _number(words.words[words.count - 2], words.lengths[words.count - 2])
    if total < 0 or header < 0 or header > total:
        _refuse(state, link, PROTOCOL_VIOLATION, b"Bad or Missing Size", b"Bad or Missing Size")
        return NULL
    if headers and not link.headers:
        _refuse(state, link, PROTOCOL_VIOLATION, b"message headers not supported", b"message headers not supported")
        return NULL
    message.source = link
    message.account = link.account
    message.subject = words.words[0]
    message.subject_length = words.lengths[0]
    message.reply = words.words[1]
    message.reply_length = words.lengths[1] if words.count == 2 + sizes else 0
    message.header_length = header
    message.body_length = total
    message.block = block
    message.queue_count = 0
    message.hops = NULL
    message.scope = link.scope
    message.hidden = 0
    message.origin = 0
    message.shown = NULL
    message.trace = NULL
    rest = _take_body(state, link, &message, line, body, end, need)
    if rest == NULL:
        return NULL
    if (link.at_gate != NULL or state.gates_full) and not gate_lets_in(state, link, &message, &match):
        # Else it is known when the message is sent whether a gate stands there, and there is room.
        link.held = 1
        return NULL
    if link.quotas != NULL:
        asked = quotas_ask(state, link, &message)
        if asked != QUOTA_LETS:
            return rest if asked == QUOTA_REFUSES else NULL
    _count_in(state, link, link.account, 1, total)
    if link.pedantic and not is_literal_subject(message.subject, message.subject_length):
        _complain(state, link, b"Invalid Publish Subject")
    allowed = _send_traced(state, link, &message, match) if header else _send(state, link, &message, match, &mapped)
    if (not mapped and not link.verbose and not state.trace and not headers and message.reply_length == 0 and not link.pedantic
            and body - line <= MEMO_LINE_BYTES and allowed == ALLOWED and (link.ways == NULL or not is_way(state, link, &message))):
        _remember(state, link, line, body - line, &message)
    return rest


cdef void _show_subject(State* state, Message* message) noexcept nogil:
    """Let users see the subject behind the `@` of a reply that shows one. Source: nats-server `client.go`, `processMsgResults`."""
    cdef size_t at, dots = 0
    if not is_reserved(state, SHOWS_SUBJECT, message.reply, message.reply_length):
        return
    for at in range(message.reply_length):
        if message.reply[at] == c".":
            dots += 1
        elif message.reply[at] == c"@" and dots >= SHOWN_BEHIND_DOTS:
            message.shown = message.reply + at + 1
            message.shown_length = message.reply_length - at - 1
            message.reply_length = at
            return


cdef char* _routed(
    State* state, Link* link, Line* words, bint headers, bint has_origin, char* line, char* body, char* end, Block* block, size_t* need
) noexcept nogil:
    """Handle RMSG, LMSG and HMSG of a server; return what follows, or NULL as `_take_body`.

    Args:
        has_origin: The first word is the cluster of leaf nodes that the message comes from.
    """
    cdef Message message
    cdef uint32_t sizes = 2 if headers else 1
    cdef uint32_t at_account = 1 if has_origin else 0
    cdef uint32_t first = at_account + (1 if link.account_omitted else 2)
    # Index of the word behind the subject.
    cdef uint32_t last
    cdef int64_t total, header = 0
    cdef int served
    cdef char* rest
    cdef Allowed allowed = ALLOWED
    cdef Watches* watches
    if words.count < first + sizes:
        _refuse(state, link, PROTOCOL_VIOLATION, b"Unknown Protocol Operation", b"too few words in RMSG")
        return NULL
    last = words.count - sizes
    total = _number(words.words[words.count - 1], words.lengths[words.count - 1])
    if headers:
        header = _number(words.words[words.count - 2], words.lengths[words.count - 2])
    if total < 0 or header < 0 or header > total:
        _refuse(state, link, PROTOCOL_VIOLATION, b"Bad or Missing Size", b"Bad or Missing Size")
        return NULL
    message.source = link
    message.subject = words.words[first - 1]
    message.subject_length = words.lengths[first - 1]
    message.reply = NULL
    message.reply_length = 0
    message.header_length = header
    message.body_length = total
    message.block = block
    message.queues = NULL
    message.queue_lengths = NULL
    message.queue_count = 0
    message.hops = NULL
    message.scope = link.scope
    message.hidden = 0
    if has_origin:
        message.origin = origin_number(state, words.words[0], words.lengths[0])
    else:
        message.origin = link.origin.number if link.origin != NULL else 0
    message.shown = NULL
    message.trace = NULL
    if last > first:
        if words.lengths[first] == 1 and words.words[first][0] == c"|":
            first += 1
        elif words.lengths[first] == 1 and words.words[first][0] == c"+" and last > first + 1:
            message.reply = words.words[first + 1]
            message.reply_length = words.lengths[first + 1]
            first += 2
        elif last == first + 1:
            message.reply = words.words[first]
            message.reply_length = words.lengths[first]
            first += 1
        else:
            _refuse(state, link, PROTOCOL_VIOLATION, b"Unknown Protocol Operation", b"wrong words in RMSG")
            return NULL
        message.queues = &words.words[first]
        message.queue_lengths = &words.lengths[first]
        message.queue_count = last - first
        if message.reply_length:
            _show_subject(state, &message)
            if state.reserved_first[<uint8_t> message.reply[0]] & HIDES_ADDRESS:
                address_hide(state, &message)
    rest = _take_body(state, link, &message, line, body, end, need)
    if rest == NULL:
        return NULL
    message.account = (
        link.account if link.account_omitted else account_named(state, link, words.words[at_account], words.lengths[at_account])
    )
    if (link.at_gate != NULL or (state.gates_full and link.scope == SCOPE_LEAF)) and not gate_lets_bring(state, link, &message):
        link.held = 1
        return NULL
    _count_in(state, link, message.account, 1, total)
    if state.trace:
        trace_body(state, link, True, message.body, header, total)
    if link.guard != GUARD_NONE:
        allowed = may_bring(state, link, message.subject, message.subject_length)
        if allowed == FORBIDDEN:
            if link.guard == GUARD_ENDS:
                _end_for(state, link, PUBLISH_SUBJECT, message.subject, message.subject_length)
            return rest
    if message.account == NULL or not message.account.ours:
        if link.assumed != NULL and link.assumed.tells_unknown:
            account_unknown(state, link, words.words[at_account], words.lengths[at_account])
        return rest
    if is_forwarded(state, &message, &served):
        return rest
    if message.account.tables != NULL and state.enters_services >> link.scope & 1 and mapping_apply(state, &message):
        if message.subject_length == 0:
            return rest
    elif (
        header == 0 and message.reply_length == 0 and message.queue_count == 0 and not state.trace and body - line <= MEMO_LINE_BYTES
        and allowed == ALLOWED
    ):
        _remember(state, link, line, body - line, &message)
    watches = watches_of(link, message.account)
    if watches != NULL and watches.gates.count and is_gated(link, &message) and gate_holds(state, link, watches, &message):
        return rest
    if watches != NULL:
        message_watched(state, sublist_match(&message.account.sublist, message.subject, message.subject_length), &message)
    served = _deliver_routed(state, &message) if header else deliver(state, &message)
    if served == 0 and watches != NULL:
        unheard_copy(state, &message)
    if served and message.reply_length and is_tracked_reply(message.reply, message.reply_length):
        remote_latency_begin(state, &message)
    return rest


# ---- interest ----------------------------------------------------------------------------------------------------------


cdef int64_t _tokens(Line* words) noexcept nogil:
    """Count the tokens of the subject of a SUB."""
    cdef int64_t count = 1
    cdef uint32_t at
    for at in range(words.lengths[0]):
        count += words.words[0][at] == c"."
    return count


cdef bint _check_subscribe(State* state, Link* link, Line* words) noexcept nogil:
    """Whether a client may subscribe so; it is told when not. Source: nats-server `client.go`, `processSubEx`."""
    cdef const char* queue = words.words[1]
    cdef uint32_t queue_length = words.lengths[1] if words.count == 3 else 0
    cdef int64_t most = link.max_subscriptions
    cdef ViolationC violation = SUBSCRIBE_SUBJECT
    if is_reserved_group(queue, queue_length) or not may_subscribe(link, words.words[0], words.lengths[0], queue, queue_length):
        pass
    elif state.limits.max_subscription_tokens > 0 and _tokens(words) > state.limits.max_subscription_tokens:
        violation = SUBSCRIBE_TOKENS
    elif (state.limits.max_subscriptions > 0 and link.subscription_count >= state.limits.max_subscriptions) or (
        most >= 0 and link.subscription_count >= most
    ):
        _complain(state, link, b"maximum subscriptions exceeded")
        return False
    else:
        return True
    violation_say(
        state, link, violation, words.words[0], words.lengths[0], queue, queue_length,
        words.words[words.count - 1], words.lengths[words.count - 1],
    )
    return False


cdef void _subscribe(State* state, Link* link, Line* words) noexcept nogil:
    """Handle SUB."""
    cdef uint32_t last = words.count - 1
    cdef Subscription* made
    if words.count != 2 and words.count != 3:
        _refuse(state, link, PROTOCOL_VIOLATION, b"Unknown Protocol Operation", b"wrong number of words in SUB")
        return
    if link.traits & IS_USER and not _check_subscribe(state, link, words):
        return
    if subscription_find(state, link, words.words[last], words.lengths[last]) == NULL:
        if not is_valid_subject(words.words[0], words.lengths[0]):
            _complain(state, link, b"Invalid Subject")
            return
        made = subscription_add(
            state, link, link.account, words.words[last], words.lengths[last], words.words[0], words.lengths[0],
            words.words[1], words.lengths[1] if words.count == 3 else 0, 1,
        )
        if made == NULL:
            _refuse(state, link, PROTOCOL_VIOLATION, b"Insufficient Memory", NULL)
            return
        made.filtered = needs_filter(link, words.words[0], words.lengths[0])
        if link.account.tables != NULL:
            shadows_add(state, link.subscriptions)
    if link.verbose:
        link_say(state, link, b"+OK\r\n")


cdef void _unsubscribe(State* state, Link* link, Line* words) noexcept nogil:
    """Handle UNSUB. A maximum counts from the subscription's beginning; one that is reached already ends it now."""
    cdef Subscription* subscription
    cdef int64_t max_msgs = -1
    if words.count != 1 and words.count != 2:
        _refuse(state, link, PROTOCOL_VIOLATION, b"Unknown Protocol Operation", b"wrong number of words in UNSUB")
        return
    if words.count == 2:
        max_msgs = _number(words.words[1], words.lengths[1])
    subscription = subscription_find(state, link, words.words[0], words.lengths[0])
    if subscription != NULL:
        if max_msgs > 0 and max_msgs > subscription.msgs:
            subscription.max_msgs = max_msgs
            sublist_touch(&subscription.account.sublist, &subscription.interest)
        else:
            subscription_drop(state, subscription)
    if link.verbose:
        link_say(state, link, b"+OK\r\n")


cdef bint _is_loop(Link* link, const char* subject, size_t length) noexcept nogil:
    return length == link.loop_split and memcmp(subject, link.loop, length) == 0


cdef void _end_for(State* state, Link* link, ViolationC violation, const char* subject, size_t length) noexcept nogil:
    """End the link of a server that says what it may not. Source: nats-server `leafnode.go`, `leafPermViolation`."""
    violation_say(state, link, violation, subject, length, NULL, 0, NULL, 0)
    link_doom(state, link, PROTOCOL_VIOLATION, True, b"permissions violation")


cdef void _remote_interest(State* state, Link* link, Line* words, bint coming, bint has_origin) noexcept nogil:
    """Handle RS+, RS-, LS+ and LS-; a queue group comes again whenever its weight changes.

    Args:
        has_origin: The first word is the cluster of leaf nodes that the interest comes from.
    """
    cdef uint32_t at_account = 1 if has_origin else 0
    cdef uint32_t first = at_account + (0 if link.account_omitted else 1)
    cdef uint32_t count = words.count - first
    cdef Account* account
    cdef Subscription* subscription
    cdef int64_t weight = 1
    cdef const char* sid = words.words[0]
    cdef size_t sid_length
    if link.tells_nothing:
        _refuse(state, link, PROTOCOL_VIOLATION, b"Unknown Protocol Operation", b"interest comes by other links of this server")
        return
    if words.count <= first or count > 3 or (coming and count == 2):
        _refuse(state, link, PROTOCOL_VIOLATION, b"Unknown Protocol Operation", b"wrong number of words in RS")
        return
    if coming and count == 3:
        weight = _number(words.words[first + 2], words.lengths[first + 2])
    if weight < 1 or not is_valid_subject(words.words[first], words.lengths[first]):
        _refuse(state, link, PROTOCOL_VIOLATION, b"Invalid Subject", b"bad subject or weight in RS")
        return
    if coming and link.loop != NULL and _is_loop(link, words.words[first], words.lengths[first]):
        _refuse(state, link, PROTOCOL_VIOLATION, link.loop + link.loop_split, link.loop + link.loop_split)
        return
    if coming and not may_export(state, link, words.words[first], words.lengths[first]):
        if link.guard == GUARD_ENDS:
            _end_for(state, link, SUBSCRIBE_SUBJECT, words.words[first], words.lengths[first])
        return
    account = link.account if link.account_omitted else account_named(state, link, words.words[at_account], words.lengths[at_account])
    if account == NULL and coming:
        account = account_foreign(state, words.words[at_account], words.lengths[at_account])
    if account == NULL:
        return
    # The words up to the subject or queue name the interest; a peer that spells them differently next time wrote one blank each.
    count = min(count, 2)
    if link.assumed != NULL and not interest_is_kept(
        state, link, account, words.words[first], words.lengths[first], count == 2, coming
    ):
        return
    if has_origin:
        sid -= 1
    sid_length = words.words[first + count - 1] + words.lengths[first + count - 1] - sid
    subscription = subscription_find(state, link, sid, sid_length)
    if not coming:
        if subscription != NULL:
            subscription_drop(state, subscription)
            account_spare(state, account)
    elif subscription != NULL:
        interest_weigh(state, subscription, <uint32_t> weight)
    elif subscription_add(
        state, link, account, sid, sid_length, words.words[first], words.lengths[first],
        words.words[first + 1], words.lengths[first + 1] if count == 2 else 0, <uint32_t> weight,
    ) == NULL:
        _refuse(state, link, PROTOCOL_VIOLATION, b"Insufficient Memory", NULL)
    else:
        state.origins_told += has_origin
        if account.tables != NULL and casts_shadows(state, link):
            shadows_add(state, link.subscriptions)


cdef void _account_interest(State* state, Link* link, Line* words, bint coming) noexcept nogil:
    """Handle A+, which wants all there is in an account, and A-, which ends all interest in it that came by this link."""
    cdef Account* account
    if words.count != 1 or link.account_omitted:
        _refuse(state, link, PROTOCOL_VIOLATION, b"Unknown Protocol Operation", b"wrong number of words in A")
        return
    if link.tells_nothing:
        _refuse(state, link, PROTOCOL_VIOLATION, b"Unknown Protocol Operation", b"interest comes by other links of this server")
        return
    account = account_named(state, link, words.words[0], words.lengths[0])
    if account == NULL:
        return
    if coming:
        if account.ours:
            account_wanted(state, link, account)
    else:
        account_unwanted(state, link, account)
        account_spare(state, account)


# ---- the rest ----------------------------------------------------------------------------------------------------------


cdef void _greeting(State* state, Link* link, bint info, const char* at, const char* end) noexcept nogil:
    """Report CONNECT or INFO, and wait for the answer unless the link is registered."""
    cdef Record* record
    while at < end and _is_blank(at[0]):
        at += 1
    while end > at and _is_blank(end[-1]):
        end -= 1
    record = record_new(state, RECORD_GREETING, link, end - at)
    if record == NULL:
        link_doom(state, link, PROTOCOL_VIOLATION, False, "no memory")
        return
    memcpy(record_chars(record), at, end - at)
    record.number = info
    link.parked = link.traits & ASKS_EACH_CONNECT != 0 or not link.registered or (info and link.assumed != NULL)
    record.flag = link.parked
    if link.traits & IS_USER:
        # Who is silent is timed from the connection, who decides from here; what asks others has its own clock, which goes first.
        link.login_from_ns = state.now_ns + DECISION_SPARE_NS


cdef void _greet_for(State* state, Link* link) noexcept nogil:
    """Report a client that begins without CONNECT as if it had said an empty one. Source: nats-server `parser.go`, `parse`."""
    cdef const char* nothing = b"{}"
    _greeting(state, link, False, nothing, nothing + 2)
    link.implied = link.parked


cdef void _ping(State* state, Link* link) noexcept nogil:
    """Answer PING; behind the first PONG a client is told which account it is in, and what has changed since it was greeted.

    Not earlier: clients take what comes between CONNECT and PONG for the answer. Source: nats-server `client.go`, `processPing`.
    """
    link_say(state, link, b"PONG\r\n")
    if not link.traits & IS_USER or not link.registered or link.ponged:
        return
    link.ponged = 1
    if link.protocol >= 1:
        link_info_connected(state, link)


cdef void _pong(State* state, Link* link) noexcept nogil:
    cdef Record* record
    if link.pongs == link.pings_sent:
        # Nobody asked.
        return
    link.pongs += 1
    link_answered(state, link)
    if link.traits & IS_PEER:
        fences_pass(state, link)
    if link.traits & HEARS_PEER:
        record = record_new(state, RECORD_PONG, link, 0)
        if record != NULL:
            record.number = link.rtt_ns


cdef void _peer_error(State* state, Link* link, const char* at, const char* end) noexcept nogil:
    cdef Record* record
    while at < end and (_is_blank(at[0]) or at[0] == c"'"):
        at += 1
    while end > at and (_is_blank(end[-1]) or end[-1] == c"'"):
        end -= 1
    if not link.traits & HEARS_PEER:
        # A client that has seen an error ends its connection, or so nats-server thinks: `client.go`, `processErr`.
        link_doom(state, link, PARSE_ERROR, True, b"client error")
        return
    end = min(end, at + PEER_ERROR_BYTES_MAX)
    record = record_new(state, RECORD_ERR, link, end - at)
    if record != NULL:
        memcpy(record_chars(record), at, end - at)


cdef bint _common(State* state, Link* link, const char* at, const char* end) noexcept nogil:
    """Handle what every kind of link says; False: it is something else."""
    if _is_verb(at, end, b"ping", 4):
        _ping(state, link)
    elif _is_verb(at, end, b"pong", 4):
        _pong(state, link)
    elif _is_verb(at, end, b"connect", 7) and (at + 7 == end or _is_blank(at[7]) or at[7] == c"{"):
        _greeting(state, link, False, at + 7, end)
    elif _is_verb_with_words(at, end, b"info", 4):
        if link.traits & HEARS_PEER:
            _greeting(state, link, True, at + 4, end)
    elif _is_verb(at, end, b"-err", 4):
        _peer_error(state, link, at + 4, end)
    elif not _is_verb(at, end, b"+ok", 3):
        return False
    return True


cdef bint _may_act(State* state, Link* link, const char* at) noexcept nogil:
    """Whether a link may say this before it has logged in."""
    if link.registered:
        return True
    if link.traits & MAY_BE_ANONYMOUS:
        return not login_terms(state, link).required or (at[0] | 0x20) == c"c"
    if link.accepted and not link.greeted:
        return (at[0] | 0x20) == c"c" or (link.traits & MAY_INTRODUCE and (at[0] | 0x20) == c"i")
    return (at[0] | 0x20) == c"i" or (at[0] | 0x20) == c"c" or (at[0] | 0x20) == c"p" or at[0] == c"-" or at[0] == c"+"


cdef inline char* _take(
    State* state, Link* link, Line* words, Operation operation, char* line, char* body, char* end, Block* block, size_t* need
) noexcept nogil:
    """Carry out an operation, by the function that takes it; return as `_one_line`."""
    if operation == PUBLISH_MESSAGE or operation == PUBLISH_WITH_HEADERS:
        return _publish(state, link, words, operation == PUBLISH_WITH_HEADERS, line, body, end, block, need)
    if operation == MESSAGE or operation == MESSAGE_WITH_HEADERS:
        return _routed(state, link, words, operation == MESSAGE_WITH_HEADERS, False, line, body, end, block, need)
    if operation == MESSAGE_OF_ORIGIN:
        return _routed(state, link, words, True, True, line, body, end, block, need)
    if operation == SUBSCRIBE:
        _subscribe(state, link, words)
    elif operation == UNSUBSCRIBE:
        _unsubscribe(state, link, words)
    elif operation == INTEREST or operation == NO_INTEREST:
        _remote_interest(state, link, words, operation == INTEREST, False)
    elif operation == INTEREST_OF_ORIGIN or operation == NO_INTEREST_OF_ORIGIN:
        _remote_interest(state, link, words, operation == INTEREST_OF_ORIGIN, True)
    elif operation == ACCOUNT_INTEREST or operation == NO_ACCOUNT_INTEREST:
        _account_interest(state, link, words, operation == ACCOUNT_INTEREST)
    return body


cdef inline bint _may_follow(Link* link, const char* at, const char* end) noexcept nogil:
    """Whether a line may be a message for the gate that others wait at: PUB or HPUB, or not enough of it to tell.

    Of a leaf node: LMSG or HMSG; and PING and PONG, by which its server knows that this one is there.
    """
    if not link.traits & IS_USER:
        return (at[0] | 0x20) in (c"h", c"p") or ((at[0] | 0x20) == c"l" and (end - at < 2 or (at[1] | 0x20) == c"m"))
    return (at[0] | 0x20) == c"h" or ((at[0] | 0x20) == c"p" and (end - at < 2 or (at[1] | 0x20) == c"u"))


cdef char* _one_line(
    State* state, Link* link, Line* words, char* at, char* end, char* eol, char* body, Block* block, size_t* need
) noexcept nogil:
    """Handle the line that ends at `eol`; return what follows it and its payload, or NULL as `_take_body`."""
    cdef const Verb* verb = _verb_of(link, at, eol)
    if verb == NULL:
        if not _common(state, link, at, eol):
            _refuse_line(state, link, at, end)
            return NULL
        return body
    if verb.operation == IGNORE:
        return body
    if not _split(words, at + verb.length, eol):
        _refuse(state, link, PROTOCOL_VIOLATION, b"Insufficient Memory", NULL)
        return NULL
    return _take(state, link, words, <Operation> verb.operation, at, body, end, block, need)


cdef char* parse(State* state, Link* link, char* at, char* end, Block* block, size_t* need) noexcept nogil:
    """Handle what a link sent; return the first byte that must come again: with more behind it, or, of a link that is `waiting`, as it is.

    That is when the slice of work is used up, one line at least being handled, or a message is under way that the next must not overtake.

    Args:
        block: Holds `at` to `end`, and COPY_SLACK readable bytes behind; payloads are sent from there.
        need: Set to the length of the frame that is not complete; 0 when that is not known.
    """
    cdef char* eol
    cdef char* line_end
    cdef char* rest
    cdef char* start = at
    cdef int64_t line_max = state.limits.max_control_line
    cdef int64_t connect_max, most
    if link.kind == SYSTEM:
        line_max = end - at
    elif not link.traits & IS_USER:
        line_max = LINE_BYTES_MAX
    connect_max = min(line_max, CONNECT_BYTES_MAX) if link.traits & IS_USER else line_max
    if link.traits & IS_USER and line_max > LINE_BYTES_MAX:
        # Other servers would be told of its interest by lines that they do not take.
        line_max = LINE_BYTES_MAX
    need[0] = 0
    link.lined = 0
    link.waiting = 0
    while at < end and not link.doomed and not link.parked and not link.held:
        if at != start and ((link.first_fanout != NULL and link.kind != SYSTEM) or is_work_done(state)):
            link.waiting = 1
            break
        state.work += LINE_WORK
        if link.at_gate != NULL and not _may_follow(link, at, end):
            link.held = 1
            break
        if (
            link.memo != NULL and link.memo.line_length and link.memo.lines_version == state.lines_version
            and _is_next(link.memo, at, end, link.memo.line_length + link.memo.body_length + 2)
        ):
            rest = _repeat(state, link, at, end, block) if link.quotas == NULL else _repeat_within(state, link, at, end, block)
            if rest != at or link.held:
                at = rest
                continue
        if not _may_act(state, link, at):
            if link.traits & MAY_BE_ANONYMOUS and login_terms(state, link).lets_anybody_in:
                _greet_for(state, link)
                break
            _refuse(state, link, AUTHENTICATION_VIOLATION, b"Authorization Violation", NULL)
            break
        most = connect_max if at[0] | 0x20 == c"c" else line_max
        eol = <char*> memchr(at, c"\n", min(end - at, most + VERB_LONGEST + 2))
        if eol == NULL:
            if not _may_begin(link, at, end):
                _refuse_line(state, link, at, end)
            elif end - at >= most + VERB_LONGEST + 2:
                _refuse(state, link, MAX_CONTROL_LINE_EXCEEDED, b"maximum control line exceeded", NULL)
            elif link.traits & IS_USER and most > LINE_BYTES_MAX and end - at > FRAME_OWN_BLOCK_BYTES // 2:
                need[0] = min(most + VERB_LONGEST + 2, max(2 * (end - at), FRAME_OWN_BLOCK_BYTES + 1))
                link.lined = 1
            break
        line_end = eol - 1 if eol > at and eol[-1] == c"\r" else eol
        if line_end - at > most and _words_length(at, line_end) > most and _may_begin(link, at, line_end):
            _refuse(state, link, MAX_CONTROL_LINE_EXCEEDED, b"maximum control line exceeded", NULL)
            break
        if state.trace:
            if not link.line_traced:
                trace(state, link, True, at, line_end - at)
            link.line_traced = 0
        rest = _one_line(state, link, &state.line, at, end, line_end, eol + 1, block, need)
        if rest == NULL:
            link.line_traced = state.trace and (need[0] != 0 or link.held)
            break
        at = rest
    if link.held and not link.doomed:
        link.waiting = 1
        if end - at > FRAME_OWN_BLOCK_BYTES:
            # Not behind what comes next in a common block, for which it may leave no room.
            need[0] = end - at
    return at
