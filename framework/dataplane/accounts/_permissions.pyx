"""Permissions of clients: tables of subject rules, with answers cached by subject.

A table is made by whoever adds it, and read by the loop alone from then on; links share it and it goes with the last of them. Its rules
stand in two subject tables, one for publishing and one for subscribing, where what is denied stands as interest of others: one look-up
finds what allows a subject, and what denies it. The answers for subjects of messages are remembered in one place for all tables.

Source: nats-server `client.go`, `setPermissions`, `pubAllowedFullCheck`, `canSubscribeInternal`, `queueMatches`, `checkDenySub`;
`sublist.go`, `SubjectsCollide`.
"""

from libc.stdint cimport uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memchr, memcmp, memcpy

from framework.dataplane.accounts._replies cimport reply_is_due, replies_free, replies_new
from framework.dataplane._state cimport (
    GUARD_NONE, NEEDED_BY_SERVERS, VERDICT_BYTES, VERDICT_SETS, Link, PermissionTable, Rule, State, Subscription, Verdict,
)
from framework.dataplane.protocol._reserved cimport is_reserved
from framework.sublist._bytes cimport COPY_SLACK, hash_bytes
from framework.sublist._sublist cimport Group, Interest, Match, sublist_close, sublist_insert, sublist_match, sublist_open
from framework.sublist._transform cimport is_subset

cdef enum Question:
    # What a remembered answer is about.
    PUBLISH = 0
    HEAR = 1
    SEND = 2
    TELL = 3


# ---- tables ------------------------------------------------------------------------------------------------------------


cdef PermissionTable* permission_table_new(uint64_t seed, uint64_t serial) noexcept nogil:
    """Make a table that allows everything; `serial` is of this table alone, for ever. NULL: no memory."""
    cdef PermissionTable* table = <PermissionTable*> calloc(1, sizeof(PermissionTable))
    if table == NULL:
        return NULL
    table.serial = serial
    table.users = 1
    # A sublist that remembers no match: what was found out is remembered here.
    sublist_open(&table.publish, seed, 0)
    sublist_open(&table.subscribe, seed, 0)
    return table


cdef bint permission_rule_add(
    PermissionTable* table, bint publish, bint deny, const char* subject, size_t length, const char* queue, size_t queue_length
) noexcept nogil:
    """Add a rule for a valid subject; False: no memory."""
    cdef Rule* rule = <Rule*> calloc(1, sizeof(Rule) + length + queue_length + COPY_SLACK)
    cdef char* chars
    if rule == NULL:
        return False
    chars = <char*> (rule + 1)
    memcpy(chars, subject, length)
    memcpy(chars + length, queue, queue_length)
    rule.interest.subject = chars
    rule.interest.subject_length = <uint32_t> length
    rule.interest.queue = chars + length
    rule.interest.queue_length = <uint32_t> queue_length
    rule.interest.weight = 1
    rule.interest.rank = deny
    rule.publish = publish
    if not sublist_insert(&table.publish if publish else &table.subscribe, &rule.interest):
        free(rule)
        return False
    rule.next = table.rules
    table.rules = rule
    if deny and not publish:
        rule.next_filter = table.filters
        table.filters = rule
    return True


cdef void permission_table_release(PermissionTable* table) noexcept nogil:
    """One user less; the last one frees it."""
    cdef Rule* rule
    table.users -= 1
    if table.users:
        return
    sublist_close(&table.publish)
    sublist_close(&table.subscribe)
    while table.rules != NULL:
        rule = table.rules
        table.rules = rule.next
        free(rule)
    free(table)


cdef bint permission_table_keep(State* state, uint32_t number, PermissionTable* table) noexcept nogil:
    """Give a number its table; NULL: none any more. False: no memory, and the table is released."""
    cdef PermissionTable** grown
    cdef uint32_t room
    if number >= state.permission_room:
        room = max(number + 1, state.permission_room * 2)
        grown = <PermissionTable**> realloc(state.permissions, room * sizeof(PermissionTable*))
        if grown == NULL:
            if table != NULL:
                permission_table_release(table)
            return False
        while state.permission_room < room:
            grown[state.permission_room] = NULL
            state.permission_room += 1
        state.permissions = grown
    if state.permissions[number] != NULL:
        permission_table_release(state.permissions[number])
    state.permissions[number] = table
    return True


cdef void permissions_free(State* state) noexcept nogil:
    cdef uint32_t at
    for at in range(state.permission_room):
        if state.permissions[at] != NULL:
            permission_table_release(state.permissions[at])
    free(state.permissions)
    free(state.verdicts)


cdef void link_permit(Link* link, PermissionTable* table) noexcept nogil:
    """Put a client under a table; NULL: it may do everything. Answers that it owes stay allowed where the rule for them is the same."""
    cdef PermissionTable* before = link.permissions
    link.permissions = table
    if table != NULL:
        table.users += 1
    if link.replies != NULL and (
        table == NULL or not table.answers or table.answers_max != before.answers_max or table.answers_ns != before.answers_ns
    ):
        replies_free(link.replies)
        link.replies = NULL
    if table != NULL and table.answers and link.replies == NULL:
        link.replies = replies_new()
    if before != NULL:
        permission_table_release(before)


# ---- queue groups and wildcards ----------------------------------------------------------------------------------------


cdef bint _is(const char* token, size_t length, char wildcard) noexcept nogil:
    return length == 1 and token[0] == wildcard


cdef size_t _token(const char* at, const char* end) noexcept nogil:
    """Return the length of the token that begins at `at`."""
    cdef const char* dot = <const char*> memchr(at, c".", end - at)
    return (dot if dot != NULL else end) - at


cdef bint _collide(const char* left, size_t left_length, const char* right, size_t right_length) noexcept nogil:
    """Whether a subject exists that both reach."""
    cdef const char* left_end = left + left_length
    cdef const char* right_end = right + right_length
    cdef size_t a, b
    while True:
        a = _token(left, left_end)
        b = _token(right, right_end)
        if _is(left, a, c">") or _is(right, b, c">"):
            return True
        if not _is(left, a, c"*") and not _is(right, b, c"*") and (a != b or memcmp(left, right, a)):
            return False
        left += a
        right += b
        if left == left_end or right == right_end:
            return left == left_end and right == right_end
        left += 1
        right += 1


cdef bint _names_group(Match* match, bint deny, bint all_below, const char* queue, size_t length, bint* any_group) noexcept nogil:
    """Whether a rule for queue groups is about this one; `any_group`: whether there is one at all. `all_below` as in `_reaches`."""
    cdef uint32_t at, count
    cdef Group* group
    any_group[0] = False
    for at in range(match.group_count):
        group = &match.groups[at]
        count = group.remote_count if deny else group.local_count
        if count == 0 or not _reaches(&match.members[group.first + (group.local_count if deny else 0)], count, all_below):
            continue
        any_group[0] = True
        if group.name_length == length and memcmp(group.name, queue, length) == 0:
            return True
        if is_subset(queue, length, group.name, group.name_length):
            return True
    return False


cdef bint _ends_in_all(const char* subject, size_t length) noexcept nogil:
    return length > 0 and subject[length - 1] == c">" and (length == 1 or subject[length - 2] == c".")


cdef bint _reaches(Interest** rules, uint32_t count, bint all_below) noexcept nogil:
    """Whether there is a rule; for a subscription that ends in `>`, `all_below`, one that does as well.

    A rule that ends in `*` finds `>` as if it were any token, though it allows much less. nats-server lets it.
    """
    cdef uint32_t at
    if not all_below:
        return count > 0
    for at in range(count):
        if _ends_in_all(rules[at].subject, rules[at].subject_length):
            return True
    return False


# ---- answers -----------------------------------------------------------------------------------------------------------


cdef bint _is_wild(const char* subject, size_t length) noexcept nogil:
    """Whether a subject has a wildcard."""
    cdef const char* end = subject + length
    cdef size_t token
    while subject <= end:
        token = _token(subject, end)
        if _is(subject, token, c">") or _is(subject, token, c"*"):
            return True
        subject += token + 1
    return False


cdef bint _overlaps(PermissionTable* table, const char* subject, size_t length) noexcept nogil:
    """Whether a rule allows to publish to some of a subject with wildcards."""
    cdef Rule* rule = table.rules
    if not _is_wild(subject, length):
        return False
    while rule != NULL:
        if rule.publish and not rule.interest.rank and _collide(rule.interest.subject, rule.interest.subject_length, subject, length):
            return True
        rule = rule.next
    return False


cdef bint _judge(PermissionTable* table, Question question, const char* subject, size_t length, const char* queue,
                 size_t queue_length) noexcept nogil:
    """Look the rules up; True: allowed."""
    cdef bint of_publish = question == PUBLISH or question == TELL
    cdef Match* match = sublist_match(&table.publish if of_publish else &table.subscribe, subject, length)
    cdef bint any_group
    if match.remote_count:
        return False
    if of_publish:
        return match.plain_count > 0 or not table.publish_limited or (question == TELL and _overlaps(table, subject, length))
    if question == SEND:
        return match.plain_count > 0 or not table.subscribe_limited
    return not (queue_length and _names_group(match, True, False, queue, queue_length, &any_group))


cdef bint _remembered(State* state, PermissionTable* table, Question question, const char* subject, size_t length,
                      const char* queue, size_t queue_length) noexcept nogil:
    """Return what `_judge` says. Cost: a hash and a comparison when the subject was asked for lately."""
    cdef uint64_t serial = table.serial * 4 + question
    cdef uint64_t hashed = hash_bytes(state.seed ^ serial, subject, length)
    cdef Verdict* verdict
    cdef int way
    if queue_length:
        hashed ^= hash_bytes(state.seed, queue, queue_length)
    if length + queue_length > VERDICT_BYTES:
        return _judge(table, question, subject, length, queue, queue_length)
    if state.verdicts == NULL:
        state.verdicts = <Verdict*> calloc(2 * VERDICT_SETS, sizeof(Verdict))
        if state.verdicts == NULL:
            return _judge(table, question, subject, length, queue, queue_length)
    verdict = &state.verdicts[2 * (hashed & (VERDICT_SETS - 1))]
    for way in range(2):
        if (
            verdict[way].hash == hashed and verdict[way].serial == serial
            and verdict[way].length == length and verdict[way].queue_length == queue_length
            and memcmp(verdict[way].chars, subject, length) == 0
            and memcmp(verdict[way].chars + length, queue, queue_length) == 0
        ):
            return verdict[way].allowed
    verdict[1] = verdict[0]
    verdict.hash = hashed
    verdict.serial = serial
    verdict.length = <uint16_t> length
    verdict.queue_length = <uint16_t> queue_length
    memcpy(verdict.chars, subject, length)
    memcpy(verdict.chars + length, queue, queue_length)
    verdict.allowed = _judge(table, question, subject, length, queue, queue_length)
    return verdict.allowed


cdef bint is_allowed_to_publish(State* state, Link* link, const char* subject, size_t length) noexcept nogil:
    """Whether the rules of a client let it publish to a subject, whatever it owes."""
    cdef PermissionTable* table = link.permissions
    return table == NULL or not table.publish_checked or _remembered(state, table, PUBLISH, subject, length, b"", 0)


cdef Allowed may_publish(State* state, Link* link, const char* subject, size_t length, Match* match) noexcept nogil:
    """Whether a client under rules for publishing may publish to a subject. An answer that it owes is counted.

    Args:
        match: Of the subject in the client's account. It keeps the judgement: the next message costs a comparison.
    """
    cdef uint64_t judge = link.permissions.serial
    if match.judge != judge:
        match.judgement = _remembered(state, link.permissions, PUBLISH, subject, length, b"", 0)
        match.judge = judge
    if match.judgement:
        return ALLOWED
    if link.replies != NULL and reply_is_due(state, link.replies, subject, length):
        return AS_ANSWER
    return FORBIDDEN


cdef bint may_subscribe(Link* link, const char* subject, size_t length, const char* queue, size_t queue_length) noexcept nogil:
    """Whether a client may subscribe to a subject, which may have wildcards: these must be allowed as such."""
    cdef PermissionTable* table = link.permissions
    cdef Match* match
    cdef bint named = False
    cdef bint any_group = False
    cdef bint all_below = _ends_in_all(subject, length)
    if table == NULL or not table.subscribe_checked:
        return True
    match = sublist_match(&table.subscribe, subject, length)
    if table.subscribe_limited:
        if queue_length:
            named = _names_group(match, False, all_below, queue, queue_length, &any_group)
        # A group is allowed by its name where names stand, else by who may subscribe at all.
        if not (named if any_group else _reaches(match.plain, match.plain_count, all_below)):
            return False
    if match.remote_count:
        return False
    return not (queue_length and _names_group(match, True, False, queue, queue_length, &any_group))


cdef bint needs_filter(Link* link, const char* subject, size_t length) noexcept nogil:
    """Whether messages of an allowed subscription must be looked at one by one, since some of its subjects may be denied."""
    cdef Rule* rule
    if link.permissions == NULL:
        return False
    rule = link.permissions.filters
    while rule != NULL:
        if _collide(rule.interest.subject, rule.interest.subject_length, subject, length):
            return True
        rule = rule.next_filter
    return False


cdef bint may_hear(State* state, Subscription* subscription, const char* subject, size_t length) noexcept nogil:
    """Whether a message may go to a subscription that `needs_filter`."""
    return _remembered(
        state, subscription.link.permissions, HEAR, subject, length, subscription.interest.queue, subscription.interest.queue_length
    )


# ---- servers -----------------------------------------------------------------------------------------------------------


cdef bint may_import(State* state, Link* peer, PermissionTable* table, const char* subject, size_t length) noexcept nogil:
    """Whether a server under these rules is told of interest in a subject.

    A subject with wildcards must be allowed as such; where the link has a guard, in part. Source: nats-server `client.go`,
    `canSubscribeInternal`.
    """
    if table == NULL or not table.publish_checked:
        return True
    if peer.guard != GUARD_NONE:
        return _remembered(state, table, TELL, subject, length, b"", 0)
    if is_reserved(state, NEEDED_BY_SERVERS, subject, length):
        return sublist_match(&table.publish, subject, length).remote_count == 0
    return _remembered(state, table, PUBLISH, subject, length, b"", 0)


cdef bint may_export(State* state, Link* peer, const char* subject, size_t length) noexcept nogil:
    """Whether interest of a server in a subject counts here, with or without a queue group.

    As for clients, a rule that ends in `*` does not let `>` in; nats-server lets it. Where the link has a guard, any interest with
    wildcards counts: each message is looked at. Source: nats-server `leafnode.go`, `processLeafSub`.
    """
    if peer.permissions == NULL:
        return True
    if peer.guard != GUARD_NONE:
        return _is_wild(subject, length) or _remembered(state, peer.permissions, SEND, subject, length, b"", 0)
    if is_reserved(state, NEEDED_BY_SERVERS, subject, length):
        return sublist_match(&peer.permissions.subscribe, subject, length).remote_count == 0
    return may_subscribe(peer, subject, length, b"", 0)


cdef bint may_send(State* state, Link* peer, const char* subject, size_t length) noexcept nogil:
    """Whether a message may go to a server that has interest in it: wildcards may let more through than is to be exported."""
    cdef PermissionTable* table = peer.permissions
    if table == NULL:
        return True
    if peer.guard != GUARD_NONE:
        return _remembered(state, table, SEND, subject, length, b"", 0)
    return table.filters == NULL or _remembered(state, table, HEAR, subject, length, b"", 0)


cdef Allowed may_bring(State* state, Link* peer, const char* subject, size_t length) noexcept nogil:
    """Whether a server whose link has a guard may send a message here; an answer that it owes is counted."""
    if is_allowed_to_publish(state, peer, subject, length):
        return ALLOWED
    if peer.replies != NULL and reply_is_due(state, peer.replies, subject, length):
        return AS_ANSWER
    return FORBIDDEN
