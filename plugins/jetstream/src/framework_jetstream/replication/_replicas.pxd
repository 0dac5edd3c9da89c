"""Replicated groups of a server: plain structs for compiled callers, no I/O, no clock, no thread, no GIL.

    replicas_step(...), replicas_tick(...), replicas_expire(...), propose
    replicas_turn(replicas)      what Raft wants is done: written to the log, put into frames
    replicas_frame(...)          what is to be sent
    committed                    what is to be applied

In each turn time comes first, then frames, then what time says, then proposals; the log's rounds are performed by whoever does that
(`log/_performing.pxd`).
No turn walks over all groups. Something is done for those that are *touched*: by a message, a proposal, a write that is on its way, or
time, which finds them by when they are due (`_schedule.pyx`). Who calls a function of Raft for a group, or changes what it holds, says
`replica_touch` before. Who follows what groups come to looks at those that are *unsettled*: touched, or applied to, since he has looked.

A group begins with `replica_open`; what is in the log of it comes through `committed`, and with `replicas_begin` all groups go on.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from framework_jetstream.log._log cimport Log, LogEntry, LogPlace
from framework_jetstream.log._solo cimport Committer
from framework_jetstream.raft._state cimport Raft, RaftMembers, RaftRange, RaftRead, RaftReady, RaftServer, RaftSettings
from framework_jetstream.replication._replica_ids cimport ReplicaIds


cdef enum:
    DUE_PLACES = 64  # ticks: more than an election takes to begin
    TOUCHED = 0  # lists of groups
    UNSETTLED = 1
    LISTS = 2


cdef struct EntryBytes:  # memory that records of entries lie in: it comes behind
    EntryBytes* next
    uint64_t holds  # of entries, and of the list that it is in
    uint64_t index  # of a proposal that is not written yet
    size_t length


cdef struct Placed:  # an entry of the log
    const char* record  # NULL: its bytes are in the file alone
    EntryBytes* bytes  # that it lies in; NULL: in the image of the file
    LogPlace place  # the file is held for it
    bint is_damaged
    bint is_missing  # and was made up


cdef struct DurableWrite:
    uint64_t number  # of Raft
    uint64_t round  # of the log: what is to be written is in rounds up to it


cdef struct Wanted:  # what Raft wants to be written, as far as the log had no room for it yet
    uint64_t number  # 0: nothing
    bint has_hard_state
    uint64_t term
    uint64_t vote
    bint is_lost
    uint64_t install_index  # 0: no snapshot
    uint64_t install_term
    bint install_keeps
    RaftMembers install_members
    uint64_t cut_index  # 0: nothing is cut
    uint64_t next_index  # of entries
    uint64_t last_index


cdef struct Replica:
    uint32_t number  # of the group in the log
    Raft* raft
    Placed* placed  # by index, behind the snapshot: a ring
    uint64_t placed_mask
    uint64_t placed_first
    uint64_t placed_end
    uint64_t bytes_first  # the first of them that may still have its bytes here
    bint keeps_bytes  # all of them stay
    bint is_control  # it never begins anew (`engine/_anew.pyx`)
    bint is_rescued  # some of it is missing in the log, and nobody else has it; until all was read
    uint64_t rescued_to  # some entry up to this one is damaged: none stays for peers
    bint misses_last  # its last entries are missing then
    Wanted wanted
    DurableWrite* writes
    uint32_t write_count  # at most WRITES_MAX
    size_t write_room
    EntryBytes* staged  # proposals, the oldest first
    EntryBytes* staged_last
    # What is to be applied.
    uint64_t snapshot_index  # its state is given first; 0: it is not to be
    uint64_t apply_next
    uint64_t apply_last
    uint64_t given  # counts as applied with the next call
    bint is_applying  # is in the list
    bint is_held  # what was given last can't be applied yet: it is given again when that is said
    Replica* next_applying
    # Where it stands in the lists of its server.
    bint is_in[LISTS]
    Replica* next_in[LISTS]
    Replica* next_due
    Replica** due_link  # what points at it; NULL: time says nothing
    # Who fetches from here, and what: entries behind it stay for it.
    uint64_t given_to  # 0: nobody has
    uint64_t given_index
    uint64_t given_until_tick
    uint64_t edition  # a number that no other replica has, nor this one after a start
    # A snapshot that comes in pieces.
    char* incoming
    size_t incoming_bytes
    size_t incoming_room


cdef struct ReplicaList:
    Replica* first
    Replica* last
    size_t count


cdef struct OutgoingFrame:  # to one server
    uint64_t to
    char* memory  # of malloc; NULL: none yet
    char* chars  # in it
    size_t used
    size_t room
    uint32_t count
    bint can_wait  # it tells of commits alone, which may go with what comes next
    int64_t waits_until_ns  # 0: it does not yet; for who sends it


cdef struct ReplicaParts:  # who has what states refer to, and reads files; NULL: states are all that there is, and entries stay in memory
    void* self
    # False: the state itself is sent; else the piece that is wanted is sent with `frame_piece`, now or later.
    bint (*give)(void* self, Replica* replica, const RaftRange* wanted) noexcept nogil
    # False: it is kept here; else `replica_arrived` says what the state is, when all that it refers to is durable.
    bint (*take)(void* self, Replica* replica, const RaftReady* ready) noexcept nogil
    # Read the first `count` entries of a range from files, and send them with `frame_records`.
    void (*read)(void* self, Replica* replica, const RaftRange* wanted, uint32_t count) noexcept nogil


cdef struct ReadAnswer:
    uint32_t number  # of the group
    RaftRead read


cdef struct Replicas:
    Log* log
    uint64_t server
    RaftServer shared
    uint64_t expired_tick  # up to there what was due is done
    Replica* due[DUE_PLACES]  # by the tick at which time says something
    ReplicaList lists[LISTS]
    uint64_t random
    ReplicaParts parts
    RaftSettings settings
    bint is_begun
    bint is_full  # not all that Raft has is written, or will be by the rounds of the log: frames are still referred to
    bint is_blocked  # and a snapshot waits for room: frames have to wait
    Replica** replicas  # by the number of the group, ascending
    size_t count
    size_t room
    ReplicaIds ids  # the same, by the number that they have at all servers
    Replica* applying
    Replica* applying_last
    OutgoingFrame* frames
    size_t frame_count
    size_t frame_room
    uint32_t frame_before  # bytes of its memory that are not the frame's: so who sends it need not copy it
    uint32_t frame_behind
    EntryBytes* incoming  # frames whose entries are not all written
    uint64_t entry_bytes  # of memory that entries of all groups lie in, but for images of files
    ReadAnswer* answers
    size_t answer_count
    size_t answer_room
    uint64_t strangers  # messages of groups that are not here
    uint64_t lies  # frames, or messages, that no server sends that keeps to the rules


cdef Replicas* replicas_new(Log* log, uint64_t server, const RaftSettings* settings, uint64_t seed, bint hibernates) noexcept nogil
cdef void replicas_free(Replicas* replicas) noexcept nogil
# Let other servers commit entries of an open group of the log. `members`: what all of them were given at the start; NULL: it is told.
# NULL: no memory, or there is one of this id.
cdef Replica* replica_open(Replicas* replicas, uint32_t number, uint64_t id, const RaftMembers* members) noexcept nogil
# Let others be added to a group that is this server's alone, with its description and its state from now on. NULL: no room now.
cdef Replica* replica_share(
    Replicas* replicas, uint32_t number, uint64_t id, const char* description, uint32_t description_bytes, const char* state,
    size_t length,
) noexcept nogil
cdef void replica_close(Replicas* replicas, Replica* replica) noexcept nogil
cdef Replica* replica_of(Replicas* replicas, uint32_t number) noexcept nogil
# All that was read of the log has come through `committed`.
cdef void replicas_begin(Replicas* replicas) noexcept nogil

cdef void replicas_tick(Replicas* replicas, uint32_t ticks) noexcept nogil
cdef void replicas_expire(Replicas* replicas) noexcept nogil
# Take up a frame, which is copied; FRAME_* if it is refused. While `is_blocked` frames have to wait.
cdef int replicas_step(Replicas* replicas, uint64_t sender, const char* frame, size_t length) noexcept nogil
cdef void replicas_turn(Replicas* replicas) noexcept nogil
# Entries of a group up to `index`, which are applied, are in this state; False: refused now, or not applied.
cdef bint replica_snapshot(
    Replicas* replicas, Replica* replica, uint64_t index, const char* state, uint32_t length, uint64_t tail_bytes_max
) noexcept nogil
# The state that is kept says the same by other means, such as segments that were written again. False: the log has no room now.
cdef bint replica_restate(Replicas* replicas, Replica* replica, const char* state, uint32_t length) noexcept nogil
# Somebody fetches what is behind an entry, or the state up to it: see `replica_leave`.
cdef void replica_gives(Replicas* replicas, Replica* replica, const RaftRange* wanted) noexcept nogil
cdef void replica_leave(Replicas* replicas, Replica* replica, uint64_t tail_bytes_max) noexcept nogil
cdef uint64_t replica_log_bytes(const Replicas* replicas, const Replica* replica, uint64_t index) noexcept nogil
# Whether they can be kept as a state: they are applied, and it is known whose group it was then.
cdef bint replica_can_snapshot(Replica* replica, uint64_t index) noexcept nogil
# All of a state that came in pieces is here: it takes the place of the log. It is the callee's from now on.
cdef void replica_arrived(Replicas* replicas, Replica* replica, char* state, size_t length) noexcept nogil
# It can't be had from whom it was asked of.
cdef void replica_gives_up(Replicas* replicas, Replica* replica) noexcept nogil
# What was given last of a group, which is `entry`, can't be applied yet; and now it can, or nobody knows: it is given again.
# The next entry for its caller that is in memory, from an index on, whether it is committed or not.
cdef bint replica_entry(const Replica* replica, uint64_t index, LogEntry* entry) noexcept nogil
cdef void replica_hold(Replica* replica, const LogEntry* entry) noexcept nogil
cdef void replica_go_on(Replicas* replicas, Replica* replica) noexcept nogil
# What proposes to groups of one voter, and to replicated ones.
cdef Committer replicated_committer(Replicas* replicas) noexcept nogil
