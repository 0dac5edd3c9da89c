"""Time in a group: it is the server's, and a group hears of it when something happens there, or when time says something.

A caller need not look at a group for `raft_due` ticks, unless it is told something: then the time that has passed counts first. Groups that
hibernate it looks at when `RaftServer.has_news`.
"""

from libc.stdint cimport uint32_t, uint64_t

from framework_jetstream.raft._hibernation cimport rest_pass
from framework_jetstream.raft._state cimport LEADER, Raft

cdef enum:
    TICKS_MAX = 1 << 30
    DUE_MAX = 1 << 20  # ticks: time says nothing of itself


cdef inline uint32_t _later(uint32_t ticks, uint32_t more) noexcept nogil:
    return ticks + more if ticks + more < TICKS_MAX else TICKS_MAX


cdef void raft_catch_up(Raft* raft) noexcept nogil:
    """Let the time pass that has at the server: called first by all that is told to a group."""
    cdef uint64_t passed = raft.server.now - raft.seen_tick
    cdef uint32_t ticks = <uint32_t> passed if passed < TICKS_MAX else TICKS_MAX
    if not ticks:
        return
    raft.seen_tick = raft.server.now
    raft.now += ticks
    raft.elapsed = _later(raft.elapsed, ticks)
    raft.heard_ticks = _later(raft.heard_ticks, ticks)
    raft.quiet_ticks = _later(raft.quiet_ticks, ticks)
    raft.heartbeat_elapsed = _later(raft.heartbeat_elapsed, ticks)
    if raft.is_hibernating:
        rest_pass(raft)


cdef inline uint32_t _left(uint64_t passed, uint64_t of, uint32_t due) noexcept nogil:
    """Return the lesser of `due` and what is left of a time, if that is not over."""
    return <uint32_t> min(of - passed, <uint64_t> due) if passed < of else due


cdef uint32_t raft_due(const Raft* raft) noexcept nogil:
    """Return after how many ticks time says something, 0: it does not. A caller need not look before, unless something else happens."""
    cdef uint32_t election = raft.settings.election_ticks
    cdef uint32_t due = DUE_MAX
    cdef uint32_t at
    if raft.is_hibernating or raft.is_set_aside:
        return 0
    if raft.transferee or raft.fetch.is_out or raft.quiet_ticks < election:
        return 1  # the window is released as entries are applied
    if raft.log.window_first <= raft.log.last_index:
        due = election
    # That somebody was not heard for so long is asked by others as well.
    due = _left(raft.heard_ticks, election, due)
    if raft.role != LEADER:
        return max(_left(raft.elapsed, raft.timeout, due), <uint32_t> 1) if raft.elapsed < raft.timeout else 1
    for at in range(raft.peer_count):
        if raft.peers[at].id != raft.id:
            due = _left(raft.now - raft.peers[at].heard_tick, election, due)
    due = _left(raft.heartbeat_elapsed, raft.settings.heartbeat_ticks, due)
    return due if raft.heartbeat_elapsed < raft.settings.heartbeat_ticks else 1
