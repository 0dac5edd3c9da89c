"""What the engine says to Python: answers to commands, and events; in batches, oldest first."""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from framework_jetstream.engine._chains cimport chain_push, chain_take
from framework_jetstream.engine._port_memory cimport PortMemory, port_memory
from framework_jetstream.engine._state cimport NUMBERS


cdef Answer* answer_made(Engine* engine, int64_t id, int32_t status, size_t length) noexcept nogil:
    """Return an answer of this turn, to be filled in; NULL: no memory.

    Args:
        status: 0: it was done.
        length: Bytes behind its numbers.
    """
    cdef Answer* made = <Answer*> malloc(sizeof(Answer) + length)
    if made == NULL:
        return NULL
    memset(made, 0, sizeof(Answer) + length)
    made.id = id
    made.status = status
    made.length = length
    made.next = engine.said
    engine.said = made
    return made


cdef Answer* event_made(Engine* engine, int32_t kind, size_t length) noexcept nogil:
    """Return an event of no stream or consumer, to be filled in; NULL: no memory."""
    return answer_made(engine, -(<int64_t> 1 << 42), kind, length)


cdef char* answer_bytes(Answer* answer) noexcept nogil:
    return <char*> (answer + 1)


cdef bint answers_hand_over(Engine* engine) noexcept nogil:
    """Let Python take the answers of this turn; True: it has to be woken."""
    cdef Answer* last = engine.said
    if last == NULL:
        return False
    while last.next != NULL:
        last = last.next
    if chain_push(<void**> &engine.answers, engine.said, last):
        engine.said = NULL
        return True
    engine.said = NULL
    return False


cdef PortMemory _memory_of(Answer* answer):
    """Take the payload of an answer; None: it has none."""
    cdef char* memory = answer.memory
    answer.memory = NULL
    return port_memory(memory, answer.payload_at, answer.payload_length) if memory != NULL else None


cdef list answers_take(Engine* engine):
    """Return (id, status, numbers, bytes, payload) of all answers, oldest first."""
    cdef Answer* answer = <Answer*> chain_take(<void**> &engine.answers)
    cdef Answer* gone
    cdef int at
    taken = []
    while answer != NULL:
        taken.append((
            answer.id, answer.status, tuple([answer.numbers[at] for at in range(NUMBERS)]), answer_bytes(answer)[:answer.length],
            _memory_of(answer),
        ))
        gone = answer
        answer = answer.next
        free(gone)
    taken.reverse()
    return taken
