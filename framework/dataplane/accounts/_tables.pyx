"""What an account does to messages, from `AccountTables` to the structs of the plane: checked and made by who calls, put in force by the
loop.

Source of the rules: nats-server `accounts.go`, `AddWeightedMappings`, `addServiceImport`, `addMappedStreamImportWithClaim`.
"""

from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy

from framework.dataplane.delivery._delivery cimport subscription_drop
from framework.dataplane.accounts._mappings cimport mappings_set
from framework.dataplane.accounts._remote_latency cimport remote_latencies_free
from framework.dataplane.accounts._response_mappings cimport response_mappings_forget, response_mappings_free
from framework.dataplane.accounts._service_imports cimport services_set
from framework.dataplane._state cimport SERVICE_IMPORT, STREAM_IMPORT, Account, Destination, Destinations, Import, Mapping, State, Tables
from framework.dataplane.accounts._stream_imports cimport shadows_renew
from framework.sublist._bytes cimport COPY_SLACK
from framework.sublist._transform cimport Transform, transform_new

from framework.sublist.transform import (
    BadTransform, parse_transform, reversed_transform, with_numbered_wildcards, with_plain_wildcards,
)
from framework.wire.subject import is_valid_subject

cdef enum:
    SECOND_NS = 1000000000
    PERCENT = 100
    ACCOUNTS_A_WORK = 16
    # That are looked at.


# ---- memory ------------------------------------------------------------------------------------------------------------


cdef void* _owned(Tables* self, size_t size) except NULL:
    """Return zeroed memory that goes with the tables."""
    cdef void* made = calloc(1, size + COPY_SLACK)
    if made == NULL:
        raise MemoryError
    return _own(self, made)


cdef void* _own(Tables* self, void* made) except NULL:
    cdef void** grown
    if self.owned_count == self.owned_room:
        grown = <void**> realloc(self.owned, (self.owned_room * 2 + 8) * sizeof(void*))
        if grown == NULL:
            free(made)
            raise MemoryError
        self.owned = grown
        self.owned_room = self.owned_room * 2 + 8
    self.owned[self.owned_count] = made
    self.owned_count += 1
    return made


cdef const char* _text(Tables* self, bytes text) except NULL:
    cdef char* made = <char*> _owned(self, len(text))
    memcpy(made, <const char*> text, len(text))
    return made


cdef Transform* _transform(Tables* self, program) except NULL:
    return <Transform*> _own(self, transform_new(program))


cdef void tables_free(Tables* self) noexcept nogil:
    cdef size_t at
    if self == NULL:
        return
    for at in range(self.owned_count):
        free(self.owned[at])
    free(self.owned)
    free(self)


# ---- mappings ----------------------------------------------------------------------------------------------------------


def _shares(mapping, cluster):
    """Return (destination, weight) of one cluster's servers, the lightest first, with the source where something is left for it."""
    shares = [(to.subject, to.weight) for to in mapping.destinations if to.cluster == cluster]
    total = sum(weight for _, weight in shares)
    if any(weight < 0 for _, weight in shares) or total > PERCENT:
        raise BadTransform(f'mapping of "{mapping.source}": the weights of one cluster are 0 to 100 percent together, not {total}')
    if total != PERCENT and all(to.subject != mapping.source for to in mapping.destinations):
        shares.append((with_numbered_wildcards(mapping.source), PERCENT - total))
    return sorted(shares, key=lambda share: share[1])


cdef int _fill_destinations(Tables* self, Destinations* into, mapping, cluster) except -1:
    shares = _shares(mapping, cluster)
    cdef Destination* items = <Destination*> _owned(self, max(1, len(shares)) * sizeof(Destination))
    cdef bytes name = cluster.encode()
    cdef uint32_t below = 0
    into.cluster = _text(self, name)
    into.cluster_length = len(name)
    into.items = items
    into.count = len(shares)
    for destination, weight in shares:
        below += <uint32_t> weight
        items[0].below = below
        items[0].transform = _transform(self, parse_transform(mapping.source, destination))
        items += 1
    return 0


cdef int _fill_mapping(Tables* self, Mapping* into, mapping) except -1:
    cdef bytes source = mapping.source.encode()
    cdef Destinations* sets
    if not is_valid_subject(mapping.source):
        raise BadTransform(f'mapping of "{mapping.source}": that is no subject')
    targets = [destination.subject for destination in mapping.destinations]
    for target in targets:
        if targets.count(target) > 1:
            raise BadTransform(f'mapping of "{mapping.source}": "{target}" is there twice')
    clusters = ["", *sorted({destination.cluster for destination in mapping.destinations} - {""})]
    sets = <Destinations*> _owned(self, len(clusters) * sizeof(Destinations))
    into.source = _text(self, source)
    into.source_length = len(source)
    into.sets = sets
    into.count = len(clusters)
    for cluster in clusters:
        _fill_destinations(self, sets, mapping, cluster)
        sets += 1
    return 0


# ---- imports -------------------------------------------------------------------------------------------------------------


cdef int _fill_import(Tables* self, Import* into, imported, size_t account_count) except -1:
    """Set what streams and services have in common; the subjects are those of each account with plain wildcards."""
    if not 0 <= imported.account < account_count:
        raise ValueError(f'import of "{imported.subject}": no account {imported.account}')
    if not is_valid_subject(imported.subject):
        raise BadTransform(f'import of "{imported.subject}": that is no subject')
    local = with_plain_wildcards(imported.to or imported.subject)[0]
    if not is_valid_subject(local):
        raise BadTransform(f'import of "{imported.subject}" as "{imported.to}": that is no subject')
    cdef bytes subject = imported.subject.encode()
    cdef bytes to = local.encode()
    into.account_index = imported.account
    into.subject = _text(self, subject)
    into.subject_length = len(subject)
    into.to = _text(self, to)
    into.to_length = len(to)
    into.allow_trace = imported.allow_trace
    into.stays = subject == to
    return 0


def _is_wild(subject):
    return not {"*", ">"}.isdisjoint(subject.split("."))


def _parsed_back(source, destination):
    """Return the way back of a transform that can be reversed."""
    parse_transform(source, destination, strict=True)
    return parse_transform(*reversed_transform(source, destination), strict=True)


cdef int _fill_stream(Tables* self, Import* into, imported, size_t account_count) except -1:
    _fill_import(self, into, imported, account_count)
    into.kind = STREAM_IMPORT
    if _is_wild(imported.subject) and imported.to and imported.to != imported.subject:
        there = with_numbered_wildcards(imported.to)
        into.transform = _transform(self, parse_transform(imported.subject, there, strict=True))
        into.back = _transform(self, _parsed_back(imported.subject, there))
        into.stays = False
    return 0


cdef int _fill_service(Tables* self, Import* into, imported, size_t account_count) except -1:
    _fill_import(self, into, imported, account_count)
    into.kind = SERVICE_IMPORT
    into.response = imported.response
    into.threshold_ns = <int64_t> (imported.threshold_s * SECOND_NS)
    into.share = imported.share
    into.names_server = imported.names_server
    into.latency = imported.latency
    into.latency_percent = imported.latency_percent
    if _is_wild(imported.subject) and imported.to and imported.to != imported.subject:
        there = with_numbered_wildcards(imported.to)
        into.transform = _transform(self, _parsed_back(imported.subject, there))
        into.stays = False
    return 0


# ---- as a whole --------------------------------------------------------------------------------------------------------


cdef Tables* tables_made(object tables, size_t account_count) except NULL:
    """Return a version of an account's tables that the loop can put in force.

    Raises:
        BadTransform: A subject, a transform or a weight makes no sense.
        ValueError: There is no such account.
    """
    cdef Tables* self = <Tables*> calloc(1, sizeof(Tables))
    cdef size_t at
    if self == NULL:
        raise MemoryError
    try:
        self.mappings = <Mapping*> _owned(self, len(tables.mappings) * sizeof(Mapping))
        self.mapping_count = len(tables.mappings)
        for at, mapping in enumerate(tables.mappings):
            _fill_mapping(self, &self.mappings[at], mapping)
        self.streams = <Import*> _owned(self, len(tables.stream_imports) * sizeof(Import))
        self.stream_count = len(tables.stream_imports)
        for at, imported in enumerate(tables.stream_imports):
            _fill_stream(self, &self.streams[at], imported, account_count)
        self.services = <Import*> _owned(self, len(tables.service_imports) * sizeof(Import))
        self.service_count = len(tables.service_imports)
        for at, imported in enumerate(tables.service_imports):
            _fill_service(self, &self.services[at], imported, account_count)
        destination = tables.trace_destination.encode()
        self.trace_destination = _text(self, destination)
        self.trace_destination_length = len(destination)
        self.trace_percent = tables.trace_percent
    except Exception:
        tables_free(self)
        raise
    return self


cdef void _resolve(State* state, Account* account, Import* imports, size_t count) noexcept nogil:
    cdef size_t at
    for at in range(count):
        imports[at].account = state.accounts[imports[at].account_index]
        imports[at].home = account


cdef inline bint _has_streams(const Tables* tables) noexcept nogil:
    """Whether subscriptions have shadows by them."""
    return tables != NULL and tables.stream_count > 0


cdef void tables_set(State* state, Account* account, Tables* tables) noexcept nogil:
    """Put tables in force in place of those before; subscriptions that are there follow them."""
    cdef Tables* before = account.tables
    if not account.ours:
        tables_free(tables)
        return
    if tables.mapping_count + tables.stream_count + tables.service_count + tables.trace_destination_length == 0:
        tables_free(tables)
        tables = NULL
    else:
        _resolve(state, account, tables.streams, tables.stream_count)
        _resolve(state, account, tables.services, tables.service_count)
    account.tables = tables
    services_set(state, account, before)
    mappings_set(state, account, before)
    if _has_streams(before) or _has_streams(tables):
        shadows_renew(state, account)
    tables_free(before)


cdef void _drop_answers(State* state, Account* account) noexcept nogil:
    """Let no answers come to an account any more."""
    if account.answers == NULL:
        return
    response_mappings_forget(state, account)
    if account.answers.imported.subscription != NULL:
        subscription_drop(state, account.answers.imported.subscription)
        account.answers.imported.subscription = NULL


cdef bint _leads_to(const Tables* tables, const Account* account) noexcept nogil:
    cdef size_t at
    if tables != NULL:
        for at in range(tables.stream_count):
            if tables.streams[at].account == account:
                return True
    return False


cdef void tables_leave(State* state, Account* account) noexcept nogil:
    """Take an account that goes out of all tables: its own, and those that lead to it until new ones come."""
    cdef uint32_t at
    cdef Tables* before = account.tables
    account.ours = 0
    account.tables = NULL
    services_set(state, account, before)
    mappings_set(state, account, before)
    if _has_streams(before):
        shadows_renew(state, account)
    tables_free(before)
    _drop_answers(state, account)
    state.work += state.account_count // ACCOUNTS_A_WORK
    for at in range(state.account_count):
        if _leads_to(state.accounts[at].tables, account):
            shadows_renew(state, state.accounts[at])


cdef void tables_end(State* state) noexcept nogil:
    """Free the tables of all accounts, and what came of them; the links are gone."""
    cdef uint32_t at
    cdef Account* account
    cdef Tables* tables
    for at in range(state.account_count):
        account = state.accounts[at]
        tables = account.tables
        account.tables = NULL
        services_set(state, account, tables)
        mappings_set(state, account, tables)
        tables_free(tables)
        _drop_answers(state, account)
    response_mappings_free(state)
    remote_latencies_free(state)
    free(state.waiting)
    free(state.names)
    free(state.scratch)
    free(state.mapped)
    free(state.addressed)
