"""The log of a server, for compiled callers: plain structs, no I/O, no clock, no thread, no GIL.

    log_append(...)              into the open round; the bytes are copied (`_appending.pxd`)
    round = log_take_round(log)  what to do on the disk: perform it (`_disk.pxd`), all of it, in its order (`_performing.pxd`)
    log_round_done(log, round, errno)
    log_next_committed(log, &entry)  (`_committed.pxd`)

One round is performed at a time. Every function takes the log's lock, so appends go on while a round is performed; `log_next_committed`
is for one thread. Bytes of an entry stay where they are until the next one is asked for, and in an image as long as that is held.
"""

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t
from posix.uio cimport iovec

from framework_jetstream.encryption._cipher cimport FileKey, KeyRing
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
    LOG_NOT_LEADER = 6  # another server proposes entries of this group


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
    bint is_behind_gap  # entries before it are missing, in a group that has more than entries of its caller


cdef struct LogPlace:  # where an entry stands
    LogFile* file
    uint64_t offset
    uint32_t length  # with its tags


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
    uint64_t last_round  # that was closed
    uint64_t first_file  # that is needed, as the last round in it says
    LogBlock* blocks  # the last one first
    char* image  # as it was read when the log was opened; else NULL
    bint is_damaged
    FileKey key
    uint64_t salt  # of the log
    uint64_t holds  # how often somebody needs an entry that is in it
    uint64_t image_holds  # of these, refers to its image


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
    bint syncs  # it, and all that was written before
    uint64_t synced_file  # else files up to this one, which are no more written, are synced; 0: none
    uint64_t synced_round  # the last one in that
    bint is_mark
    # To do before: make `made_file` at least `made_bytes` long out of the retired file `recycled` (0: a new one); sync the directory.
    uint64_t made_file
    uint64_t made_bytes
    uint64_t recycled
    bint is_unwritten  # its blocks were set aside, and nothing was written there
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
    bint has_lost  # what it had is lost, and it began anew
    bint lacks  # something is missing in its snapshot, which others may have
    bint is_doubted  # when the log was opened: some of it is missing, or may be
    bint is_alone_here  # then: nobody else has it, so what is left of it is read
    uint64_t stated_after  # so many damages of nobody knows which group there were before it was said how it is
    uint64_t read_to  # index up to which all entries are there


cdef struct LogRetired:
    uint64_t number
    bint is_damaged
    bint must_go  # what is left in it was not written with the key of now: it is not used again


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


# Reads what is behind the heads of a file into its image; False: it could not.
ctypedef bint (*log_fill)(void* self, LogFile* file) noexcept nogil


cdef struct Log:
    pthread_mutex_t lock
    log_fill fill  # when the log is opened: most files may be retired, of which the heads are enough; NULL: all was read before
    void* filler
    uint64_t salt
    bint salt_is_known
    KeyRing keys
    uint64_t locked_file  # the one of which nobody has the key, when the log was opened; 0: none
    uint32_t locked_count  # that were read all the same, as they stand there
    bint opens_some  # the first key opens a file
    bint has_other_keys  # a file that is needed, when the log was opened, was not written with the key of now
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
    uint64_t read_size  # of the last file that was read when the log was opened; 0: there is no room behind its last round
    uint64_t made_file  # ready to be written next; 0: none
    uint64_t made_bytes
    uint64_t wanted_bytes  # a file of this size has to be made; 0: none
    uint64_t unbegun  # was made before this start, and never begun: the next one is made of it; 0: none
    bint disk_is_full
    uint64_t number_max  # of all files that there are or were
    uint64_t first_file  # files before it are needed no more
    uint64_t first_file_synced  # the same, as the disk knows
    LogRetired* retired
    size_t retired_count
    size_t files_max  # with so many no retired one waits to be written anew
    bint wants_room  # none does: others need the disk
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
    uint64_t unknown_damages  # of them, in which there may be a record of any group
    uint64_t torn_bytes
    char mark[512]


cdef Log* log_new(uint64_t file_bytes, uint64_t round_bytes_max, uint64_t salt, bint syncs_always) noexcept nogil
cdef void log_free(Log* log) noexcept nogil

# For the other modules of the log. Without memory the first two return NULL, and `block_room` ends the log.
cdef void* room_for(void** items, size_t* room, size_t count, size_t size) noexcept nogil
cdef char* block_room(Log* log, LogFile* file, uint64_t length) noexcept nogil
cdef void file_forget(Log* log, LogFile* file) noexcept nogil
cdef void round_forget(Log* log, const LogRound* it) noexcept nogil
cdef void round_free(LogRound* it) noexcept nogil
cdef void rounds_free(LogRound* it) noexcept nogil
