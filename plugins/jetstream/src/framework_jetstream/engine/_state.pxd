"""The engine's state: streams, commands and answers."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

from framework.sublist._sublist cimport Interest, SublistState
from framework.wire._s2_tables cimport S2Encoder
from framework_jetstream.consumer._consumer_machine cimport Machine
from framework_jetstream.consumer._terms cimport ConsumerTerms
from framework_jetstream.encryption._cipher cimport FileKey
from framework_jetstream.engine._alarms cimport Alarm, Alarms
from framework_jetstream.engine._outbox cimport Outbox
from framework_jetstream.engine._port cimport framework_batch, framework_port, framework_row
from framework_jetstream.log._log cimport Log, LogFile, LogPart
from framework_jetstream.log._solo cimport Committer
from framework_jetstream.raft._state cimport RaftRange
from framework_jetstream.replication._replicas cimport Replica, Replicas
from framework_jetstream.sourcing._programs cimport Programs
from framework_jetstream.store._block cimport HeldBlock
from framework_jetstream.store._bodies cimport SegmentFiles
from framework_jetstream.store._segment cimport Buffer, SegmentReader, SegmentRow
from framework_jetstream.store._segment_moving cimport SegmentPlace
from framework_jetstream.store._trial cimport Trial
from framework_jetstream.stream._headers cimport Text
from framework_jetstream.stream._machine cimport REFUSALS, Limits, Stream
from framework_jetstream.stream._messages cimport Messages
from framework_jetstream.stream._saving cimport Loading, Save
from framework_jetstream.stream._subject_terms cimport Room, terms_drop
from framework_jetstream.stream._usage cimport Usage


cdef enum Verb:
    # What Python asks of the engine.
    OPEN_STREAM = 1
    UPDATE_STREAM
    CLOSE_STREAM
    STREAM_STATE
    LIST_SUBJECTS
    LIST_DELETED
    PURGE
    GET_MESSAGE
    DELETE_MESSAGE
    OPEN_CONSUMER
    UPDATE_CONSUMER
    CLOSE_CONSUMER
    CONSUMER_STATE
    RESET_CONSUMER
    UNPIN_CONSUMER
    LIMIT_SERVER = 32
    LIMIT_ACCOUNT
    REFUSE_STREAM
    FOLLOW_UPDATE
    LEAVE_CLIENTS
    CLOSE_ABANDONED
    TOTALS
    READ_ARCHIVE = 64
    RESTORE_ARCHIVE
    READ_CONSUMER
    RESTORE_CONSUMER
    READ_TABLE
    OPEN_SOURCE = 96
    SOURCE_STATE
    FOLLOW_SOURCE
    LEAVE_SOURCE
    CLOSE_SOURCE
    OPEN_GROUP = 112
    PROPOSE
    SNAPSHOT_GROUP
    CLOSE_GROUP
    GROUP_STATE
    STEP_DOWN
    CHANGE_MEMBER
    LINK_PEER
    RESIGN
    NAME_CONSUMERS
    SET_ASIDE


cdef enum EventKind:
    # What the engine says of a consumer without being asked.
    EVENT_INACTIVE = 1
    # Nobody has used it for as long as it may be unused.
    EVENT_RESUMED
    # Its pause has ended.
    EVENT_PINNED
    # To a client; bytes are the group, a line feed and the id.
    EVENT_UNPINNED
    # Its client has asked for nothing for too long; bytes are the group.
    EVENT_SOURCE_LOST
    # A source is followed no more; the first number is a `SourceLoss`.
    EVENT_LOST
    # Of no consumer: damage has taken messages; numbers are the stream's, the first and the last sequence.
    EVENT_OUT_OF_STORAGE
    # Of no consumer: the disk is full, and messages are refused; bytes are the stream whose message was the first.
    EVENT_LEADS
    # Of a stream or consumer of several servers: this one leads it, from here on; the first number is the term.
    EVENT_FOLLOWS
    # It does no more.
    EVENT_ENTRY
    # Of a control group: an entry to be applied; numbers are its index and its term.
    EVENT_STATE
    # Of a control group: what entries up to an index have led to, which is the first number, in place of them.
    EVENT_UPDATE
    # Of a stream of several servers: an entry describes it anew, and waits for what that means; the first number is its index.
    EVENT_REKEYED
    # Of no consumer: all files that were not written with the key of now are given up.
    EVENT_UNSURE
    # Of a control group: whether all consumers of a stream are here has to be known; numbers are the stream's, and of the question.
    EVENT_REPAIRS
    # Of what several servers have: something of it is lost here, and comes from others; the first number 0: it is whole again,
    # REPAIRS_LOSS: it has said so, and counts for nothing until it is; REPAIRS_OTHER: it has come to differ from what most have.
    EVENT_SAVE
    # Of a control group: its entries are in files of the log that are to be given up; SNAPSHOT_GROUP lets them go.
    EVENT_MENDED
    # Of no consumer: damage has taken nothing, and what it is in is written again; numbers are the stream's, group and file of the
    # segment, a SegmentReason. Group 0: it is a file of the log.
    EVENT_DIFFERS
    # Of a stream of several servers that is led here: entries have led to something else at these, 8 bytes each; none: at nobody.
    EVENT_WAITS
    # Of a consumer of several servers: this one should lead it, and its stream does not come to have here what was delivered.


cdef enum:
    REPAIRS_LOSS = 2
    REPAIRS_OTHER = 3
    TAKES_NOTHING = 2
    # Of REFUSE_STREAM.


cdef enum SourceLoss:
    # Why a source is followed no more.
    LOSS_GAP = 1
    # Messages are missing.
    LOSS_SILENCE
    # Nothing has come for too long.
    LOSS_REFUSED
    # The stream does not store a message.


cdef enum TagKind:
    # What a subscription of the port is for: the highest byte of its tag.
    TAG_PUBLISH = 1
    TAG_DIRECT_GET
    TAG_NEXT
    TAG_ACK
    TAG_DELIVER
    TAG_FLOW
    TAG_SOURCE = 32
    # The number of an input stands where others have that of a stream.


cdef enum:
    NUMBERS = 16
    TEXTS = 3
    BATCHES_MAX = 16
    # Taken in one turn: then what they led to is said.
    LINK_PLACES = 64
    # A power of two.
    PIN_LENGTH = 22
    GROUP_LENGTH_MAX = 16
    ACCOUNT_HASH = 8
    STORE_EVENTS_SHIFT = 41
    # Events of the store have the number above these.
    SOURCE_EVENTS_SHIFT = 40
    # Events of inputs are told with numbers above those of consumers.
    STREAM_EVENTS_SHIFT = 43
    # And those of streams with numbers above this.
    CONTROL_EVENTS_SHIFT = 44
    # And those of control groups.
    TAG_KIND_SHIFT = 56
    TAG_NUMBER_SHIFT = 24
    # Below it the place of a subject in its stream.


cdef struct Command:
    # What Python asks; its texts follow.
    Command* next
    int64_t id
    int32_t verb
    uint32_t number
    # Of the stream or consumer.
    int64_t numbers[NUMBERS]
    Limits limits
    ConsumerTerms terms
    # Of a consumer; its times of backoff are part of a text.
    Programs* programs
    # Of a source; NULL: none, or they are taken.
    size_t lengths[TEXTS]


cdef struct Answer:
    # What the engine says to Python; bytes follow.
    Answer* next
    int64_t id
    # Of the command; negative: nobody asked, it is an event.
    int32_t status
    int64_t numbers[NUMBERS]
    size_t length
    char* memory
    # Of a port, with a payload; NULL: there is none.
    uint32_t payload_at
    uint32_t payload_length


cdef struct StreamSubject:
    char* chars
    uint32_t length
    uint32_t place
    # Part of its tag.


cdef struct Proposal:
    # An entry that was proposed and is not committed yet; replies follow, each with its length in two bytes before it.
    Proposal* next
    uint64_t index
    uint64_t term
    # Of a group of several servers: another leader's entry may stand at this index.
    Command* command
    # That it carries out; NULL: none.
    size_t length
    # Of the replies.


cdef struct GetProgress:
    # How far a direct get is that is answered in parts, since not all that it wants is in memory.
    uint64_t last_seq
    # The last message that was sent.
    int64_t sent
    int64_t size
    uint64_t next_seq
    # From which on a batch goes on.
    uint64_t* seqs
    # Of the last messages of many subjects, and how many of them are done. NULL: none is asked for.
    int64_t found
    int64_t at
    uint8_t is_begun


cdef struct Waiting:
    # What has to wait, for what was proposed before it or for bytes: a command, or a message of a client, whose text follows.
    Waiting* next
    uint64_t behind
    # This entry.
    uint64_t seq
    # Or the bytes of this message.
    uint32_t number
    # Of the stream.
    Command* command
    framework_row row
    GetProgress progress


cdef struct Group:
    # A group of the log, as the engine has it.
    Slot* slot
    # Whose entries they are; NULL: a consumer's, or nobody's any more.
    ConsumerSlot* consumer
    Group* next_closing
    Proposal* first
    Proposal* last
    Command* closing
    # Who is told when it is closed; NULL: nobody.
    Replica* replica
    # What several servers have of it; NULL: it is this one's alone.
    uint64_t leads_term
    # This server leads, since all entries of before are applied; 0: it does not.
    uint64_t proposed
    # Indexes of the last entries that were proposed and applied.
    uint64_t applied
    char* description
    # In JSON, as it is now.
    size_t description_bytes
    uint64_t saved_in
    # The file with an entry that has all of it; 0: not known.
    uint64_t saved_at
    # That entry, until a SNAPSHOT has said so; 0: there is none, or it has.
    uint64_t due
    # Entries up to this one may be in files that are given up.
    uint64_t needed_from
    # No file before this one has an entry that is nowhere else; 0: not known. Where several servers have the group they know better.
    uint32_t number
    uint32_t control
    # Its number as a control group, whose entries Python applies; 0: it is none.
    Group* next_control
    int64_t asked_ns
    # Of a control group: when it was told to save what its entries have led to.
    Command* prepared
    # What the description means that the entry has at `prepared_at`; NULL: no entry has been waited with.
    uint64_t prepared_at
    uint8_t is_created
    # Its first entry was applied.
    uint8_t is_repaired
    # Something of it is lost here, as was told.
    uint64_t differs_edition
    # What is known of who differs, as was told.
    uint8_t has_differed
    # Somebody, as was told.
    uint64_t waits_term
    # In which it was told that it waits.


cdef struct SegmentFile:
    # A segment that nobody needs any more.
    uint64_t group
    uint64_t file
    uint64_t round
    # As soon as this one is synced.
    bint is_told
    # The log has said once more which segments there are instead.


cdef struct SegmentJob:
    # What another thread is to do with segments.
    SegmentJob* next
    Slot* slot
    # NULL: it is gone meanwhile, or files are to be removed.
    uint64_t index
    # The stream is saved as it was behind this entry.
    uint64_t last_seq
    # Then, as `bytes`.
    uint64_t bytes
    Save save
    Text description
    # As it was then.
    Messages messages
    # Of a stream that is gone.
    SegmentFile* removed
    # Before anything else.
    size_t removed_count
    uint32_t storage_kind
    # Who is to keep what was written; 0: the folder.
    Arrival* arrival
    # Of which a segment is to be written that another server has sent; NULL: none is.
    char* sent
    uint64_t sent_bytes
    SegmentPlace sender
    SegmentPlace place
    # What it is there, and is to be here.
    int error
    # errno: nothing of it is to be used.
    uint8_t is_done
    uint8_t is_synced
    # When it is back all its segments are on the disk, those as well that earlier saves have left to the page cache.
    uint64_t synced_below
    # These were written with lower numbers than the others.
    uint64_t log_file
    # Where the first entry may be that had not been applied.
    uint8_t spoils_unsynced
    # One of the others could not be synced, so nobody knows what the disk has of it.


cdef struct ReadPlace:
    # Where an entry stands in a file of the log.
    uint64_t file
    uint64_t offset
    uint32_t length
    FileKey key


cdef struct ReadJob:
    # What another thread is to read back.
    ReadJob* next
    uint32_t number
    # Of the stream.
    uint64_t group
    HeldBlock held
    # Has the bytes when they are there.
    SegmentRow* rows
    # Where it may be.
    size_t row_count
    Buffer lost
    # LiveRuns of messages that are not there any more.
    uint64_t file
    # Of which a piece is to be read as it is; 0: messages are.
    uint64_t offset
    uint64_t piece_bytes
    char* piece
    uint64_t state_index
    # Of the state that the segment is a part of.
    RaftRange wanted
    # By another server; none, without its number: to be loaded here.
    ReadPlace* places
    # Where entries of it stand in files of the log; NULL: it is something else.
    uint32_t place_count
    uint8_t scrubs
    # A `Scrubs`: nobody wants it, but to know whether it is as it was written.
    uint32_t reason
    # A SegmentReason: what is not, behind the bodies of `file`, or in the file of the log; 0: nothing.
    LogFile* log_file
    # It; stays until the job is back.
    uint64_t end
    # Of what is in it.
    int error
    # errno: it is tried again.


cdef enum Scrubs:
    SCRUBS_NOT = 0
    # Somebody wants it.
    SCRUBS_BLOCK = 1
    # Messages.
    SCRUBS_REST = 2
    # What a segment has beside them.
    SCRUBS_LOG = 3
    # A part of a file of the log.
    SCRUBS_WHOLE = 4
    # All of a segment.


cdef struct ScrubPass:
    # Reading once what there is.
    int64_t began_unix_ns
    int64_t ended_unix_ns
    # 0: it has not.
    uint64_t bytes
    uint64_t files
    # Segments, and files of the log.
    uint64_t damages
    # Places that were not as they were written.
    uint64_t errors
    # Those that the system did not give.


cdef struct Scrub:
    # How segments are read though nobody wants that; see `_scrub.pyx`.
    uint64_t bytes_per_s
    # 0: they are not.
    int64_t interval_ns
    # From the begin of one pass to that of the next one, if it does not take longer.
    int64_t due_ns
    # When it goes on; 0: it is not known yet.
    int64_t began_ns
    # The pass that is on, by the clock that never goes back; 0: none is.
    uint64_t log_file
    # The file of the log from which on, and the place in it,
    uint64_t log_offset
    # where the log goes on to be read,
    uint8_t is_log_over
    # until all of it was.
    uint32_t number
    # The stream that is at it,
    size_t row
    # its segment of which the rest comes next,
    uint64_t seq
    # and behind the last one where its messages go on.
    uint32_t out
    # Jobs that have not come back.
    uint32_t suspect
    # The stream that is looked at out of turn, 0: none is,
    size_t suspect_row
    # and its segment that comes next.
    uint8_t is_suspect_out
    # A job of it has not come back.
    ScrubPass current
    ScrubPass last


cdef struct ArrivedRow:
    # A segment of another server.
    SegmentRow row
    # As that has it.
    uint64_t file
    # Its number here.
    uint8_t is_here
    # All of it has come, and is written or is going to be.


cdef struct Arrival:
    # A state in segments, on its way from another server.
    Slot* slot
    # NULL: nobody wants it any more.
    uint64_t index
    uint64_t total
    # Bytes of all of it,
    uint64_t head_bytes
    # of its head,
    uint64_t offset
    # before the segment that is coming,
    uint64_t kept_bytes
    # and of segments behind that which are here.
    uint64_t salt
    uint64_t group
    # Of the sender.
    char* part
    # What is coming now: a head, the state, or a segment.
    uint64_t part_bytes
    uint64_t part_used
    char* state
    # As it is to be kept here; NULL: it has not come yet.
    uint64_t state_bytes
    uint64_t source
    # The server that sends it,
    uint64_t edition
    # and what it says that numbers of its segments hold for; 0: for one state.
    ArrivedRow* rows
    # Its segments, in their order.
    uint32_t row_count
    uint32_t row_at
    # The one that is coming.
    ArrivedRow* kept
    # Those of the state before, until it is known which of them this one has as well.
    uint32_t kept_count
    char* half
    # What had come of the next one then,
    SegmentRow half_row
    # which is this,
    uint64_t half_bytes
    # and how much; 0: nothing.
    uint32_t kept_before
    # How many of its segments, or parts of one, had come then.
    uint32_t writing
    # Jobs that are not back.


cdef struct Load:
    # A state in segments that takes the place of what a stream is, segment by segment.
    uint64_t index
    uint64_t last_seq
    Loading loading
    SegmentReader last
    # The last segment, which says what lives of all.
    char* last_chars
    size_t row_at
    # The next one that is loaded.
    uint8_t is_done


cdef struct Lost:
    # Messages that damage has taken.
    uint32_t group
    uint64_t first
    uint64_t last
    # 0: it is not known.


cdef struct Made:
    # Bytes that stay until an entry is proposed.
    Made* next
    size_t used
    size_t size


cdef struct Staging:
    # Messages of a stream that are to become one entry.
    LogPart* pieces
    void* heads
    # StagedHead of each.
    Made* made
    # What these messages have that did not come like that.
    uint32_t piece_count
    uint32_t piece_room
    uint64_t bytes
    char* replies
    # As a proposal has them.
    size_t reply_length
    size_t reply_room
    Trial trial
    # Of entries that are compressed.


cdef struct Request:
    # What a client asked of a pull consumer; its reply subject follows.
    Request* next
    uint64_t id
    int64_t left
    # Messages that may still come.
    int64_t bytes_left
    int64_t expires_ns
    # 0: never.
    int64_t heartbeat_ns
    int64_t beats_ns
    # When it is told that the server is there.
    int64_t min_pending
    int64_t min_ack_pending
    # Served only from so many on, by the policy overflow; 0: from any number on.
    uint32_t reply_length
    uint64_t behind
    # It may be told that there is nothing when this entry was applied.
    uint8_t has_bytes
    uint8_t no_wait
    uint8_t is_watched
    uint8_t has_got
    # At least one message.
    uint8_t priority
    # 0 is served first.
    uint8_t group
    # Which of its consumer's it named.
    uint8_t pin_length
    char pin[PIN_LENGTH]
    # Of the client that it says it is.


cdef struct ConsumerSlot:
    # A consumer, with what stands around it.
    Machine machine
    ConsumerSlot* next
    # Of the same stream.
    ConsumerSlot* next_ready
    Slot* slot
    uint32_t number
    uint32_t waiting
    # Requests.
    Request* first
    Request* last
    uint64_t last_request
    Text name
    Text ack_prefix
    # `$JS.ACK.S.C.`
    Text deliver
    # Where it pushes; NULL: it is pulled.
    Text* groups
    # Priority groups.
    uint32_t group_count
    Interest* filters
    # What it wants, in the index of its stream; NULL: there is none.
    uint32_t filter_count
    int64_t beats_ns
    int64_t active_ns
    Alarm alarm
    # Of the clock that never goes back.
    int64_t last_delivered_ns
    # Both Unix times; 0: never.
    int64_t last_ack_ns
    int64_t flow_bytes
    # On their way to the client, as far as flow control knows.
    int64_t flow_asked_bytes
    # Of them, those that the answer to its last request confirms.
    int64_t flow_bytes_max
    uint64_t flow_asked
    # The number that this request goes by; 0: none is open.
    int64_t resumes_ns
    # When what held a delivery back is over.
    int64_t rate_full_ns
    # When as much as the rate allows at once may go again.
    uint64_t replay_end_seq
    # Where messages come at once that a replay delivers.
    int64_t replayed_unix_ns
    int64_t replayed_ns
    # When the last one was stored, and delivered.
    int64_t pinned_until_ns
    # When its pinned client has asked for nothing for too long.
    int64_t pinned_unix_ns
    uint8_t pin_length
    # 0: none is pinned.
    uint8_t pinned_group
    char pin[PIN_LENGTH]
    uint8_t is_ready
    uint8_t has_interest
    uint8_t is_stalled
    # Its receiver has much waiting.
    uint8_t is_paused
    uint8_t is_ending
    uint8_t is_changed
    # The log is to hear of it at the end of the turn.
    uint8_t is_restored
    # It was read, and not opened yet.
    uint8_t is_whole_due
    # The log is to hear all of it.
    uint8_t is_reading
    # It waits for the bytes of a message.
    uint8_t is_late
    # It goes on when its stream has here again what was delivered; `opened` is what it begins with.
    uint64_t reading_seq
    Group* group
    # NULL: it is in memory only.
    Command* opening
    # Is answered when the log knows of it; NULL: it does.
    Command* opened
    # What it begins with where this server leads it; NULL: it is this one's alone.
    ConsumerSlot* next_changed
    uint64_t* touched
    # Sequences of which something has changed since the log heard of them.
    uint32_t touched_count
    uint32_t touched_room
    int64_t tells_ns
    # When the log hears of deliveries at the latest; 0: there were none.
    char* owed
    # Replies of acknowledgements that the log has not heard of yet, as a proposal has them.
    size_t owed_length
    size_t owed_room


cdef struct Input:
    # A source of a stream, or the origin of a mirror.
    Input* next
    # Of the same stream.
    Slot* slot
    uint32_t number
    uint32_t run
    # How many consumers were followed.
    Text name
    # Of the stream there, which is part of the name of a source.
    Text rest
    # Filter and destination, with a blank between them.
    Text consumer
    # Whose messages are taken.
    Text ident
    # Of the stream there; empty: it is not known.
    Programs* programs
    # What becomes of subjects; NULL: they stay.
    uint64_t stream_seq
    uint64_t consumer_seq
    # What came last.
    uint64_t pending
    # Messages that are still to come, as the last one says.
    int64_t heard_ns
    # 0: never.
    Text owed
    # Where an answer of flow control goes as soon as all that came before is stored; NULL: nowhere.
    uint64_t owed_behind
    uint64_t owed_stream_seq
    uint64_t owed_consumer_seq
    uint64_t stalled_by
    # A hash of the request of flow control that heartbeats speak of.
    uint32_t stalls
    # How many did.
    uint8_t is_mirror
    uint8_t is_followed
    uint8_t is_first
    # The next message is the first one of its consumer.
    uint8_t wants_direct
    # Direct gets of the origin are answered here too.
    uint8_t has_direct


cdef struct Doubts:
    # What a stream of several servers could do without, if this one knows all of its consumers; see `_doubts.pyx`.
    uint32_t* followed
    # Numbers of consumers of several servers, as many of them are led elsewhere; some may be gone.
    uint32_t followed_count
    uint32_t followed_room
    uint64_t* seqs
    size_t count
    size_t room
    uint64_t review_at
    # From here up to before `review_end` messages are to be looked at.
    uint64_t review_end
    size_t asked
    # Of `seqs`, those that the open question is about.
    uint64_t asked_end
    # And it is about messages below this one.
    uint64_t question
    # 0: none is open.
    Slot* next
    # Of those with doubts.
    uint8_t is_listed


cdef enum DoubtsStage:
    DOUBTS_REST = 0
    DOUBTS_READ
    # The leader of the control group is asked for an index.
    DOUBTS_TOLD
    # Python has been asked which consumers there are.


cdef struct Slot:
    # A stream, with what stands around it.
    Stream stream
    uint32_t number
    uint32_t account
    Command* opened
    # What clients reach it by where this server leads it; NULL: it is this one's alone.
    uint32_t places
    # Of subjects so far.
    uint32_t subject_count
    StreamSubject* subjects
    Text ack
    # `{"stream":"S","seq":`
    Text ack_refused
    # `,"stream":"S","seq":0}`
    int64_t expires_ns
    # Unix time at which something is too old.
    Alarm expiry
    # The same.
    Text name
    ConsumerSlot* consumers
    uint32_t consumer_count
    SublistState* filters
    # Of its consumers; NULL: there are only few.
    Input* inputs
    Engine* engine
    Group* group
    # NULL: it is in memory only.
    char* removals
    # Sequences that nobody needs any more, 8 bytes each, of which the log has not heard yet.
    size_t removals_length
    size_t removals_room
    Slot* next_removing
    Doubts doubts
    Staging staging
    Slot* next_staging
    Waiting* waiting
    Waiting* last_waiting
    int64_t expired_ns
    # When it was last proposed to remove what is too old; Unix time.
    uint8_t is_removing
    uint8_t is_staging
    uint8_t is_saving
    # Nothing is proposed to it until all was applied, and it is written as a whole.
    uint8_t is_expiring
    # That is not applied yet.
    uint8_t is_restored
    # It was read, and not opened yet.
    uint8_t has_strays
    # A consumer may wait for acknowledgements of messages that its filters want no more.
    uint8_t leaves_sparse
    # More of its segments should be written again than the last save could.
    int64_t pending_bytes
    # Of messages that were proposed, as its account's usage has them.
    SegmentRow* segments
    # In order of sequences: as the SNAPSHOT of its group has them, or later ones that the log was not told of.
    size_t segment_count
    uint64_t synced_below
    # Segments of lower numbers are on the disk.
    Buffer replaced
    # Numbers of those that the SNAPSHOT has, and `segments` no more, 8 bytes each.
    int64_t unsaid_ns
    # When the log was first not told of a save; 0: it knows all.
    uint64_t next_segment
    # The number of its next file.
    uint64_t saved_bytes
    # What it had when it was saved last.
    SegmentJob* job
    # That saves it; NULL: none does.
    Arrival* arrival
    Load* load
    int64_t given_older_ns
    # When an older version was given a piece of it.
    int64_t given_last_ns
    # When another server was given one of its last segments that are missing there.
    int64_t given_begin_ns
    # When somebody began to fetch it last,
    uint32_t given_begins
    # and how often that was.
    Command* sharing
    # That others are to have it too; NULL: not asked.
    uint8_t is_saved_once
    # For that, while publishers went on.
    Waiting* reading
    # What waits for bytes, the last one first.
    uint8_t is_losing
    # Messages that damage has taken are to be removed, before more is read.
    uint8_t is_refused
    # Who keeps its segments fails: it takes nothing, and what is not here can't be read.
    uint8_t is_shut
    # It is set aside: it takes nothing, and is read as ever.
    uint8_t is_direct
    # Direct gets are answered here.
    uint8_t kept
    # One of `Kept`.
    uint8_t remote_saves
    # That failed one after the other since what was to be written again was not here.
    uint64_t behind
    # The last entry that a request waits for.
    uint64_t published[LINK_PLACES]
    # The last entry that has a message of a connection, by a part of its number.


cdef enum Kept:
    # What a stream has when all its servers have stopped; 1 is what its storage says where that is `file`.
    KEPT_NOWHERE = 0
    KEPT_IN_FILES = 1
    KEPT_BY_ENTRIES = 2
    # It is in memory, and several servers have it: what is committed is in the log as of any other.


cdef struct Leaving:
    # A message that nobody needs any more, as soon as it has been sent.
    uint32_t slot
    uint64_t seq
    uint64_t fence
    # It stays until the answer to this one has come: then it is known who got it.


cdef struct Account:
    # What the streams of an account take, in memory and in files.
    Usage[2] usage
    char hash[ACCOUNT_HASH]
    # Of its name, as subjects of acknowledgements have it.


cdef struct BatchTerms:
    # What the server says of batches.
    int64_t messages_max
    int64_t stream_batches_max
    int64_t batches_max
    int64_t timeout_ns
    int64_t stream_fast_max
    # Of batches that are stored as they come.
    int64_t fast_max


cdef enum:
    REKEYING_OVER = 0
    REKEYING_DUE = 1
    # As soon as a new file of the log is begun.
    REKEYING_GIVES_UP = 2
    # Until the files before it are given up.
    REKEYING_REMOVES = 3
    # Until the segments are removed that were written again.


cdef struct PeerLink:
    # A connection to another server.
    uint64_t link
    uint64_t server


cdef struct Compressor:
    # Of entries, for all streams.
    S2Encoder* encoder
    # NULL until there is something to compress.
    Buffer plain
    Buffer coded
    Buffer parts


cdef struct Engine:
    const framework_port* port
    Outbox outbox
    Slot** slots
    # By number of the stream; NULL: it is gone.
    uint32_t slot_count
    ConsumerSlot** consumers
    # By number; NULL: it is gone.
    uint32_t consumer_room
    uint32_t late_count
    # Of them, those whose stream has not here yet what they have delivered before.
    Input** inputs
    # By number; NULL: it is gone.
    uint32_t input_room
    ConsumerSlot* ready
    # Those that may have something to deliver, in order.
    ConsumerSlot* last_ready
    Command* commands
    # A stack that Python pushes to and the engine takes whole.
    Answer* answers
    # A stack that the engine pushes to and Python takes whole.
    Answer* said
    # Answers of this turn, the last one first.
    Text refusals[REFUSALS]
    # JSON of errors of PubAcks, up to where a sequence or an id stands.
    Text refusal_ends[REFUSALS]
    Slot* removing
    # Streams in files with messages that nobody needs any more.
    Slot* doubting
    # Streams with doubts.
    int doubts_stage
    # A `DoubtsStage`.
    uint32_t doubts_left
    # Streams of which nothing was said yet.
    uint64_t doubts_question
    # The last one.
    uint64_t doubts_index
    # Up to which the control group has to be applied; 0: not known.
    int64_t doubts_until_ns
    # Then it is asked anew, and not before where nothing is asked.
    Leaving* leaving
    # Messages that go as soon as somebody has got them, in order of fences.
    uint32_t leaving_count
    uint32_t leaving_room
    bint wants_fence
    uint64_t fences
    # So far, and how many of them were answered.
    uint64_t fences_answered
    Account** accounts
    # By number; NULL: it has had no stream.
    uint32_t account_room
    Usage[2] usage
    # Of all accounts.
    BatchTerms batch_terms
    bint has_scoped_acks
    # Messages are acknowledged by subjects with domain and account.
    Room subject_room
    # Where a message is published again.
    uint64_t seed
    Text domain
    # Of JetStream; empty: none.
    char id_prefix[12]
    uint64_t advisories
    # So far: the rest of their ids.
    uint64_t drawn
    # Names so far that nobody guesses.
    int64_t now_ns
    # Of a clock that never goes back.
    int64_t unix_ns
    int64_t wakes_ns
    # When there is something to do without being told.
    Alarms alarms
    # Of consumers.
    Alarms expiries
    # Of streams, by the time of day.
    int64_t took_ns
    # When there was last something from the port.
    int64_t not_here_ns
    # Up to then the log's thread writes what is little as well.
    Log* log
    # NULL: streams in files are refused.
    Committer committer
    Replicas* replicas
    # Groups of several servers; NULL: there are none.
    Group* controls
    # Those whose entries Python applies.
    const framework_port* peers
    # By which these servers hear of each other.
    uint32_t peers_account
    Text peers_prefix
    # What a server is told has this subject, with its number behind.
    PeerLink* peer_links
    uint32_t peer_link_count
    int64_t ticked_ns
    # So far time has passed for them.
    bint settles_all
    # Commands were carried out: who leads what is looked at in all groups.
    bint is_full_told
    # That the disk is full, since it was.
    void* runner
    # The thread of the log, a LogRunner; NULL: somebody else performs its rounds.
    Slot* staging
    # Streams with messages that are to be proposed.
    Compressor compressor
    uint64_t compressed_from
    # Bytes of messages that an entry has at least.
    uint64_t compressed
    # Entries, so far.
    const framework_batch* held[BATCHES_MAX]
    # Where these messages are.
    uint32_t held_count
    Command* todo
    # Commands that wait until the log has room again, the oldest first.
    ConsumerSlot* changed
    # Consumers of which the log is to hear.
    Group* closing
    # Groups that wait to be closed until the log has room again.
    bint has_appended
    # The log has something to write.
    bint is_replaying
    # Entries that were read are applied.
    Lost* lost
    size_t lost_count
    bint keeps_files
    # Of groups that nobody knows the log gives up nothing.
    uint64_t trim_before
    # Files before this one are given up; 0: none are.
    int64_t trim_again_ns
    # Until then some of these are held.
    uint64_t trim_waits
    # The round that has to be synced before that; 0: not all is written.
    uint64_t trim_looked
    # The file at whose begin it was last asked whether that is worth it.
    bint has_rescued
    # Groups of which some was missing when the log was read, until all is written elsewhere.
    bint has_dead
    # It is worth it, since much is gone of what segments have.
    uint32_t rekeying
    # REKEYING_*: whether what was not written with the key of now is written again.
    uint32_t removals
    # Jobs that remove segments, and have not come back.
    SegmentJob* jobs
    # A stack that the engine pushes to, and who performs them takes whole.
    SegmentJob* taken
    # By them, the oldest first.
    SegmentJob* performed
    # A stack, the other way.
    ReadJob* reads
    # A stack of what is to be read, that they take whole as well.
    uint32_t ranges
    # Of the log that are being read for other servers.
    uint64_t segments_kept
    # Of states that came, those that had come, or a part of them, with an earlier one.
    uint64_t ranges_read
    # Were, since the start.
    ReadJob* reads_taken
    # The oldest first.
    ReadJob* reads_performed
    # A stack, the other way.
    ReadJob* scrubs
    # A stack of what nobody wants, and is read behind what somebody does.
    ReadJob* scrubs_taken
    # The oldest first.
    Scrub scrub
    ReadJob* reads_delayed
    # Are tried again at `reads_again_ns`, or as soon as something was fetched.
    bint has_fetched
    # Written by another thread: segments are here again that were not.
    bint saves_wait
    # For that.
    int64_t reads_again_ns
    int read_error
    # errno of the last read; 0: it went well.
    uint64_t reading_bytes
    # On their way.
    Waiting* woken
    # What has waited for bytes that are there now, the oldest first.
    Waiting* last_woken
    uint32_t reads_waiting
    # Messages of clients that wait for bytes.
    SegmentFiles files
    # Where segments are, for what is read at once.
    uint64_t resident_bytes
    # Of memory for bytes of messages of streams in files.
    uint64_t cache_bytes
    # So many may stay where the disk has them too.
    uint64_t spilling
    # The number of the stream that is saved for the sake of memory or of the disk; 0: none is.
    uint64_t spill_above
    # With so many it is looked again for one.
    bint leaves_sparse
    # As some slot does.
    int64_t unsaid_ns
    # The earliest of all slots, or one before it; 0: there is none.
    uint64_t sweeps_above
    # Nothing could go when there were so many.
    uint32_t sweep_slot
    # The stream whose bytes are looked at.
    uint32_t sweep_idle
    # Streams since any could go.
    int jobs_fd
    # Tells who performs them that there is one; negative: nobody has to be told.
    uint64_t segment_bytes
    # A segment ends when it is so long.
    uint64_t small_bytes
    # A stream with no more is written to the log as a whole.
    int64_t log_files
    # So many files the log may have, beside twice what lives of small streams, until some are given up.
    int64_t unsaid_max_ns
    # So long the log need not be told of a save.
    uint32_t saves
    # That were begun and have not come back.
    uint32_t sharings
    # Streams that others are to have too.
    int64_t saves_again_ns
    # Behind an error.
    int segment_error
    # errno of the last save; 0: it went well.
    SegmentFile* removable
    # Segments that go when what names them no more is synced.
    size_t removable_count
    size_t removable_room


cdef inline Slot* slot_of(Engine* engine, uint64_t number) noexcept nogil:
    """Return a stream by its number; NULL: it is gone."""
    return engine.slots[number] if number < engine.slot_count else NULL


cdef inline ConsumerSlot* consumer_of(Engine* engine, uint64_t number) noexcept nogil:
    """Return a consumer by its number; NULL: it is gone."""
    return engine.consumers[number] if number < engine.consumer_room else NULL


cdef inline Input* input_of(Engine* engine, uint64_t number) noexcept nogil:
    """Return a source by its number; NULL: it is gone."""
    return engine.inputs[number] if number < engine.input_room else NULL


cdef inline void ready_add(Engine* engine, ConsumerSlot* consumer) noexcept nogil:
    """Look at the end of the turn whether a consumer has something to deliver."""
    if consumer.is_ready:
        return
    consumer.is_ready = 1
    consumer.next_ready = NULL
    if engine.last_ready != NULL:
        engine.last_ready.next_ready = consumer
    else:
        engine.ready = consumer
    engine.last_ready = consumer


cdef inline void made_free(Staging* staging) noexcept nogil:
    """Let go of what was made for messages that are proposed."""
    cdef Made* gone
    while staging.made != NULL:
        gone = staging.made
        staging.made = gone.next
        free(gone)


cdef inline void staging_free(Staging* staging) noexcept nogil:
    made_free(staging)
    free(staging.pieces)
    free(staging.heads)
    free(staging.replies)
    memset(staging, 0, sizeof(Staging))


cdef inline void command_free(Command* command) noexcept nogil:
    if command != NULL:
        terms_drop(command.limits.subject_terms)
    free(command)


cdef inline const char* command_text(Command* command, int which) noexcept nogil:
    cdef const char* text = <char*> (command + 1)
    cdef int at
    for at in range(which):
        text += command.lengths[at]
    return text


cdef inline uint64_t* published_by(Slot* slot, uint64_t link) noexcept nogil:
    """Return where the last entry with a message of a connection stands; two may share one."""
    return &slot.published[(link ^ link >> 32) & (LINK_PLACES - 1)]
