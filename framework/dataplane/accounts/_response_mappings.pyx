"""Response mappings: where answers go to requests that went to another account.

A request's reply subject is replaced by one under `_R_.`, which only this server gets: one subscription in the exporter's account, told to
routes, takes all of them. That of a request which is timed ends in the server's node and `.T`; see `_remote_latency.pyx`. An answer there
goes on to the requestor's own reply subject. A mapping ends with its last answer, with time, with the requestor's interest, or as the
oldest of too many.

Source: nats-server `accounts.go`, `addRespServiceImport`, `checkForReverseEntry`.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from framework.dataplane.accounts._interest cimport is_literal_subject, subscription_add
from framework.dataplane.accounts._latency cimport sample_failed
from framework.dataplane._state cimport (
    NODE_BYTES, RESPONSE_IMPORT, RESPONSE_MAPPINGS_MAX, Account, Asked, Message, ResponseMapping, ResponseMappings, State, Subscription,
)
from framework.sublist._bytes cimport COPY_SLACK, hash_bytes
from framework.sublist._sublist cimport Match, sublist_match
from framework.sublist._table cimport table_add, table_clear, table_find, table_make, table_remove

cdef enum:
    PREFIX_BYTES = 11
    # `_R_.`, six digits of one account, a dot.
    DIGITS = 11
    # Of one answer: 64 bits.
    TAIL_BYTES = 11
    # `.`, the node, `.T`.
    NEVER_NS = 0x7fffffffffffffff
    LOOKS_A_TICK = 8192
    # Reply subjects of one account: about a millisecond.


cdef void _put_digits(char* at, uint64_t number, int count) noexcept nogil:
    cdef const char* digits = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    cdef int which
    for which in range(count):
        at[which] = digits[number % 62]
        number //= 62


cdef uint64_t _drawn(State* state) noexcept nogil:
    """Return a number that a peer cannot guess from others: a keyed hash of a counter."""
    state.response_serial += 1
    return hash_bytes(state.seed ^ 0xa75e5, <char*> &state.response_serial, sizeof(state.response_serial))


# ---- accounts ----------------------------------------------------------------------------------------------------------


cdef ResponseMappings* _answers(State* state, Account* account) noexcept nogil:
    """Return what an account keeps of answers; NULL: no memory."""
    if account.answers == NULL:
        account.answers = <ResponseMappings*> calloc(1, sizeof(ResponseMappings))
        if account.answers != NULL:
            account.answers.due_ns = NEVER_NS
            account.answers.seed = state.seed
    return account.answers


cdef bint _listen(State* state, Account* account) noexcept nogil:
    """Let answers in an account come here; False: no memory."""
    cdef ResponseMappings* answers = _answers(state, account)
    cdef char subject[16]
    if answers == NULL:
        return False
    if answers.imported.subscription != NULL:
        return True
    memcpy(answers.prefix, b"_R_.", 4)
    _put_digits(answers.prefix + 4, _drawn(state), 6)
    answers.prefix[10] = c"."
    answers.imported.kind = RESPONSE_IMPORT
    answers.imported.account = account
    memcpy(subject, answers.prefix, PREFIX_BYTES)
    subject[PREFIX_BYTES] = c">"
    answers.imported.subscription = subscription_add(state, NULL, account, NULL, 0, subject, PREFIX_BYTES + 1, NULL, 0, 1)
    if answers.imported.subscription == NULL:
        return False
    answers.imported.subscription.imported = &answers.imported
    return True


cdef Asked* _asked(State* state, Account* home, const char* reply, size_t length) noexcept nogil:
    """Find or make the record of a requestor's reply subject; NULL: no memory."""
    cdef ResponseMappings* answers = _answers(state, home)
    cdef uint64_t hashed = hash_bytes(state.seed, reply, length)
    cdef Asked* asked
    if answers == NULL:
        return NULL
    asked = <Asked*> table_find(&answers.asked, hashed, reply, length)
    if asked != NULL:
        return asked
    return <Asked*> table_make(&answers.asked, sizeof(Asked), COPY_SLACK, reply, length, hashed)


# ---- one answer --------------------------------------------------------------------------------------------------------


cdef void _link_newest(ResponseMappings* answers, ResponseMapping* answer) noexcept nogil:
    answer.older = answers.newest
    answer.newer = NULL
    if answers.newest != NULL:
        answers.newest.newer = answer
    else:
        answers.oldest = answer
    answers.newest = answer


cdef void _unlink_age(ResponseMappings* answers, ResponseMapping* answer) noexcept nogil:
    if answer.older != NULL:
        answer.older.newer = answer.newer
    else:
        answers.oldest = answer.newer
    if answer.newer != NULL:
        answer.newer.older = answer.older
    else:
        answers.newest = answer.older


cdef bint _name(State* state, Account* account, ResponseMapping* answer, bint tracked) noexcept nogil:
    """Give an answer a subject of its own; False: no memory."""
    cdef char* chars = <char*> (answer + 1)
    cdef char* tail = chars + PREFIX_BYTES + DIGITS
    memcpy(chars, account.answers.prefix, PREFIX_BYTES)
    answer.key.chars = chars
    answer.key.length = PREFIX_BYTES + DIGITS
    if tracked and state.node[0]:
        tail[0] = c"."
        memcpy(tail + 1, state.node, NODE_BYTES)
        memcpy(tail + 1 + NODE_BYTES, b".T", 2)
        answer.key.length += TAIL_BYTES
    while True:
        _put_digits(chars + PREFIX_BYTES, _drawn(state), DIGITS)
        answer.key.hash = hash_bytes(state.seed, chars, answer.key.length)
        if table_find(&account.answers.by_subject, answer.key.hash, chars, answer.key.length) == NULL:
            return table_add(&account.answers.by_subject, &answer.key)


cdef ResponseMapping* response_mapping_new(
    State* state, Account* account, Message* request, int64_t threshold_ns, int response, bint share, bint tracked
) noexcept nogil:
    """Prepare the way from `account` back to who sent `request`, which is timed when it is `tracked`; NULL: no memory."""
    cdef ResponseMapping* answer
    if not _listen(state, account):
        return NULL
    if account.answers.by_subject.count >= RESPONSE_MAPPINGS_MAX:
        state.totals.answers_dropped += 1
        response_mapping_end(state, account.answers.oldest, TOO_LATE)
    answer = <ResponseMapping*> calloc(1, sizeof(ResponseMapping) + PREFIX_BYTES + DIGITS + TAIL_BYTES + COPY_SLACK)
    if answer == NULL:
        return NULL
    answer.asked = _asked(state, request.account, request.reply, request.reply_length)
    if answer.asked == NULL or not _name(state, account, answer, tracked):
        if answer.asked != NULL:
            _spare_asked(request.account.answers, answer.asked)
        free(answer)
        return NULL
    answer.account = account
    answer.home = request.account
    answer.started_ns = answer.last_ns = state.now_ns
    answer.threshold_ns = threshold_ns
    answer.response = response
    answer.share = share
    answer.after = answer.asked.first
    if answer.after != NULL:
        answer.after.before = answer
    answer.asked.first = answer
    _link_newest(account.answers, answer)
    account.answers.due_ns = min(account.answers.due_ns, state.now_ns + threshold_ns)
    return answer


cdef ResponseMapping* response_mapping_find(Account* account, const char* subject, size_t length) noexcept nogil:
    """Return the way that a subject is the beginning of; NULL: there is none any more."""
    if account.answers == NULL or account.answers.by_subject.count == 0 or length > PREFIX_BYTES + DIGITS + TAIL_BYTES:
        return NULL
    return <ResponseMapping*> table_find(
        &account.answers.by_subject, hash_bytes(account.answers.seed, subject, length), subject, length
    )


cdef void response_mapping_touch(State* state, ResponseMapping* answer) noexcept nogil:
    """Let the threshold run anew: more answers may follow."""
    answer.last_ns = state.now_ns
    _unlink_age(answer.account.answers, answer)
    _link_newest(answer.account.answers, answer)


cdef void _spare_asked(ResponseMappings* answers, Asked* asked) noexcept nogil:
    """Free the record of a reply subject to which nothing is due any more."""
    if asked.first == NULL:
        table_remove(&answers.asked, &asked.key)
        free(asked)


cdef void response_mapping_end(State* state, ResponseMapping* answer, Ending ending) noexcept nogil:
    """Forget a way; a sample that waited for it tells why."""
    cdef Asked* asked = answer.asked
    if answer.latency and not answer.sampled and ending != FORGOTTEN:
        sample_failed(state, answer, ending)
    if answer.before != NULL:
        answer.before.after = answer.after
    else:
        asked.first = answer.after
    if answer.after != NULL:
        answer.after.before = answer.before
    _spare_asked(answer.home.answers, asked)
    _unlink_age(answer.account.answers, answer)
    table_remove(&answer.account.answers.by_subject, &answer.key)
    free(answer.info)
    free(answer.header)
    free(answer)


# ---- many answers --------------------------------------------------------------------------------------------------------


cdef bint _is_asked_still(State* state, Account* home, Asked* asked) noexcept nogil:
    cdef Match* match = sublist_match(&home.sublist, asked.key.chars, asked.key.length)
    return match.plain_count + match.group_count + match.remote_count > 0


cdef void _asked_gone(State* state, Account* home, Asked* asked) noexcept nogil:
    """End the ways to a reply subject that nobody listens to any more. Those that brought an answer end with their time."""
    cdef ResponseMapping* answer = asked.first
    cdef ResponseMapping* following
    if _is_asked_still(state, home, asked):
        return
    while answer != NULL:
        following = answer.after
        if not answer.sampled and not answer.trace:
            response_mapping_end(state, answer, REQUESTOR_GONE)
        answer = following


cdef void response_mappings_gone(State* state, Subscription* subscription) noexcept nogil:
    """Look what a subscription that ended was the last one for; with wildcards, in the next ticks, or each could cost milliseconds."""
    cdef Account* home = subscription.account
    cdef const char* subject = subscription.interest.subject
    cdef size_t length = subscription.interest.subject_length
    cdef Asked* asked
    if home.answers == NULL or home.answers.asked.count == 0 or subscription.imported != NULL:
        return
    if not is_literal_subject(subject, length):
        home.answers.deserted = 1
        return
    asked = <Asked*> table_find(&home.answers.asked, hash_bytes(state.seed, subject, length), subject, length)
    if asked != NULL:
        _asked_gone(state, home, asked)


cdef void _look_for_gone(State* state, Account* home) noexcept nogil:
    """Look at some of the reply subjects of an account in which interest with wildcards has ended."""
    cdef ResponseMappings* answers = home.answers
    cdef Asked* asked
    cdef int left = LOOKS_A_TICK
    if not answers.looking:
        answers.looking = 1
        answers.deserted = 0
        answers.look_at = 0
    while left and answers.asked.slots != NULL and answers.look_at <= answers.asked.mask:
        left -= 1
        asked = <Asked*> answers.asked.slots[answers.look_at].key
        if asked != NULL:
            _asked_gone(state, home, asked)
            if <Asked*> answers.asked.slots[answers.look_at].key != asked:
                # It went, and another may have moved up.
                continue
        answers.look_at += 1
    if left:
        answers.looking = 0


cdef void _expire(State* state, ResponseMappings* answers) noexcept nogil:
    cdef ResponseMapping* answer = answers.oldest
    cdef ResponseMapping* following
    answers.due_ns = NEVER_NS
    while answer != NULL:
        following = answer.newer
        if state.now_ns - answer.last_ns >= answer.threshold_ns:
            response_mapping_end(state, answer, TOO_LATE)
        else:
            answers.due_ns = min(answers.due_ns, answer.last_ns + answer.threshold_ns)
        answer = following


cdef void response_mappings_tick(State* state) noexcept nogil:
    """End the ways that took too long; some times a second."""
    cdef uint32_t at
    cdef ResponseMappings* answers
    for at in range(state.account_count):
        answers = state.accounts[at].answers
        if answers == NULL:
            continue
        if state.now_ns >= answers.due_ns:
            _expire(state, answers)
        if answers.deserted or answers.looking:
            _look_for_gone(state, state.accounts[at])


cdef void response_mappings_forget(State* state, Account* account) noexcept nogil:
    """Forget all ways from and to an account that goes."""
    cdef ResponseMappings* answers = account.answers
    cdef size_t at = 0
    if answers == NULL:
        return
    while answers.oldest != NULL:
        response_mapping_end(state, answers.oldest, FORGOTTEN)
    while answers.asked.slots != NULL and answers.asked.count and at <= answers.asked.mask:
        if answers.asked.slots[at].key == NULL:
            at += 1
        else:
            response_mapping_end(state, (<Asked*> answers.asked.slots[at].key).first, FORGOTTEN)


cdef void response_mappings_free(State* state) noexcept nogil:
    """Free all; the subscriptions have been dropped, or go with their accounts."""
    cdef uint32_t at
    cdef Account* account
    for at in range(state.account_count):
        response_mappings_forget(state, state.accounts[at])
    for at in range(state.account_count):
        account = state.accounts[at]
        if account.answers != NULL:
            table_clear(&account.answers.by_subject)
            table_clear(&account.answers.asked)
            free(account.answers)
            account.answers = NULL
