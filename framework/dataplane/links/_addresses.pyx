"""Addresses that are refused: who connects from one is closed before a byte is said, and is no link.

Each table is a set of ranges for some kinds of links. A range is found by its bits: an address is cut to each length that the table has,
129 at most, and looked for. What is asked is the address of the socket, so a change concerns only who connects from then on.
"""

from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memcpy, memset, strlen

from framework.dataplane.delivery._delivery cimport record_chars, record_new
from framework.dataplane._state cimport ADDRESS_TABLES_MAX, RECORD_REFUSED, AddressTable, Command, Record, State
from framework.dataplane._work cimport INTEREST_WORK, is_work_done
from framework.sublist._bytes cimport COPY_SLACK, hash_bytes
from framework.sublist._table cimport Key, table_clear, table_find, table_make, table_remove

cdef enum:
    MAPPED_BITS = 96
    BITS_MAX = 128


cdef void _change(State* state, AddressTable* table, const char* range, bint comes) noexcept nogil:
    cdef uint64_t hashed = hash_bytes(state.seed, range, RANGE_BYTES)
    cdef Key* there = table_find(&table.ranges, hashed, range, RANGE_BYTES)
    cdef uint32_t* count = &table.lengths[min(<int> <unsigned char> range[ADDRESS_BYTES], BITS_MAX)]
    if comes and there == NULL and table_make(&table.ranges, sizeof(Key), COPY_SLACK, range, RANGE_BYTES, hashed) != NULL:
        count[0] += 1
    elif not comes and there != NULL:
        table_remove(&table.ranges, there)
        free(there)
        count[0] -= 1


cdef bint addresses_change(State* state, Command* command) noexcept nogil:
    """Change a table as far as the turn's work goes; False: there is more of it."""
    cdef AddressTable* table = &state.address_tables[command.number]
    cdef const char* change
    table.kinds = <uint32_t> command.other
    while command.split < command.length:
        if is_work_done(state):
            return False
        state.work += INTEREST_WORK
        change = <const char*> (command + 1) + command.split
        _change(state, table, change, change[RANGE_BYTES])
        command.split += CHANGE_BYTES
    return True


cdef bint _is_in(State* state, AddressTable* table, const char* address) noexcept nogil:
    cdef char range[RANGE_BYTES + COPY_SLACK]
    cdef const char* mapped = b"\0\0\0\0\0\0\0\0\0\0\xff\xff"
    # An IPv4 address is in no range of IPv6, not even in ::/0.
    cdef int bits = MAPPED_BITS if memcmp(address, mapped, MAPPED_BITS // 8) == 0 else 0
    while bits <= BITS_MAX:
        if table.lengths[bits]:
            memset(range, 0, sizeof(range))
            memcpy(range, address, (bits + 7) // 8)
            if bits & 7:
                range[bits // 8] = <char> (range[bits // 8] & (0xff << (8 - (bits & 7))))
            range[ADDRESS_BYTES] = <char> bits
            if table_find(&table.ranges, hash_bytes(state.seed, range, RANGE_BYTES), range, RANGE_BYTES) != NULL:
                return True
        bits += 1
    return False


cdef void _report(State* state, int kind, int table, const char* host, int port) noexcept nogil:
    cdef Record* record
    if state.refusals_left == 0:
        state.refusals_missed += 1
        return
    record = record_new(state, RECORD_REFUSED, NULL, strlen(host))
    if record == NULL:
        return
    state.refusals_left -= 1
    record.kind = <unsigned char> kind
    record.number = table
    record.other = state.refusals_missed
    record.row.port = <unsigned short> port
    memcpy(record_chars(record), host, record.length)
    state.refusals_missed = 0


cdef bint is_address_refused(State* state, int kind, const char* address, const char* host, int port) noexcept nogil:
    """Whether a link of a kind is refused to an address; it is counted, and reported.

    Args:
        address: ADDRESS_BYTES.
        host: The same as text.
    """
    cdef int at
    for at in range(ADDRESS_TABLES_MAX):
        if state.address_tables[at].ranges.count and state.address_tables[at].kinds >> kind & 1:
            if _is_in(state, &state.address_tables[at], address):
                state.address_tables[at].refused += 1
                _report(state, kind, at, host, port)
                return True
    return False


cdef void addresses_free(State* state) noexcept nogil:
    cdef int table
    cdef size_t at
    for table in range(ADDRESS_TABLES_MAX):
        if state.address_tables[table].ranges.slots != NULL:
            for at in range(state.address_tables[table].ranges.mask + 1):
                free(state.address_tables[table].ranges.slots[at].key)
        table_clear(&state.address_tables[table].ranges)
