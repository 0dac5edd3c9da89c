"""The sublist: match subjects with subscriptions, and cache the results.

Literal interest stands in a hash table by whole subject, interest with wildcards in a tree of tokens whose edges are one hash table.
A match is remembered for its subject. It depends on the literal interest of that very subject and on wildcard interest whose literal
beginning agrees with the subject's: the former drops one remembered match, the latter moves one of 513 version counters (none, one or
two literal tokens at the beginning), so a change leaves the matches of other subjects alone.

A subject is remembered when it is asked for the second time, so that reply subjects, which are used once, push nothing out; when the
memory is full, a clock hand finds a match that was not used since it last passed.

Tokens are separated by `.`; `*` matches one token, `>` one or more at the end; a subject with an empty token matches nothing.
Source: nats-server `sublist.go`, `Match`, `matchLevel`.

Size: the tree, the memory of matches and what makes a remembered match stale are one algorithm; apart, none of them can be checked.
"""

from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memchr, memcmp, memcpy, memset

from framework.sublist._bytes cimport hash_bytes
from framework.sublist._table cimport Table, table_add, table_clear, table_find, table_make, table_remove

from framework.sublist.result import SublistResult


cdef extern from *:
    void prefetch "__builtin_prefetch"(const void* at) noexcept nogil


cdef enum:
    SEEN_FIRST = 128
    SEEN_MAX = 8192
    # Slots of the doorkeeper; powers of two.
    SEEN_WAYS = 4
    # Slots that a subject may be in: some that come by turns must not keep each other out for good.
    STORE_BYTES_MAX = 67108864
    # Of all remembered matches together: a match of many subscriptions is large.
    WIDE = 1024
    # A match of more interest is remembered at once: it shall not be worked out twice.
    AHEAD = 16
    # Interest that is fetched from memory while that before it is looked at.


cdef uint64_t NOTHING_CHANGED[BUCKETS]
# The versions of a sublist whose interest in wildcards has never changed; most accounts have none, and there may be 10,000 of them.


# ---- lists of interest -------------------------------------------------------------------------------------------------


cdef bint _list_add(InterestList* self, Interest* interest) noexcept nogil:
    cdef uint32_t room
    cdef Interest** items
    if self.count == self.room:
        room = self.room * 2 if self.room else 1
        items = <Interest**> realloc(self.items, room * sizeof(Interest*))
        if items == NULL:
            return False
        self.items = items
        self.room = room
    interest.place = self.count
    interest.home = self
    self.items[self.count] = interest
    self.count += 1
    return True


cdef void _list_remove(InterestList* self, Interest* interest) noexcept nogil:
    cdef Interest* last = self.items[self.count - 1]
    self.items[interest.place] = last
    last.place = interest.place
    self.count -= 1
    interest.home = NULL
    if self.count == 0:
        free(self.items)
        self.items = NULL
        self.room = 0


# ---- the tree of tokens ------------------------------------------------------------------------------------------------


cdef bint _has_wildcard(const char* subject, size_t length) noexcept nogil:
    """Whether a token is `*`, or the last one is `>`; the subject is valid."""
    cdef size_t at
    for at in range(length):
        if subject[at] == c"*" or subject[at] == c">":
            if (at == 0 or subject[at - 1] == c".") and (at + 1 == length or subject[at + 1] == c"."):
                return True
    return False


cdef uint32_t _edge(Node* parent, const char* token, size_t length, char* edge) noexcept nogil:
    memcpy(edge, &parent, sizeof(Node*))
    memcpy(edge + sizeof(Node*), token, length)
    return <uint32_t> (sizeof(Node*) + length)


cdef Node* _child(SublistState* self, Node* parent, const char* token, size_t length) noexcept nogil:
    cdef char edge[256]
    cdef char* key = edge
    cdef uint32_t count
    cdef Node* found
    if length + sizeof(Node*) > sizeof(edge):
        key = <char*> malloc(length + sizeof(Node*))
        if key == NULL:
            return NULL
    count = _edge(parent, token, length, key)
    found = <Node*> table_find(&self.nodes, hash_bytes(self.seed, key, count), key, count)
    if key != edge:
        free(key)
    return found


cdef Node* _child_made(SublistState* self, Node* parent, const char* token, size_t length) noexcept nogil:
    cdef Node* child
    cdef char* key
    if length == 1 and token[0] == c"*":
        if parent.any_token == NULL:
            child = <Node*> calloc(1, sizeof(Node))
            if child == NULL:
                return NULL
            child.parent = parent
            parent.any_token = child
            parent.children += 1
        return parent.any_token
    child = _child(self, parent, token, length)
    if child != NULL:
        return child
    child = <Node*> calloc(1, sizeof(Node) + sizeof(Node*) + length)
    if child == NULL:
        return NULL
    key = <char*> (child + 1)
    child.key.length = _edge(parent, token, length, key)
    child.key.chars = key
    child.key.hash = hash_bytes(self.seed, key, child.key.length)
    child.parent = parent
    if not table_add(&self.nodes, &child.key):
        free(child)
        return NULL
    parent.children += 1
    return child


cdef void _prune(SublistState* self, Node* node) noexcept nogil:
    """Free a node without interest or children, and its parents that are left so."""
    cdef Node* parent
    while node != &self.root and node.children == 0 and node.here.count == 0 and node.rest.count == 0:
        parent = node.parent
        if parent.any_token == node:
            parent.any_token = NULL
        else:
            table_remove(&self.nodes, &node.key)
        parent.children -= 1
        free(node)
        node = parent


cdef InterestList* _wild_list(SublistState* self, const char* subject, size_t length, Node** at_node) noexcept nogil:
    """Return the list in the tree where interest in `subject` belongs; make the way to it. NULL: no memory."""
    cdef Node* node = &self.root
    cdef const char* end = subject + length
    cdef const char* dot
    cdef Node* child
    while True:
        dot = <const char*> memchr(subject, c".", end - subject)
        if dot == NULL:
            dot = end
        if dot == end and end - subject == 1 and subject[0] == c">":
            at_node[0] = node
            return &node.rest
        child = _child_made(self, node, subject, dot - subject)
        if child == NULL:
            _prune(self, node)
            return NULL
        node = child
        if dot == end:
            at_node[0] = node
            return &node.here
        subject = dot + 1


cdef Node* _node_of(SublistState* self, const char* subject, size_t length) noexcept nogil:
    """Return the node that holds interest in `subject`, which is there."""
    cdef Node* node = &self.root
    cdef const char* end = subject + length
    cdef const char* dot
    while True:
        dot = <const char*> memchr(subject, c".", end - subject)
        if dot == NULL:
            dot = end
        if dot == end and end - subject == 1 and subject[0] == c">":
            return node
        if dot - subject == 1 and subject[0] == c"*":
            node = node.any_token
        else:
            node = _child(self, node, subject, dot - subject)
        if dot == end:
            return node
        subject = dot + 1


# ---- what a change makes stale -----------------------------------------------------------------------------------------


cdef size_t _tokens_length(const char* subject, size_t length, int tokens) noexcept nogil:
    """Return the length of the first `tokens` tokens; 0 when there are fewer, or one of them is a wildcard."""
    cdef size_t at = 0
    cdef size_t start = 0
    while True:
        if at == length or subject[at] == c".":
            if at - start == 1 and (subject[start] == c"*" or subject[start] == c">"):
                return 0
            tokens -= 1
            if tokens == 0:
                return at
            start = at + 1
        if at == length:
            return 0
        at += 1


cdef void _buckets(SublistState* self, const char* subject, size_t length, uint32_t* one, uint32_t* two) noexcept nogil:
    cdef size_t first = _tokens_length(subject, length, 1)
    cdef size_t second = _tokens_length(subject, length, 2)
    one[0] = <uint32_t> (hash_bytes(self.seed, subject, first) % BUCKETS)
    two[0] = <uint32_t> (hash_bytes(self.seed, subject, second) % BUCKETS) if second else one[0]


cdef bint _has_versions(SublistState* self) noexcept nogil:
    """Whether the sublist has versions of its own; they are made when they are not there. False: no memory."""
    cdef uint64_t* versions
    if self.version_one == &NOTHING_CHANGED[0]:
        versions = <uint64_t*> calloc(2 * BUCKETS, sizeof(uint64_t))
        if versions == NULL:
            return False
        self.version_one = versions
        self.version_two = versions + BUCKETS
    return True


cdef void _make_stale(SublistState* self, Interest* interest) noexcept nogil:
    cdef const char* subject = interest.subject
    cdef size_t length = interest.subject_length
    cdef Match* match
    cdef size_t prefix
    if not _has_wildcard(subject, length):
        match = <Match*> table_find(&self.cache, hash_bytes(self.seed, subject, length), subject, length)
        if match != NULL:
            match.stamp = ~<uint64_t> 0
        self.scratch.stamp = ~<uint64_t> 0
        return
    if not _has_versions(self):
        self.version_all += 1
        return
    prefix = _tokens_length(subject, length, 2)
    if prefix:
        self.version_two[hash_bytes(self.seed, subject, prefix) % BUCKETS] += 1
        return
    prefix = _tokens_length(subject, length, 1)
    if prefix:
        self.version_one[hash_bytes(self.seed, subject, prefix) % BUCKETS] += 1
        return
    self.version_all += 1


# ---- changes -----------------------------------------------------------------------------------------------------------


cdef bint sublist_open(SublistState* self, uint64_t seed, uint32_t cache_max) noexcept nogil:
    memset(self, 0, sizeof(SublistState))
    self.seed = self.groups.seed = seed
    self.cache_max = cache_max
    self.version_one = self.version_two = &NOTHING_CHANGED[0]
    self.scratch.stamp = ~<uint64_t> 0
    return True


cdef bint sublist_insert(SublistState* self, Interest* interest) noexcept nogil:
    """Add interest in a valid subject; False when memory ran out. The owner keeps it unmoved until `sublist_remove`."""
    cdef const char* subject = interest.subject
    cdef size_t length = interest.subject_length
    cdef uint64_t hashed
    cdef Literal* literal
    cdef InterestList* into
    cdef Node* node = NULL
    interest.queue_hash = _name_hash(self.seed, interest.queue, interest.queue_length) if interest.queue_length else 0
    if _has_wildcard(subject, length):
        into = _wild_list(self, subject, length, &node)
        if into == NULL:
            return False
        if not _list_add(into, interest):
            _prune(self, node)
            return False
    else:
        hashed = hash_bytes(self.seed, subject, length)
        literal = <Literal*> table_find(&self.literals, hashed, subject, length)
        if literal == NULL:
            literal = <Literal*> table_make(&self.literals, sizeof(Literal), 0, subject, length, hashed)
            if literal == NULL:
                return False
        if not _list_add(&literal.here, interest):
            if literal.here.count == 0:
                table_remove(&self.literals, &literal.key)
                free(literal)
            return False
    self.count += 1
    self.inserts += 1
    _make_stale(self, interest)
    return True


cdef void sublist_remove(SublistState* self, Interest* interest) noexcept nogil:
    """Remove interest that is there."""
    cdef Literal* literal
    cdef Node* node
    cdef InterestList* home = <InterestList*> interest.home
    _make_stale(self, interest)
    self.count -= 1
    self.removes += 1
    if _has_wildcard(interest.subject, interest.subject_length):
        node = _node_of(self, interest.subject, interest.subject_length)
        _list_remove(home, interest)
        _prune(self, node)
        return
    _list_remove(home, interest)
    if home.count == 0:
        literal = <Literal*> table_find(&self.literals, hash_bytes(self.seed, interest.subject, interest.subject_length),
                                        interest.subject, interest.subject_length)
        table_remove(&self.literals, &literal.key)
        free(literal)


cdef void sublist_touch(SublistState* self, Interest* interest) noexcept nogil:
    """Say that the weight of interest that is there has changed."""
    _make_stale(self, interest)


cdef size_t _list_all(InterestList* self, Interest** into) noexcept nogil:
    if self.count:
        memcpy(into, self.items, self.count * sizeof(Interest*))
    return self.count


cdef size_t _below(Node* node, Interest** into) noexcept nogil:
    """Put the interest of a node, and of the nodes of `*` below it, into `into`; return how many."""
    cdef size_t count = 0
    while node != NULL:
        count += _list_all(&node.here, into + count)
        count += _list_all(&node.rest, into + count)
        node = node.any_token
    return count


cdef size_t sublist_all(SublistState* self, Interest** into) noexcept nogil:
    """Put all interest into `into`, which has room for `count`; return how many."""
    cdef size_t at
    cdef size_t count = _below(&self.root, into)
    if self.nodes.slots != NULL:
        for at in range(self.nodes.mask + 1):
            if self.nodes.slots[at].key != NULL:
                count += _below(<Node*> self.nodes.slots[at].key, into + count)
    if self.literals.slots != NULL:
        for at in range(self.literals.mask + 1):
            if self.literals.slots[at].key != NULL:
                count += _list_all(&(<Literal*> self.literals.slots[at].key).here, into + count)
    return count


# ---- matching ----------------------------------------------------------------------------------------------------------


cdef bint _reach(SublistState* self, InterestList* found) noexcept nogil:
    cdef InterestList** grown
    cdef uint32_t room
    if found.count == 0:
        return True
    if self.reached_count == self.reached_room:
        room = self.reached_room * 2 if self.reached_room else 16
        grown = <InterestList**> realloc(self.reached, room * sizeof(InterestList*))
        if grown == NULL:
            return False
        self.reached = grown
        self.reached_room = room
    self.reached[self.reached_count] = found
    self.reached_count += 1
    return True


cdef bint _put_off(SublistState* self, Node* node, const char* subject) noexcept nogil:
    """Look below `node` later; False: no memory."""
    cdef Branch* grown
    cdef uint32_t room
    if self.branch_count == self.branch_room:
        room = self.branch_room * 2 if self.branch_room else 16
        grown = <Branch*> realloc(self.branches, room * sizeof(Branch))
        if grown == NULL:
            return False
        self.branches = grown
        self.branch_room = room
    self.branches[self.branch_count].node = node
    self.branches[self.branch_count].subject = subject
    self.branch_count += 1
    return True


cdef bint _walk_one(SublistState* self, Node* node, const char* subject, const char* end) noexcept nogil:
    """Collect the lists on the way of literal tokens below `node`, and put off the branches of `*`; False: no memory."""
    cdef const char* dot
    cdef Node* child
    while True:
        self.steps += 1
        if not _reach(self, &node.rest):
            return False
        if node.children == 0:
            self.rest_at = subject
            return True
        dot = <const char*> memchr(subject, c".", end - subject)
        if dot == NULL:
            dot = end
        child = node.any_token
        if child != NULL:
            if dot == end:
                if not _reach(self, &child.here):
                    return False
            elif not _put_off(self, child, dot + 1):
                return False
        child = _child(self, node, subject, dot - subject)
        if child == NULL:
            return True
        if dot == end:
            return _reach(self, &child.here)
        node = child
        subject = dot + 1


cdef bint _walk(SublistState* self, const char* subject, const char* end) noexcept nogil:
    """Collect the lists of the tree that a subject reaches; False: no memory. Not by recursion: a peer says how deep it goes."""
    self.branch_count = 0
    self.rest_at = NULL
    if not _walk_one(self, &self.root, subject, end):
        return False
    while self.branch_count:
        self.branch_count -= 1
        if not _walk_one(self, self.branches[self.branch_count].node, self.branches[self.branch_count].subject, end):
            return False
        self.rest_at = NULL
    return True


cdef bint _is_matchable(const char* subject, size_t length) noexcept nogil:
    """Whether no token is empty."""
    cdef size_t at
    if length == 0 or subject[0] == c"." or subject[length - 1] == c".":
        return False
    for at in range(1, length):
        if subject[at] == c"." and subject[at - 1] == c".":
            return False
    return True


cdef bint _room_for(SublistState* self, Match* match, size_t need) noexcept nogil:
    cdef void* store
    if need > match.store_bytes:
        store = realloc(match.store, need)
        if store == NULL:
            return False
        if match != &self.scratch:
            self.store_bytes += need - match.store_bytes
        match.store = store
        match.store_bytes = need
    return True


cdef bint _member_room(SublistState* self, size_t count) noexcept nogil:
    cdef void* grown
    if count > self.member_room:
        grown = realloc(self.members, count * sizeof(Member))
        if grown == NULL:
            return False
        self.members = <Member*> grown
        self.member_room = count
    return True


cdef inline uint32_t _name_hash(uint64_t seed, const char* name, size_t length) noexcept nogil:
    return <uint32_t> hash_bytes(seed, name, length)


cdef Group* _group_seek(Match* match, const char* name, size_t length) noexcept nogil:
    """Return a group of a match; NULL: it has none of this name. Cost: O(groups)."""
    cdef uint32_t at
    for at in range(match.group_count):
        if match.groups[at].name_length == length and _same(match.groups[at].name, name, length):
            return &match.groups[at]
    return NULL


cdef inline void _index_add(GroupIndex* index, Match* match, uint32_t which) noexcept nogil:
    cdef size_t at = match.groups[which].hash & index.mask
    while index.slots[at]:
        at = (at + 1) & index.mask
    index.slots[at] = which + 1


cdef bint _groups_index(GroupIndex* index, Match* match, size_t count) noexcept nogil:
    """Index the groups of a match, with room for `count` of them; False: no memory, and nothing is indexed."""
    cdef size_t room = 64
    cdef uint32_t which
    cdef void* grown
    while room < count * 2:
        room *= 2
    if room > index.room:
        grown = realloc(index.slots, room * sizeof(uint32_t))
        if grown == NULL:
            return False
        index.slots = <uint32_t*> grown
        index.room = room
    index.mask = room - 1
    index.of = match
    index.serial = match.serial
    memset(index.slots, 0, room * sizeof(uint32_t))
    for which in range(match.group_count):
        _index_add(index, match, which)
    return True


cdef inline Group* _find(GroupIndex* index, Match* match, const char* name, size_t length, uint32_t hashed) noexcept nogil:
    cdef size_t at = hashed & index.mask
    cdef Group* group
    while index.slots[at]:
        group = &match.groups[index.slots[at] - 1]
        if group.hash == hashed and group.name_length == length and _same(group.name, name, length):
            return group
        at = (at + 1) & index.mask
    return NULL


cdef Group* group_find(GroupIndex* index, Match* match, const char* name, size_t length) noexcept nogil:
    """Return a group of a fresh match; NULL: it has none of this name. Many groups are indexed, until another match is asked for."""
    if match.group_count <= GROUPS_SOUGHT:
        return _group_seek(match, name, length)
    if index.of != match or index.serial != match.serial:
        if not _groups_index(index, match, match.group_count):
            return _group_seek(match, name, length)
    return _find(index, match, name, length, _name_hash(index.seed, name, length))


cdef inline Group* _group(SublistState* self, Match* match, Interest* interest, size_t total, bint* indexed) noexcept nogil:
    """Return the group of interest, which is made when it is the first.

    Args:
        total: Of all interest in the match: there are no more groups.
        indexed: Whether there is an index of the groups; without memory there never is.
    """
    cdef Group* group
    if indexed[0]:
        group = _find(&self.groups, match, interest.queue, interest.queue_length, interest.queue_hash)
    else:
        group = _group_seek(match, interest.queue, interest.queue_length)
    if group != NULL:
        return group
    group = &match.groups[match.group_count]
    match.group_count += 1
    memset(group, 0, sizeof(Group))
    group.name = interest.queue
    group.name_length = interest.queue_length
    group.hash = interest.queue_hash
    if indexed[0]:
        _index_add(&self.groups, match, match.group_count - 1)
    elif match.group_count > GROUPS_SOUGHT:
        indexed[0] = _groups_index(&self.groups, match, total)
    return group


cdef bint _same(const char* left, const char* right, size_t length) noexcept nogil:
    cdef size_t at
    for at in range(length):
        if left[at] != right[at]:
            return False
    return True


cdef void _add_remote(Match* match, Interest* interest) noexcept nogil:
    cdef uint32_t at
    for at in range(match.remote_count):
        if match.remote[at].owner == interest.owner:
            return
    match.remote[match.remote_count] = interest
    match.remote_count += 1
    match.scopes |= 1 << interest.scope


cdef size_t _count_members(SublistState* self, Match* match, size_t total) noexcept nogil:
    """Sort interest into plain, remote and members of groups, whose places follow; return how many members there are."""
    cdef uint32_t which, at
    cdef bint indexed = False
    cdef InterestList* found
    cdef Interest* interest
    cdef Group* group
    cdef Member* member = self.members
    for which in range(self.reached_count):
        found = self.reached[which]
        for at in range(found.count):
            if at + AHEAD < found.count:
                prefetch(found.items[at + AHEAD])
                prefetch(&found.items[at + AHEAD].queue_hash)
            interest = found.items[at]
            if interest.queue_length:
                group = _group(self, match, interest, total, &indexed)
                member.interest = interest
                member.group = <uint32_t> (group - match.groups)
                member.rank = interest.rank
                member += 1
                if interest.rank == 0:
                    group.weight += interest.weight
                    group.local_count += 1
                elif interest.rank == 1:
                    group.weight += interest.weight
                    group.remote_count += 1
                else:
                    group.spare_count += 1
            elif interest.rank:
                _add_remote(match, interest)
            else:
                match.plain[match.plain_count] = interest
                match.plain_count += 1
    return member - self.members


cdef void _place_members(SublistState* self, Match* match, size_t count) noexcept nogil:
    cdef uint32_t at, first = 0
    cdef size_t which
    cdef Member* member
    cdef Group* group
    for at in range(match.group_count):
        group = &match.groups[at]
        group.first = first
        first += group.local_count + group.remote_count + group.spare_count
        group.spare_count = group.local_count + group.remote_count
        # For now: where the next spare member goes; then likewise.
        group.remote_count = group.local_count
        group.local_count = 0
    for which in range(count):
        member = &self.members[which]
        group = &match.groups[member.group]
        if member.rank == 0:
            match.members[group.first + group.local_count] = member.interest
            group.local_count += 1
        elif member.rank == 1:
            match.members[group.first + group.remote_count] = member.interest
            group.remote_count += 1
        else:
            match.members[group.first + group.spare_count] = member.interest
            group.spare_count += 1
    for at in range(match.group_count):
        match.groups[at].spare_count -= match.groups[at].remote_count
        match.groups[at].remote_count -= match.groups[at].local_count
        match.groups[at].weight = max(match.groups[at].weight, 1)


cdef bint _collect(SublistState* self, const char* subject, size_t length, uint64_t hashed) noexcept nogil:
    """Collect the lists that a subject reaches, and count what is in them; False: no memory."""
    cdef uint32_t which
    cdef Literal* literal
    self.reached_count = 0
    self.steps = 0
    self.total = 0
    if _is_matchable(subject, length):
        literal = <Literal*> table_find(&self.literals, hashed, subject, length)
        if literal != NULL and not _reach(self, &literal.here):
            return False
        if not _walk(self, subject, subject + length):
            return False
        if literal != NULL:
            self.rest_at = NULL
    for which in range(self.reached_count):
        self.total += self.reached[which].count
    if self.work != NULL:
        self.work[0] += self.steps // 4 + self.total // 4
    return True


cdef bint _fill(SublistState* self, Match* match, const char* subject, size_t length) noexcept nogil:
    """Compute the match of a subject out of the lists that were collected; False: no memory."""
    cdef size_t members, total = self.total
    match.plain_count = match.remote_count = match.group_count = match.scopes = 0
    if not _room_for(self, match, total * (3 * sizeof(Interest*) + sizeof(Group))) or not _member_room(self, total):
        return False
    match.plain = <Interest**> match.store
    match.remote = match.plain + total
    match.members = match.remote + total
    match.groups = <Group*> (match.members + total)
    members = _count_members(self, match, total)
    if members:
        _place_members(self, match, members)
    _buckets(self, subject, length, &match.bucket_one, &match.bucket_two)
    match.stamp = self.version_all + self.version_one[match.bucket_one] + self.version_two[match.bucket_two]
    self.next_serial += 1
    match.serial = self.next_serial
    self.fanout += total
    self.fanout_max = max(self.fanout_max, total)
    return True


cdef Match* _cache_place(SublistState* self, const char* subject, size_t length, uint64_t hashed) noexcept nogil:
    """Return a record for a new subject: a new one, or one that was not used lately. NULL: no memory."""
    cdef Match* match
    cdef Match** grown
    cdef uint32_t room
    cdef char* chars
    if self.ring_count < self.cache_max:
        if self.ring_count == self.ring_room:
            room = self.ring_room * 2 if self.ring_room else 16
            grown = <Match**> realloc(self.ring, room * sizeof(Match*))
            if grown == NULL:
                return NULL
            self.ring = grown
            self.ring_room = room
        match = <Match*> calloc(1, sizeof(Match))
        if match == NULL:
            return NULL
        self.ring[self.ring_count] = match
        self.ring_count += 1
    else:
        while self.ring[self.hand].recent:
            self.ring[self.hand].recent = 0
            self.hand = (self.hand + 1) % self.ring_count
        match = self.ring[self.hand]
        self.hand = (self.hand + 1) % self.ring_count
        if match.key.length:
            table_remove(&self.cache, &match.key)
    chars = <char*> match.key.chars
    match.key.length = 0
    match.judge = match.watch_serial = 0
    if match.key_bytes < length:
        chars = <char*> realloc(chars, length)
        if chars == NULL:
            return NULL
        match.key_bytes = length
        match.key.chars = chars
    memcpy(chars, subject, length)
    match.key.length = <uint32_t> length
    match.key.hash = hashed
    if not table_add(&self.cache, &match.key):
        match.key.length = 0
        return NULL
    return match


cdef void _forget_others(SublistState* self, Match* kept) noexcept nogil:
    """Forget matches that were not used lately, until the rest takes no more than it may."""
    cdef uint32_t left = 2 * self.ring_count
    cdef Match* match
    while self.store_bytes > STORE_BYTES_MAX and left:
        left -= 1
        match = self.ring[self.hand]
        self.hand = (self.hand + 1) % self.ring_count
        if match == kept or match.store == NULL:
            continue
        if match.recent:
            match.recent = 0
            continue
        if match.key.length:
            table_remove(&self.cache, &match.key)
            match.key.length = 0
        free(match.store)
        self.store_bytes -= match.store_bytes
        match.store = NULL
        match.store_bytes = 0
        match.plain_count = match.remote_count = match.group_count = match.scopes = 0
        match.stamp = ~<uint64_t> 0


cdef bint _seen_grow(SublistState* self) noexcept nogil:
    """Make the doorkeeper, or make it larger; it forgets. False: there is none, for lack of memory."""
    cdef uint32_t room = self.seen_room * 4 if self.seen_room else SEEN_FIRST
    cdef uint32_t* seen = <uint32_t*> calloc(room, sizeof(uint32_t))
    if seen != NULL:
        free(self.seen)
        self.seen = seen
        self.seen_room = room
    self.seen_fills = 0
    return self.seen != NULL


cdef bint _was_seen(SublistState* self, uint64_t hashed) noexcept nogil:
    """Whether the subject was looked up before, lately; remember that it was now."""
    cdef uint32_t tag = <uint32_t> (hashed >> 32) | 1
    cdef uint32_t* slots
    cdef int at
    if self.seen_fills >= self.seen_room and self.seen_room < SEEN_MAX and not _seen_grow(self):
        return False
    slots = &self.seen[hashed & (self.seen_room - 1) & ~<uint64_t> (SEEN_WAYS - 1)]
    for at in range(SEEN_WAYS):
        if slots[at] == tag:
            return True
    slots[self.seen_fills % SEEN_WAYS] = tag
    self.seen_fills += 1
    return False


cdef uint32_t sublist_count_here(SublistState* self, const char* subject, size_t length, Interest** one) noexcept nogil:
    """Return how much interest there is here, not at other servers, in a subject: 0, 1, or 2 for more than one.

    No match that is in use changes by the question.

    Args:
        one: Set to some of it, if there is any; NULL: nobody asks.
    """
    cdef uint32_t which, at, count = 0
    if not _collect(self, subject, length, hash_bytes(self.seed, subject, length)):
        return 0
    for which in range(self.reached_count):
        for at in range(self.reached[which].count):
            if self.reached[which].items[at].rank == 0:
                count += 1
                if one != NULL:
                    one[0] = self.reached[which].items[at]
                if count > 1:
                    return count
    return count


cdef void _remember_beginning(SublistState* self, const char* subject) noexcept nogil:
    """Remember with which beginning the match holds that is not remembered for its subject."""
    cdef size_t length = self.rest_at - subject if self.rest_at != NULL else 0
    # Two tokens before its last dot: so the versions by which it becomes stale are those of all that begin so.
    if 0 < length <= BEGINNING_BYTES and _tokens_length(subject, length - 1, 2):
        memcpy(self.beginning, subject, length)
        self.beginning_length = length


cdef bint _begins_so(SublistState* self, const char* subject, size_t length, uint64_t hashed) noexcept nogil:
    """Whether the match that is not remembered for its subject holds for this one: acknowledgements and replies are used once each."""
    cdef size_t begin = self.beginning_length
    return (
        begin != 0 and length > begin and memcmp(subject, self.beginning, begin) == 0 and sublist_fresh(self, &self.scratch)
        and _is_matchable(subject + begin, length - begin) and table_find(&self.literals, hashed, subject, length) == NULL
    )


cdef Match* _used_again(SublistState* self) noexcept nogil:
    """Return the match that is not remembered, for another subject."""
    self.next_serial += 1
    self.scratch.serial = self.next_serial
    self.scratch.judge = self.scratch.watch_serial = 0
    return &self.scratch


cdef Match* sublist_match(SublistState* self, const char* subject, size_t length) noexcept nogil:
    """Return who gets messages of a subject; never NULL.

    Cost: one hash and one comparison of the subject when it is remembered. The answer holds until the next change or match.
    """
    cdef uint64_t hashed = hash_bytes(self.seed, subject, length)
    cdef Match* match = <Match*> table_find(&self.cache, hashed, subject, length)
    cdef bint collected, seen
    if match != NULL:
        match.recent = 1
        if sublist_fresh(self, match):
            self.hits += 1
            return match
    self.misses += 1
    seen = match == NULL and length and self.cache_max and _was_seen(self, hashed)
    if match == NULL and not seen and _begins_so(self, subject, length, hashed):
        return _used_again(self)
    collected = _collect(self, subject, length, hashed)
    if match == NULL and length and self.cache_max and (seen or self.total > WIDE):
        match = _cache_place(self, subject, length, hashed)
    if match == NULL:
        match = _used_again(self)
        self.beginning_length = 0
    if not collected or not _fill(self, match, subject, length):
        match.plain_count = match.remote_count = match.group_count = match.scopes = 0
        match.stamp = ~<uint64_t> 0
    elif match == &self.scratch:
        _remember_beginning(self, subject)
    if self.store_bytes > STORE_BYTES_MAX:
        _forget_others(self, match)
    return match


# ---- end ---------------------------------------------------------------------------------------------------------------


cdef void _free_slots(Table* table, bint lists) noexcept nogil:
    cdef size_t at
    cdef Literal* literal
    if table.slots != NULL:
        for at in range(table.mask + 1):
            if table.slots[at].key != NULL:
                if lists:
                    literal = <Literal*> table.slots[at].key
                    free(literal.here.items)
                free(table.slots[at].key)
    table_clear(table)


cdef void _free_node(Node* node, bint itself) noexcept nogil:
    """Free what a node holds, `itself` or not, and the nodes of `*` below it."""
    cdef Node* following
    while node != NULL:
        following = node.any_token
        free(node.here.items)
        free(node.rest.items)
        if itself:
            free(node)
        itself = True
        node = following


cdef void sublist_close(SublistState* self) noexcept nogil:
    """Free everything but the interest, which is its owners'."""
    cdef size_t at
    _free_slots(&self.literals, True)
    if self.nodes.slots != NULL:
        for at in range(self.nodes.mask + 1):
            if self.nodes.slots[at].key != NULL:
                _free_node(<Node*> self.nodes.slots[at].key, True)
    table_clear(&self.nodes)
    _free_node(&self.root, False)
    for at in range(self.ring_count):
        free(<void*> self.ring[at].key.chars)
        free(self.ring[at].store)
        free(self.ring[at])
    free(self.ring)
    free(self.scratch.store)
    free(self.seen)
    if self.version_one != &NOTHING_CHANGED[0]:
        free(self.version_one)
    free(self.reached)
    free(self.branches)
    free(self.groups.slots)
    free(self.members)
    table_clear(&self.cache)
    memset(self, 0, sizeof(SublistState))


# ---- for Python --------------------------------------------------------------------------------------------------------


cdef struct Held:
    Interest interest
    uint64_t token


cdef class Sublist:
    """Subscriptions by subject, for code outside the data plane.

    Args:
        cache_max: Subjects whose match is remembered; 0 or more.
    """

    cdef SublistState state
    cdef dict values
    cdef uint64_t next_token

    def __cinit__(self, *, cache_max: int = 1024) -> None:
        self.values = {}
        self.next_token = 0
        sublist_open(&self.state, 0x5eed, cache_max)

    def __dealloc__(self) -> None:
        for address, _ in self.values.values():
            free(<void*> <size_t> address)
        sublist_close(&self.state)

    def __len__(self) -> int:
        return self.state.count

    def insert(self, subject: bytes, value: object, *, queue: bytes = b"", weight: int = 1, remote: int = 0) -> int:
        """Add a subscription; return the token that removes it.

        Args:
            subject: Valid; may hold wildcards.
            value: What `match` returns for it.
            queue: Queue group, or empty.
            weight: Members that it stands for; at least 1.
            remote: 1: it is of another server; `value` says which one, and counts once in a match. Above 1: of one whose members of
                groups stand behind the others.
        """
        cdef size_t subject_length = len(subject)
        cdef size_t queue_length = len(queue)
        cdef Held* held = <Held*> calloc(1, sizeof(Held) + subject_length + queue_length)
        if held == NULL:
            raise MemoryError
        cdef char* chars = <char*> (held + 1)
        memcpy(chars, <const char*> subject, subject_length)
        memcpy(chars + subject_length, <const char*> queue, queue_length)
        self.next_token += 1
        held.token = self.next_token
        held.interest.subject = chars
        held.interest.subject_length = <uint32_t> subject_length
        held.interest.queue = chars + subject_length
        held.interest.queue_length = <uint32_t> queue_length
        held.interest.weight = weight
        held.interest.rank = held.interest.scope = remote
        held.interest.owner = <void*> value
        if not sublist_insert(&self.state, &held.interest):
            free(held)
            raise MemoryError
        self.values[self.next_token] = (<size_t> held, value)
        return self.next_token

    def remove(self, token: int) -> None:
        """Remove a subscription; KeyError when the token is not of one that is there."""
        address, _ = self.values.pop(token)
        cdef Held* held = <Held*> <size_t> address
        sublist_remove(&self.state, &held.interest)
        free(held)

    def match(self, subject: bytes) -> SublistResult:
        """Return the subscriptions that a subject reaches."""
        cdef Match* match = sublist_match(&self.state, subject, len(subject))
        cdef uint32_t at, member
        cdef Group* group
        queues = {}
        for at in range(match.group_count):
            group = &match.groups[at]
            queues[group.name[:group.name_length]] = [
                self._value(match.members[group.first + member])
                for member in range(group.local_count + group.remote_count + group.spare_count)
            ]
        return SublistResult(
            psubs=[self._value(match.plain[at]) for at in range(match.plain_count)],
            remotes=[self._value(match.remote[at]) for at in range(match.remote_count)],
            qsubs=queues,
        )

    @property
    def cache_hits(self) -> int:
        """Matches that were remembered."""
        return self.state.hits

    cdef object _value(self, Interest* interest):
        return self.values[(<Held*> interest).token][1]
