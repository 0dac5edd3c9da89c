"""Waiting for sockets: epoll where there is one, else poll(2). The only place that knows either."""

from libc.stdint cimport int32_t, uint64_t


cdef enum:
    POLL_READ = 1
    POLL_WRITE = 2
    POLL_EVENTS_MAX = 256


cdef extern from *:
    """
    #ifndef FRAMEWORK_POLLER_H
    #define FRAMEWORK_POLLER_H
    #include <errno.h>
    #include <poll.h>
    #include <stdint.h>
    #include <stdlib.h>
    #include <string.h>
    #include <unistd.h>
    #ifdef __linux__
    #include <sys/epoll.h>
    #endif

    #define POLLER_EVENTS_MAX 256

    typedef struct { uint64_t tag; int ready; } PollerEvent;
    typedef struct {
        int epoll_fd;                 /* -1: poll(2) */
        struct pollfd *entries;       /* poll(2) only; as are the next four */
        uint64_t *tags;
        int count, room;
        int last;                     /* that was looked at; the next wait goes on behind it, or the first would starve the rest */
        PollerEvent events[POLLER_EVENTS_MAX];
    } Poller;

    static int poller_open(Poller *self, int with_epoll) {
        memset(self, 0, sizeof *self);
        self->epoll_fd = -1;
    #ifdef __linux__
        if (with_epoll) { self->epoll_fd = epoll_create1(EPOLL_CLOEXEC); return self->epoll_fd < 0 ? -1 : 0; }
    #endif
        return 0;
    }

    static void poller_close(Poller *self) {
        if (self->epoll_fd >= 0) close(self->epoll_fd);
        free(self->entries); free(self->tags);
        self->entries = NULL; self->tags = NULL; self->count = self->room = 0; self->epoll_fd = -1;
    }

    static int poller_find(Poller *self, int fd) {
        for (int at = 0; at < self->count; at++) if (self->entries[at].fd == fd) return at;
        return -1;
    }

    /* Watch a socket for what `wanted` says (1 reading, 2 writing); 0: stop watching. `watched` is what it was before. */
    static int poller_watch(Poller *self, int fd, uint64_t tag, int watched, int wanted) {
    #ifdef __linux__
        if (self->epoll_fd >= 0) {
            struct epoll_event event;
            event.events = (wanted & 1 ? EPOLLIN : 0) | (wanted & 2 ? EPOLLOUT : 0);
            event.data.u64 = tag;
            return epoll_ctl(self->epoll_fd, watched < 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event);
        }
    #endif
        int at = watched < 0 ? -1 : poller_find(self, fd);
        if (at < 0) {
            if (self->count == self->room) {
                int room = self->room ? self->room * 2 : 16;
                struct pollfd *entries = realloc(self->entries, room * sizeof *entries);
                if (!entries) return -1;
                self->entries = entries;
                uint64_t *tags = realloc(self->tags, room * sizeof *tags);
                if (!tags) return -1;
                self->tags = tags; self->room = room;
            }
            at = self->count++;
        }
        self->entries[at].fd = fd;
        self->entries[at].events = (wanted & 1 ? POLLIN : 0) | (wanted & 2 ? POLLOUT : 0);
        self->entries[at].revents = 0;
        self->tags[at] = tag;
        return 0;
    }

    static void poller_forget(Poller *self, int fd) {
    #ifdef __linux__
        if (self->epoll_fd >= 0) { struct epoll_event event; epoll_ctl(self->epoll_fd, EPOLL_CTL_DEL, fd, &event); return; }
    #endif
        int at = poller_find(self, fd);
        if (at < 0) return;
        self->count--;
        self->entries[at] = self->entries[self->count];
        self->tags[at] = self->tags[self->count];
    }

    /* Wait; return how many events there are. An error or a hang-up is readiness for both. */
    static int poller_wait(Poller *self, int timeout_ms) {
        int found = 0;
    #ifdef __linux__
        if (self->epoll_fd >= 0) {
            struct epoll_event ready[POLLER_EVENTS_MAX];
            int count = epoll_wait(self->epoll_fd, ready, POLLER_EVENTS_MAX, timeout_ms);
            for (int at = 0; at < count; at++) {
                self->events[at].tag = ready[at].data.u64;
                self->events[at].ready = (ready[at].events & (EPOLLIN | EPOLLERR | EPOLLHUP) ? 1 : 0)
                                       | (ready[at].events & (EPOLLOUT | EPOLLERR | EPOLLHUP) ? 2 : 0);
            }
            return count < 0 ? 0 : count;
        }
    #endif
        if (poll(self->entries, self->count, timeout_ms) <= 0) return 0;
        for (int looked = 0; looked < self->count && found < POLLER_EVENTS_MAX; looked++) {
            if (++self->last >= self->count) self->last = 0;
            int at = self->last;
            short ready = self->entries[at].revents;
            if (!ready) continue;
            self->events[found].tag = self->tags[at];
            self->events[found].ready = (ready & (POLLIN | POLLERR | POLLHUP | POLLNVAL) ? 1 : 0)
                                      | (ready & (POLLOUT | POLLERR | POLLHUP | POLLNVAL) ? 2 : 0);
            found++;
        }
        return found;
    }
    #endif
    """
    ctypedef struct PollerEvent:
        uint64_t tag
        int ready
    ctypedef struct Poller:
        int epoll_fd
        int count
        PollerEvent* events
    int poller_open(Poller* self, bint with_epoll) noexcept nogil
    void poller_close(Poller* self) noexcept nogil
    int poller_watch(Poller* self, int fd, uint64_t tag, int watched, int wanted) noexcept nogil
    void poller_forget(Poller* self, int fd) noexcept nogil
    int poller_wait(Poller* self, int timeout_ms) noexcept nogil
