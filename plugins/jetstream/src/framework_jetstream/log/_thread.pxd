"""The thread `jetstream-log`: performs rounds as long as there are some, without the interpreter."""

from libc.stdint cimport int64_t
from libc.stdint cimport uint64_t

from framework_jetstream.log._disk cimport LogDisk
from framework_jetstream.log._face cimport Log
from framework_jetstream.log._log cimport Log as LogStruct
from framework_jetstream.log._log cimport pthread_mutex_t

cdef extern from "pthread.h" nogil:
    ctypedef struct pthread_cond_t:
        pass
    ctypedef unsigned long pthread_t


cdef struct LogRunner:
    LogStruct* log
    LogDisk disk
    pthread_t thread
    pthread_mutex_t lock
    pthread_cond_t condition
    bint is_asleep
    bint is_kicked
    bint is_stopping
    int64_t interval_ns  # of syncs; 0: the log syncs each round
    bint has_sync_time  # the thread will sync what is written meanwhile
    int wake_fd  # gets eight bytes (an eventfd, or a pipe) behind each round; -1: nobody wants to know
    uint64_t rounds
    uint64_t syncs


# Let the thread look again, behind appends; callable from any thread.
cdef void log_kick(LogRunner* runner) noexcept nogil
# Perform a small round in the caller's thread; False: there is none, or the log's thread is performing one.
cdef bint log_perform_small(LogRunner* runner, uint64_t bytes_max) noexcept nogil


cdef class LogThread:
    cdef LogRunner* runner  # for compiled callers, as long as they hold this
    cdef readonly Log log
    cdef bint is_running
    cdef object folder
