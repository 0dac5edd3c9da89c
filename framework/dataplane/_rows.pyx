"""Rows of listings: as Python has them, and as the JSON that monitoring shows.

A million subscriptions are a million rows, so their JSON is written here, without an object for each.
Source of the fields: nats-server `monitor.go`, `SubDetail`, `newSubDetail`, `newClientSubDetail`.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int64_t
from libc.stdlib cimport free, realloc
from libc.stdio cimport snprintf
from libc.string cimport memcpy, strlen

from framework.dataplane._events cimport SubscriptionRecord, row_made
from framework.dataplane._state cimport Row

from msgspec.json import encode

from framework.dataplane.link import SubscriptionRow

cdef enum:
    NUMBER_BYTES = 24


cdef struct Text:
    # What is written, and its room.
    char* chars
    size_t length
    size_t room


cdef struct Layout:
    # What stands around the fields of an item.
    const char* newline
    # Before an item, and before its closing brace.
    size_t newline_length
    bint spaced


cdef int _reserve(Text* self, size_t count) except -1:
    cdef size_t room = self.room
    cdef char* grown
    if self.length + count <= room:
        return 0
    room = (self.length + count) * 2
    grown = <char*> realloc(self.chars, room)
    if grown == NULL:
        raise MemoryError
    self.chars = grown
    self.room = room
    return 0


cdef int _put(Text* self, const char* chars, size_t length) except -1:
    _reserve(self, length)
    memcpy(self.chars + self.length, chars, length)
    self.length += length
    return 0


cdef int _put_number(Text* self, int64_t number) except -1:
    cdef char digits[NUMBER_BYTES]
    cdef int length = snprintf(digits, NUMBER_BYTES, "%lld", <long long> number)
    return _put(self, digits, length)


cdef int _put_string(Text* self, const char* chars, size_t length) except -1:
    """Write a JSON string: as it is where that is allowed; what is no UTF-8 becomes U+FFFD, as in Go."""
    cdef size_t at
    cdef unsigned char byte
    cdef bytes written
    for at in range(length):
        byte = <unsigned char> chars[at]
        if byte < 32 or byte > 126 or byte == c'"' or byte == c"\\":
            written = encode(chars[:length].decode("utf-8", "replace"))
            return _put(self, <const char*> written, len(written))
    _put(self, b'"', 1)
    _put(self, chars, length)
    return _put(self, b'"', 1)


cdef int _put_name(Text* self, const Layout* layout, const char* name, bint first=False) except -1:
    """Write what stands before the value of a field."""
    if not first:
        _put(self, b",", 1)
    _put(self, layout.newline, layout.newline_length)
    if layout.spaced:
        _put(self, b"  ", 2)
    _put(self, b'"', 1)
    _put(self, name, strlen(name))
    return _put(self, b'": ', 3) if layout.spaced else _put(self, b'":', 2)


cdef int _put_item(Text* self, const Layout* layout, object head, SubscriptionRecord* row, const char* chars) except -1:
    cdef bytes named
    cdef const char* queue = chars + row.subject_length
    cdef const char* sid = queue + row.queue_length
    _put(self, layout.newline, layout.newline_length)
    _put(self, b"{", 1)
    if head is not None:
        account, tag = head
        named = account
        _put_name(self, layout, b"account", True)
        _put_string(self, <const char*> named, len(named))
        named = tag
        _put_name(self, layout, b"account_tag")
        _put_string(self, <const char*> named, len(named))
    _put_name(self, layout, b"subject", head is None)
    _put_string(self, chars, row.subject_length)
    if row.queue_length:
        _put_name(self, layout, b"qgroup")
        _put_string(self, queue, row.queue_length)
    _put_name(self, layout, b"sid")
    _put_string(self, sid, row.sid_length)
    _put_name(self, layout, b"msgs")
    _put_number(self, row.msgs)
    if row.max_msgs:
        _put_name(self, layout, b"max")
        _put_number(self, row.max_msgs)
    _put_name(self, layout, b"cid")
    _put_number(self, <int64_t> row.cid)
    _put(self, layout.newline, layout.newline_length)
    return _put(self, b"}", 1)


def subscription_items(data: bytes, newline: bytes, *, accounts=None) -> bytes:
    """Return subscriptions as JSON objects with commas between them.

    Args:
        data: Of a `Listed`.
        newline: What stands before each item, and its closing brace; empty: no blanks anywhere.
        accounts: Name and name tag of each account by its number; None: they are left out.
    """
    return _written(data, newline, accounts, True)


def subject_items(data: bytes, newline: bytes) -> bytes:
    """Return the subjects of subscriptions as JSON strings with commas between them; see `subscription_items`."""
    return _written(data, newline, None, False)


cdef bytes _written(bytes data, bytes newline, object accounts, bint whole):
    cdef Text text
    cdef Layout layout
    cdef SubscriptionRecord row
    cdef const char* at = data
    cdef const char* end = at + len(data)
    text.chars = NULL
    text.length = text.room = 0
    layout.newline = newline
    layout.newline_length = len(newline)
    layout.spaced = len(newline) > 0
    try:
        while at < end:
            memcpy(&row, at, sizeof(row))
            at += sizeof(row)
            if text.length:
                _put(&text, b",", 1)
            if whole:
                _put_item(&text, &layout, None if accounts is None else accounts[row.account], &row, at)
            else:
                _put(&text, layout.newline, layout.newline_length)
                _put_string(&text, at, row.subject_length)
            at += row.subject_length + row.queue_length + row.sid_length
        return PyBytes_FromStringAndSize(text.chars, text.length)
    finally:
        free(text.chars)


def link_rows(data: bytes) -> tuple[object, ...]:
    """Return the links in the data of a `Listed`."""
    cdef const char* chars = data
    cdef Row* rows = <Row*> chars
    cdef size_t at
    return tuple([row_made(&rows[at]) for at in range(len(data) // sizeof(Row))])


def subscription_rows(data: bytes) -> tuple[object, ...]:
    """Return the subscriptions in the data of a `Listed`."""
    cdef SubscriptionRecord head
    cdef const char* at = data
    cdef const char* end = at + len(data)
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
    return tuple(rows)
