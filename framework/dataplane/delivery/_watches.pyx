"""Watch what enters the cluster here, beside the match: taps that change nothing.

An account has tables of rules beside its subscriptions: who gets a copy of what is published (`ingress`), and who gets what found no
receiver (`unheard`); a third one has the gates on its way (`_gates.pyx`). None is interest: no other server is told of it, it draws no
message here, and a request that nobody serves still gets its 503.

The verdict on a subject, whether anybody watches it, is kept with the match of that subject, and with a line that repeats: what nobody
watches costs a comparison, however many rules there are.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memchr, memcpy

from framework.dataplane.delivery._delivery cimport lines_forget
from framework.dataplane.ports._sinkbatch cimport sink_put, sink_put_run
from framework.dataplane._state cimport FIRST_TOKENS, Account, Message, Sink, State, Watch, Watches
from framework.dataplane._work cimport REPEATS_A_WORK
from framework.sublist._bytes cimport COPY_SLACK, hash_bytes
from framework.sublist._sublist cimport (
    Interest, Match, sublist_close, sublist_count_here, sublist_insert, sublist_match, sublist_open, sublist_remove,
)

cdef enum:
    WATCHED_CACHE_MAX = 65536
    # Subjects whose watchers are remembered: as many as an account's.
    UNHEARD_CACHE_MAX = 4096


# ---- rules -------------------------------------------------------------------------------------------------------------


cdef Watches* watches_made(State* state) noexcept nogil:
    """Return tables without a rule; NULL: no memory."""
    cdef Watches* watches = <Watches*> calloc(1, sizeof(Watches))
    if watches != NULL:
        sublist_open(&watches.ingress, state.seed, WATCHED_CACHE_MAX)
        sublist_open(&watches.unheard, state.seed, UNHEARD_CACHE_MAX)
        sublist_open(&watches.gates, state.seed, WATCHED_CACHE_MAX)
        watches.ingress.work = watches.unheard.work = watches.gates.work = &state.work
    return watches


cdef void watches_free(Account* account) noexcept nogil:
    """Free the tables of an account; the rules in them are their sinks'."""
    if account.watches == NULL:
        return
    sublist_close(&account.watches.ingress)
    sublist_close(&account.watches.unheard)
    sublist_close(&account.watches.gates)
    free(account.watches)
    account.watches = NULL


cdef void watches_changed(State* state, Account* account) noexcept nogil:
    """Forget what was judged by the rules before."""
    state.watch_serial += 1
    account.watches.serial = state.watch_serial
    lines_forget(state)
    if account.watches.ingress.count + account.watches.unheard.count + account.watches.gates.count == 0:
        watches_free(account)


cdef uint32_t _first_token(const char* subject, size_t length) noexcept nogil:
    """Return the place of the rules that begin as a subject does."""
    cdef const char* dot = <const char*> memchr(subject, c".", length)
    return hash_bytes(0, subject, length if dot == NULL else <size_t> (dot - subject)) % FIRST_TOKENS


cdef void watches_count(Watches* watches, Interest* rule, int change) noexcept nogil:
    """Count a rule of `ingress` or `gates` that comes or goes, by its first token."""
    cdef const char* subject = rule.subject
    cdef size_t at
    cdef bint is_token = rule.subject_length == 1 or subject[1] == c"."
    if not (is_token and (subject[0] == c"*" or subject[0] == c">")):
        watches.first_tokens[_first_token(subject, rule.subject_length)] += change
        return
    for at in range(FIRST_TOKENS):
        watches.first_tokens[at] += change


cdef bint watch_add(State* state, Account* account, Sink* sink, const char* subject, size_t length, bint unheard) noexcept nogil:
    """Let a sink watch a valid subject of its account; False: no memory."""
    cdef Watch* watch = <Watch*> calloc(1, sizeof(Watch) + length + COPY_SLACK)
    cdef bint added = False
    if watch == NULL:
        return False
    if account.watches == NULL:
        account.watches = watches_made(state)
    memcpy(<char*> (watch + 1), subject, length)
    watch.interest.subject = <char*> (watch + 1)
    watch.interest.subject_length = <uint32_t> length
    watch.interest.weight = 1
    watch.sink = sink
    watch.unheard = unheard
    if account.watches != NULL:
        added = sublist_insert(&account.watches.unheard if unheard else &account.watches.ingress, &watch.interest)
        if added and not unheard:
            watches_count(account.watches, &watch.interest, 1)
        watches_changed(state, account)
    if added:
        sink.watch = watch
    else:
        free(watch)
    return added


cdef void watch_remove(State* state, Sink* sink) noexcept nogil:
    """Let a sink watch nothing any more."""
    cdef Watch* watch = sink.watch
    if watch == NULL:
        return
    sublist_remove(&sink.account.watches.unheard if watch.unheard else &sink.account.watches.ingress, &watch.interest)
    if not watch.unheard:
        watches_count(sink.account.watches, &watch.interest, -1)
    watches_changed(state, sink.account)
    free(watch)
    sink.watch = NULL


# ---- who watches a subject ---------------------------------------------------------------------------------------------


cdef Match* watch_match(Watches* watches, const char* subject, size_t length) noexcept nogil:
    """Return who watches a subject; NULL: nobody. It holds until the next look or change."""
    cdef Match* found = sublist_match(&watches.ingress, subject, length)
    return found if found.plain_count else NULL


cdef void watched_find(Watches* watches, Match* match, const char* subject, size_t length) noexcept nogil:
    """Find out who watches a subject, for `watched_by`. Cost: a hash of its first token, where no rule has that."""
    cdef uint32_t taps = 0
    match.watched = 0
    match.watch_serial = watches.serial
    if watches.first_tokens[_first_token(subject, length)] == 0:
        return
    # The answer is kept: a match among the rules for each subject beside that would only be in the way.
    if watches.ingress.count:
        taps = sublist_count_here(&watches.ingress, subject, length, &match.watcher)
        match.watched = WATCHED_BY_TAPS * (taps > 0)
    if taps != 1:
        match.watcher = NULL
    if watches.gates.count and sublist_count_here(&watches.gates, subject, length, NULL):
        match.watched |= WATCHED_BY_GATES


cdef bint is_heard_unheard(Watches* watches, const char* subject, size_t length) noexcept nogil:
    """Whether anybody wants what finds no receiver on a subject."""
    return watches.unheard.count > 0 and sublist_match(&watches.unheard, subject, length).plain_count > 0


# ---- copies ------------------------------------------------------------------------------------------------------------


cdef inline bint _leaves_out(Sink* sink, Message* message) noexcept nogil:
    """Whether a sink wants nothing of a subject that it watches."""
    return sink.no_reserved and message.subject[0] == c"$"


cdef inline bint _is_drawn(Sink* sink) noexcept nogil:
    """Whether the next message is one of the sample."""
    # Knuth's MMIX: its upper half is random enough to choose messages.
    sink.random = sink.random * <uint64_t> 6364136223846793005 + <uint64_t> 1442695040888963407
    return <uint32_t> (sink.random >> 32) < sink.sample


cdef void _cut(Sink* sink, Message* message, Message* part) noexcept nogil:
    """Make of a message what a sink wants of it."""
    part[0] = message[0]
    if sink.no_headers:
        part.body += part.header_length
        part.body_length -= part.header_length
        part.header_length = 0
    part.body_length = min(part.body_length, part.header_length + <size_t> sink.payload_max)


cdef void _copy(State* state, Sink* sink, Message* message) noexcept nogil:
    """Give a watcher what it wants of a message."""
    cdef Message part
    cdef int64_t payload = message.body_length - message.header_length
    if _leaves_out(sink, message) or (sink.sample and not _is_drawn(sink)):
        return
    if payload > sink.payload_max or (sink.no_headers and message.header_length):
        _cut(sink, message, &part)
        sink_put(state, sink, &part, payload)
    else:
        sink_put(state, sink, message, payload)


cdef void watchers_copy(State* state, Match* watchers, Message* message) noexcept nogil:
    """Give each watcher a copy; one that has no room drops and counts it."""
    cdef uint32_t at
    state.work += watchers.plain_count
    for at in range(watchers.plain_count):
        _copy(state, (<Watch*> watchers.plain[at]).sink, message)


cdef void watchers_copy_run(
    State* state, Match* watchers, Message* message, const char* body, size_t frame, size_t count
) noexcept nogil:
    """Give each watcher copies of messages that differ in their bodies alone; these begin at `body`, one each `frame` bytes."""
    cdef uint32_t at
    cdef Sink* sink
    cdef Message part
    state.work += watchers.plain_count * <int64_t> (1 + count // REPEATS_A_WORK)
    for at in range(watchers.plain_count):
        sink = (<Watch*> watchers.plain[at]).sink
        if _leaves_out(sink, message):
            continue
        _cut(sink, message, &part)
        if sink.sample:
            _copy_drawn(state, sink, &part, <int64_t> message.body_length, body, frame, count)
        else:
            sink_put_run(state, sink, &part, <int64_t> message.body_length, body, frame, count)


cdef void _copy_drawn(
    State* state, Sink* sink, Message* part, int64_t payload, const char* body, size_t frame, size_t count
) noexcept nogil:
    """Give a sink a sample of a run."""
    cdef size_t at
    for at in range(count):
        if _is_drawn(sink):
            sink_put_run(state, sink, part, payload, body + at * frame, frame, 1)


cdef void watched_copy(State* state, Match* match, Message* message) noexcept nogil:
    """Give a message to the taps that watch its subject.

    Args:
        match: Of the subject in the account; `watched_by` has said of it that there are some.
    """
    if match.watcher != NULL:
        state.work += 1
        _copy(state, (<Watch*> match.watcher).sink, message)
    else:
        watchers_copy(state, sublist_match(&message.account.watches.ingress, message.subject, message.subject_length), message)


cdef void unheard_copy(State* state, Message* message) noexcept nogil:
    """Give a message that found no receiver to those that want such."""
    cdef Watches* watches = message.account.watches
    if watches != NULL and watches.unheard.count:
        watchers_copy(state, sublist_match(&watches.unheard, message.subject, message.subject_length), message)
