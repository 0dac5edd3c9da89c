"""Budgets of work, and the lists of links that have something to do.

A unit of work is about 100 ns: a subscription that a message is offered to, a line, 512 bytes that are copied. A link does a slice of it,
then others have their turn; what is left goes on when that comes round again. Units are counted, not timed, so that one seed gives one run.
"""

from libc.stdint cimport int64_t

from framework.dataplane._state cimport DIRTY_GATHERED, DIRTY_PROMPT, DirtyList, Link, State


cdef enum:
    WORK_A_SLICE = 8192
    # Of one link with much to do: some 0.7 ms.
    WORK_A_QUIET_SLICE = 1024
    # Of one link that had little to do: what is more waits until all others of that kind were served.
    WORK_A_TURN = 8192
    # Of all links with much to do and their output, of commands, of prompt output, and of ends of links, each.
    LINE_WORK = 1
    REPEATS_A_WORK = 8
    # Messages with the line of the one before that go to one link or to none.
    INTEREST_WORK = 8
    # Of a subscription that comes, goes or is checked.
    COMMAND_WORK = 8
    END_WORK = 64
    # Of a link whose socket is closed.
    SEND_WORK = 64
    # Of a system call that wakes whoever waits at the other end.
    BYTES_A_WORK = 512


cdef inline void work_begin(State* state, int64_t units) noexcept nogil:
    """Begin a slice of work."""
    state.work_until = state.work + units


cdef inline bint is_work_done(State* state) noexcept nogil:
    """Whether the slice under way is used up."""
    return state.work >= state.work_until


# ---- links that go on --------------------------------------------------------------------------------------------------


cdef inline void ready_add(State* state, Link* link) noexcept nogil:
    """Let a link go on when all those have that wait already."""
    if link.ready:
        return
    link.ready = 1
    link.next_ready = NULL
    link.previous_ready = state.last_ready
    if state.last_ready != NULL:
        state.last_ready.next_ready = link
    else:
        state.first_ready = link
    state.last_ready = link


cdef inline void ready_leave(State* state, Link* link) noexcept nogil:
    if not link.ready:
        return
    link.ready = 0
    if link.previous_ready != NULL:
        link.previous_ready.next_ready = link.next_ready
    else:
        state.first_ready = link.next_ready
    if link.next_ready != NULL:
        link.next_ready.previous_ready = link.previous_ready
    else:
        state.last_ready = link.previous_ready


# ---- links with output -------------------------------------------------------------------------------------------------


cdef inline void dirty_add(State* state, Link* link) noexcept nogil:
    """Let a link's output be sent behind that of all that wait already, of those that were caused alike."""
    cdef DirtyList* links = &state.dirty[state.dirties]
    if link.dirty:
        return
    link.dirty = 1 + state.dirties
    link.next_dirty = NULL
    link.previous_dirty = links.last
    if links.last != NULL:
        links.last.next_dirty = link
    else:
        links.first = link
    links.last = link


cdef inline void dirty_leave(State* state, Link* link) noexcept nogil:
    cdef DirtyList* links
    if not link.dirty:
        return
    links = &state.dirty[link.dirty - 1]
    link.dirty = 0
    if link.previous_dirty != NULL:
        link.previous_dirty.next_dirty = link.next_dirty
    else:
        links.first = link.next_dirty
    if link.next_dirty != NULL:
        link.next_dirty.previous_dirty = link.previous_dirty
    else:
        links.last = link.previous_dirty


cdef inline bint is_any_dirty(State* state) noexcept nogil:
    return state.dirty[DIRTY_PROMPT].first != NULL or state.dirty[DIRTY_GATHERED].first != NULL


# ---- links that are read no further for a while --------------------------------------------------------------------------


cdef inline void paused_add(State* state, Link* link) noexcept nogil:
    link.paused = 1
    link.previous_paused = NULL
    link.next_paused = state.first_paused
    if state.first_paused != NULL:
        state.first_paused.previous_paused = link
    state.first_paused = link


cdef inline void paused_leave(State* state, Link* link) noexcept nogil:
    if not link.paused:
        return
    link.paused = 0
    if link.previous_paused != NULL:
        link.previous_paused.next_paused = link.next_paused
    else:
        state.first_paused = link.next_paused
    if link.next_paused != NULL:
        link.next_paused.previous_paused = link.previous_paused
