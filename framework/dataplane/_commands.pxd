"""The C face of commands; see `_commands.pyx`."""

from libc.stdint cimport int64_t, uint8_t, uint32_t

from framework.dataplane._state cimport Command, Link, State


cdef enum Verb:
    SET_INFO = 1
    ANNOUNCE_INFO
    RESUME_CLIENT
    RESUME
    REGISTER_PEER
    SEND
    CLOSE
    ADD_ACCOUNT
    SUBSCRIBE_SINK
    UNSUBSCRIBE_SINK
    PUBLISH
    SET_LIMITS
    WATCH_INTEREST
    SET_TRACE
    REMOVE_ACCOUNT
    SET_NONCES
    CONFIRM
    KEEP_PERMISSIONS
    SET_CLIENT
    SET_TABLES
    SET_CLIENT_INFO
    SET_NAMES
    PIN_ACCOUNTS
    SET_PEER_PERMISSIONS
    REPEAT_INTEREST
    SET_CODING
    SET_LINK_TIMES
    SET_LOGIN_TERMS
    OPEN_LISTING
    NEXT_ROWS
    CLOSE_LISTING
    SET_SYSTEM_ACCOUNT
    CHANGE_ADDRESSES
    SET_FORWARD
    SET_DEFLATE
    OPEN_PORT
    CLOSE_PORT
    ADD_GATE
    REMOVE_GATE
    CHANGE_GATE
    ANSWER_GATE
    CHANGE_QUOTA
    DROP_QUOTA
    GIVE_QUOTAS
    MARK_ACCOUNTS
    SET_ADDRESS
    TELL_ACCOUNT
    SET_LOOP
    SET_ORIGIN
    SHELL_VERBS = 100
    # Verbs from here on are of a plane with sockets.


cdef enum:
    FLAG_VERBOSE = 1
    FLAG_PEDANTIC = 2
    FLAG_ECHO = 4
    FLAG_HEADERS = 8
    FLAG_NO_RESPONDERS = 16
    FLAG_ACCOUNT_OMITTED = 32
    FLAG_ALL_ACCOUNTS = 64
    FLAG_TRACES = 128
    FLAG_TELLS_NOTHING = 256
    FLAG_ASSUMES = 512
    FLAG_TELLS_UNKNOWN = 1024
    FLAG_TAKES_ORIGINS = 2048


cdef enum:
    # What is traced, beside lines.
    TRACE_HEADERS_ONLY = 1
    TRACE_INTERNAL = 2


cdef struct ClientTerms:
    # What follows RESUME_CLIENT and SET_CLIENT.
    int64_t permissions
    # A number; 0: everything.
    int64_t max_subscriptions
    int64_t max_payload


cdef struct PeerTerms:
    # What follows REGISTER_PEER; the numbers of its accounts follow, 32 bits each.
    uint32_t peer
    uint32_t pool_index
    uint32_t pool_size
    uint32_t permissions
    # A number; 0: everything.
    uint8_t has_scope
    # Else that of its kind.
    uint8_t scope
    uint8_t guard
    uint8_t untold
    # Scopes, a bit each.


cdef char* command_chars(Command* command) noexcept nogil
cdef bint command_apply(State* state, Command* command) noexcept nogil
cdef bint stages_add(State* state, Link* link, Command* command) noexcept nogil
