"""Listings: links or subscriptions for monitoring, some in each turn, however many there are.

A listing is opened with what is asked for, and gives its rows in slices; who asked wants the next slice when it has done with the last.
Each slice costs its turn a bounded number of links and subscriptions looked at, and of bytes. A listing is no picture of one moment: what
comes while it goes on may be missing; what stays all the time is there, and once.

A subscription that ends lets the listings that would look at it next pass on to the one behind (`listings_pass`, called by who drops it).
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from framework.dataplane.delivery._delivery cimport record_chars, record_new
from framework.dataplane._events cimport SubscriptionRecord
from framework.dataplane.links._links cimport link_row
from framework.dataplane._state cimport (
    IS_USER, RECORD_LISTED, Link, Listing, ListingTerms, Record, Row, State, Subscription,
)
from framework.sublist._bytes cimport COPY_SLACK
from framework.sublist._transform cimport subjects_overlap

cdef enum:
    LOOKS_MAX = 2048
    # Links and subscriptions that one slice looks at.
    LINK_ROWS_MAX = 256
    ROWS_MAX = 512
    BYTES_MAX = 65536
    # After which a slice ends; its last row may be longer.


cdef char* _subject(Listing* self) noexcept nogil:
    return <char*> (self + 1)


cdef Listing** _place_of(State* state, int64_t id) noexcept nogil:
    """Return where the pointer to a listing stands; it points to NULL when there is none."""
    cdef Listing** at = &state.listings
    while at[0] != NULL and at[0].id != id:
        at = &at[0].next
    return at


cdef void listing_open(State* state, int64_t id, const char* chars, size_t length) noexcept nogil:
    """Begin a listing; `chars` are its terms, and the subject that rows must overlap, or none."""
    cdef size_t subject_length = length - sizeof(ListingTerms)
    cdef Listing* made = <Listing*> calloc(1, sizeof(Listing) + subject_length + COPY_SLACK)
    if made == NULL:
        # Whoever asks for rows is told that there are none.
        return
    memcpy(&made.terms, chars, sizeof(ListingTerms))
    memcpy(_subject(made), chars + sizeof(ListingTerms), subject_length)
    made.id = id
    made.subject_length = subject_length
    made.slots = state.slot_room
    if made.terms.link:
        made.slot = <uint32_t> made.terms.link
        made.slots = min(made.slots, made.slot + 1)
    made.next = state.listings
    state.listings = made


cdef void listing_close(State* state, int64_t id) noexcept nogil:
    """End a listing; nothing happens when it has ended by itself."""
    cdef Listing** at = _place_of(state, id)
    cdef Listing* gone = at[0]
    if gone != NULL:
        at[0] = gone.next
        free(gone)


# ---- walking -----------------------------------------------------------------------------------------------------------


cdef Link* _link_at(State* state, Listing* self) noexcept nogil:
    """Return the link in the next slot, if it is asked for. A client is there until it is told that it has closed."""
    cdef Link* link = state.slots[self.slot]
    self.slot += 1
    if link == NULL or not self.terms.kinds & (1 << link.kind) or (self.terms.link and link.id != self.terms.link):
        return NULL
    if link.doomed and not (self.terms.links and link.traits & IS_USER):
        return NULL
    if self.terms.account >= 0 and link.traits & IS_USER and link.account.index != self.terms.account:
        return NULL
    return link


cdef bint _on_page(Listing* self) noexcept nogil:
    """Count a row, and tell whether it is of the page."""
    self.matched += 1
    return self.matched > self.terms.offset and self.matched - self.terms.offset <= self.terms.limit


cdef bint _is_over(Listing* self) noexcept nogil:
    """Whether the page is full. One without rows counts to the end."""
    return self.terms.limit > 0 and self.matched >= self.terms.offset and self.matched - self.terms.offset >= self.terms.limit


cdef void _enter(Listing* self, Link* link) noexcept nogil:
    """Begin with the subscriptions of a link; those that all stand before the page, or are only counted, are not looked at."""
    cdef uint64_t count = link.subscription_count
    if self.subject_length == 0 and link.traits & IS_USER and not self.terms.once:
        if self.terms.limit == 0 or self.matched + count <= self.terms.offset:
            self.matched += count
            return
    self.link = link.id
    self.at = link.subscriptions


cdef bint _is_wanted(Listing* self, Subscription* subscription) noexcept nogil:
    if not subscription.account.ours or (self.terms.account >= 0 and subscription.account.index != self.terms.account):
        return False
    return self.subject_length == 0 or subjects_overlap(
        _subject(self), self.subject_length, subscription.interest.subject, subscription.interest.subject_length
    )


cdef Subscription* _following(State* state, Listing* self, uint32_t* looks) noexcept nogil:
    """Return the next subscription of the page; NULL: there is none, or enough was looked at."""
    cdef Link* link
    cdef Subscription* subscription
    while looks[0] and not _is_over(self):
        if self.at == NULL:
            if self.slot >= self.slots:
                return NULL
            looks[0] -= 1
            link = _link_at(state, self)
            if link != NULL:
                _enter(self, link)
            continue
        looks[0] -= 1
        subscription = self.at
        self.at = subscription.next
        if _is_wanted(self, subscription):
            if self.terms.once:
                self.at = NULL
            if _on_page(self):
                return subscription
    return NULL


cdef bint _has_ended(Listing* self) noexcept nogil:
    return _is_over(self) or (self.slot >= self.slots and self.at == NULL)


# ---- rows --------------------------------------------------------------------------------------------------------------


cdef size_t _row_size(Subscription* subscription) noexcept nogil:
    return (
        sizeof(SubscriptionRecord) + subscription.interest.subject_length + subscription.interest.queue_length + subscription.sid_length
    )


cdef char* _put_row(char* at, Subscription* subscription) noexcept nogil:
    cdef SubscriptionRecord head
    # With the bytes between its fields: equal rows are equal bytes.
    memset(&head, 0, sizeof(head))
    head.link = subscription.link.id
    head.cid = subscription.link.cid
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


cdef Record* _subscription_slice(State* state, Listing* self) noexcept nogil:
    """Return a record with the next rows. They are found first, since a record is as long as it is made; nothing ends in between."""
    cdef Subscription* found[ROWS_MAX]
    cdef Subscription* subscription
    cdef uint32_t looks = LOOKS_MAX
    cdef uint32_t count = 0, at
    cdef size_t size = 0
    cdef Record* record
    cdef char* chars
    cdef Link* link = state.slots[<uint32_t> self.link] if self.at != NULL else NULL
    if self.at != NULL and (link == NULL or link.id != self.link or link.doomed):
        self.at = NULL
    while count < ROWS_MAX and size < BYTES_MAX:
        subscription = _following(state, self, &looks)
        if subscription == NULL:
            break
        found[count] = subscription
        count += 1
        size += _row_size(subscription)
    state.work += LOOKS_MAX - looks
    record = record_new(state, RECORD_LISTED, NULL, size)
    if record != NULL:
        chars = record_chars(record)
        for at in range(count):
            chars = _put_row(chars, found[at])
    return record


cdef Record* _link_slice(State* state, Listing* self) noexcept nogil:
    cdef Row rows[LINK_ROWS_MAX]
    cdef uint32_t looks = LOOKS_MAX
    cdef uint32_t count = 0
    cdef Record* record
    cdef Link* link
    while looks and count < LINK_ROWS_MAX and self.slot < self.slots and not _is_over(self):
        looks -= 1
        link = _link_at(state, self)
        if link != NULL and _on_page(self):
            link_row(link, &rows[count])
            count += 1
    state.work += LOOKS_MAX - looks
    record = record_new(state, RECORD_LISTED, NULL, count * sizeof(Row))
    if record != NULL:
        memcpy(record_chars(record), rows, count * sizeof(Row))
    return record


cdef void listing_next(State* state, int64_t id, int64_t token) noexcept nogil:
    """Give the next slice of a listing, and end it when that is the last one."""
    cdef Listing* self = _place_of(state, id)[0]
    cdef Record* record
    if self == NULL:
        record = record_new(state, RECORD_LISTED, NULL, 0)
    elif self.terms.links:
        record = _link_slice(state, self)
    else:
        record = _subscription_slice(state, self)
    if record == NULL:
        return
    record.number = token
    if self != NULL:
        record.other = <int64_t> self.matched
        record.flag = not _has_ended(self)
        if not record.flag:
            listing_close(state, id)
