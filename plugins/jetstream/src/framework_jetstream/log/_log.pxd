"""The log of a server, for compiled callers: plain structs, no I/O, no clock, no thread, no GIL.

    log_append(...)              into the open round; the bytes are copied
    round = log_take_round(log)  what to do on the disk: perform it (`_disk.pxd`), all of it, in its order
    log_round_done(log, round, errno)
    log_next_committed(log, &entry)

One round is performed at a time. Every function takes the log's lock, so appends go on while a round is performed; `log_next_committed`
is for one thread. Bytes of an entry stay where they are until the next one is asked for.
"""

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t
from posix.uio cimport iovec

from framework_jetstream.log._record cimport PartHead

cdef extern from "pthread.h" nogil:
    ctypedef struct pthread_mutex_t:
        pass

cdef enum:  # why `log_append` returned 0; `log.refused`
    LOG_BUSY = 1  # the open round is full, or the next file is being made: wait until a round is done
    LOG_FULL = 2  # the disk is full; it is tried again with each round
    LOG_FAILED = 3  # a write or a sync failed, or memory ran out: nothing goes on
    LOG_UNKNOWN = 4  # no such group
    LOG_TOO_LARGE = 5


cdef struct LogPart:
    const char* chars
    uint32_t length
    bint goes_on  # with the next one, which is of the same part


cdef struct LogEntry:
    uint32_t group
    uint16_t kind
    uint16_t flags  # of GROUP
    uint32_t part_count
    uint64_t term
    uint64_t index
    uint64_t file  # its number
    uint64_t offset  # of the record in the file
    uint64_t length  # of the record
    const PartHead* parts
    const char* chars  # of all parts, one behind the other
    bint is_damaged  # some parts are not what was written: look at their sums


cdef struct LogBlock:  # memory that rounds are put together in
    LogBlock* next
    uint64_t size
    uint64_t used
    char* chars


cdef struct LogFile:
    LogFile* next
    uint64_t number
    uint64_t size
    uint64_t end  # of what is in it, in bytes
    LogBlock* blocks  # the last one first
    char* image  # as it was read when the log was opened; else NULL
    bint is_damaged


cdef struct LogRound:
    LogRound* next
    LogFile* file  # NULL: it only makes a file
    uint64_t number
    uint64_t offset  # in the file, of what is to be written
    uint64_t length
    uint32_t lead  # bytes before the RoundHead: of a FileHead, or none
    iovec* pieces
    uint32_t piece_count
    uint32_t piece_room
    uint32_t record_count
    char* head  # its RoundHead
    bint syncs
    bint is_mark
    # To do before: make `made_file` at least `made_bytes` long out of the retired file `recycled` (0: a new one); sync the directory.
    uint64_t made_file
    uint64_t made_bytes
    uint64_t recycled
    int made_error  # who performs it says how that went; the rest is done all the same
    # To do after: remove a file that is needed no more (0: none), or put it aside because it is damaged.
    uint64_t removed
    bint is_kept
    # Where log_next_committed is.
    uint32_t piece
    uint64_t at


cdef struct LogGroup:
    uint32_t id
    bint is_open
    uint64_t last_index
    uint64_t last_term
    uint64_t term
    uint64_t vote
    uint64_t snapshot_index  # entries up to it live elsewhere
    uint64_t snapshot_term
    char* description
    uint32_t description_bytes
    char* snapshot
    uint32_t snapshot_bytes
    void* owner  # whose it is in this process: for who appends


cdef struct LogRetired:
    uint64_t number
    bint is_damaged


cdef struct LogRead:  # a record that was read when the log was opened
    LogFile* file
    uint64_t offset
    bint is_damaged  # a part of it is


cdef struct LogCut:
    uint32_t group
    uint64_t order
    uint64_t index


cdef struct LogDamage:
    uint32_t reason  # DAMAGE_*
    uint32_t group  # 0 with no index: it is not known whose
    uint64_t first_index
    uint64_t last_index
    int64_t part  # of the entry first_index; -1: more than one, or not known
    uint64_t file
    uint64_t offset
    uint64_t length


cdef struct Log:
    pthread_mutex_t lock
    uint64_t salt
    bint salt_is_known
    uint64_t file_bytes
    uint64_t round_bytes_max
    bint syncs_always
    bint gives_damaged  # entries of which parts are damaged are given all the same
    int failed  # errno of what failed
    int refused  # LOG_*, by the last call that returned 0
    LogFile* files  # the oldest first; the last one is written
    LogFile* file
    LogRound* open
    LogRound* closed  # wait to be performed, the oldest first
    LogRound* closed_last
    LogRound* flight
    LogRound* done  # wait for log_next_committed
    LogRound* done_last
    LogRound* reading  # the one that log_next_committed is in
    uint64_t round_number  # of the last one that was begun
    uint64_t synced
    uint64_t partial_round  # of this one, only what is before `previous_end` was kept when the log was opened; 0: none
    uint64_t written
    bint sync_is_due
    bint mark_is_due
    uint64_t made_file  # ready to be written next; 0: none
    uint64_t made_bytes
    uint64_t wanted_bytes  # a file of this size has to be made; 0: none
    bint disk_is_full
    uint64_t number_max  # of all files that there are or were
    uint64_t first_file  # files before it are needed no more
    uint64_t first_file_synced  # the same, as the disk knows
    LogRetired* retired
    size_t retired_count
    size_t retired_room
    LogBlock* spare_blocks
    uint64_t spare_bytes
    LogGroup** groups  # by id, open addressing
    size_t group_mask
    size_t group_count
    uint32_t group_max
    # What was read when the log was opened.
    LogRead* reads
    size_t read_count
    size_t read_room
    size_t read_at
    LogCut* cuts
    size_t cut_count
    size_t cut_room
    LogDamage* damages
    size_t damage_count
    size_t damage_room
    uint64_t torn_bytes
    char mark[512]


cdef Log* log_new(uint64_t file_bytes, uint64_t round_bytes_max, uint64_t salt, bint syncs_always) noexcept nogil
cdef void log_free(Log* log) noexcept nogil

# Open a group; its number, which was never given before, or 0: refused.
cdef uint32_t log_group_new(Log* log, const char* description, uint32_t length) noexcept nogil
# Say anew what a group is; close one for good. False: refused.
cdef bint log_group_describe(Log* log, uint32_t group, const char* description, uint32_t length) noexcept nogil
cdef bint log_group_close(Log* log, uint32_t group) noexcept nogil
cdef LogGroup* log_group(Log* log, uint32_t group) noexcept nogil

# Append an entry of `count` pieces of parts; its index, or 0: refused.
cdef uint64_t log_append(Log* log, uint32_t group, uint16_t kind, const LogPart* parts, uint32_t count) noexcept nogil
# Entries of the group up to `index` live elsewhere, synced; `state` is given back when the log is opened.
cdef bint log_snapshot(Log* log, uint32_t group, uint64_t index, const char* state, uint32_t length) noexcept nogil
cdef bint log_cut(Log* log, uint32_t group, uint64_t first_index) noexcept nogil
cdef bint log_vote(Log* log, uint32_t group, uint64_t term, uint64_t vote) noexcept nogil

cdef LogRound* log_take_round(Log* log) noexcept nogil
# For who appends and performs by itself what is little: no more than `bytes_max`, and no file is to be made.
cdef LogRound* log_take_small_round(Log* log, uint64_t bytes_max) noexcept nogil
cdef bint log_is_small(Log* log, uint64_t bytes_max) noexcept nogil
cdef void log_round_done(Log* log, LogRound* done, int error) noexcept nogil
cdef bint log_next_committed(Log* log, LogEntry* entry) noexcept nogil
# Look ahead, behind the entry that was given last: the next one of a group that was read, from `at` on, 0 at first; False: there is none.
cdef bint log_read_of(Log* log, uint32_t group, size_t* at, LogEntry* entry) noexcept nogil
# Files before this one are needed no more: what lives of them is elsewhere, synced. Their memory is freed.
cdef bint log_trim(Log* log, uint64_t first_file) noexcept nogil
# How many files there are that are needed.
cdef int64_t log_file_count(Log* log) noexcept nogil
# Free the memory of files that nobody reads or writes any more: who took their entries has copied them.
cdef void log_forget(Log* log) noexcept nogil
# With `sync: interval`: the next round syncs all that was written.
cdef void log_sync(Log* log) noexcept nogil

# For `_recovery`.
cdef void log_begin(Log* log) noexcept nogil
cdef LogGroup* group_make(Log* log, uint32_t group) noexcept nogil
cdef bint group_take(LogGroup* group, const char* record) noexcept nogil
cdef void* room_for(void** items, size_t* room, size_t count, size_t size) noexcept nogil
