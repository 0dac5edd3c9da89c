"""The thread with the sockets: one loop that waits, reads, lets the core work, and writes.

A turn: commands; links that were quiet, each with one read; the output of both; then the links that have more to do, one after the other,
each with a slice of work, as far as the turn's work goes; with what is left of that, their output; then clocks, ends and events. Each of
these has a budget (`_work.pxd`), and what is left goes on in the next turn: a request in between waits for one turn at most, whatever
others do. The loop never takes the GIL.

Size: what one turn does to the sockets, and the few calls that other threads make into it, are judged together or not at all.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from framework.dataplane.links._addresses cimport ADDRESS_BYTES, is_address_refused
from framework.dataplane.links._coding cimport coding_encode, coding_settle, coding_waits
from framework.dataplane._commands cimport SHELL_VERBS, command_chars, stages_add
from framework.dataplane._core cimport Core
from framework.dataplane.links._decoding cimport coded_go_on, coded_received, coded_rest, coded_window
from framework.dataplane.delivery._delivery cimport is_python_behind, link_doom, record_chars, record_new
from framework.dataplane.delivery._gates cimport gates_due_ns, gates_end
from framework.dataplane.delivery._quotas cimport quotas_due_ns
from framework.dataplane.links._links cimport (
    link_hung_up, link_of, link_open, link_received, link_row, link_waits, link_wake, link_window, links_bury,
)
from framework.dataplane.links._output cimport output_sent
from framework.dataplane.links._poller cimport (
    POLL_READ, POLL_WRITE, Poller, poller_close, poller_forget, poller_open, poller_wait, poller_watch,
)
from framework.dataplane.inner._inner_interest cimport inner_received
from framework.dataplane.ports._port cimport ports_end, ports_hear_interest
from framework.dataplane.protocol._server_info cimport link_info
from framework.dataplane._state cimport (
    DIRTY_GATHERED, DIRTY_LISTS, DIRTY_PROMPT,
    HEARS_PEER, INFOS_MAX, IS_USER, LISTENERS_MAX, READ_ERROR, RECORD_DETACHED, SERVER_SHUTDOWN, UNREGISTERED_READ_BYTES,
    WRITE_ERROR, Command, DirtyList, Link, LinkKindC, Record, Segment, Shell, State,
)
from framework.dataplane._slices cimport link_go_on
from framework.dataplane._work cimport (
    BYTES_A_WORK, SEND_WORK, WORK_A_QUIET_SLICE, WORK_A_SLICE, WORK_A_TURN, dirty_leave, is_any_dirty, ready_add, ready_leave, work_begin,
)

import os
import socket
import threading
from collections.abc import Mapping, Sequence

from framework.dataplane.coding import PlaneStage
from framework.dataplane.kinds import KIND_TRAITS, KindTraits
from framework.dataplane.limits import PlaneLimits
from framework.dataplane.link import LinkKind
from framework.dataplane.reserved import RESERVED_PREFIXES, ReservedPrefix


cdef extern from *:
    """
    #ifndef FRAMEWORK_SOCKETS_H
    #define FRAMEWORK_SOCKETS_H
    #include <arpa/inet.h>
    #include <errno.h>
    #include <fcntl.h>
    #if defined(__linux__)
    #include <malloc.h>
    #endif
    #include <netinet/in.h>
    #include <netinet/tcp.h>
    #include <stdint.h>
    #include <stdio.h>
    #include <string.h>
    #include <sys/socket.h>
    #include <sys/uio.h>
    #include <time.h>
    #include <unistd.h>
    #if defined(__APPLE__) || defined(__linux__)
    #include <sys/random.h>
    #endif
    #ifndef MSG_NOSIGNAL
    #define MSG_NOSIGNAL 0
    #endif

    static int64_t clock_ns(void) {
        struct timespec now; clock_gettime(CLOCK_MONOTONIC, &now);
        return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    }

    /* glibc keeps small freed pieces aside, and joins all of them at once when a large one comes or goes: 50 ms for those of a million
       subscriptions. Joined as they are freed, they cost nobody a stall.

       It gives freed memory back to the kernel beyond twice the largest block that it had from there by itself (`mallopt(3)`), and a page
       that comes anew costs more than to copy it. So there is one such block at once: blocks of half a megabyte, some at a time, stay. */
    static void memory_prepare(void) {
    #ifdef __GLIBC__
        void *volatile block;
        mallopt(M_MXFAST, 0);
        block = malloc(2 << 20);
        free(block);
    #endif
    }

    static void socket_no_delay(int fd) {
        int one = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    }

    static void socket_prepare(int fd) {
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
        socket_no_delay(fd);
    }

    /* Accept one connection; -1: none waits, -2: no descriptors left. */
    static int socket_accept(int listener) {
        for (;;) {
    #ifdef __linux__
            int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    #else
            int fd = accept(listener, NULL, NULL);
            if (fd >= 0) { fcntl(fd, F_SETFD, FD_CLOEXEC); fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); }
    #endif
            if (fd >= 0) { socket_no_delay(fd); return fd; }
            if (errno == EINTR || errno == ECONNABORTED) continue;
            return errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM ? -2 : -1;
        }
    }

    /* Write the peer's address without brackets, an IPv4 one in IPv6 clothes as IPv4, and its 16 bytes in IPv6; return its port. */
    static int socket_peer(int fd, char *host, int room, unsigned char *address) {
        struct sockaddr_storage peer; socklen_t length = sizeof peer;
        host[0] = 0;
        memset(address, 0, 16);
        if (getpeername(fd, (struct sockaddr *)&peer, &length) < 0) return 0;
        if (peer.ss_family == AF_INET) {
            struct sockaddr_in *v4 = (struct sockaddr_in *)&peer;
            inet_ntop(AF_INET, &v4->sin_addr, host, room);
            address[10] = address[11] = 0xff;
            memcpy(address + 12, &v4->sin_addr, 4);
            return ntohs(v4->sin_port);
        }
        if (peer.ss_family == AF_INET6) {
            struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&peer;
            if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) inet_ntop(AF_INET, v6->sin6_addr.s6_addr + 12, host, room);
            else inet_ntop(AF_INET6, &v6->sin6_addr, host, room);
            memcpy(address, v6->sin6_addr.s6_addr, 16);
            return ntohs(v6->sin6_port);
        }
        return 0;
    }

    static int socket_is_internet(int fd) {
        struct sockaddr_storage own; socklen_t length = sizeof own;
        return getsockname(fd, (struct sockaddr *)&own, &length) == 0 && own.ss_family != AF_UNIX;
    }

    /* Receive; -1: nothing waits, -2: failed, 0: the end. */
    static ssize_t socket_receive(int fd, char *into, size_t room) {
        for (;;) {
            ssize_t count = recv(fd, into, room, 0);
            if (count >= 0) return count;
            if (errno == EINTR) continue;
            return errno == EAGAIN || errno == EWOULDBLOCK ? -1 : -2;
        }
    }

    /* Send; -1: no room, -2: failed. */
    static ssize_t socket_send(int fd, struct iovec *parts, int count) {
        struct msghdr message; memset(&message, 0, sizeof message);
        message.msg_iov = parts; message.msg_iovlen = count;
        for (;;) {
            ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL);
            if (sent >= 0) return sent;
            if (errno == EINTR) continue;
            return errno == EAGAIN || errno == EWOULDBLOCK ? -1 : -2;
        }
    }
    #endif
    """
    struct iovec:
        void* iov_base
        size_t iov_len
    int64_t clock_ns() noexcept nogil
    void memory_prepare() noexcept nogil
    int getentropy(void* into, size_t count) noexcept nogil
    void socket_prepare(int fd) noexcept nogil
    int socket_accept(int listener) noexcept nogil
    int socket_peer(int fd, char* host, int room, unsigned char* address) noexcept nogil
    bint socket_is_internet(int fd) noexcept nogil
    ssize_t socket_receive(int fd, char* into, size_t room) noexcept nogil
    ssize_t socket_send(int fd, iovec* parts, int count) noexcept nogil

cdef extern from "unistd.h" nogil:
    int close(int fd)
    ssize_t read(int fd, void* into, size_t count)
    ssize_t write(int fd, const void* source, size_t count)

cdef enum:
    LISTEN = SHELL_VERBS
    UNLISTEN
    ADOPT
    ATTACH
    DETACH
    SET_TLS
    STOP
    TLS_FIRST = 2
    # Of TLS_MODES; 0 is plain.
    HOST_BYTES = 64
    ACCEPTED_FLAG = 1 << 16
    # Of ADOPT, above the port.
    PARTS_MAX = 64
    ACCEPTS_A_TURN = 64
    TAG_WAKE = 0xffffffff
    TAG_LISTENERS = 0xffffff00
    # Slots of links stay far below.
    READ_WHOLE = 262144
    READ_SHARED = 32768
    # Small frames, while other links are active too: what others wait for is one such read.
    LARGE_FRAME = 4096
    ACTIVE_NS = 2000000
    LISTENER_REST_NS = 100000000
    IDLE_WAIT_MS = 1000
    TICK_WAIT_MS = 200
    PAUSE_WAIT_MS = 1
    MS_NS = 1000000


cdef struct Listener:
    int fd
    int kind
    int number
    int tls
    int64_t rests_until_ns


cdef struct Loop:
    Poller poller
    State* state
    Listener listeners[LISTENERS_MAX]
    int wake_fd
    bint stopping
    bint keeps_sockets
    # Of clients, when the plane ends.
    int* kept
    uint32_t kept_count
    uint64_t last_active
    # The link that was read last, and when another one was.
    int64_t shared_ns
    int64_t write_work
    # Of writing what links with much to do have caused, before they go on.


# ---- watching ----------------------------------------------------------------------------------------------------------


cdef void _watch(Loop* loop, Link* link) noexcept nogil:
    """Let the poller know what the link waits for now; nothing: it forgets the link, or a hang-up would wake the loop for ever."""
    cdef int wanted = 0
    if link.fd < 0:
        return
    if not link.parked and not link.paused and not link.held and not link.doomed:
        wanted |= POLL_READ
    if link.pending:
        wanted |= POLL_WRITE
    if wanted == link.polled:
        return
    if wanted:
        poller_watch(&loop.poller, link.fd, <uint32_t> link.id, link.polled if link.polled else -1, wanted)
    else:
        poller_forget(&loop.poller, link.fd)
    link.polled = wanted


cdef void _watch_reading(void* self, Link* link) noexcept nogil:
    """The core parked, paused or resumed a link. Most are resumed before they say more, so `_handle` looks away only then."""
    if not link.parked and not link.paused and not link.held and not link.polled & POLL_READ:
        _watch(<Loop*> self, link)


cdef bint _random(void* self, char* into, size_t count) noexcept nogil:
    return getentropy(into, count) == 0


# ---- writing -----------------------------------------------------------------------------------------------------------


cdef bint _send(Loop* loop, Link* link) noexcept nogil:
    """Write what waits, until there is no more or the socket is full; of a coded link, one stream. False: the socket failed."""
    cdef iovec parts[PARTS_MAX]
    cdef Segment* segment
    cdef int count
    cdef size_t total, ready
    cdef ssize_t sent
    cdef bint encoded = False
    while link.pending:
        ready = link.pending
        if link.coding != NULL:
            if link.coding.coded == 0:
                if encoded:
                    # It took it all. Others have their turn before it gets more.
                    return True
                if not coding_encode(loop.state, link):
                    return False
                encoded = True
            ready = link.coding.coded
        segment = link.output_head
        count = 0
        total = 0
        while total < ready and count < PARTS_MAX:
            parts[count].iov_base = segment.chars
            parts[count].iov_len = segment.length
            total += segment.length
            count += 1
            segment = segment.next
        sent = socket_send(link.fd, parts, count)
        if sent == -2:
            return False
        if sent > 0:
            output_sent(loop.state, link, sent)
        if sent < <ssize_t> total:
            if link.coding != NULL:
                coding_settle(loop.state, link)
            return True
    return True


cdef void _send_last(Loop* loop, Link* link) noexcept nogil:
    """Write all that waits, as far as the socket takes it at once."""
    while _send(loop, link) and link.coding != NULL and link.coding.coded == 0 and link.pending:
        pass


cdef void _flush_link(Loop* loop, Link* link) noexcept nogil:
    """Write the output of a link, unless it waits for room already: then it goes on when the poller says so."""
    dirty_leave(loop.state, link)
    if link.doomed or link.fd < 0 or link.polled & POLL_WRITE:
        return
    if not _send(loop, link):
        _fail(loop, link)
    elif link.pending:
        _watch(loop, link)


cdef int64_t _flush(Loop* loop, int dirties, int64_t budget) noexcept nogil:
    """Write the output of the links in one list, return the work that it was; what is too much for the budget waits there."""
    cdef DirtyList* links = &loop.state.dirty[dirties]
    cdef int64_t work = 0
    while links.first != NULL and work < budget:
        work += SEND_WORK + links.first.pending // <size_t> BYTES_A_WORK
        _flush_link(loop, links.first)
    return work


cdef void _fail(Loop* loop, Link* link) noexcept nogil:
    """End a link whose socket takes no more; of a route, hear first what the peer has said: it may be why it closed."""
    if link.traits & HEARS_PEER and not link.detached:
        if link.parked and link.coding == NULL:
            # Nobody hears what waits, and what was said is read when it goes on.
            output_sent(loop.state, link, link.pending)
            return
        if not link.ready:
            work_begin(loop.state, WORK_A_QUIET_SLICE)
            _read(loop, link)
    if not link.doomed:
        link_doom(loop.state, link, WRITE_ERROR, False, NULL)


cdef void _flush_all(Loop* loop) noexcept nogil:
    cdef int dirties
    for dirties in range(DIRTY_LISTS):
        while loop.state.dirty[dirties].first != NULL:
            _flush_link(loop, loop.state.dirty[dirties].first)


cdef void _bury(void* self, Link* link) noexcept nogil:
    """The core ends a link: say the last words, close the socket."""
    cdef Loop* loop = <Loop*> self
    if link.fd < 0:
        return
    if link.last_words and link.pending:
        _send_last(loop, link)
    poller_forget(&loop.poller, link.fd)
    if loop.kept != NULL and link.traits & IS_USER and socket_is_internet(link.fd):
        loop.kept[loop.kept_count] = link.fd
        loop.kept_count += 1
    else:
        close(link.fd)
    link.fd = -1


# ---- handing sockets over ----------------------------------------------------------------------------------------------


cdef void _detach(Loop* loop, Link* link) noexcept nogil:
    """Give a link's socket to Python, with what was said written to it; the link is not read until it has one again.

    What it had sent behind its greeting goes with the socket: whoever takes that decides what these bytes mean.
    """
    cdef Record* record
    if link.doomed:
        return
    link.parked = 1
    link.detached = 1
    if not _send(loop, link):
        link_doom(loop.state, link, WRITE_ERROR, False, NULL)
        return
    if link.pending:
        # Goes on when the socket has taken it.
        _watch(loop, link)
        return
    record = record_new(loop.state, RECORD_DETACHED, link, link.left_length)
    if record == NULL:
        link_doom(loop.state, link, WRITE_ERROR, False, NULL)
        return
    memcpy(record_chars(record), link.left, link.left_length)
    free(link.left)
    link.left = NULL
    link.left_length = 0
    record.number = link.fd
    record.other = link.listener
    record.flag = link.info_version != 0
    link_row(link, &record.row)
    if link.polled:
        poller_forget(&loop.poller, link.fd)
    link.polled = 0
    link.fd = -1


cdef void _detach_parked(Loop* loop, uint64_t id) noexcept nogil:
    cdef Link* link = link_of(loop.state, id)
    if link != NULL and link.parked and not link.detached:
        _detach(loop, link)


cdef void _attach(Loop* loop, Command* command) noexcept nogil:
    """Let a link that was detached go on with a socket, after INFO if it has not had it."""
    cdef Link* link = link_of(loop.state, command.link)
    cdef int fd = <int> command.number
    if link == NULL or not link.detached:
        close(fd)
        return
    socket_prepare(fd)
    link.fd = fd
    link.detached = 0
    link.parked = command.flags != 0
    link.login_from_ns = loop.state.now_ns
    if not stages_add(loop.state, link, command):
        link_doom(loop.state, link, READ_ERROR, False, "no memory")
        return
    if link.accepted and not link.info_version:
        link_info(loop.state, link)
    if command.other:
        _detach(loop, link)
        return
    if command.length:
        link_wake(loop.state, link)
    _watch(loop, link)


# ---- reading -----------------------------------------------------------------------------------------------------------


cdef size_t _budget(Loop* loop, Link* link) noexcept nogil:
    """Return how many bytes to read from a link in one turn: fewer where others wait, and where each makes much work."""
    cdef size_t budget = READ_WHOLE
    if not link.registered:
        return UNREGISTERED_READ_BYTES
    if loop.state.now_ns - loop.shared_ns < ACTIVE_NS and (link.in_msgs == 0 or link.in_bytes // link.in_msgs < LARGE_FRAME):
        budget = READ_SHARED
    return min(budget, <size_t> link.read_bytes) if link.read_bytes else budget


cdef inline void _hear_interest(State* state) noexcept nogil:
    """Take interest that what was just read may have been sent after: of ports, and of other cores."""
    if state.ports != NULL:
        ports_hear_interest(state)
    if state.inner != NULL:
        inner_received(state)


cdef void _read_coded(Loop* loop, Link* link) noexcept nogil:
    """Let the core go on with what a coded link has sent; only when it has nothing there, read once before."""
    cdef size_t room
    cdef ssize_t count
    cdef char* window
    if not coding_waits(link):
        window = coded_window(loop.state, link, &room)
        if window == NULL:
            link_hung_up(loop.state, link, 1)
            return
        count = socket_receive(link.fd, window, min(room, _budget(loop, link)))
        if count <= 0:
            coded_rest(loop.state, link)
            if count != -1:
                link_hung_up(loop.state, link, count == -2)
            return
        link.hot = <size_t> count >= READ_SHARED
        _hear_interest(loop.state)
        coded_received(loop.state, link, count)
    coded_go_on(loop.state, link, _budget(loop, link))


cdef void _read(Loop* loop, Link* link) noexcept nogil:
    """Read once and let the core work on it."""
    cdef size_t room
    cdef size_t budget
    cdef ssize_t count
    cdef char* window
    if link.doomed or link.parked or link.paused or link.held:
        return
    if loop.last_active != link.id:
        loop.last_active = link.id
        loop.shared_ns = loop.state.now_ns
    if link.coding != NULL:
        _read_coded(loop, link)
        return
    window = link_window(loop.state, link, &room)
    if window == NULL:
        link_hung_up(loop.state, link, 1)
        return
    budget = _budget(loop, link)
    count = socket_receive(link.fd, window, min(room, budget))
    if count > 0:
        link.hot = <size_t> count >= READ_SHARED
        _hear_interest(loop.state)
        link_received(loop.state, link, count)
    elif count == 0 or count == -2:
        link_hung_up(loop.state, link, count == -2)


cdef void _accept(Loop* loop, Listener* listener) noexcept nogil:
    cdef int fd, accepted = 0
    cdef int port
    cdef char host[HOST_BYTES]
    cdef unsigned char address[ADDRESS_BYTES]
    cdef Link* link
    while accepted < ACCEPTS_A_TURN:
        fd = -2 if is_python_behind(loop.state) else socket_accept(listener.fd)
        if fd == -2:
            # No descriptors, or nobody to tell: look again in a while, rather than at once for ever.
            listener.rests_until_ns = loop.state.now_ns + LISTENER_REST_NS
            poller_forget(&loop.poller, listener.fd)
        if fd < 0:
            return
        accepted += 1
        port = socket_peer(fd, host, sizeof(host), address)
        if is_address_refused(loop.state, listener.kind, <const char*> address, host, port):
            close(fd)
            continue
        link = link_open(loop.state, <LinkKindC> listener.kind, listener.number, True, listener.tls != TLS_FIRST, host, port, 0)
        if link == NULL:
            close(fd)
            return
        link.fd = fd
        if listener.tls:
            _detach(loop, link)
        else:
            link.polled = POLL_READ
            poller_watch(&loop.poller, fd, <uint32_t> link.id, -1, POLL_READ)


cdef void _rested(Loop* loop) noexcept nogil:
    cdef int at
    cdef Listener* listener
    for at in range(LISTENERS_MAX):
        listener = &loop.listeners[at]
        if listener.fd >= 0 and listener.rests_until_ns and loop.state.now_ns >= listener.rests_until_ns:
            listener.rests_until_ns = 0
            poller_watch(&loop.poller, listener.fd, TAG_LISTENERS + at, -1, POLL_READ)


# ---- turning -----------------------------------------------------------------------------------------------------------


cdef void _work_on(Loop* loop) noexcept nogil:
    """Give the links with much to do their share of the turn: first to go on, then as much again to write what came of it.

    Where both is much, turns do one or the other: half as long, while as much is gathered for each write.
    """
    cdef int64_t work = 0
    if loop.write_work <= 0:
        work = _go_on(loop)
        loop.write_work = WORK_A_TURN
    loop.write_work -= _flush(loop, DIRTY_GATHERED, min(loop.write_work, WORK_A_TURN - work))
    if loop.state.dirty[DIRTY_GATHERED].first == NULL:
        loop.write_work = 0


cdef int64_t _go_on(Loop* loop) noexcept nogil:
    """Give the links that have more to do a slice each, as far as the turn's work goes; the others are first in the next turn.

    Returns the work that was done.
    """
    cdef State* state = loop.state
    cdef Link* last = state.last_ready
    cdef Link* link = NULL
    cdef int64_t begin = state.work
    cdef int64_t until = begin + WORK_A_TURN
    while link != last and state.work < until:
        link = state.first_ready
        ready_leave(state, link)
        # These may answer already what was sent in this turn.
        state.now_ns = clock_ns()
        work_begin(state, WORK_A_SLICE)
        if link_waits(link):
            link_go_on(state, link)
        else:
            _read(loop, link)
    return state.work - begin


cdef void _drain_wakes(Loop* loop, int count) noexcept nogil:
    """Take the bytes of who woke the loop; before the commands are taken, or a byte could stand for one that nobody looks at."""
    cdef char drained[64]
    cdef int at
    for at in range(count):
        if loop.poller.events[at].tag == TAG_WAKE:
            while read(loop.wake_fd, drained, sizeof(drained)) == sizeof(drained):
                pass


cdef void _handle(Loop* loop, uint64_t tag, int ready) noexcept nogil:
    cdef Link* link
    if tag == TAG_WAKE:
        return
    if tag >= TAG_LISTENERS:
        _accept(loop, &loop.listeners[tag - TAG_LISTENERS])
        return
    link = loop.state.slots[tag]
    if link == NULL or link.doomed:
        return
    if ready & POLL_WRITE and link.polled & POLL_WRITE:
        if not _send(loop, link):
            _fail(loop, link)
            return
        if link.detached and not link.pending:
            _detach(loop, link)
            return
        _watch(loop, link)
    if ready & POLL_READ:
        if link.parked or link.paused or link.held:
            _watch(loop, link)
        elif link.ready:
            # Its turn comes without it being read.
            pass
        elif link.hot or link.read_bytes:
            ready_add(loop.state, link)
        else:
            work_begin(loop.state, WORK_A_QUIET_SLICE)
            _read(loop, link)


cdef int _wait_ms(Loop* loop) noexcept nogil:
    cdef int at
    cdef int longest = TICK_WAIT_MS if loop.state.link_count else IDLE_WAIT_MS
    cdef int64_t due
    if loop.state.first_ready != NULL or is_any_dirty(loop.state) or loop.state.doomed_count or loop.state.graves != NULL:
        return 0
    if loop.state.first_paused != NULL or loop.state.late_at:
        return PAUSE_WAIT_MS
    for at in range(LISTENERS_MAX):
        if loop.listeners[at].rests_until_ns:
            longest = TICK_WAIT_MS // 2
    due = min(gates_due_ns(loop.state), quotas_due_ns(loop.state)) - loop.state.now_ns
    # A millisecond is waited too long rather than none at all, many times.
    return longest if due > longest * <int64_t> MS_NS else <int> (max(due, 0) // MS_NS) + 1


cdef void _listen(Loop* loop, Command* command) noexcept nogil:
    cdef int fd = <int> command.number
    cdef int at
    for at in range(LISTENERS_MAX):
        if loop.listeners[at].fd < 0:
            loop.listeners[at].fd = fd
            loop.listeners[at].number = <int> command.other
            loop.listeners[at].kind = <int> command.split
            loop.listeners[at].tls = command.flags
            loop.listeners[at].rests_until_ns = 0
            poller_watch(&loop.poller, fd, TAG_LISTENERS + at, -1, POLL_READ)
            return
    close(fd)


cdef void _unlisten(Loop* loop, int number) noexcept nogil:
    """Close the listener with a number; negative: all."""
    cdef int at
    for at in range(LISTENERS_MAX):
        if loop.listeners[at].fd >= 0 and (number < 0 or loop.listeners[at].number == number):
            poller_forget(&loop.poller, loop.listeners[at].fd)
            close(loop.listeners[at].fd)
            loop.listeners[at].fd = -1
            loop.listeners[at].rests_until_ns = 0


cdef void _adopt(Loop* loop, Command* command) noexcept nogil:
    cdef int fd = <int> command.number
    cdef char host[HOST_BYTES]
    cdef unsigned char address[ADDRESS_BYTES]
    cdef int port
    cdef bint accepted = command.flags & ACCEPTED_FLAG != 0
    cdef Link* link
    socket_prepare(fd)
    port = socket_peer(fd, host, sizeof(host), address)
    command.length -= HOST_BYTES
    if command_chars(command)[command.length]:
        port = command.flags & ~ACCEPTED_FLAG
        memcpy(host, command_chars(command) + command.length, HOST_BYTES)
        host[HOST_BYTES - 1] = 0
    link = link_open(
        loop.state, <LinkKindC> command.other, <int> command.other, accepted, accepted and command.split == 0, host, port,
        <int64_t> command.link,
    )
    if link == NULL:
        close(fd)
        return
    link.fd = fd
    link.polled = POLL_READ
    poller_watch(&loop.poller, fd, <uint32_t> link.id, -1, POLL_READ)
    if not stages_add(loop.state, link, command):
        link_doom(loop.state, link, READ_ERROR, False, "no memory")
        return
    if command.length:
        link_wake(loop.state, link)


cdef void _close_all(Loop* loop) noexcept nogil:
    """Close listeners, then links to other servers, then clients: whose last bytes are all that came from the others."""
    _unlisten(loop, -1)
    gates_end(loop.state)
    _close_links(loop, False)
    _flush_all(loop)
    if loop.keeps_sockets and loop.kept == NULL:
        # Without memory for it they are closed now.
        loop.kept = <int*> malloc((<size_t> loop.state.link_count + 1) * sizeof(int))
    _close_links(loop, True)


cdef void _close_links(Loop* loop, bint are_users) noexcept nogil:
    cdef uint32_t at
    for at in range(loop.state.link_count):
        if (loop.state.links[at].traits & IS_USER != 0) == are_users:
            link_doom(loop.state, loop.state.links[at], SERVER_SHUTDOWN, True, NULL)
    links_bury(loop.state)


cdef tuple TLS_MODES = ("", "after_info", "first")


cdef void _set_tls(Loop* loop, int number, int tls) noexcept nogil:
    cdef int at
    for at in range(LISTENERS_MAX):
        if loop.listeners[at].fd >= 0 and loop.listeners[at].number == number:
            loop.listeners[at].tls = tls


cdef class Plane(Core):
    """The core with sockets and a thread of its own.

    Args:
        limits: What peers may do.
        poller: `epoll`, or `poll` where there is none.
        seed: Fixes hashing and the choice of queue members; None: random.
        kinds: What links of each kind are.
        reserved: Prefixes of subjects that are treated apart.
    """

    cdef Loop loop
    cdef object thread
    cdef list listening
    # Numbers.
    cdef bint started

    def __cinit__(
        self, limits: PlaneLimits, *, poller: str = "epoll", seed: int | None = None, kinds: Mapping[LinkKind, KindTraits] = KIND_TRAITS,
        reserved: Sequence[ReservedPrefix] = RESERVED_PREFIXES,
    ) -> None:
        cdef int at
        if poller not in ("epoll", "poll"):
            raise ValueError(f"the poller is epoll or poll, not {poller!r}")
        if poller_open(&self.loop.poller, poller == "epoll") < 0:
            raise OSError("no poller: too many open files?")
        self.loop.state = self.state
        for at in range(LISTENERS_MAX):
            self.loop.listeners[at].fd = -1
        self.loop.shared_ns = -ACTIVE_NS
        wake_read, wake_write = os.pipe()
        event_read, event_write = os.pipe()
        for fd in (wake_read, wake_write, event_read, event_write):
            os.set_blocking(fd, False)
        self.loop.wake_fd = wake_read
        self.wake_fd = wake_write
        self.event_fd = event_read
        self.event_write_fd = event_write
        poller_watch(&self.loop.poller, wake_read, TAG_WAKE, -1, POLL_READ)
        self.state.shell.self = &self.loop
        self.state.shell.bury = _bury
        self.state.shell.watch = _watch_reading
        self.state.shell.random = _random
        self.state.now_ns = clock_ns()
        self.thread = None
        self.listening = []

    def __dealloc__(self) -> None:
        cdef Command* command
        cdef Record* record = self.first_shared
        if self.loop.state == NULL:
            # It never came to be.
            return
        self._give_back()
        command = self.first_command
        while command != NULL:
            if command.verb == LISTEN or command.verb == ADOPT or command.verb == ATTACH:
                close(<int> command.number)
            command = command.next
        while record != NULL:
            if record.type == RECORD_DETACHED:
                close(<int> record.number)
            record = record.next
        _close_all(&self.loop)
        memset(&self.state.shell, 0, sizeof(Shell))
        poller_close(&self.loop.poller)
        free(self.loop.kept)
        if self.wake_fd >= 0:
            # By their numbers: Python's objects are gone already where a cycle was collected.
            close(self.loop.wake_fd)
            close(self.wake_fd)
            close(self.event_fd)
            close(self.event_write_fd)

    def start(self) -> None:
        """Start the loop thread; a plane is started once."""
        if self.started:
            raise RuntimeError("the data plane was started before")
        self.started = True
        memory_prepare()
        self.thread = threading.Thread(target=self._run, name="dataplane", daemon=True)
        self.thread.start()

    def stop(self, deadline_s: float, *, keep_sockets: bool = False) -> list[int]:
        """Close listeners and links, end the thread; their events can still be taken.

        Args:
            deadline_s: For the loop to end.
            keep_sockets: Leave those of clients open: who hears that its connection has ended, finds the process gone.

        Returns:
            File descriptors of the sockets that were left open; they are the caller's.

        Raises:
            TimeoutError: The loop has not ended within `deadline_s` seconds.
        """
        if self.thread is None:
            return []
        self._post(self._order(STOP, 0, bool(keep_sockets), 0, b""))
        self.thread.join(deadline_s)
        if self.thread.is_alive():
            raise TimeoutError(f"the data plane has not ended within {deadline_s} s")
        self.thread = None
        kept = [self.loop.kept[at] for at in range(self.loop.kept_count)]
        self.loop.kept_count = 0
        return kept

    def listen(self, sock: socket.socket, kind: LinkKind, *, listener: int | None = None, tls: str = "") -> None:
        """Accept connections of a kind on a bound socket; the plane takes a copy of it.

        Args:
            sock: Bound.
            kind: What its links are.
            listener: Its number, which its links have, from 16 on; None: it is the kind's own, and has the number of that.
            tls: `after_info` or `first`: each link is detached at once, after it was sent INFO or before. Empty: none is.

        Raises:
            ValueError: It listens on 64 sockets already.
        """
        cdef int mode = TLS_MODES.index(tls)
        if len(self.listening) == LISTENERS_MAX:
            raise ValueError(f"a data plane has at most {LISTENERS_MAX} listeners")
        cdef int number = kind if listener is None else listener
        if not 0 <= number < INFOS_MAX:
            raise ValueError(f"listeners have numbers below {INFOS_MAX}, not {listener}")
        self.listening.append(number)
        sock.listen(socket.SOMAXCONN)
        sock.setblocking(False)
        cdef Command* command = self._order(LISTEN, 0, os.dup(sock.fileno()), number, b"")
        command.flags = mode
        command.split = kind
        self._post(command)

    def set_tls(self, listener: int, tls: str) -> None:
        """Change what `listen` was told of TLS, for links that are accepted from now on."""
        self._post(self._order(SET_TLS, 0, TLS_MODES.index(tls), listener, b""))

    def unlisten(self, listener: int) -> None:
        """Accept no more connections by a listener; those there are stay."""
        self.listening = [other for other in self.listening if other != listener]
        self._post(self._order(UNLISTEN, 0, 0, listener, b""))

    def adopt(
        self, sock: socket.socket, kind: LinkKind, token: int, *, peer: tuple[str, int] | None = None, accepted: bool = False,
        stages: Sequence[PlaneStage] = (), left: bytes = b"",
    ) -> None:
        """Take over a connected socket; its `Opened` event has the token. A plane that has ended closes it.

        Args:
            sock: Connected.
            kind: What its link is.
            token: Whatever the caller knows it by.
            peer: Who is at the other end, where the socket does not know; None: it does.
            accepted: It is sent INFO, as if it had come to the listener of its kind; where there are stages, its owner says it.
            stages: What its bytes pass, the one next to the socket first.
            left: What was read from the socket already, for these.

        Raises:
            ValueError: Stages in this order can't be.
        """
        cdef Command* command
        if self.loop.stopping:
            sock.close()
            return
        host, port = peer or ("", 0)
        command = self._stages(ADOPT, token, stages, left + host.encode()[: HOST_BYTES - 1].ljust(HOST_BYTES, b"\0"))
        command.number = sock.detach()
        command.other = kind
        command.flags = port + ACCEPTED_FLAG * bool(accepted)
        self._post(command)

    def attach(
        self, link: int, sock: socket.socket, *, detach: bool = False, parked: bool = False, stages: Sequence[PlaneStage] = (),
        left: bytes = b"",
    ) -> None:
        """Let a detached link go on with a socket, after INFO if it has not had it. The socket of one that is gone is closed.

        Args:
            link: Of a `Detached` event.
            sock: Its own, or one whose other end somebody serves.
            detach: Only say INFO, and detach it again.
            parked: It is read when it is resumed.
            stages: What its bytes pass from now on, the one next to the socket first.
            left: What was read from the socket already, for these.

        Raises:
            ValueError: Stages in this order can't be.
        """
        cdef Command* command
        if self.loop.stopping:
            sock.close()
            return
        command = self._stages(ATTACH, link, stages, left)
        command.number = sock.detach()
        command.other = bool(detach)
        command.flags = bool(parked)
        self._post(command)

    def detach(self, link: int) -> None:
        """Hand over the socket of a link that is parked, by `Detached`, when what was said to it is written; `attach` follows.

        Args:
            link: One that waits for an answer to its greeting; nothing happens to others.
        """
        self._post(self._order(DETACH, link, 0, 0, b""))

    cdef void apply_shell(self, Command* command) noexcept nogil:
        if command.verb == LISTEN:
            _listen(&self.loop, command)
        elif command.verb == UNLISTEN:
            _unlisten(&self.loop, <int> command.other)
        elif command.verb == ADOPT:
            _adopt(&self.loop, command)
        elif command.verb == DETACH:
            _detach_parked(&self.loop, command.link)
        elif command.verb == SET_TLS:
            _set_tls(&self.loop, <int> command.other, <int> command.number)
        elif command.verb == ATTACH:
            _attach(&self.loop, command)
        else:
            self.loop.keeps_sockets = command.number != 0
            self.loop.stopping = True

    def turn(self, now_ns: int) -> None:
        """Turn once with what the sockets have now, for who has not started the thread."""
        if self.started:
            raise RuntimeError("the data plane has a thread that turns")
        self._turn(now_ns, poller_wait(&self.loop.poller, 0))

    cdef bint _turn(self, int64_t now_ns, int count) noexcept nogil:
        """Do one turn with as many events of the poller; False: the plane is to stop."""
        cdef Loop* loop = &self.loop
        cdef int at
        _drain_wakes(loop, count)
        self.begin_turn(now_ns)
        if loop.stopping:
            return False
        _rested(loop)
        loop.state.dirties = DIRTY_PROMPT
        for at in range(count):
            _handle(loop, loop.poller.events[at].tag, loop.poller.events[at].ready)
        # Who has little to say does not wait behind who has much, neither here nor in Python.
        _flush(loop, DIRTY_PROMPT, WORK_A_TURN)
        loop.state.dirties = DIRTY_GATHERED
        if loop.state.first_ready != NULL:
            self.hand_over()
        _work_on(loop)
        self.end_turn()
        return True

    def _run(self) -> None:
        with nogil:
            self._loop_forever()

    cdef void _loop_forever(self) noexcept nogil:
        cdef Loop* loop = &self.loop
        cdef int count = 0
        while self._turn(clock_ns(), count):
            count = poller_wait(&loop.poller, 0 if self.first_taken != NULL or loop.state.filled != NULL else _wait_ms(loop))
            loop.state.gathers = count > 0 or loop.state.first_ready != NULL
        loop.state.gathers = 0
        _flush_all(loop)
        _close_all(loop)
        ports_end(loop.state)
        self.end_turn()
