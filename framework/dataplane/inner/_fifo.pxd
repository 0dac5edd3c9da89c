"""A queue of records from one core to another: one side writes, one reads, neither waits.

Records lie in blocks that the writer makes; what has been read comes back to it. A record is seen when `written` says so, which is stored
behind its bytes (release) and loaded before them (acquire). `written` and `read` count bytes of records since the beginning.
"""

from libc.stdint cimport int32_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

from framework.sublist._bytes cimport COPY_SLACK


cdef extern from *:
    """
    #ifndef FRAMEWORK_FIFO_H
    #define FRAMEWORK_FIFO_H
    #include <stdint.h>
    static inline uint64_t word_acquire(const uint64_t *at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }
    static inline uint64_t word_relaxed(const uint64_t *at) { return __atomic_load_n(at, __ATOMIC_RELAXED); }
    static inline void word_release(uint64_t *at, uint64_t value) { __atomic_store_n(at, value, __ATOMIC_RELEASE); }
    static inline void word_put(uint64_t *at, uint64_t value) { __atomic_store_n(at, value, __ATOMIC_RELAXED); }
    static inline void full_fence(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
    static inline int32_t users_change(int32_t *at, int32_t by) { return __atomic_add_fetch(at, by, __ATOMIC_ACQ_REL); }
    static inline void *list_take(void **at) { return __atomic_exchange_n(at, (void *)0, __ATOMIC_ACQUIRE); }
    static inline void list_give(void **at, void *node) {
        void *first = __atomic_load_n(at, __ATOMIC_RELAXED);
        do { *(void **)node = first; }
        while (!__atomic_compare_exchange_n(at, &first, node, 1, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
    }
    #endif
    """
    uint64_t word_acquire(const uint64_t* at) noexcept nogil
    uint64_t word_relaxed(const uint64_t* at) noexcept nogil
    void word_release(uint64_t* at, uint64_t value) noexcept nogil
    void word_put(uint64_t* at, uint64_t value) noexcept nogil
    void full_fence() noexcept nogil
    int32_t users_change(int32_t* at, int32_t by) noexcept nogil
    void* list_take(void** at) noexcept nogil
    void list_give(void** at, void* node) noexcept nogil


cdef enum:
    FIFO_BLOCK_BYTES = 32768
    FIFO_SPARES_MAX = 32
    # Blocks that the writer keeps for what comes next.


cdef struct FifoBlock:
    # `room` bytes and COPY_SLACK follow.
    FifoBlock* next
    uint64_t end
    # Where its records end, once there is a next one; until then beyond all of them.
    uint64_t room


cdef struct Fifo:
    FifoBlock* last
    # The writer's, as what follows.
    uint64_t used
    # Of that block.
    uint64_t made
    # Bytes of all records, those that are not shown yet as well.
    FifoBlock* spares
    uint32_t spare_count
    char _apart[64]
    uint64_t written
    # From here on touched by both sides, atomically.
    void* returned
    uint64_t read
    int32_t users
    char _apart_too[64]
    FifoBlock* first
    # The reader's, as what follows.
    uint64_t at
    uint64_t taken
    uint64_t until
    # So far it may read now.


cdef struct FifoRecord:
    # What each record begins with.
    uint32_t size
    # Of all of it: a multiple of eight.


cdef inline char* _fifo_chars(FifoBlock* block) noexcept nogil:
    return <char*> (block + 1)


cdef inline FifoBlock* _fifo_block(uint64_t room) noexcept nogil:
    cdef FifoBlock* block = <FifoBlock*> malloc(sizeof(FifoBlock) + room + COPY_SLACK)
    if block != NULL:
        block.next = NULL
        block.end = ~<uint64_t> 0
        block.room = room
    return block


cdef inline void _fifo_regain(Fifo* fifo) noexcept nogil:
    """Take back the blocks that were read; long ones, and more than are likely to be needed, are freed."""
    cdef FifoBlock* block = <FifoBlock*> list_take(&fifo.returned)
    cdef FifoBlock* following
    while block != NULL:
        following = block.next
        if block.room == FIFO_BLOCK_BYTES and fifo.spare_count < FIFO_SPARES_MAX:
            block.next = fifo.spares
            fifo.spares = block
            fifo.spare_count += 1
        else:
            free(block)
        block = following


cdef inline bint _fifo_grow(Fifo* fifo, uint64_t size) noexcept nogil:
    """Begin a block with room for a record; False: no memory."""
    cdef FifoBlock* block
    _fifo_regain(fifo)
    if size > FIFO_BLOCK_BYTES or fifo.spares == NULL:
        block = _fifo_block(max(size, <uint64_t> FIFO_BLOCK_BYTES))
        if block == NULL:
            return False
    else:
        block = fifo.spares
        fifo.spares = block.next
        fifo.spare_count -= 1
        block.next = NULL
        block.end = ~<uint64_t> 0
    fifo.last.next = block
    word_put(&fifo.last.end, fifo.used)
    fifo.last = block
    fifo.used = 0
    return True


cdef inline Fifo* fifo_new() noexcept nogil:
    """Return an empty queue with two users, its sides; NULL: no memory."""
    cdef Fifo* fifo = <Fifo*> malloc(sizeof(Fifo))
    if fifo == NULL:
        return NULL
    fifo.first = fifo.last = _fifo_block(FIFO_BLOCK_BYTES)
    if fifo.first == NULL:
        free(fifo)
        return NULL
    fifo.used = fifo.made = fifo.written = fifo.read = fifo.at = fifo.taken = fifo.until = 0
    fifo.spares = NULL
    fifo.spare_count = 0
    fifo.returned = NULL
    fifo.users = 2
    return fifo


cdef inline void _fifo_free_all(FifoBlock* block) noexcept nogil:
    cdef FifoBlock* following
    while block != NULL:
        following = block.next
        free(block)
        block = following


cdef inline void fifo_release(Fifo* fifo) noexcept nogil:
    """One side less; the last one frees it."""
    if fifo == NULL or users_change(&fifo.users, -1):
        return
    _fifo_free_all(fifo.first)
    _fifo_free_all(fifo.spares)
    _fifo_free_all(<FifoBlock*> fifo.returned)
    free(fifo)


# ---- writing -----------------------------------------------------------------------------------------------------------


cdef inline void* fifo_add(Fifo* fifo, uint64_t size) noexcept nogil:
    """Return where to write the next record, `size` long, which is shown by `fifo_show`; NULL: no memory."""
    cdef char* at
    size = (size + 7) & ~<uint64_t> 7
    if fifo.used + size > fifo.last.room and not _fifo_grow(fifo, size):
        return NULL
    at = _fifo_chars(fifo.last) + fifo.used
    (<FifoRecord*> at).size = <uint32_t> size
    fifo.used += size
    fifo.made += size
    return at


cdef inline void fifo_show(Fifo* fifo) noexcept nogil:
    """Let the reader see all records that were written."""
    word_release(&fifo.written, fifo.made)


cdef inline uint64_t fifo_waiting(Fifo* fifo) noexcept nogil:
    """Return how many bytes the reader has not taken, for the writer."""
    return fifo.made - word_acquire(&fifo.read)


# ---- reading -----------------------------------------------------------------------------------------------------------


cdef inline uint64_t fifo_head(Fifo* fifo) noexcept nogil:
    """Return how far records can be read now."""
    return word_acquire(&fifo.written)


cdef inline void* fifo_take(Fifo* fifo) noexcept nogil:
    """Return the next record before `until`, which stays until the next call; NULL: there is none."""
    cdef FifoBlock* block = fifo.first
    cdef char* at
    if fifo.taken == fifo.until:
        return NULL
    if fifo.at == word_relaxed(&block.end):
        fifo.first = block.next
        fifo.at = 0
        list_give(&fifo.returned, block)
        block = fifo.first
    at = _fifo_chars(block) + fifo.at
    fifo.at += (<FifoRecord*> at).size
    fifo.taken += (<FifoRecord*> at).size
    return at


cdef inline uint64_t fifo_behind(Fifo* fifo, uint64_t head, uint64_t records) noexcept nogil:
    """Return where so many records end behind those that may be read already, but no more than `head`."""
    cdef FifoBlock* block = fifo.first
    cdef uint64_t at = fifo.at
    cdef uint64_t passed = fifo.taken
    cdef uint32_t size
    while passed < head:
        if at == word_relaxed(&block.end):
            block = block.next
            at = 0
        if passed >= fifo.until:
            if records == 0:
                break
            records -= 1
        size = (<FifoRecord*> (_fifo_chars(block) + at)).size
        at += size
        passed += size
    return passed


cdef inline void fifo_taken(Fifo* fifo) noexcept nogil:
    """Let the writer know how far it was read."""
    word_release(&fifo.read, fifo.taken)
