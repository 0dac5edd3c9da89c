"""A group of Raft as one server has it: plain structs for compiled callers, no I/O, no clock, no thread, no randomness, no GIL.

    server.now += 1                     a tick of time has passed, in all groups of the server
    raft_expire(raft)                   what time says is done; nothing is for `raft_due` ticks
    raft_step(raft, &message)           a message has come (`_messages.pxd` reads it from a frame)
    raft_propose(raft, kind, ...)       leader only
    raft_ready(raft, &ready)            what to write, to send, to apply; False: nothing
    raft_advance(raft, ready.write)     all writes up to this one are durable
    raft_applied(raft, index)

All may be called again while writes are on their way: Raft never waits for a disk.

Entries are opaque, and referred to: Raft knows of each its length, and where it lies as long as it may have to be sent (the *window*).
Of older ones it knows the terms. Their bytes belong to the caller, who says with `raft_place` where they are once they are written.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from framework_jetstream.raft._digests cimport Digests

cdef enum:
    PEERS_MAX = 15  # members of a group, learners as well
    WRITES_MAX = 32  # writes that are on their way; what comes then waits in the window
    ROUNDS_MAX = 16  # rounds of heartbeats of which it is known when they were sent
    MEMBERS_BYTES_MAX = 8 + 9 * PEERS_MAX
    CHANGES_MAX = 64  # memberships that a follower takes before it hears that they are committed
    OUT_MAX = 4096  # messages that wait to be sent; more are lost, as the network may lose them
    READS_MAX = 4096  # reads that wait for a round of heartbeats
    RANGES_MAX = 64  # of one turn
    PAIRS_MAX = 1024  # servers that are known to know of hibernation

cdef enum:  # role
    FOLLOWER = 0
    PRE_CANDIDATE = 1
    CANDIDATE = 2
    LEADER = 3

cdef enum:  # kinds of entries; those from ENTRY_DATA on are the caller's
    ENTRY_EMPTY = 0  # the first one of a leader
    ENTRY_MEMBERS = 1
    ENTRY_DATA = 2

cdef enum:  # kinds of messages; which field says what is told in `_messages.pyx`
    PRE_VOTE = 1
    PRE_VOTE_RESPONSE = 2
    VOTE = 3
    VOTE_RESPONSE = 4
    APPEND = 5
    APPEND_RESPONSE = 6
    HEARTBEAT = 7
    HEARTBEAT_RESPONSE = 8
    TIMEOUT_NOW = 9
    READ = 10
    READ_RESPONSE = 11
    FETCH = 12
    RANGE = 13
    SNAPSHOT_FETCH = 14
    SNAPSHOT_CHUNK = 15
    BEAT = 16  # of no group
    KIND_MAX = 16

cdef enum:  # flags of messages
    REJECTED = 1  # of responses: no vote, no match
    MATCHED = 1  # of HEARTBEAT: what was acknowledged and is not committed yet, when a probe of it is not answered
    TRANSFER = 2  # of VOTE: the leader wants it
    HIBERNATE = 2  # of HEARTBEAT: nothing more is said of the group for now; of HEARTBEAT_RESPONSE: nor here
    BEHIND = 4  # of HEARTBEAT: fetch what is committed, from anybody
    COMPACTED = 8  # of RANGE: it lives in a snapshot only
    LOST = 16  # of APPEND_RESPONSE, HEARTBEAT_RESPONSE: what was durable there is lost, and no barrier is behind it yet
    BARRIER = 32  # of HEARTBEAT: which entry that is
    FAULTY = 64  # of HEARTBEAT_RESPONSE: what entries have led to can't be read there
    BEGIN_ANEW = 128  # of HEARTBEAT: enough others are there for that one to lose all, and to get it again

cdef enum:  # state of a peer, as the leader has it
    PROBE = 0  # one message at a time, until it is known where its log agrees
    REPLICATE = 1
    PULLS = 2  # needs what is not in the window any more: it fetches by itself

cdef enum:  # votes
    VOTE_NONE = 0
    VOTE_GRANTED = 1
    VOTE_REFUSED = 2

cdef enum:  # why something was refused: `raft.refused`
    REFUSED_NOT = 0
    REFUSED_NOT_LEADER = 1
    REFUSED_TRANSFERRING = 2
    REFUSED_BUSY = 3  # too much is not committed, or too many reads wait
    REFUSED_CHANGING = 4  # one change of members at a time
    REFUSED_TOO_EARLY = 5  # the leader has not committed an entry of its term
    REFUSED_MEMBERS = 6  # no such member, or one too many, or it is that already
    REFUSED_BEHIND = 7  # a learner that has not caught up
    REFUSED_NO_QUORUM = 8  # what is left would not be heard by a majority
    REFUSED_MEMORY = 9
    REFUSED_LOST = 10  # who would stay has lost what was durable there

cdef enum:  # changes of members
    ADD_LEARNER = 1
    PROMOTE = 2
    DEMOTE = 3
    REMOVE = 4


cdef struct RaftSettings:
    uint32_t election_ticks  # nobody votes so long after it heard of a leader; an election begins after one to two of them
    uint32_t heartbeat_ticks
    uint32_t lease_ticks  # less than election_ticks by what clocks may differ over that time
    uint32_t append_bytes_max  # of entries in one message, but for a single one that is larger
    uint64_t inflight_bytes_max  # sent to one peer and not acknowledged
    uint64_t uncommitted_bytes_max  # proposals are refused while more is not committed
    uint64_t window_bytes_max  # committed entries that are kept for peers that are a little behind
    uint32_t window_entries_max
    uint64_t unapplied_bytes_max  # committed entries that are to be applied: a follower takes no more meanwhile
    uint64_t entry_bytes_max  # of all groups of a server: where more is in memory, what is committed and applied goes at once
    uint32_t range_bytes_max  # of a range or a chunk that is fetched
    uint32_t compare_ticks  # so often a leader asks others what entries have led to there; 0: never
    uint32_t takes  # the highest of the caller's kinds of entries that it takes up, where not all versions do; others are told


cdef struct RaftPair:  # another server, which knows of hibernation
    uint64_t server
    uint64_t number  # by which it vouches: another one after each start, and when it left a group in which others rest on it
    uint64_t told_tick  # when that was said last
    uint64_t heard_tick  # of its last BEAT
    uint64_t before_tick  # of the last one with the number before
    bint is_heard  # within an election timeout
    uint64_t takes  # what it has said that it takes up, by that number; 0: nothing


cdef struct RaftServer:  # what all groups of a server share
    uint64_t id  # of the server, and of no other one that ever was
    uint64_t now  # in ticks of the monotonic clock
    uint64_t number  # by which it vouches, see RaftPair; 0: no group hibernates here
    uint64_t random
    uint64_t beat_tick  # of its last BEATs
    bint has_broken  # what its number vouched for does not hold any more: it gets another one
    bint has_news  # of another server: groups that hibernate are to be reviewed
    bint holds_ranges  # more is here than was dealt with: no entries are fetched until a leader says again that they are wanted
    RaftPair* pairs
    size_t pair_count
    size_t pair_room


cdef struct RaftMembers:
    uint64_t index  # of the entry that says so; it counts from there on, committed or not (thesis 4.1)
    uint32_t count
    uint32_t voters  # a bit each
    uint64_t ids[PEERS_MAX]


cdef struct RaftPeer:  # a member; this server is one of them
    uint64_t id
    uint64_t match  # durable there up to here
    uint64_t received  # there up to here, durable or not
    uint64_t next_before  # `next`, when the last heartbeat was sent: the answer to it says whether all before was received
    uint64_t next  # to be sent
    uint64_t commit_told
    uint64_t round  # of heartbeats, the newest that it has answered
    uint64_t round_tick  # when that was sent
    uint64_t heard_tick
    uint64_t loss  # by what number it says that it has lost something; 0: it has not
    uint64_t loss_round  # of heartbeats: what it says of losses in earlier ones is old
    uint64_t barrier  # index of an entry that was proposed after that; 0: none yet
    uint64_t barrier_round  # of the heartbeat that told it first of its barrier; 0: not yet
    uint64_t rest_number  # by which it vouched that it hibernates
    uint64_t rest_round  # of the heartbeat to which it said so
    uint64_t compared  # number of the comparison that it has answered last
    uint64_t differs  # index at which entries have led to something else there; 0: they have not, or that is not known
    uint64_t said  # its digest, as it was compared last, and told
    uint64_t asked_round  # of heartbeats, with which it was asked last
    uint8_t asked  # how often in this comparison, as far as it has answered these
    uint8_t told  # how often that it may begin anew
    uint8_t state
    uint8_t vote
    bint is_voter
    bint is_faulty  # as it says
    bint may_begin_anew  # it was told so while it was faulty, and may have lost all since
    bint probe_is_out
    bint may_rest  # it may hibernate, in this term


cdef struct RaftTerm:  # entries from `first_index` on are of this term
    uint64_t term
    uint64_t first_index


cdef struct RaftItem:  # an entry in the window
    const char* chars
    uint64_t end_bytes  # of all entries up to this one, since the group began here
    uint16_t kind


cdef struct RaftLog:
    uint64_t snapshot_index  # what entries up to it have led to lives elsewhere
    uint64_t snapshot_term
    uint64_t tail_index  # entries up to it are gone; those behind it, up to the snapshot, stay for peers that are behind
    uint64_t tail_term
    uint64_t last_index
    RaftTerm* terms  # of entries behind the tail's begin, ascending
    uint32_t term_count
    uint32_t term_room
    RaftItem* items  # the window: a ring
    uint64_t item_mask  # size - 1
    uint64_t window_first  # index of its first entry; last_index + 1: it is empty
    uint64_t window_base  # end_bytes of the entry before it
    uint64_t last_end  # end_bytes of the last one


cdef struct RaftWrite:
    uint64_t number
    uint64_t last_index


cdef struct RaftMessage:
    uint64_t group
    uint64_t sender
    uint64_t to
    uint64_t term
    uint64_t index
    uint64_t log_term
    uint64_t commit
    uint64_t context
    uint64_t need  # the write that has to be durable before this is sent
    const char* entries  # as they stand in a frame; NULL in messages to be sent: they are in the window, from `index` + 1 on
    uint32_t entry_count
    uint8_t kind
    uint8_t flags


cdef struct RaftEntry:
    uint64_t term
    const char* chars
    uint32_t length
    uint16_t kind


cdef struct RaftRead:
    uint64_t id
    uint64_t sender  # who asked; this server: the caller
    uint64_t index
    uint64_t round  # 0: none was begun for it


cdef struct RaftRange:  # to be read by the caller, and sent as a RANGE or SNAPSHOT_CHUNK
    uint64_t to
    uint64_t index  # of the entry before the first one; of a chunk: of the snapshot
    uint64_t log_term  # its term
    uint64_t last_index  # at most; of a chunk: its offset
    uint32_t bytes_max
    bint is_chunk
    bint begins  # of a chunk: who asks has nothing of any snapshot
    uint64_t missing  # else: bytes of it that are not there yet; 0: who asks begins anew with each snapshot


cdef struct RaftFetch:  # what this server fetches
    uint64_t goal  # committed up to here at the leader; 0: nothing is fetched
    uint64_t source
    uint64_t holder  # said that entries are gone, and can give a state; 0: nobody
    uint32_t failed  # so many of those, one after the other, did not give one that is whole
    uint32_t passed  # and so many are passed over now
    uint64_t asked_tick
    uint32_t turn  # whose turn it is to be asked
    bint is_out
    bint of_snapshot
    bint is_whole  # all of the snapshot was given, and is to be installed
    uint64_t snapshot_index
    uint64_t snapshot_term
    uint64_t snapshot_bytes
    uint64_t offset  # of the snapshot, in bytes: what is before it is here
    uint64_t kept_bytes  # and so much of what is behind it, as its caller says
    bint is_due  # the next piece is to be asked for, when the last one was taken up
    const char* chunk  # came, and waits for the caller; NULL: none
    uint32_t chunk_bytes
    uint64_t chunk_offset
    RaftMembers members


cdef struct RaftClaim:  # a server says that this one has acknowledged more than it has
    uint64_t sender  # 0: nobody does
    uint64_t term
    uint64_t round  # of heartbeats, the newest one
    uint64_t since_tick
    uint32_t rounds


cdef struct RaftComparison:  # what a leader asks others for
    uint64_t number  # 0: none was begun in this term
    uint64_t due_tick  # of the next one
    uint64_t quiet_index  # all that there was when this one began; 0: something was appended all along
    uint64_t index  # of which it has asked last
    uint64_t since  # its digest there, as of `_digests.pyx`
    uint64_t sum  # as it is told
    bint is_open  # somebody has not answered yet


cdef struct Raft:
    RaftSettings settings
    RaftServer* server
    uint64_t group
    uint64_t id
    uint64_t random
    # What is durable before anybody hears of it.
    uint64_t term
    uint64_t vote
    bint hard_is_new  # term or vote wait to be written
    uint64_t hard_write  # the write that had them last
    # Time, in ticks.
    uint64_t seen_tick  # of the server: up to there time has passed in this group, see `raft_catch_up`
    uint64_t now
    uint32_t elapsed  # since this role began or a leader was heard
    uint32_t timeout  # an election begins then
    uint32_t heard_ticks  # since a leader was heard, of whatever term; from the start on, as what was promised before is forgotten
    uint32_t founding_tries  # that are left: this server asks again with each tick, as nobody has led the group yet
    uint32_t starting_tries  # the same, but a little later each time: of a start, until a leader is heard
    uint32_t heartbeat_elapsed
    uint32_t quiet_ticks  # since anything was appended
    # Who is what.
    uint8_t role
    bint is_faulty  # what entries have led to can't be read here, or is given up: `has_repaired`
    bint is_mute  # nor may it vote: entries that were durable can't be read either, or its caller has failed
    bint may_stand  # is_faulty, and the log has what a candidate lacks: see `stand`
    bint may_begin_anew  # the leader says so: then its caller drops the group, and opens it as one that is lost
    bint is_set_aside  # it hears nobody, and all that is durable here counts as committed
    uint64_t loss  # what was durable is lost here: a number that tells this loss from all others; 0: nothing is
    uint64_t barrier  # of the last loss that has ended; 0: none has since the start
    RaftClaim claim  # that something is lost here, by who says to lead
    bint stays_awake  # its caller does not want that it hibernates
    bint is_hibernating
    uint64_t active_tick  # somebody wanted something of its leader
    uint64_t rest_number  # a follower: by which its leader vouches
    uint64_t rest_round  # a leader: of the first heartbeat since which each said so; 0: the last one did not. A follower: the last it heard
    uint64_t rest_last  # a leader: of the last heartbeat that said so, in this term; 0: none did
    uint64_t leader  # 0: none is known
    RaftMembers* history  # memberships from the last committed one on, ascending; the last one counts
    uint32_t history_count
    uint32_t history_room
    RaftPeer* peers
    uint32_t peer_count
    size_t peer_room
    # The log.
    RaftLog log
    uint64_t commit
    uint64_t stable  # durable here up to here
    uint64_t taken  # given to be written up to here
    uint64_t cut_index  # what was given to be written from here on is void, and that has to be written; 0: nothing
    uint64_t applying  # given to be applied
    uint64_t applied
    uint64_t match_through  # the log agrees with that of the leader of this term up to here
    bint ack_is_due
    uint64_t write
    uint64_t synced
    RaftWrite* writes
    uint32_t write_count  # at most WRITES_MAX
    size_t write_room
    bint holds_writes  # the caller has no room for one: no Ready has a write
    # A leader.
    uint64_t term_index  # its first entry
    bint is_handed_over  # the one before wanted that it leads; also as a candidate
    uint64_t round
    uint64_t round_ticks[ROUNDS_MAX]
    uint64_t transferee  # 0: leadership stays
    uint64_t transfer_tick  # when that was asked for
    bint timeout_is_told
    bint lease_is_void  # somebody was told to stand: nobody knows when it does
    RaftRead* reads
    size_t read_count
    size_t read_room
    Digests* digests  # what applied entries have led to: the caller's; NULL: it has none
    RaftComparison comparison
    bint has_other  # its digest was another one than that of the leader of this term, when that was asked last
    bint has_repaired  # it was given up for that, since the start: it is not again
    uint64_t differs_edition  # grows whenever something else is known of who differs
    # Catching up.
    RaftFetch fetch
    bint holds_fetch  # the caller has not done with what came: nothing more is asked for
    bint holds_snapshot  # nor may it be installed
    uint64_t install_index  # a snapshot was installed and has to be written; 0: none
    bint install_keeps
    # To the caller.
    RaftMessage* out
    size_t out_count
    size_t out_room
    RaftMessage* waiting  # until what they promise is durable
    size_t waiting_count
    size_t waiting_room
    RaftRead* answers
    size_t answer_count
    size_t answer_room
    RaftRange* ranges
    size_t range_count
    size_t range_room
    size_t given_out  # of each, so many were given with the last Ready
    size_t given_answers
    size_t given_ranges
    int refused
    uint64_t lies  # messages that no server that keeps to the rules sends
    char members_text[MEMBERS_BYTES_MAX]  # of the entry that was proposed last


cdef struct RaftReady:  # work for the caller, in the order of the fields; pointers are valid until anything else is called
    # A piece of a snapshot that is fetched, to be kept until it is installed, or another one begins at offset 0. NULL: none.
    const char* chunk
    uint32_t chunk_bytes
    uint64_t chunk_offset
    uint64_t chunk_index  # of the snapshot
    # One write, durable as a whole or a first part of it in this order; then `raft_advance(raft, write)`.
    uint64_t write  # 0: nothing
    bint has_hard_state
    uint64_t term
    uint64_t vote
    bint is_lost  # part of the hard state
    uint64_t install_index  # the snapshot that came in chunks takes the place of the log up to here; 0: none
    uint64_t install_term
    bint install_keeps  # what is behind it in the log; else that is void
    const RaftMembers* install_members
    uint64_t cut_index  # entries from here on are void; 0: none
    uint64_t first_index  # entries to append; first_index > last_index: none
    uint64_t last_index
    # To be sent now: what they promise is durable.
    const RaftMessage* messages
    size_t message_count
    # To be read and sent.
    const RaftRange* ranges
    size_t range_count
    # To be applied, in order; a snapshot comes first. apply_first > apply_last: none.
    uint64_t apply_snapshot  # index; 0: none
    uint64_t apply_first
    uint64_t apply_last
    # Reads that may be answered when `index` is applied.
    const RaftRead* reads
    size_t read_count
