"""Timers of links: authentication timeout, pings, stale connections, write deadlines.

A link to which nothing could be sent for as long as the write deadline ends. One that is not to be slow ends as well when it takes longer
than that for what waited when the time began; one that may be slow is counted, and goes on. Source: nats-server `client.go`,
`handleWriteTimeout`, `processPingTimer`.
"""

from libc.stdint cimport int64_t, uint32_t

from framework.dataplane.links._decoding cimport coded_idle
from framework.dataplane.delivery._delivery cimport link_count_slow, link_doom, link_say
from framework.dataplane.accounts._response_mappings cimport response_mappings_tick
from framework.dataplane.ports._sinkbatch cimport atomic_get
from framework.dataplane._state cimport (
    AUTHENTICATION_TIMEOUT, MAY_BE_ANONYMOUS, PINGS_WHEN_QUIET, REFUSALS_A_TICK, SLOW_CONSUMER_WRITE_DEADLINE, STALE_CONNECTION,
    VIOLATIONS_A_TICK, Link, LoginTerms, State, Times,
)
from framework.dataplane.accounts._telling cimport interest_send, telling_end

cdef enum:
    SECOND_NS = 1000000000
    TICK_NS = 200000000
    LATE_LOOKS = 4096
    # Links that a turn looks at.
    LATE_AT_ONCE = 64
    LATE_RECORDS_BYTES = 16384
    # Of what Python has not taken yet.


cdef int64_t ping_interval_ns(State* state, const Link* link) noexcept nogil:
    """Return the time between two PINGs to a link."""
    cdef int64_t own = state.times[link.listener].ping_interval_ns or state.times[link.kind].ping_interval_ns
    cdef int64_t interval = own or state.limits.ping_interval_ns
    cdef int64_t most = state.kinds[link.kind].ping_interval_max_ns
    return min(interval, most) if most else interval


cdef void times_set(State* state, int listener, const Times* times) noexcept nogil:
    """Change the times of links of a listener, or of a kind; of those as well that are there."""
    cdef uint32_t at
    cdef Link* link
    state.times[listener] = times[0]
    for at in range(state.link_count):
        link = state.links[at]
        if listener == link.listener or listener == link.kind:
            link.ping_due_ns = min(link.ping_due_ns, state.now_ns + ping_interval_ns(state, link))


cdef LoginTerms* login_terms(State* state, const Link* link) noexcept nogil:
    """Return what a link must do before anything else, if its kind leaves that open."""
    cdef LoginTerms* own = &state.logins[link.listener]
    return own if own.is_own else &state.limits.login


cdef void link_ping(State* state, Link* link, int64_t next_ns) noexcept nogil:
    """Say PING, and say it again in `next_ns`, or when it is due anyway."""
    link.pings_out += 1
    link.pings_sent += 1
    if link.timed_ping == 0:
        link.timed_ping = link.pings_sent
        link.ping_sent_ns = state.now_ns
    link.ping_due_ns = state.now_ns + min(next_ns, ping_interval_ns(state, link))
    link_say(state, link, b"PING\r\n")


cdef void link_answered(State* state, Link* link) noexcept nogil:
    """Take a PONG for the oldest PING without one; the round trip is known when that PING was timed."""
    link.pings_out = 0
    if link.pongs != link.timed_ping:
        return
    link.timed_ping = 0
    link.rtt_ns = max(1, state.now_ns - link.ping_sent_ns)


cdef void _tick_ping(State* state, Link* link) noexcept nogil:
    cdef int64_t interval = ping_interval_ns(state, link)
    cdef int64_t own = state.times[link.listener].ping_max or state.times[link.kind].ping_max
    cdef int64_t most = own or state.limits.ping_max
    if link.paused or link.held:
        # Its PONG could not be read.
        link.ping_due_ns = state.now_ns + interval
        return
    if link.traits & PINGS_WHEN_QUIET and link.rtt_ns and state.now_ns - link.received_ns < interval:
        # It is alive, and its round trip is known.
        link.pings_out = 0
        link.ping_due_ns = link.received_ns + interval
        return
    if link.pings_out >= most:
        state.totals.kinds[link.kind].stale += 1
        link_say(state, link, b"-ERR 'Stale Connection'\r\n")
        link_doom(state, link, STALE_CONNECTION, True, NULL)
        return
    link_ping(state, link, interval)


cdef bint _is_too_slow(State* state, Link* link) noexcept nogil:
    """Whether a link must end since what waits for it goes too slowly. One that recovers is counted again when it is slow again."""
    cdef Times* times = &state.times[link.kind]
    cdef Times* own = &state.times[link.listener]
    cdef int64_t deadline = own.write_deadline_ns or times.write_deadline_ns or state.limits.write_deadline_ns
    if link.pending == 0:
        link.slow = 0
        link.goal_bytes = link.sent_bytes
        return False
    if link.sent_bytes >= link.goal_bytes:
        if state.now_ns - link.goal_ns <= deadline:
            link.slow = 0
        link.goal_bytes = link.sent_bytes + <int64_t> link.pending
        link.goal_ns = state.now_ns
    if state.now_ns - link.written_ns > deadline:
        if not link.slow:
            link_count_slow(state, link)
        return True
    if state.now_ns - link.goal_ns <= deadline or link.slow:
        return False
    link_count_slow(state, link)
    link.slow = 1
    return times.closes_slow or own.closes_slow


cdef void _tick_repeat(State* state, Link* route) noexcept nogil:
    """Tell a route all interest here, if that is due, and if what it was told at one go before is sent."""
    cdef uint32_t at, which
    if not route.repeats or state.now_ns < route.repeat_due_ns or route.sent_bytes < route.bulk_until:
        return
    route.repeats = 0
    telling_end(route, NULL)
    route.repeat_due_ns = state.now_ns + SECOND_NS
    for at in range(state.account_count):
        for which in range(state.accounts[at].route_count):
            if state.accounts[at].routes[which] == route:
                interest_send(state, state.accounts[at], route)


cdef void route_repeat(State* state, Link* route) noexcept nogil:
    """Tell a route all interest here once more: its server lets in now what it did not before.

    Once a second at most, since a line of its server is enough to ask for it.
    """
    route.repeats = 1
    _tick_repeat(state, route)


cdef inline bint _must_log_in(State* state, Link* link) noexcept nogil:
    return not link.registered and (not link.traits & MAY_BE_ANONYMOUS or login_terms(state, link).required)


cdef inline bint _is_late(State* state, Link* link) noexcept nogil:
    """Whether the time for a link's login is over."""
    return state.now_ns - link.login_from_ns >= login_terms(state, link).timeout_ns


cdef void logins_time_out(State* state) noexcept nogil:
    """End some of the links that have not logged in in time, since a tick found one.

    Thousands may be late at the same moment. They end as fast as Python hears of them, which lets the others in meanwhile.
    From the last link on: one that moves to the place of a link that is gone was looked at before.
    """
    cdef uint32_t looks = LATE_LOOKS
    cdef Link* link
    state.late_at = min(state.late_at, state.link_count)
    while state.late_at and looks:
        if state.doomed_count - state.doomed_at >= LATE_AT_ONCE or atomic_get(&state.records_waiting) >= LATE_RECORDS_BYTES:
            return
        looks -= 1
        state.late_at -= 1
        link = state.links[state.late_at]
        if not link.doomed and not link.detached and _must_log_in(state, link) and _is_late(state, link):
            link_say(state, link, b"-ERR 'Authentication Timeout'\r\n")
            link_doom(state, link, AUTHENTICATION_TIMEOUT, True, NULL)


cdef void links_tick(State* state) noexcept nogil:
    """Look at the clocks of all links, five times a second. Cost: O(links), some nanoseconds each."""
    cdef uint32_t at
    cdef Link* link
    if state.now_ns < state.tick_due_ns:
        return
    state.tick_due_ns = state.now_ns + TICK_NS
    state.violations_left = VIOLATIONS_A_TICK
    state.refusals_left = REFUSALS_A_TICK
    response_mappings_tick(state)
    for at in range(state.link_count):
        link = state.links[at]
        if link.doomed or link.detached:
            continue
        if link.coding != NULL and state.now_ns - link.received_ns >= SECOND_NS:
            coded_idle(state, link)
        if _must_log_in(state, link):
            if state.late_at == 0 and _is_late(state, link):
                state.late_at = state.link_count
            continue
        _tick_repeat(state, link)
        if _is_too_slow(state, link):
            link_doom(state, link, SLOW_CONSUMER_WRITE_DEADLINE, False, NULL)
        elif state.now_ns >= link.ping_due_ns:
            _tick_ping(state, link)
