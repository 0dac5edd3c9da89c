"""Put load on a log without the interpreter, as the engine does: for measurements and for tests that end a process under load."""

from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from framework_jetstream.log._appending cimport log_append
from framework_jetstream.log._committed cimport log_next_committed, log_trim
from framework_jetstream.log._log cimport LogEntry, LogPart
from framework_jetstream.log._record cimport BATCH
from framework_jetstream.log._thread cimport LogThread, log_kick

cdef extern from "poll.h" nogil:
    struct pollfd:
        int fd
        short events
        short revents
    int poll(pollfd* fds, unsigned long count, int timeout)
    int POLLIN

cdef extern from "unistd.h" nogil:
    ssize_t read(int fd, void* target, size_t count)
    ssize_t write(int fd, const void* source, size_t count)


def run(LogThread thread not None, *, uint32_t group, uint64_t count, uint32_t payload_bytes, uint32_t window, uint32_t batch_max,
        int wake_fd, int told_fd=-1, bint trims=False):
    """Append `count` messages, at most `window` of them not committed, as many to an entry as there is room for.

    Args:
        thread: Runs; its log has the group, and its `wake_fd` is the other end of `wake_fd`.
        trims: Whether files are given up as soon as another one is written.
        told_fd: Gets the number of each entry's last message, eight bytes, when it is committed; -1: nobody.

    Returns:
        How many entries were written.

    Raises:
        OSError: The log has failed.
    """
    cdef char* payload = <char*> calloc(batch_max, payload_bytes + 8)
    cdef LogPart* parts = <LogPart*> calloc(batch_max, sizeof(LogPart))
    cdef uint64_t said = 0, committed = 0, entries = 0
    cdef uint64_t number
    cdef uint32_t at, n
    cdef LogEntry entry
    cdef pollfd waits
    cdef char[512] rest
    if payload == NULL or parts == NULL:
        free(payload)
        free(parts)
        raise MemoryError
    waits.fd = wake_fd
    waits.events = <short> POLLIN
    with nogil:
        while committed < count and not thread.runner.log.failed:
            while said < count and said - committed < window:
                n = <uint32_t> (window - (said - committed))
                if n > batch_max:
                    n = batch_max
                if n > count - said:
                    n = <uint32_t> (count - said)
                for at in range(n):
                    number = said + at + 1
                    memcpy(payload + at * payload_bytes, &number, 8 if payload_bytes >= 8 else payload_bytes)
                    parts[at].chars = payload + at * payload_bytes
                    parts[at].length = payload_bytes
                    parts[at].goes_on = False
                if not log_append(thread.runner.log, group, BATCH, parts, n):
                    break
                said += n
                entries += 1
            log_kick(thread.runner)
            poll(&waits, 1, 1000)
            if waits.revents:
                read(wake_fd, rest, sizeof(rest))
            while log_next_committed(thread.runner.log, &entry):
                if entry.kind != BATCH:
                    continue
                committed += entry.part_count
                if told_fd >= 0:
                    write(told_fd, &committed, 8)
            if trims and thread.runner.log.file != NULL:
                log_trim(thread.runner.log, thread.runner.log.file.number)
    free(payload)
    free(parts)
    if thread.runner.log.failed:
        raise OSError(thread.runner.log.failed, "the log has ended")
    return entries
