"""The thread `jetstream-log`: performs rounds as long as there are some, without the interpreter.

While a round is written and synced, appends fill the next one: so one sync is shared by all that came meanwhile.
"""

import fcntl
import os
import re
from collections.abc import Iterator
from io import FileIO

cimport cython
from libc.errno cimport EINTR, ENXIO
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport calloc, free

from framework_jetstream.log._disk cimport disk_close, disk_perform
from framework_jetstream.log._face cimport Log
from framework_jetstream.log._log cimport LogRound, pthread_mutex_t
from framework_jetstream.log._performing cimport log_round_done, log_sync, log_take_round, log_take_small_round
from framework_jetstream.log._record cimport FILE_HEAD_BYTES

cdef extern from "pthread.h" nogil:
    ctypedef struct pthread_condattr_t:
        pass
    int pthread_mutex_init(pthread_mutex_t* mutex, void* attributes)
    int pthread_mutex_lock(pthread_mutex_t* mutex)
    int pthread_mutex_unlock(pthread_mutex_t* mutex)
    int pthread_mutex_destroy(pthread_mutex_t* mutex)
    int pthread_condattr_init(pthread_condattr_t* attributes)
    int pthread_condattr_setclock(pthread_condattr_t* attributes, int clock)
    int pthread_cond_init(pthread_cond_t* condition, pthread_condattr_t* attributes)
    int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex)
    int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* until)
    int pthread_cond_signal(pthread_cond_t* condition)
    int pthread_cond_destroy(pthread_cond_t* condition)
    int pthread_create(pthread_t* thread, void* attributes, void* (*run)(void*) noexcept nogil, void* argument)
    int pthread_join(pthread_t thread, void** result)

cdef extern from "signal.h" nogil:
    ctypedef struct sigset_t:
        pass
    int SIG_SETMASK
    int sigfillset(sigset_t* signals)
    int pthread_sigmask(int how, const sigset_t* signals, sigset_t* before)

cdef extern from *:
    """
    #if defined(__linux__)
    #include <sys/prctl.h>
    static void name_thread(void) { prctl(PR_SET_NAME, "jetstream-log", 0, 0, 0); }
    #else
    static void name_thread(void) {}
    #endif
    """
    void name_thread() nogil

cdef extern from "time.h" nogil:
    struct timespec:
        long tv_sec
        long tv_nsec
    int CLOCK_MONOTONIC
    int clock_gettime(int clock, timespec* now)

cdef extern from "unistd.h" nogil:
    ssize_t write(int fd, const void* source, size_t count)

cdef enum:
    SECOND_NS = 1000000000
    REST_NS = 5000000  # without anything to write: then a mark is

FILE_NAME = re.compile(r"[0-9]{10}\.log")


cdef void log_kick(LogRunner* runner) noexcept nogil:
    cdef bint was_asleep
    pthread_mutex_lock(&runner.lock)
    runner.is_kicked = True
    was_asleep = runner.is_asleep
    pthread_mutex_unlock(&runner.lock)
    if was_asleep:  # with the lock it would wake up only to wait for that
        pthread_cond_signal(&runner.condition)


cdef int64_t _now_ns() noexcept nogil:
    cdef timespec now
    clock_gettime(CLOCK_MONOTONIC, &now)
    return <int64_t> now.tv_sec * SECOND_NS + now.tv_nsec


cdef bint _sleep(LogRunner* runner, int64_t until_ns) noexcept nogil:
    """Wait until somebody kicks, or a time has come, 0: none; return whether it has."""
    cdef timespec until
    cdef bint is_over = False
    pthread_mutex_lock(&runner.lock)
    while not runner.is_kicked and not runner.is_stopping:
        runner.is_asleep = True
        if until_ns:
            until.tv_sec = until_ns // SECOND_NS
            until.tv_nsec = until_ns % SECOND_NS
            if pthread_cond_timedwait(&runner.condition, &runner.lock, &until) not in (0, EINTR):
                is_over = True
                break
        else:
            pthread_cond_wait(&runner.condition, &runner.lock)
    runner.is_asleep = False
    runner.is_kicked = False
    pthread_mutex_unlock(&runner.lock)
    return is_over


cdef void _perform(LogRunner* runner, LogRound* it) noexcept nogil:
    cdef uint64_t one = 1
    cdef bint says = not it.is_mark
    runner.rounds += 1
    runner.syncs += it.syncs
    log_round_done(runner.log, it, disk_perform(&runner.disk, it))
    if runner.wake_fd >= 0 and (says or runner.log.failed):
        write(runner.wake_fd, &one, sizeof(one))


cdef bint log_perform_small(LogRunner* runner, uint64_t bytes_max) noexcept nogil:
    cdef LogRound* it = log_take_small_round(runner.log, bytes_max)
    if it == NULL:
        return False
    runner.rounds += 1
    runner.syncs += it.syncs
    log_round_done(runner.log, it, disk_perform(&runner.disk, it))
    if runner.interval_ns and not runner.has_sync_time:
        log_kick(runner)
    return True


cdef void* _run(void* argument) noexcept nogil:
    cdef LogRunner* runner = <LogRunner*> argument
    cdef LogRound* it
    cdef int64_t sync_at_ns = 0, rest_ns
    cdef bint rests = False
    name_thread()
    while True:
        if runner.interval_ns and runner.log.written > runner.log.synced:
            if not sync_at_ns:
                sync_at_ns = _now_ns() + runner.interval_ns
                runner.has_sync_time = True
            elif _now_ns() >= sync_at_ns or runner.is_stopping:
                runner.has_sync_time = False
                log_sync(runner.log)
                sync_at_ns = 0
        it = log_take_round(runner.log, rests or runner.is_stopping)
        rests = False
        if it != NULL:
            _perform(runner, it)
        elif runner.is_stopping and (not runner.interval_ns or runner.log.written == runner.log.synced or runner.log.failed):
            return NULL
        elif runner.is_stopping and not sync_at_ns:
            sync_at_ns = 1
        elif runner.log.mark_is_due:
            rest_ns = _now_ns() + REST_NS
            rests = _sleep(runner, min(rest_ns, sync_at_ns) if sync_at_ns else rest_ns)
        else:
            _sleep(runner, sync_at_ns)


def _written(descriptor: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield begin and end of what of a file was written; all else are zeros."""
    end = 0
    while end < size:
        try:
            begin = os.lseek(descriptor, end, os.SEEK_DATA)
        except OSError as error:
            if error.errno == ENXIO:
                return
            begin, end = end, size  # the file system knows nothing of it
        else:
            end = os.lseek(descriptor, begin, os.SEEK_HOLE)
        yield begin, end


def _read(file: FileIO, target: memoryview, at: int, end: int) -> None:
    """Read what a file has from byte `at` on; it may be shorter."""
    file.seek(at)
    while at < end:
        count = file.readinto(target[at:end])
        if not count:
            return
        at += count


@cython.no_gc_clear  # its end writes what the log has
cdef class LogThread:
    """A log in a folder, and the thread that writes it.

    What is in the folder is read, and what had not been synced is synced, before this returns.

    Args:
        log: New; its entries, damage and groups are what was in the folder.
        folder: Exists; nobody else has it open.
        interval_s: Seconds between syncs, for a log that does not sync always.
        wake_fd: An eventfd or a pipe that gets eight bytes behind each round.

    Raises:
        NewerVersionError: A newer version wrote in the folder.
        OSError: The folder can't be read, or another process has it (BlockingIOError).
    """

    def __cinit__(self, Log log not None, folder not None, *, double interval_s=0, int wake_fd=-1):
        cdef pthread_condattr_t attributes
        cdef LogRound* it
        self.runner = <LogRunner*> calloc(1, sizeof(LogRunner))
        if self.runner == NULL:
            raise MemoryError
        self.runner.disk.folder = -1
        self.log = log
        self.folder = folder
        self.runner.log = log.log
        self.runner.wake_fd = wake_fd
        self.runner.interval_ns = <int64_t> (interval_s * SECOND_NS)
        pthread_mutex_init(&self.runner.lock, NULL)
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(&self.runner.condition, &attributes)
        self.runner.disk.folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(self.runner.disk.folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._sync_parent()
        for name in sorted(filter(FILE_NAME.fullmatch, os.listdir(self.folder))):
            with self._file(name) as file:
                size = os.fstat(file.fileno()).st_size
                _read(file, self.log.load(int(name[:-4]), size), 0, min(size, FILE_HEAD_BYTES))
        self.log.recover(self._read_rest)
        with nogil:
            while True:
                it = log_take_round(self.runner.log, True)
                if it == NULL:
                    break
                _perform(self.runner, it)

    def _sync_parent(self):
        """Make the folder's own name durable: who made it may not have."""
        parent = os.open(os.path.join(self.folder, os.pardir), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(parent)
        finally:
            os.close(parent)

    def _file(self, name):
        return open(os.path.join(self.folder, name), "rb", buffering=0)

    def _read_rest(self, number, target):
        """Read a file behind its heads; what was set aside and never written is not read: as a rule most of the last one."""
        with self._file(f"{number:010}.log") as file:
            for begin, end in _written(file.fileno(), len(target)):
                _read(file, target, max(begin, FILE_HEAD_BYTES), end)

    def __dealloc__(self):
        if self.runner != NULL:
            self.stop()
            disk_close(&self.runner.disk)
            if self.runner.disk.folder >= 0:
                os.close(self.runner.disk.folder)
            pthread_cond_destroy(&self.runner.condition)
            pthread_mutex_destroy(&self.runner.lock)
            free(self.runner)

    def start(self):
        """Begin to perform rounds, on a thread of its own."""
        assert not self.is_running
        cdef sigset_t every, before
        sigfillset(&every)
        pthread_sigmask(SIG_SETMASK, &every, &before)  # the thread begins with it: no signal interrupts a sync
        cdef int error = pthread_create(&self.runner.thread, NULL, _run, self.runner)
        pthread_sigmask(SIG_SETMASK, &before, NULL)
        if error:
            raise MemoryError
        self.is_running = True

    def kick(self):
        """Let the thread look again, behind appends; callable from any thread."""
        log_kick(self.runner)

    def perform_small(self, uint64_t bytes_max):
        """Perform what was appended in the caller's thread, if it is a small round and the log's thread is at rest.

        Returns whether it was.
        """
        cdef bint performed
        with nogil:
            performed = log_perform_small(self.runner, bytes_max)
        return performed

    def stop(self):
        """Write and sync what was appended, and end the thread."""
        if not self.is_running:
            return
        self.is_running = False
        with nogil:
            pthread_mutex_lock(&self.runner.lock)
            self.runner.is_stopping = True
            pthread_cond_signal(&self.runner.condition)
            pthread_mutex_unlock(&self.runner.lock)
            pthread_join(self.runner.thread, NULL)

    @property
    def rounds(self):
        """How many rounds were performed."""
        return self.runner.rounds

    @property
    def syncs(self):
        """How many of them were synced."""
        return self.runner.syncs
