"""The C face of the sublist; see `_sublist.pyx` for what it promises."""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from framework.sublist._table cimport Key, Table


cdef struct Interest:
    # One subscription as the sublist sees it; first member of what its owner keeps.
    const char* subject
    const char* queue
    void* owner
    # Remotes only: several interests of one owner count once in a match.
    void* home
    # The list that holds it; the sublist's own.
    uint32_t subject_length
    uint32_t place
    uint32_t weight
    # Members that it stands for; at least 1.
    uint32_t queue_length
    uint32_t queue_hash
    # The sublist's own.
    uint8_t rank
    # 0: here; 1: of another server, whose members of queue groups are chosen as those here are; above: of one whose members are spare,
    # in this order.
    uint8_t scope
    # Bit of `Match.scopes`; of other servers.


cdef struct Group:
    const char* name
    uint32_t name_length
    uint32_t hash
    # Of the name.
    uint32_t first
    # Index of its first member in `Match.members`: local ones, then remote ones, then spare ones.
    uint32_t local_count
    uint32_t remote_count
    uint32_t spare_count
    uint64_t weight
    # Of all members together, without spare ones; at least 1.


cdef enum:
    GROUPS_SOUGHT = 8
    # One after the other; where there are more, by an index.


cdef struct GroupIndex:
    # The groups of one match by name: open addressing, the place of the group plus 1.
    uint32_t* slots
    size_t room
    size_t mask
    # Of the slots in use: a power of two, less 1.
    uint64_t seed
    const void* of
    uint64_t serial
    # The match, and its serial; of another one nothing is known.


cdef struct Member:
    # A member of a group of the match that is worked out, by the place of the group.
    Interest* interest
    uint32_t group
    uint32_t rank


cdef struct Match:
    # Who gets messages of one subject. Valid until the next change of the sublist.
    Key key
    uint64_t serial
    # Changes when the record is used for something else.
    uint64_t stamp
    uint64_t judge
    # Who has judged the subject itself, for whoever asks sublists; 0: nobody. The record of another subject has no judge.
    uint8_t judgement
    uint8_t scopes
    # Of the remotes.
    uint8_t watched
    # Bits for whoever asks sublists.
    uint64_t watch_serial
    # Of the rules by which it was found out by whom the subject is `watched`; 0: it was not yet.
    Interest* watcher
    # The only one, if it is `watched` by one tap; NULL: by several, or none.
    uint32_t bucket_one
    uint32_t bucket_two
    uint8_t recent
    uint32_t plain_count
    uint32_t remote_count
    uint32_t group_count
    Interest** plain
    Interest** remote
    Interest** members
    Group* groups
    void* store
    size_t store_bytes
    size_t key_bytes


cdef struct InterestList:
    Interest** items
    uint32_t count
    uint32_t room


cdef struct Literal:
    Key key
    InterestList here


cdef struct Node:
    Key key
    # Address of the parent, then the token.
    Node* parent
    Node* any_token
    InterestList here
    InterestList rest
    # Interest that ends in `>` below this node.
    uint32_t children


cdef struct Branch:
    # What a walk down the tree has yet to look at: the rest of the subject, below a node.
    Node* node
    const char* subject


cdef enum:
    BUCKETS = 256
    BEGINNING_BYTES = 128


cdef struct SublistState:
    uint64_t seed
    Table literals
    Table nodes
    Node root
    uint64_t version_all
    uint64_t* version_one
    uint64_t* version_two
    # BUCKETS each; shared zeros until the first change.
    Table cache
    Match** ring
    # Cached matches, in the order in which the clock hand passes them.
    uint32_t ring_count
    uint32_t ring_room
    uint32_t hand
    uint32_t cache_max
    uint32_t* seen
    # Subjects that were looked up once and are not cached yet.
    uint32_t seen_room
    uint32_t seen_fills
    # Since it has this room; it grows with the subjects that are asked for.
    size_t store_bytes
    # What the remembered matches take.
    Match scratch
    # Of a subject that is not remembered.
    char beginning[BEGINNING_BYTES]
    # Subjects that begin so and go on have the same match, but for literal interest of their own.
    size_t beginning_length
    # 0: it says nothing of others.
    const char* rest_at
    # Where the last walk did not look any more since nothing but `>` could match; NULL: it did to the end.
    uint64_t next_serial
    size_t count
    uint64_t hits
    uint64_t misses
    uint64_t inserts
    uint64_t removes
    uint64_t fanout
    # Receivers of all matches that were worked out, and the most of one.
    uint64_t fanout_max
    InterestList** reached
    uint32_t reached_count
    uint32_t reached_room
    Branch* branches
    uint32_t branch_count
    uint32_t branch_room
    GroupIndex groups
    Member* members
    # Of all groups in the match that is worked out, in order.
    size_t member_room
    size_t steps
    # Nodes that the last walk looked at.
    size_t total
    # Interest in the lists that it reached.
    int64_t* work
    # Where matches that are worked out are counted: nodes, and every fourth receiver; NULL: nowhere.


cdef bint sublist_open(SublistState* self, uint64_t seed, uint32_t cache_max) noexcept nogil
cdef void sublist_close(SublistState* self) noexcept nogil
cdef bint sublist_insert(SublistState* self, Interest* interest) noexcept nogil
cdef void sublist_remove(SublistState* self, Interest* interest) noexcept nogil
cdef size_t sublist_all(SublistState* self, Interest** into) noexcept nogil
cdef void sublist_touch(SublistState* self, Interest* interest) noexcept nogil
cdef Group* group_find(GroupIndex* index, Match* match, const char* name, size_t length) noexcept nogil
cdef uint32_t sublist_count_here(SublistState* self, const char* subject, size_t length, Interest** one) noexcept nogil
cdef Match* sublist_match(SublistState* self, const char* subject, size_t length) noexcept nogil

cdef inline bint sublist_fresh(SublistState* self, Match* match) noexcept nogil:
    """Whether no interest changed that this match depends on. The versions only grow, so equal sums are equal parts."""
    return match.stamp == self.version_all + self.version_one[match.bucket_one] + self.version_two[match.bucket_two]
