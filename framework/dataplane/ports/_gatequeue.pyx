"""What a gate's own thread takes from it: batches, in order, as views."""

from libc.stdint cimport int64_t
from libc.stdlib cimport calloc
from libc.string cimport memcpy

from framework.dataplane.delivery._gates cimport gate_release
from framework.dataplane.ports._sinkbatch cimport atomic_add_users, batch_made
from framework.dataplane._state cimport Gate, GateBatch, GateTerms, pthread_cond_t, pthread_mutex_t
from framework.sublist._bytes cimport COPY_SLACK

from framework.dataplane.gate import GateCounters

cdef extern from "pthread.h" nogil:
    int pthread_mutex_init(pthread_mutex_t* mutex, void* attributes)
    int pthread_mutex_lock(pthread_mutex_t* mutex)
    int pthread_mutex_unlock(pthread_mutex_t* mutex)
    int pthread_cond_init(pthread_cond_t* condition, void* attributes)
    int pthread_cond_broadcast(pthread_cond_t* condition)

cdef extern from *:
    """
    #ifndef FRAMEWORK_GATE_WAIT_H
    #define FRAMEWORK_GATE_WAIT_H
    #include <pthread.h>
    #include <time.h>
    /* Wait for at most so long; the clock may be set meanwhile: then it is waited once more, or not at all. */
    static void gate_wait(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t timeout_ns) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += timeout_ns / 1000000000;
        until.tv_nsec += timeout_ns % 1000000000;
        if (until.tv_nsec >= 1000000000) { until.tv_nsec -= 1000000000; until.tv_sec++; }
        pthread_cond_timedwait(condition, lock, &until);
    }
    #endif
    """
    void gate_wait(pthread_cond_t* condition, pthread_mutex_t* lock, int64_t timeout_ns) noexcept nogil

cdef enum:
    SECOND_NS = 1000000000


cdef Gate* gate_made(bytes subject, int64_t id, int64_t order, GateTerms terms) except NULL:
    """Return a gate with two users: the plane, and who takes from it."""
    cdef Gate* gate = <Gate*> calloc(1, sizeof(Gate) + len(subject) + COPY_SLACK)
    if gate == NULL:
        raise MemoryError
    memcpy(<char*> (gate + 1), <const char*> subject, len(subject))
    gate.interest.subject = <const char*> (gate + 1)
    gate.interest.subject_length = len(subject)
    gate.interest.weight = 1
    gate.id = gate.line = id
    gate.order = order
    gate.is_open = terms.is_open
    gate.bytes_max = terms.bytes_max
    gate.limit_ns = terms.limit_ns
    gate.users = 2
    pthread_mutex_init(&gate.lock, NULL)
    pthread_cond_init(&gate.filled_or_closed, NULL)
    return gate


cdef class GateQueue:
    """The batches of a gate that wait for a verdict."""

    cdef Gate* gate

    def __cinit__(self) -> None:
        self.gate = NULL

    def __dealloc__(self) -> None:
        if self.gate != NULL:
            gate_release(self.gate)

    @property
    def id(self) -> int:
        """The gate's number, for `answer_gate`."""
        return self.gate.id

    cdef GateBatch* _next(self, int64_t timeout_ns) noexcept nogil:
        cdef GateBatch* batch
        pthread_mutex_lock(&self.gate.lock)
        if self.gate.first_ready == NULL and not self.gate.closed and timeout_ns > 0:
            gate_wait(&self.gate.filled_or_closed, &self.gate.lock, timeout_ns)
        batch = self.gate.first_ready
        if batch != NULL:
            atomic_add_users(&batch.users, 1)
            self.gate.first_ready = batch.next_ready
            batch.next_ready = NULL
            if self.gate.first_ready == NULL:
                self.gate.last_ready = NULL
        pthread_mutex_unlock(&self.gate.lock)
        return batch

    def take(self, timeout_s: float = 0.0) -> tuple[int, Batch] | None:
        """Return the next batch and its number, for `answer_gate`; None: there is none yet, or there will be none.

        Its views hold all of its memory: who keeps some of it copies that.

        Args:
            timeout_s: How long to wait for one, without the interpreter's lock.
        """
        cdef GateBatch* batch
        cdef int64_t timeout_ns = <int64_t> (timeout_s * SECOND_NS)
        with nogil:
            batch = self._next(timeout_ns)
        if batch == NULL:
            return None
        return batch.serial, batch_made(&batch.batch)

    def close(self) -> None:
        """Wake who waits in `take`: nothing will come any more. Callable from any thread."""
        pthread_mutex_lock(&self.gate.lock)
        self.gate.closed = 1
        pthread_cond_broadcast(&self.gate.filled_or_closed)
        pthread_mutex_unlock(&self.gate.lock)

    @property
    def is_closed(self) -> bool:
        """Whether it was closed, or its gate was taken away."""
        return self.gate.closed != 0

    def counters(self) -> GateCounters:
        """Return what became of its messages, as it stands. Callable from any thread."""
        cdef Gate* gate = self.gate
        return GateCounters(
            messages=gate.messages, passed=gate.passed, changed=gate.changed, refused=gate.refused, delayed=gate.delayed,
            expired=gate.expired, failed=gate.failed, waiting_bytes=gate.bytes,
        )


cdef object gate_queue(Gate* gate):
    """Return what takes from a gate; it is one of its users."""
    cdef GateQueue queue = GateQueue.__new__(GateQueue)
    queue.gate = gate
    return queue
