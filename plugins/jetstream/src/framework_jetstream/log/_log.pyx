"""The log: entries of many groups go into rounds, rounds into files, one after the other. What it is made of, and its memory.

What is in `_log.pxd` is said there. Invariants:

- A file is never written under a number that it had before, and no byte of it before its name is durable: a place is used once.
- The next round is written when the one before was synced (`always`), or at least written (`interval`).
- A round lies in one file. A file begins with a FileHead that says where the one before ends, and with all groups as they are then:
  so files before the first one that is needed say nothing that is not said again.
- A file is retired when a round that says so was synced.
"""

from libc.errno cimport ENOMEM
from libc.stdint cimport uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memset

cdef extern from "pthread.h" nogil:
    int pthread_mutex_init(pthread_mutex_t* mutex, void* attributes)
    int pthread_mutex_destroy(pthread_mutex_t* mutex)

cdef enum:
    BLOCK_BYTES = 1 << 20
    FILES_MAX = 5  # if nobody says anything else


cdef void* room_for(void** items, size_t* room, size_t count, size_t size) noexcept nogil:
    """Return `items` with room for one more than `count`; NULL: no memory, and they are as they were."""
    cdef size_t wanted
    cdef void* moved
    if count < room[0]:
        return items[0]
    wanted = 2 * room[0] if room[0] else 16
    moved = realloc(items[0], wanted * size)
    if moved != NULL:
        items[0] = moved
        room[0] = wanted
    return moved


cdef char* block_room(Log* log, LogFile* file, uint64_t length) noexcept nogil:
    """Take memory of a file; NULL: there is none."""
    cdef LogBlock* block = file.blocks
    cdef uint64_t size
    if block == NULL or block.size - block.used < length:
        if length <= BLOCK_BYTES and log.spare_blocks != NULL:
            block = log.spare_blocks
            log.spare_blocks = block.next
            log.spare_bytes -= block.size
        else:
            size = length if length > BLOCK_BYTES else BLOCK_BYTES
            block = <LogBlock*> malloc(sizeof(LogBlock) + size)
            if block == NULL:
                log.failed = ENOMEM
                return NULL
            block.size = size
            block.chars = <char*> block + sizeof(LogBlock)
        block.used = 0
        block.next = file.blocks
        file.blocks = block
    block.used += length
    return block.chars + block.used - length


cdef void _blocks_free(Log* log, LogBlock* block) noexcept nogil:
    """Free a chain of blocks. Some are kept for what comes: the first touch of a page costs more than writing it."""
    cdef LogBlock* following
    while block != NULL:
        following = block.next
        if block.size == BLOCK_BYTES and log.spare_bytes < log.round_bytes_max:
            block.next = log.spare_blocks
            log.spare_blocks = block
            log.spare_bytes += block.size
        else:
            free(block)
        block = following


cdef void file_forget(Log* log, LogFile* file) noexcept nogil:
    """Free the memory of a file."""
    _blocks_free(log, file.blocks)
    file.blocks = NULL
    free(file.image)
    file.image = NULL


cdef void round_forget(Log* log, const LogRound* it) noexcept nogil:
    """Free the memory of what was written up to a round, whose entries were taken: the blocks before the one in which it ends."""
    cdef LogBlock* block = it.file.blocks
    cdef const char* end = <char*> it.pieces[it.piece_count - 1].iov_base
    while block != NULL and not block.chars <= end < block.chars + block.size:
        block = block.next
    if block != NULL:
        _blocks_free(log, block.next)
        block.next = NULL


cdef void round_free(LogRound* it) noexcept nogil:
    if it != NULL:
        free(it.pieces)
        free(it)


cdef void rounds_free(LogRound* it) noexcept nogil:
    cdef LogRound* following
    while it != NULL:
        following = it.next
        round_free(it)
        it = following


cdef Log* log_new(uint64_t file_bytes, uint64_t round_bytes_max, uint64_t salt, bint syncs_always) noexcept nogil:
    """Make a log that has nothing yet; NULL: no memory. `log_begin` is called when what there was has been read."""
    cdef Log* log = <Log*> calloc(1, sizeof(Log))
    if log != NULL:
        pthread_mutex_init(&log.lock, NULL)
        log.file_bytes = file_bytes
        log.files_max = FILES_MAX
        log.round_bytes_max = round_bytes_max
        log.salt = salt
        log.syncs_always = syncs_always
    return log


cdef void log_free(Log* log) noexcept nogil:
    cdef LogFile* file
    cdef LogBlock* block
    cdef size_t at
    if log == NULL:
        return
    while log.files != NULL:
        file = log.files
        log.files = file.next
        file_forget(log, file)
        free(file)
    while log.spare_blocks != NULL:
        block = log.spare_blocks
        log.spare_blocks = block.next
        free(block)
    round_free(log.open)
    round_free(log.flight)
    round_free(log.reading)
    rounds_free(log.closed)
    rounds_free(log.done)
    for at in range(log.group_mask + 1 if log.groups != NULL else 0):
        if log.groups[at] != NULL:
            free(log.groups[at].description)
            free(log.groups[at].snapshot)
            free(log.groups[at])
    free(log.groups)
    free(log.retired)
    free(log.reads)
    free(log.cuts)
    free(log.damages)
    memset(&log.keys, 0, sizeof(log.keys))
    pthread_mutex_destroy(&log.lock)
    free(log)
