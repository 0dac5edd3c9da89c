"""The memory of the plane: links, subscriptions, accounts, sinks, buffers. One loop thread owns all of it."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from framework.sublist._sublist cimport GroupIndex, Interest, Match, SublistState
from framework.sublist._table cimport Key, Table
from framework.sublist._transform cimport Transform
from framework.dataplane.inner._fifo cimport Fifo
from framework.dataplane.links._deflate cimport Deflate
from framework.dataplane.links._frames cimport Frames
from framework.wire._s2 cimport S2Encoder, S2Level

cdef extern from "framework_port.h":
    ctypedef struct framework_row:
        uint64_t link
        int64_t tag
        uint32_t at
        uint32_t subject_length
        uint32_t reply_length
        uint32_t header_length
        uint32_t payload_length
        uint16_t kind
        uint16_t word
    ctypedef struct framework_batch:
        uint32_t count
        const framework_row* rows
        const char* chars
        void* owner


cdef extern from "pthread.h" nogil:
    ctypedef struct pthread_mutex_t:
        pass
    ctypedef struct pthread_cond_t:
        pass


cdef enum:
    # Sizes of the plane's buffers; reasons in docs/ARCHITECTURE.md, "Buffers".
    READ_BLOCK_BYTES = 262144
    OUTPUT_BLOCK_BYTES = 32768
    FRAME_OWN_BLOCK_BYTES = 65536
    # A frame at least this long that is still incomplete gets a block of its own, and is read straight into it.
    REFERENCE_BYTES = 8192
    # A payload at least this long is sent from where it was read.
    REFERENCE_PENDING_BYTES = 524288
    # Unless so much waits already: what waits long must not hold read blocks.
    STALL_PENDING_BYTES = 4194304
    # A client that publishes to a link with so much waiting is read no further for a while.
    STALL_NS = 10000000
    # As long as so much of what links reported waits for Python, who reports more is read no further.
    RECORDS_WAITING_BYTES = 16777216
    BLOCKS_KEPT = 192
    MEMO_LINE_BYTES = 224
    MEMO_HEAD_BYTES = 320
    BATCH_MESSAGES = 2000
    BATCH_BYTES = 262144
    FANOUTS_BYTES_MAX = 67108864
    # Of all messages under way, with the receivers that they have yet to reach; beyond, a message is delivered at once.
    LINE_BYTES_MAX = 131072
    # Of any link, whatever the limits say: an incomplete line must leave room in the block that it is read into.
    CONNECT_BYTES_MAX = 1048576
    # Of a client's CONNECT; from half of LINE_BYTES_MAX on it is read into a block of its own.
    CONNECT_READ_BYTES = 32768
    # Of such a line at a time: what stands behind it must fit into a common block.
    GROUPS_BYTES_MAX = 122880
    # Of the names of queue groups in one RMSG: with a subject and a reply, the line must be one that the peer takes.
    NONCE_BYTES = 15
    UNREGISTERED_READ_BYTES = 4096
    DETAIL_BYTES = 256
    ACCOUNTS_FOREIGN_MAX = 65536
    # That routes speak of and that are not ours.
    VERDICT_SETS = 2048
    VERDICT_BYTES = 104
    # Of a subject and a queue group whose verdict is remembered.
    REPLIES_MAX = 65536
    WAYS_MAX = 65536
    WAY_BYTES_MAX = 48
    # Answers that one client may owe.
    VIOLATIONS_A_TICK = 100
    TRACED_LINE_BYTES_MAX = 1024
    # Of a protocol line in the log.
    TRACES_MAX = 10000
    # That may wait for the log; more are not recorded.
    HOPS_MAX = 16
    # Accounts that a message may pass through by imports of services.
    IMPORTS_PASSED_MAX = 4096
    # That one message may pass in all: where each account has two ways on, HOPS_MAX alone would allow 65,536.
    RESPONSE_MAPPINGS_MAX = 65536
    # Requests of other accounts whose answers an account remembers the way of.
    ADDRESS_TABLES_MAX = 16
    # Of refused addresses, one for each plugin that has some.
    REFUSALS_A_TICK = 1
    # That are reported: who is refused may come again at once.
    NODE_BYTES = 8
    # By which other servers address this one in subjects.


cdef enum:
    KINDS_MAX = 16
    LISTENERS_MAX = 64
    INFOS_MAX = 80
    # Of each kind, then of listeners that have one of their own.


cdef enum LinkKindC:
    CLIENT = 0
    ROUTE = 1
    GATEWAY = 2
    LEAF = 3
    SYSTEM = 4
    # The link that stands for what this process publishes; reported in traces alone.


cdef enum ScopeC:
    # As framework.dataplane.scopes.Scope.
    SCOPE_HERE = 0
    SCOPE_INNER = 1
    SCOPE_ROUTE = 2
    SCOPE_GATEWAY = 3
    SCOPE_LEAF = 4
    SCOPE_HUB = 5
    SCOPE_IMPORTS = 6


cdef enum:
    SCOPES_MAX = 7


cdef enum PeerGuard:
    # As framework.dataplane.peers.PeerGuard.
    GUARD_NONE = 0
    GUARD_DROPS = 1
    GUARD_ENDS = 2


cdef enum Operation:
    # As framework.dataplane.dialects.Operation.
    IGNORE = 0
    PUBLISH_MESSAGE = 1
    PUBLISH_WITH_HEADERS = 2
    SUBSCRIBE = 3
    UNSUBSCRIBE = 4
    INTEREST = 5
    NO_INTEREST = 6
    MESSAGE = 7
    MESSAGE_WITH_HEADERS = 8
    ACCOUNT_INTEREST = 9
    NO_ACCOUNT_INTEREST = 10
    MESSAGE_OF_ORIGIN = 11
    INTEREST_OF_ORIGIN = 12
    NO_INTEREST_OF_ORIGIN = 13


cdef enum AccountWord:
    # As framework.dataplane.dialects.AccountWord.
    ACCOUNT_UNLESS_OMITTED = 0
    ACCOUNT_ALWAYS = 1
    ACCOUNT_NEVER = 2


cdef enum:
    # As framework.dataplane.scopes.GroupClass.
    SPARE_RANK = 2
    NEAREST_RANK = 3


cdef enum:
    VERBS_MAX = 12
    VERB_BYTES_MAX = 6


cdef struct Verb:
    uint64_t key
    # Its letters, small ones, as they lie in memory; 0 behind them.
    uint64_t fold
    # What makes a letter of a line a small one.
    uint64_t mask
    # Bytes that count.
    char letters[VERB_BYTES_MAX]
    uint8_t length
    uint8_t operation


cdef struct Dialect:
    # The verbs of links of a kind, those that begin with one letter behind each other: see `dialects.py`.
    uint8_t by_letter[32]
    # Place of the first one by the low bits of the letter.
    Verb verbs[VERBS_MAX + 1]
    # The one behind the last has no length; where no verb begins with a letter, that one.
    char message[5]
    # What goes to such a link begins so, with the blank.
    char interest[4]
    char no_interest[4]
    char no_account[4]
    # A server is told so that an account is not known here; empty: it is not told.
    uint8_t account
    uint8_t weighs_groups


cdef enum:
    RESERVED_MAX = 16
    RESERVED_BYTES_MAX = 30


cdef enum Treatment:
    # Bits; as the fields of framework.dataplane.reserved.ReservedPrefix.
    NO_PUBLISH = 1 << 0
    NO_REPLY = 1 << 1
    SHOWS_SUBJECT = 1 << 2
    NEEDED_BY_SERVERS = 1 << 3
    STAYS_IN_ACCOUNT = 1 << 4
    KEEPS_REPLY = 1 << 5
    HIDES_ADDRESS = 1 << 6
    FORWARDED = 1 << 7
    # Of a first byte alone: see `_forwards.pyx`.


cdef enum:
    FORWARDS_MAX = 256


cdef struct Forward:
    # Where subjects with a prefix go, which follows the struct.
    Forward* next
    # No longer than this one.
    const char* prefix
    size_t length
    uint64_t link
    # 0: here, without the prefix.


cdef struct ReservedPrefix:
    char prefix[RESERVED_BYTES_MAX]
    uint8_t length
    uint8_t treatment
    uint8_t hidden_tokens
    # Behind the prefix; with HIDES_ADDRESS.


cdef enum Trait:
    # Bits; as the fields of framework.dataplane.kinds.KindTraits.
    IS_USER = 1 << 0
    IS_PEER = 1 << 1
    IS_LIMITED = 1 << 2
    MAY_BE_ANONYMOUS = 1 << 3
    ASKS_EACH_CONNECT = 1 << 4
    HEARS_PEER = 1 << 5
    IS_TOLD_INTEREST = 1 << 6
    STALLS = 1 << 7
    PINGS_WHEN_QUIET = 1 << 8
    ENTERS = 1 << 9
    NUMBERED = 1 << 10
    MAY_INTRODUCE = 1 << 11


cdef struct KindTraits:
    uint16_t traits
    uint8_t scope
    uint8_t rank
    # Of its members in queue groups: see Interest.
    Dialect dialect
    int64_t ping_interval_max_ns
    # 0: as long as the interval says.
    int64_t first_ping_ns


cdef struct ServerInfo:
    # The document that links of a kind are greeted with; `_server_info.pyx` looks after it.
    char* document
    size_t length
    uint32_t version
    # Counts the documents, so that who has an old one gets the new one.
    uint8_t asks_login
    # It says `auth_required`.
    size_t payload_at
    size_t payload_end
    # Where the digits of `max_payload` are; 0: nowhere.


cdef enum ClosedStateC:
    # As framework.wire.closed_state.ClosedState; a test holds them equal.
    CLIENT_CLOSED = 1
    AUTHENTICATION_TIMEOUT = 2
    AUTHENTICATION_VIOLATION = 3
    SLOW_CONSUMER_PENDING_BYTES = 5
    SLOW_CONSUMER_WRITE_DEADLINE = 6
    WRITE_ERROR = 7
    READ_ERROR = 8
    PARSE_ERROR = 9
    STALE_CONNECTION = 10
    PROTOCOL_VIOLATION = 11
    MAX_CONNECTIONS_EXCEEDED = 15
    MAX_PAYLOAD_EXCEEDED = 16
    MAX_CONTROL_LINE_EXCEEDED = 17
    MAX_SUBSCRIPTIONS_EXCEEDED = 18
    SERVER_SHUTDOWN = 21
    MSG_HEADER_VIOLATION = 27


cdef struct Block:
    # `capacity` bytes and COPY_SLACK follow.
    Block* next
    size_t capacity
    uint32_t users


cdef struct Segment:
    Segment* next
    Block* block
    char* chars
    size_t length


cdef struct PeerTraffic:
    int64_t in_msgs
    int64_t in_bytes
    int64_t out_msgs
    int64_t out_bytes


cdef struct Traffic:
    # Of one account: messages of its clients and of other servers that came, and those that went out to others for them.
    int64_t in_msgs
    int64_t in_bytes
    int64_t out_msgs
    int64_t out_bytes
    int64_t slow_consumers
    PeerTraffic peers[SCOPE_LEAF - SCOPE_ROUTE + 1]
    # What servers of one scope have of these; the first is of routes, and hubs are leaf nodes: see `traffic_of`.


cdef struct Destination:
    # Where a share of the messages of a mapped subject goes.
    Transform* transform
    uint32_t below
    # Of a number from 0 to 99, when it was not below that of the destination before.


cdef struct Destinations:
    # Of the servers of one cluster; without a name: of all that have none of their own.
    const char* cluster
    size_t cluster_length
    const Destination* items
    size_t count


cdef struct Mapping:
    const char* source
    size_t source_length
    const Destinations* sets
    # The first is for clusters without a name here.
    size_t count
    Subscription* subscription
    # Interest in the source, of which leaf nodes are told; in no sublist. NULL: it is not told.


cdef enum ImportKind:
    SERVICE_IMPORT
    STREAM_IMPORT
    RESPONSE_IMPORT


cdef struct Import:
    # What leads from one account to another.
    ImportKind kind
    Account* account
    # Of the exporter; of a RESPONSE_IMPORT: where the answers come from.
    Account* home
    # Of the importer; of a RESPONSE_IMPORT nobody's.
    uint32_t account_index
    # Of `account`, until the tables are in force.
    const char* subject
    # In `account`, with plain wildcards.
    size_t subject_length
    const char* to
    # In `home`, with plain wildcards.
    size_t to_length
    Transform* transform
    # Makes what `account` has for a service, what `home` has for a stream; NULL: the subject stays, or is the literal one.
    Transform* back
    # Of a stream: makes what `account` has.
    int64_t threshold_ns
    int64_t latency
    # Token of its samples; 0: none are taken.
    int32_t latency_percent
    uint8_t stays
    # The subject is the same in both accounts.
    uint8_t response
    uint8_t share
    uint8_t names_server
    uint8_t allow_trace
    Subscription* subscription
    # Of a service: that in `home`.


cdef struct MessageTrace:
    # What is noted of a message that asks for it. Its texts lie where the message does.
    Account* account
    const char* destination
    size_t destination_length
    const char* subject
    # As it came.
    size_t subject_length
    const char* header
    size_t header_length
    const char* hop
    # Of the server that sent it here.
    size_t hop_length
    const char* refused
    size_t refused_length
    size_t size
    char* steps
    size_t steps_length
    size_t steps_room
    Block* block
    # That the message lies in when its header was changed.
    uint32_t step_count
    uint32_t hops
    # Servers that it was sent to.
    uint32_t fault
    uint8_t only


cdef struct Tables:
    # One version of what an account does to messages. All memory of it is owned here.
    void** owned
    size_t owned_count
    size_t owned_room
    Mapping* mappings
    size_t mapping_count
    Import* streams
    size_t stream_count
    Import* services
    size_t service_count
    const char* trace_destination
    # Of messages with `traceparent`; empty: they are not traced.
    size_t trace_destination_length
    int32_t trace_percent


cdef struct ResponseMapping:
    # A response mapping of one request: from its reply subject in `account` to the requestor's in `home`.
    Key key
    Account* account
    Account* home
    Asked* asked
    ResponseMapping* older
    ResponseMapping* newer
    # In `account`, by the time of the last answer.
    ResponseMapping* before
    ResponseMapping* after
    # Of the same reply subject in `home`.
    int64_t started_ns
    int64_t last_ns
    int64_t threshold_ns
    int64_t latency
    # Token of the sample that is taken of it; 0: none.
    int64_t requestor_rtt_ns
    char* info
    # JSON of the requestor, for the sample.
    size_t info_length
    char* header
    # Header block of the request, when the sample was asked for by it.
    size_t header_length
    uint8_t response
    uint8_t share
    uint8_t sampled
    uint8_t trace
    # Of answers of message traces, which end with the time only.


cdef struct Asked:
    # A reply subject in a requestor's account, and the answers that are due to it.
    Key key
    ResponseMapping* first


cdef struct ResponseMappings:
    # Of one account: what it owes and what is owed to it.
    Import imported
    char prefix[16]
    ResponseMapping* oldest
    ResponseMapping* newest
    Table by_subject
    Table asked
    # By the reply subjects of requestors here.
    int64_t due_ns
    # When the first may be late.
    uint8_t deserted
    # Interest with wildcards ended here since the reply subjects were last looked at.
    uint8_t looking
    size_t look_at
    # Of `asked`: the slot where the look goes on.
    uint64_t seed


cdef struct Hop:
    # An import that a message came through.
    Import* imported
    Hop* previous
    uint32_t count


cdef struct Account:
    Key key
    # Its name, which follows the struct.
    const char* name
    uint32_t name_length
    uint32_t index
    uint8_t ours
    uint8_t spared
    # It may be freed at the end of the turn.
    uint8_t numbered
    # It has an index, since it is or was ours.
    uint8_t pinned
    # Connections of pools do not carry it.
    uint32_t assigned
    # Its number for pools: the rest by the size of a pool is the index of its connection.
    SublistState sublist
    uint64_t apart
    # Of what stands there: interest of other clusters.
    Table interest
    # By subject and queue: what other servers were told.
    Traffic traffic
    Account* next
    # Made after it; set when that one is complete, so that any thread may walk along.
    Account* next_spared
    Link** routes
    # That carry it: they are told of interest here.
    uint32_t route_count
    uint32_t route_room
    Link* clients
    # That act in it, until they are buried.
    Tables* tables
    # NULL: it does nothing to messages.
    ResponseMappings* answers
    # NULL: it has had no part in an imported service yet.
    Watches* watches
    # NULL: nobody watches what is published in it.


cdef struct Watch:
    # What a sink watches beside the match; its subject follows.
    Interest interest
    Sink* sink
    uint8_t unheard


cdef enum:
    FIRST_TOKENS = 256


cdef struct Watches:
    # Who watches what is published in an account: see `_watches.pyx`.
    uint64_t serial
    # Of these rules, and of no others ever.
    SublistState ingress
    SublistState unheard
    SublistState gates
    uint32_t first_tokens[FIRST_TOKENS]
    # Rules of `ingress` and `gates` by the hash of their first token; of those that begin with a wildcard, all.


cdef struct LocalInterest:
    Key key
    # Subject, then a space and the queue when there is one.
    uint32_t subject_length
    # Less than that of the key: of a queue group.
    uint32_t counts[SCOPES_MAX]
    # By scope: subscriptions here, and of other servers' interest its weight.
    OriginInterest* origins
    # Those that leaf nodes of clusters have.


cdef struct Subscription:
    Interest interest
    Key key
    # Link and sid (for a route: the words of RS+), then the subject and queue it stands for.
    Link* link
    Sink* sink
    Account* account
    Subscription* next
    # Of the same link.
    Subscription* previous
    # In that list; of a shadow: the subscription that it is the shadow of.
    Subscription* shadows
    # That stand for it in accounts whose streams are imported; linked by `next`.
    LocalInterest* local
    # That it is one of; NULL: of another server, or there was no memory.
    Import* imported
    # That a message passes here; NULL: it is a client's or a sink's.
    int64_t msgs
    int64_t max_msgs
    const char* sid
    uint32_t sid_length
    uint8_t dead
    uint8_t filtered
    # Some of its messages may be denied to its client.


cdef struct ListingTerms:
    # What is asked for; the subject, if any, follows.
    uint64_t link
    # Of this link alone; 0: of all.
    int64_t account
    # Of clients in this account, by its number; negative: in all.
    uint64_t offset
    uint64_t limit
    uint32_t kinds
    # A bit for each kind of link.
    uint8_t links
    # Links are listed, not subscriptions.
    uint8_t once
    # At most one subscription of each link.


cdef struct Listing:
    Listing* next
    int64_t id
    ListingTerms terms
    uint32_t slot
    # Of the link that is looked at next.
    uint32_t slots
    # That are looked at: as many as there were.
    uint64_t link
    # Whose subscriptions are looked at.
    Subscription* at
    # The one that is looked at next; NULL: the next link's.
    uint64_t matched
    # Rows so far that were asked for, those before and behind the page included.
    size_t subject_length


cdef struct Rule:
    # A subject, or one with a queue group, that is allowed or (as interest of others) denied; its chars follow.
    Interest interest
    uint8_t publish
    Rule* next
    Rule* next_filter


cdef struct PermissionTable:
    uint64_t serial
    int64_t users
    # Its number, and links; the loop alone counts.
    uint8_t publish_checked
    uint8_t publish_limited
    # Only what a rule allows; else all but what is denied.
    uint8_t subscribe_checked
    uint8_t subscribe_limited
    uint8_t answers
    int64_t answers_max
    int64_t answers_ns
    SublistState publish
    SublistState subscribe
    Rule* rules
    Rule* filters
    # That deny to subscribe.


cdef struct Verdict:
    # What a table says of a subject, and which it was.
    uint64_t hash
    uint64_t serial
    uint16_t length
    uint16_t queue_length
    uint8_t allowed
    char chars[VERDICT_BYTES + 3]


cdef struct Reply:
    # A subject to which a client owes answers; its chars follow.
    Key key
    Reply* next
    # Younger.
    Reply* previous
    int64_t left
    int64_t until_ns


cdef struct Replies:
    Table table
    Reply* first
    Reply* last


cdef enum AssumedMode:
    # Of an account of a link: see `_assumed.pyx`.
    ASSUMED = 1
    NOTHING = 2
    SWITCHING = 3
    TOLD = 4


cdef enum:
    REFUSALS_MAX = 65536
    # Subjects that one peer may refuse, and accounts that it may be told of, before further ones are let be.


cdef struct AssumedAccount:
    Key key
    # The name of the account.
    uint8_t mode


cdef struct Assumptions:
    Table accounts
    Table refused
    # Names of accounts and subjects, a blank between them.
    Table unknown
    # Names of accounts that the peer was told are not known here.
    uint8_t from_start
    uint8_t tells_unknown


cdef struct Way:
    # The address that was hidden from a client in a reply; the rest of the reply, as it was shown, follows.
    Key key
    Way* next
    # Younger.
    Way* previous
    int64_t until_ns
    uint8_t length
    char address[WAY_BYTES_MAX]


cdef struct Ways:
    Table table
    Way* first
    Way* last


cdef enum StageKind:
    S2_STAGE = 0
    WEBSOCKET_STAGE = 1
    STAGE_KINDS = 2


cdef enum:
    WEBSOCKET_DEFLATE = 1 << 0
    WEBSOCKET_PLAIN_FRAMES = 1 << 1
    # The peer does not mask its frames.
    WEBSOCKET_MASKS = 1 << 2
    # It was dialed: this server masks its own.


cdef struct StageRow:
    # What a kind of stage does. From the socket, its `raw` bytes are decoded towards the parser; towards the socket, output is encoded.
    bint (*begin)(State* state, Stage* stage, uint32_t options) noexcept nogil
    # Also when it has begun: the options change. False: no memory.
    void (*end)(State* state, Stage* stage) noexcept nogil
    size_t (*awaited)(Stage* stage) noexcept nogil
    # How many raw bytes it must have to go on; 0: it has enough. It has no more than the next step needs, or a whole read.
    int64_t (*next)(State* state, Link* link, Stage* stage, size_t room) noexcept nogil
    # Takes the next step; returns how many bytes `decode` makes of it at most, which only a stage without choice lets be more than `room`.
    # 0: raw bytes are missing; negative: the link is doomed.
    int64_t (*decode)(State* state, Link* link, Stage* stage, char* into, size_t length) noexcept nogil
    # Writes at most what `next` said; negative: the link is doomed.
    size_t (*encodes)(Stage* stage) noexcept nogil
    # Bytes that become one piece of output at most.
    int64_t (*encode)(State* state, Link* link, Stage* stage, Segment** at, size_t length) noexcept nogil
    # Puts what stands for the first `length` bytes at `at` in their place; returns how many bytes these are. Negative: no memory.
    void (*farewell)(State* state, Link* link, Stage* stage) noexcept nogil
    # Says the last word behind what waits; NULL: there is none.


cdef struct Stage:
    # One of the stages that the bytes of a link pass, in both directions.
    const StageRow* row
    Stage* outer
    # Nearer to the socket; NULL: it is the outermost.
    char* raw
    # What came and is not decoded yet, from `raw_at` to `raw_end`.
    size_t raw_at
    size_t raw_end
    size_t raw_room
    size_t step_at
    # In `raw`: where the step begins that `next` has taken.
    size_t step_length
    S2Level level
    uint8_t identified
    # Of S2: its first chunk was the one that begins a stream.
    Frames* frames
    # Of WebSocket.


cdef struct Coding:
    # Of a link whose bytes pass stages: what is under way in both directions.
    Stage* outermost
    Stage* innermost
    size_t coded
    # Bytes at the head of its output that go out as they are; behind them all is plain.
    Block* block
    # What is decoded and not handled yet, from `at`; NULL: nothing.
    char* at
    char* seen
    # So far the parser may look.
    char* end


cdef struct CloseWords:
    # What a WebSocket is told of the reason why its link ends.
    uint16_t status
    char text[62]


cdef struct Coder:
    # What all links of a plane share for coding.
    StageRow rows[STAGE_KINDS]
    S2Encoder* encoder
    char* gathered
    Block* encoded
    char* raw_spare
    Block* heads
    # Where heads of WebSocket frames are written, from `heads_at`.
    size_t heads_at
    CloseWords close_words[64]
    # By ClosedState.
    Deflate* deflate
    # NULL: nobody has asked for it yet.


cdef struct Memo:
    # The last PUB or RMSG line of a link, for when the next one is the same.
    Account* account
    uint64_t lines_version
    # Of the state, when the line was remembered: it counts as long as that is the same.
    uint32_t line_length
    uint32_t body_length
    uint32_t subject_at
    uint32_t subject_length
    uint32_t head_length
    uint32_t origin
    # As that of a message.
    Match* match
    uint64_t serial
    Link* to
    # The one link that it reaches, when `simple`; NULL: none.
    Subscription* target
    # Of that link, unless it is a route.
    uint8_t simple
    Match* watchers
    # Who gets a copy; NULL: nobody.
    uint64_t watch_serial
    # Of these, as `serial`.
    Gate* gate
    # Where its messages go first; NULL: nobody decides on them.
    uint8_t quotas
    # That count for its subject, a bit each.
    char line[MEMO_LINE_BYTES + 64]
    char head[MEMO_HEAD_BYTES + 64]


cdef struct Peer:
    # A server at the other end of one route or of several.
    uint32_t number
    # 0: nothing is known of it but this route.
    uint32_t users
    uint8_t picked
    # The message under way has been given to it: PICKED_PLAINLY, or PICKED_FOR_GROUPS alone.
    uint8_t is_core
    # Another core of this server.
    Peer* next


cdef struct Origin:
    # A cluster of leaf nodes, some of whose servers have links here: see `accounts/_origins.pyx`.
    Key key
    uint32_t number
    Link* links


cdef struct OriginInterest:
    # How much of one interest the leaf nodes of a cluster have that are connected here.
    OriginInterest* next
    Origin* origin
    int64_t count
    int64_t total
    # Of all in the list; of the first one only.


cdef enum:
    PICKED_PLAINLY = 1
    PICKED_FOR_GROUPS = 2


cdef struct InnerPeer:
    # Another core of this server: see `inner/`.
    Peer peer
    uint32_t number
    Link* faces[SCOPES_MAX]
    # What stands for it in sublists, by scope of the interest; that of HERE is NULL. Messages come from that of INNER.
    Fifo* told
    # Interest for it; NULL: this is the core itself, which has none of these.
    Fifo* said
    # Messages for it.
    Fifo* heard
    # Interest of its own.
    Fifo* hears
    # Messages of its own.
    uint64_t head
    # So far messages of it are there, when they were looked for last.
    uint64_t stalled
    # Of its links the one that was last told to wait, since `stalled_ns`.
    int64_t stalled_ns


cdef struct Inner:
    # What a core has of those that it is joined with.
    uint32_t number
    uint32_t count
    InnerPeer* peers
    # By number.
    uint8_t plant
    uint8_t has_looked
    # The next turn goes on with what `inner_look` has found.
    uint8_t is_filled
    # A queue has more than may wait since this was last reset.
    uint8_t unshown
    # Records were written that are not shown.
    uint32_t sent
    # Cores that the message under way went to.
    uint32_t served
    # Plainly, or groups of those.
    void* last_sent
    # Its last record.
    void* current
    # The record of another core that is carried out; NULL: none is.
    const char** names
    uint32_t* name_lengths
    uint32_t name_room


cdef struct Fence:
    # Of an account that moves from a link to one of its own, until what the peer said before it moved has all been read.
    Account* account
    Link* to
    uint32_t pongs
    # That the link must have got; 0: `to` has had none yet, so the peer may not have moved.
    Fence* next


cdef struct Telling:
    # Interest of an account that a route has yet to be told: see `_telling.pyx`.
    Account* account
    Telling* next
    # Of the same route.
    size_t at
    # The next slot.
    size_t mask
    # Of the table, when it was looked at last.


cdef struct Link:
    uint64_t id
    uint64_t cid
    int32_t fd
    uint8_t kind
    uint8_t scope
    uint16_t traits
    # Of its kind: see Trait.
    uint8_t rank
    uint8_t listener
    # That accepted it; its kind's own has the number of the kind, also of a link that nobody accepted.
    uint8_t accepted
    uint8_t registered
    uint8_t parked
    uint8_t greeted
    # An accepted route showed its CONNECT and may go on.
    uint8_t doomed
    uint8_t last_words
    # Doomed, but its output is sent first.
    uint8_t dirty
    # 1 + the number of the list that it is in.
    uint8_t paused
    uint8_t wide
    # A route that carries all accounts, or those that its pool gives it.
    uint8_t repeats
    # It is to be told all interest once more.
    uint8_t slow
    # It has taken longer than the write deadline for what waited, and was counted for that.
    uint8_t hot
    uint8_t polled
    # What the poller watches now: 1 reading, 2 writing.
    uint8_t verbose
    uint8_t pedantic
    uint8_t echo
    uint8_t headers
    uint8_t no_responders
    uint8_t protocol
    uint8_t ponged
    # Its first PING behind CONNECT was answered: INFO may come at any time now.
    uint8_t account_omitted
    uint8_t tells_nothing
    # A server whose interest comes by other links; it may not say any here.
    uint8_t takes_origins
    # A server of this cluster that is told which cluster of leaf nodes a message comes from.
    uint8_t guard
    # What follows when a server says what its permissions forbid: see PeerGuard.
    uint8_t told
    # Scopes of whose interest a server is told, a bit each.
    uint8_t lined
    # What it has of an incomplete CONNECT is in a block of its own.
    uint8_t line_traced
    # The line of its incomplete frame is in the trace already.
    uint8_t implied
    # It began without CONNECT, and is asked about all the same.
    uint8_t detached
    # Its socket is Python's, until it comes back or another one takes its place.
    uint8_t ready
    # It is among those that go on in this turn or the next.
    uint8_t waiting
    # It left whole lines: the work of a slice was done, or a message of it is still under way.
    uint8_t held
    # What it says next waits for verdicts of gates, or for room in one.
    uint8_t lingers
    # Ended, and waits for verdicts only.
    uint8_t ended
    # Doomed, and its socket is closed; its subscriptions end.
    uint16_t reason
    uint16_t port
    uint32_t left_length
    uint32_t pings_out
    uint32_t info_version
    uint32_t subscription_count
    uint32_t place
    # In the list of all links.
    uint32_t pool_index
    uint32_t pool_size
    # By which the peer assigns accounts; 0: the route is in no pool.
    Peer* peer
    # Of a route that is registered.
    Origin* origin
    # The cluster of leaf nodes that it leads to; NULL: none.
    Link* next_of_origin
    uint64_t shadowed
    # Number of the message that it was given last for interest by an import.
    Fence* fences
    uint32_t pings_sent
    uint32_t pongs
    # That answered one of these.
    uint32_t timed_ping
    # The number of the PING that was sent at `ping_sent_ns`; 0: none is timed.
    const Dialect* dialect
    Account* account
    Quota** quotas
    # Of what it publishes; NULL: none.
    AtGate* at_gate
    # NULL: nothing of it waits at a gate, nor for one.
    PermissionTable* permissions
    # NULL: it may say and hear everything.
    Replies* replies
    # NULL: what it is sent allows it nothing.
    int64_t max_payload
    int64_t max_subscriptions
    # Of this client alone; negative: no other limit than everybody's.
    Subscription* subscriptions
    char* left
    # Bytes of an incomplete frame.
    Block* big
    size_t big_fill
    size_t big_need
    Segment* output_head
    Segment* output_tail
    Block* write_block
    char* write_at
    char* write_end
    size_t pending
    Memo* memo
    Link* next_client
    # Of its account.
    Link* previous_client
    Link* next_dirty
    Link* previous_dirty
    Coding* coding
    # NULL: its bytes are plain.
    Link* next_ready
    Link* previous_ready
    Link* next_paused
    Link* previous_paused
    Fanout* first_fanout
    # Its messages that are under way still; it is read no further.
    Fanout* last_fanout
    Telling* tellings
    # It is told interest still; it is read no further.
    char* marks
    # Lines before and behind all interest in an account, with a 0 for the account; NULL: none.
    uint32_t marks_split
    uint32_t marks_length
    char* loop
    # A subject, and what a server is told that has interest in it: it leads back here. NULL: none does.
    uint32_t loop_split
    uint32_t loop_length
    uint32_t address_length
    char* address
    # Of this server, before replies of messages by this link; NULL: they go as they are.
    Ways* ways
    # Of answers that it owes to other clusters; NULL: none.
    Assumptions* assumed
    # NULL: what it wants was told.
    Subscription* checking
    # The next of its subscriptions to be held against changed permissions; NULL: none.
    Record* closed
    # Its last event, until its subscriptions have ended.
    uint64_t stalled_by
    Sink* stalled_sink
    # That it waits for; counts among its users.
    int64_t stalled_until_ns
    int64_t written_ns
    int64_t sent_bytes
    int64_t bulk_bytes
    # Of interest that was told at one go; while they wait, so much more may.
    int64_t bulk_until
    # Of `sent_bytes`.
    int64_t repeat_due_ns
    int64_t goal_bytes
    # Of `sent_bytes`, when all will be sent that waited at `goal_ns`.
    int64_t goal_ns
    int64_t opened_ns
    int64_t login_from_ns
    # From when its login is timed.
    int64_t received_ns
    int64_t ping_due_ns
    int64_t ping_sent_ns
    int64_t rtt_ns
    int64_t in_msgs
    int64_t in_bytes
    int64_t out_msgs
    int64_t out_bytes
    int64_t wire_in_bytes
    int64_t wire_out_bytes
    # Of everything, coded as it was.
    int64_t stalls
    int64_t paced_until_ns
    int64_t quota_told_ns
    Quota* paced_by
    # That it waits for; NULL: for none.
    uint32_t paced_at
    # From 1 in the heap of those that wait for a quota; 0: it does not.
    uint8_t quota_count
    uint8_t quotas_everywhere
    # Of these, the first ones, on all subjects.
    uint8_t quotas_asked
    # That count for the subject of its last message, a bit each.
    uint32_t read_bytes
    # What one slice of work was enough for, last time; 0: for all that was read.
    Port* inner
    # That publishes by it; NULL: none does.
    InnerPeer* joined
    # The core that it stands for; NULL: none.
    char nonce[NONCE_BYTES + 1]
    # Empty: it was given none.
    uint8_t traces
    # A route whose server can trace messages.
    char* info
    # JSON objects that services are told about it: the brief one, then the full one.
    uint32_t info_brief
    uint32_t info_full
    char host[46]


cdef struct Sink:
    Key key
    # Its id.
    int64_t id
    Account* account
    Subscription* subscription
    Watch* watch
    # In place of a subscription; NULL: it has one.
    int64_t bytes_max
    int64_t given
    int64_t given_beside
    # Bytes of its messages, and of what they lie in, ever.
    int64_t returned
    int64_t returned_beside
    # Of these, what Python has let go of; touched by both threads, atomically.
    int64_t dropped
    uint32_t last_count
    # Messages of its last batch, and their bytes: the next one begins with room for as many.
    uint32_t last_used
    int32_t users
    # Itself and its batches, atomically.
    uint8_t overflow
    uint8_t filled
    uint8_t closed
    uint8_t no_headers
    # What it watches comes without header blocks.
    uint8_t no_reserved
    # What it watches has no subject that begins with `$`.
    uint32_t payload_max
    # Bytes of a payload that it watches, from its beginning on.
    uint32_t sample
    # Of 2**32 messages that it watches, how many it gets; 0: all of them.
    uint64_t random
    # Draws these.
    SinkBatch* batch
    Port* port
    # Whose thread takes its batches; NULL: Python does, by events.
    Sink* next
    Sink* previous
    Sink* next_filled


cdef struct SinkBatch:
    SinkBatch* next
    # Of a port, which gets them newest first.
    Sink* sink
    uint32_t count
    uint32_t room
    size_t used
    size_t beside
    # Bytes that it takes beside its messages.
    int64_t since_ns
    # Begin of the turn in which it was begun.
    size_t capacity
    framework_row* messages
    char* chars
    framework_batch view
    # Of the same, for who takes it from a port.
    void (*release)(SinkBatch* batch) noexcept nogil
    # Called by who lets go of it; NULL: it is a sink's.


cdef struct PortBlock:
    # What a port says; `length` bytes of records follow.
    Block block
    # For links that send long bodies from where they lie: the block stays until they have. Its `next` may be another one of these.
    size_t length
    size_t at
    # The record that comes next.


cdef struct PortFull:
    # A link that has much waiting, and the token of what was delivered to it last.
    uint64_t link
    int64_t token


cdef struct PortWatch:
    # A subject without wildcards whose interest a port is told of; its chars follow.
    Key key
    # The account's number, then the subject.
    Port* port
    Account* account
    int64_t tag
    PortWatch* same
    # Another of this subject.
    PortWatch* next
    PortWatch* previous
    # Of the same port.
    PortWatch* next_touched
    uint32_t subject_length
    uint8_t touched
    uint8_t heard
    # What its port was told last.
    uint8_t told


cdef struct Port:
    # A subscriber on a thread of its own: see `ports/_port.pyx`.
    Sink* sink
    # What it hears.
    Link* link
    # Whose messages it publishes: the plane's own, with no socket.
    Port* next
    Subscription* subscriptions
    PortWatch* watches
    PortBlock* first_said
    # Messages that the plane has taken and not published.
    PortBlock* last_said
    PortFull* fulls
    uint32_t full_count
    uint32_t full_room
    uint64_t key
    # Begins the keys of its subscriptions: no link has it as its id.
    void* heard
    # From here on touched by both threads, atomically. Batches for it, newest first.
    void* told
    # Interest of its own, newest first.
    void* said
    # Messages of its own, newest first.
    void* decided
    # Its answers to batches of gates, newest first.
    int64_t said_bytes
    # That the plane has not published yet.
    int64_t said_bytes_max
    int32_t users
    # The plane, and who holds it.
    int32_t sleeps
    # It has found nothing, and is to be woken.
    int32_t waits
    # Its last messages were refused: it is to be woken when there is room again.
    int32_t ended
    int wake_fd
    int wake_write_fd


cdef struct Quota:
    # A limit on what is published, which links may share: see `_quotas.pyx`. Its subject follows.
    double message_ns
    # From one message to the next; 0: no limit.
    double byte_ns
    double burst_messages_ns
    double burst_bytes_ns
    double messages_due_ns
    # When what was published is paid for.
    double bytes_due_ns
    int64_t messages
    int64_t waits
    int64_t refused
    uint32_t users
    # Links, and 1 until it is dropped.
    uint32_t waiting
    # Links.
    Quota* next
    # Of those that are not dropped; touched by who commands the plane.
    Quota* previous
    uint32_t subject_length
    # 0: it is on all subjects.
    uint8_t refuses


cdef struct Gate:
    # What stands on the way of what clients publish: see `_gates.pyx`. Its subject follows.
    Interest interest
    int64_t id
    Account* account
    Gate* next
    # Of all.
    int64_t order
    int64_t bytes_max
    int64_t limit_ns
    int64_t bytes
    # That wait for verdicts.
    uint8_t is_open
    # What it does not decide on passes.
    uint8_t is_full
    # Kept by `_count_bytes`.
    GateBatch* filling
    GateBatch* first_batch
    # Without an answer, the oldest first; `filling` is the last.
    GateBatch* last_batch
    Link* first_waiter
    # Links that wait for room.
    uint64_t batch_serial
    int64_t messages
    int64_t passed
    int64_t changed
    int64_t refused
    int64_t delayed
    int64_t expired
    # Not decided on in time.
    int64_t failed
    # Not decided on: an answer was missing or made no sense.
    Port* port
    # Whose thread decides, one of its users; NULL: it has none, or has lost it.
    int64_t tag
    # Shown by its rows.
    int64_t line
    # Id of the first of those that took each other's place up to this one: a message passes one of them.
    uint32_t with_port
    # Batches that its port has and has not answered.
    uint16_t row_kind
    uint8_t leaving
    # Nothing new comes to it; it goes when its last batch is decided.
    int32_t users
    # The plane, its batches and who takes from it, atomically.
    pthread_mutex_t lock
    # Guards what follows; held for some instructions only.
    pthread_cond_t filled_or_closed
    GateBatch* first_ready
    # That nobody has taken.
    GateBatch* last_ready
    uint8_t closed


cdef struct GateTerms:
    # What of a gate may change while it stands.
    int64_t bytes_max
    int64_t limit_ns
    uint8_t is_open


cdef struct GateBatch:
    SinkBatch batch
    # What the gate sees. Bodies have their CR LF behind them.
    Gate* gate
    GateBatch* next
    # Of those without an answer.
    GateBatch* next_ready
    Port* port
    # That has it, one of its users; NULL: none has. Touched by that alone, once it was given to it.
    Gated** messages
    # As many as in `batch`.
    uint64_t serial
    int64_t due_ns
    int64_t bytes
    uint32_t left
    # Messages whose verdicts are not carried out yet.
    int32_t users
    # The plane, and who has taken it, atomically.
    uint8_t is_ready
    # It was handed over: nothing is added to it.
    uint8_t is_answered
    # Touched by the port that has it alone.
    char* verdicts
    # Its answer.


cdef struct Gated:
    # A message at a gate.
    Gated* next
    # Of the same link.
    Link* link
    GateBatch* batch
    uint32_t at
    # Of the batch.
    uint8_t verdict
    size_t verdict_at
    # Where the answer says more.
    int64_t until_ns
    const char** queues
    # Groups that a leaf node names, behind this in memory, and their lengths.
    uint32_t* queue_lengths
    uint32_t queue_count
    uint32_t hidden
    uint32_t origin


cdef struct AtGate:
    # What a link has at gates.
    Gated* first
    Gated* last
    Gated* front
    # The first that has not gone on to another gate, nor was found to have none before it.
    uint8_t is_front_ready
    # It may go on now.
    Gate* gate
    # Where the last one went first: what goes there may follow.
    Gate* waits_for
    # For room.
    Link* next_waiter
    Link* previous_waiter
    Link* next_delayed


cdef struct Row:
    uint64_t link
    uint64_t cid
    int64_t opened_ns
    int64_t received_ns
    int64_t rtt_ns
    int64_t pending
    int64_t in_msgs
    int64_t in_bytes
    int64_t out_msgs
    int64_t out_bytes
    int64_t subscriptions
    int64_t stalls
    int64_t wire_in_bytes
    int64_t wire_out_bytes
    uint16_t port
    uint8_t kind
    char host[46]


cdef enum RecordType:
    RECORD_OPENED
    RECORD_GREETING
    RECORD_ERR
    RECORD_PONG
    RECORD_INTEREST
    RECORD_CLOSED
    RECORD_DELIVERED
    RECORD_LISTED
    RECORD_TRACE
    RECORD_CONFIRMED
    RECORD_VIOLATED
    RECORD_LATENCY
    RECORD_MESSAGE_TRACE
    RECORD_DETACHED
    RECORD_REMOTE_LATENCY
    RECORD_REFUSED
    RECORD_GATE_FAILED


cdef struct Record:
    # An event on its way to Python; `length` bytes follow.
    Record* next
    RecordType type
    uint64_t link
    int64_t number
    int64_t other
    uint8_t kind
    uint8_t flag
    SinkBatch* batch
    Row row
    size_t length


cdef struct Command:
    # An order on its way to the loop; `length` bytes follow.
    Command* next
    int32_t verb
    int32_t flags
    uint64_t link
    int64_t number
    int64_t other
    size_t length
    size_t split
    Sink* sink
    Port* port
    PermissionTable* permissions
    Tables* tables
    Gate* gate
    Quota* quota


cdef struct LoginTerms:
    # What who may be anonymous must do before anything else.
    int64_t timeout_ns
    uint8_t is_own
    # Of a listener: others have what the limits say.
    uint8_t required
    uint8_t lets_anybody_in


cdef struct Limits:
    int64_t max_payload
    int64_t max_control_line
    int64_t max_pending
    int64_t pending_free
    # Up to here nothing follows from what waits: STALL_PENDING_BYTES, or `max_pending` where that is less.
    int64_t max_connections
    int64_t max_subscriptions
    int64_t ping_interval_ns
    int64_t ping_max
    int64_t write_deadline_ns
    int64_t max_subscription_tokens
    int64_t max_traced_bytes
    LoginTerms login
    uint8_t fast_producer_stall


cdef struct Times:
    # Of links of one listener; 0: as those of its kind, or as the limits say.
    int64_t ping_interval_ns
    int64_t ping_max
    int64_t write_deadline_ns
    uint8_t closes_slow


cdef struct KindTotals:
    int64_t links
    # Of this moment.
    int64_t opened
    int64_t in_msgs
    int64_t in_bytes
    int64_t out_msgs
    int64_t out_bytes
    int64_t slow
    int64_t stale
    int64_t stalled


cdef struct Totals:
    KindTotals kinds[KINDS_MAX]
    int64_t subscriptions
    int64_t dropped
    int64_t answers_dropped
    int64_t circles


cdef struct AddressTable:
    # Ranges whose connections are refused.
    Table ranges
    uint32_t lengths[129]
    # Ranges by how many of their bits count.
    uint32_t kinds
    # A bit for each kind of link that is refused.
    int64_t refused
    # Connections so far; read by other threads.


cdef struct Passages:
    # What delivery calls where a message leaves its account; in modules that are built upon delivery.
    bint (*enter)(State* state, Subscription* subscription, Message* message) noexcept nogil
    int (*passed)(State* state, uint32_t first, Message* message) noexcept nogil
    void (*shadows_drop)(State* state, Subscription* subscription) noexcept nogil
    void (*shadows_told)(State* state, Message* message) noexcept nogil
    bint (*traced)(State* state, Subscription* subscription, Message* message) noexcept nogil
    bint (*traced_route)(State* state, Link* to, Message* message) noexcept nogil


cdef struct Shell:
    # What the core asks of the sockets around it; all NULL in simulation.
    void* self
    void (*bury)(void* self, Link* link) noexcept nogil
    void (*watch)(void* self, Link* link) noexcept nogil
    bint (*random)(void* self, char* into, size_t count) noexcept nogil
    # Fills `into` with what nobody can guess; False: it could not.


cdef struct Farewell:
    # Last words of a link that ended where no socket took them; `length` bytes follow.
    Farewell* next
    uint64_t link
    size_t length


cdef struct RemoteLatency:
    # A request that another server times, given to a client here and not answered.
    Key key
    # Its reply subject, which follows the struct.
    uint32_t account
    int64_t started_ns
    RemoteLatency* older
    RemoteLatency* newer


cdef struct RemoteLatencies:
    Table table
    RemoteLatency* oldest
    RemoteLatency* newest


cdef struct Confirmation:
    Confirmation* next
    int64_t token


cdef struct Pick:
    Link* link
    const char* queue
    uint32_t queue_length


cdef struct ShadowPick:
    # A leaf node, or a hub, that hears a message by an import of a stream: see `accounts/_stream_imports.pyx`.
    Subscription* shadow
    bint sent


cdef struct Line:
    # The words of one line behind its verb.
    const char** words
    uint32_t* lengths
    uint32_t count
    uint32_t room


cdef enum:
    DIRTY_GATHERED
    # What links with much to do caused, ports and other cores: it waits for more.
    DIRTY_PROMPT
    # What commands and links with little to do caused; always sent first.
    DIRTY_LISTS


cdef struct DirtyList:
    Link* first
    Link* last


cdef struct State:
    Limits limits
    KindTraits kinds[KINDS_MAX]
    uint8_t hears[SCOPES_MAX]
    # By the scope that a message comes from: a bit for each that it goes to. Read the other way round, who is told of which interest.
    uint8_t picks_groups
    # A bit for each scope, here and below.
    uint8_t enters_services
    uint8_t counted
    # Whose interest some kind of link is told.
    uint8_t reserved_count
    ReservedPrefix reserved[RESERVED_MAX]
    uint8_t reserved_first[256]
    # Treatments of the prefixes that begin with a byte.
    Forward* forwards
    # The longest first.
    uint32_t forward_count
    Times times[INFOS_MAX]
    LoginTerms logins[INFOS_MAX]
    # By number of a listener, which is a kind as well.
    Totals totals
    int64_t limited_count
    # Links of this moment that `max_connections` counts.
    Shell shell
    uint64_t seed
    uint64_t random
    uint64_t nonce_random
    # Of nonces without a shell; apart, so that they change nothing else.
    uint64_t next_cid
    uint64_t cid_step
    # Joined cores count in turn.
    uint64_t id_bits
    # Of its links' ids: the number of the core.
    uint32_t generations_mask
    int64_t now_ns
    int64_t tick_due_ns
    uint32_t late_at
    # Links that are yet to be looked at for those that did not log in in time.
    int64_t work
    # Done since the plane began: see `_work.pxd`.
    int64_t work_until
    # Where the slice under way ends.
    Listing* listings
    Account* first_account
    Account** accounts
    uint32_t account_count
    uint32_t account_room
    uint32_t foreign_count
    Account* spared
    Link** wide
    # Routes that carry all accounts, or those that their pools give them.
    uint32_t wide_count
    uint32_t wide_room
    Peer* peers
    # With a number.
    Table origins
    uint32_t last_origin
    # The number that was given last.
    uint32_t peer_shadows
    # Of interest of other servers, by imports of streams.
    uint64_t last_message
    # The number of the one that was delivered last.
    uint32_t origins_told
    # Interests of servers of this cluster that were said with an origin.
    Table account_names
    Link** slots
    # By the low half of a link's id.
    uint32_t* generations
    uint32_t slot_room
    uint32_t* free_slots
    uint32_t free_count
    Link** links
    uint32_t link_count
    uint32_t assuming_count
    # Links that are taken to want everything from the start.
    uint32_t link_room
    Link* system
    PermissionTable** permissions
    # By number; a hole is NULL.
    uint32_t permission_room
    Verdict* verdicts
    # Two of each set, the younger first; NULL before anybody asked.
    uint32_t violations_left
    uint32_t violations_missed
    # Not reported, since the last one that was.
    AddressTable address_tables[ADDRESS_TABLES_MAX]
    uint32_t refusals_left
    uint32_t refusals_missed
    # As with violations.
    Table sids
    DirtyList dirty[DIRTY_LISTS]
    # With output that was not tried to be sent.
    int dirties
    # The one for what is said now.
    Link* first_ready
    Link* last_ready
    Link* first_paused
    Link** paced
    # A heap of those that wait for a quota, by time.
    uint32_t paced_count
    uint32_t paced_room
    Coder coder
    Link** doomed
    uint32_t doomed_at
    # The first that is not buried yet; NULL: one that is.
    uint32_t doomed_next
    # Whose turn it is.
    uint32_t ended_at
    # The first whose socket is not closed yet.
    uint32_t doomed_count
    uint32_t doomed_room
    Subscription* dead
    # Unsubscribed within this turn.
    Subscription* graves
    # Nothing leads to them any more; freed by and by.
    Fanout* youngest_fanout
    size_t fanouts_bytes
    uint64_t lines_version
    uint8_t checks
    # Some link may have subscriptions that are to be checked.
    Confirmation* confirmations
    # That wait for these checks, the youngest first.
    GroupIndex group_index
    # Of the last match whose groups were looked for by name.
    Port* ports
    Table port_watches
    # By account and subject: the first of each.
    PortWatch* touched
    # Whose interest may have changed in this turn.
    uint8_t all_touched
    # Something with a wildcard came or went.
    Sink* sinks
    Table sinks_by_id
    Link* last_asked
    # Whether it has room in its quotas; to be compared only.
    Link* leased
    # May publish what follows without a look at its quotas, to be charged when the lease ends; NULL: no link may.
    int64_t lease_messages
    int64_t lease_bytes
    # Both: what is left.
    int64_t leased_messages
    int64_t leased_bytes
    # What there was.
    double leased_ns
    # When.
    Sink* filled
    uint8_t gathers
    # There is more to do at once: batches of taps that are young wait for more.
    Block* blocks
    uint32_t block_count
    Block* read_block
    Block* read_spare
    Segment* segments
    ShadowPick* shadow_picks
    uint32_t shadow_pick_count
    uint32_t shadow_pick_room
    uint8_t gathers_shadows
    # A message is on its way to its receivers: who hears it by imports of streams is told when all of them are known.
    Pick* picks
    uint32_t pick_count
    uint32_t pick_room
    Link* stalled_by
    Sink* stalled_sink
    Record* first_record
    Record* last_record
    int64_t record_bytes
    # Of the records made in this turn, without those of sinks, which have bounds of their own.
    int64_t records_waiting
    # Such bytes that Python has not taken; touched by both threads, atomically.
    ServerInfo infos[INFOS_MAX]
    # By number of a listener.
    uint8_t nonces[KINDS_MAX]
    # Links that are accepted get one.
    Account* system_account
    # NULL: there is none.
    uint8_t watch_interest
    uint8_t trace
    uint8_t trace_headers_only
    uint8_t trace_internal
    # What this process publishes is traced, too.
    int64_t traces_waiting
    # Records of traces that Python has not taken; touched by both threads, atomically.
    Farewell* farewells
    Passages passages
    Import** waiting
    # Imports that messages under way have yet to pass.
    uint32_t waiting_count
    uint32_t waiting_room
    uint32_t imports_left
    # That the message under way may still pass.
    char* names
    # Of this server, then of its cluster.
    size_t server_length
    size_t cluster_length
    char node[NODE_BYTES + 1]
    # Of this server; empty: other servers can't tell it remote latencies.
    RemoteLatencies remote_latencies
    uint64_t response_serial
    uint64_t watch_serial
    Inner* inner
    # NULL: this is the only core.
    Gate* gates
    Link* first_delayed
    # Links whose next message passes later.
    int64_t delays_due_ns
    # When the first may.
    uint8_t gates_ended
    uint32_t gates_full
    # Gates that have no room.
    uint8_t gates_wait
    # Something waits at one of them, or one leaves.
    Line line
    # That is looked at.
    char* scratch
    # Where transforms of shadows write.
    size_t scratch_room
    char* mapped
    # The mapped subject of what a client publishes.
    size_t mapped_room
    char* addressed
    # The subject of an answer, with the address before it.
    size_t addressed_room


cdef struct Message:
    Link* source
    Account* account
    const char* subject
    size_t subject_length
    const char* reply
    size_t reply_length
    const char* body
    # Header block, payload, CR LF.
    size_t header_length
    size_t body_length
    # Without the CR LF.
    Block* block
    # That the body lies in.
    const char** queues
    uint32_t* queue_lengths
    uint32_t queue_count
    # Of a routed message: groups that the receiver must serve.
    Hop* hops
    # Imports that it came through; NULL: none.
    uint8_t scope
    # That it came from, unless it came through an import since.
    uint8_t hidden
    # Bytes at the beginning of the reply that users are not shown; see `_ways.pyx`.
    uint32_t origin
    # Number of the cluster of leaf nodes that it comes from; 0: of none that is known here.
    uint64_t number
    # Set when it is delivered: of no other message in this plane.
    const char* shown
    # The subject that users are shown, where it reached an inbox by another one; NULL: the one above.
    size_t shown_length
    MessageTrace* trace
    # NULL: nobody asked what becomes of it.


cdef struct Fanout:
    # The receivers that a message has not reached yet: see `_fanouts.pyx`. Interest, subject and reply follow the struct.
    Message message
    Fanout* next
    # Of the same publisher.
    Fanout* older
    Fanout* younger
    # Of all publishers.
    Subscription* first_dead
    # Ended while this was the youngest: it, or an older one, may lead to them.
    Subscription* last_dead
    uint32_t at
    uint32_t count
    size_t size
