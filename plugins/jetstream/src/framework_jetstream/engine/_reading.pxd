"""The C face of bytes that leave memory and are read back; see `_reading.pyx`."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from framework_jetstream.engine._port cimport framework_batch, framework_row
from framework_jetstream.engine._state cimport Command, ConsumerSlot, Engine, GetProgress, ReadJob, Slot
from framework_jetstream.store._bodies cimport BodyReader
from framework_jetstream.store._segment cimport Buffer


cdef void reading_begin(Engine* engine, Slot* slot) noexcept nogil
cdef void reading_join(Engine* engine, Slot* slot) noexcept nogil
cdef void reading_turn(Engine* engine) noexcept nogil
cdef void reading_sweep(Engine* engine) noexcept nogil
cdef void reading_want(Engine* engine, Slot* slot, uint64_t seq, uint32_t ahead) noexcept nogil
cdef void reading_go_on(Engine* engine, Slot* slot) noexcept nogil
cdef void reading_consumer(Engine* engine, ConsumerSlot* consumer, uint64_t seq) noexcept nogil
cdef bint reading_row(
    Engine* engine, Slot* slot, const framework_batch* batch, const framework_row* row, uint64_t seq, const GetProgress* progress
) noexcept nogil
cdef bint reading_command(Engine* engine, Slot* slot, Command* command, uint64_t seq) noexcept nogil
cdef void reading_push(Engine* engine, ReadJob* job) noexcept nogil
cdef void reading_wake(Engine* engine, Slot* slot) noexcept nogil
cdef void reading_wake_between(Engine* engine, Slot* slot, uint64_t first_seq, uint64_t last_seq) noexcept nogil
cdef void reading_attach(Engine* engine, Slot* slot, ReadJob* job) noexcept nogil
cdef void reading_refuse(Engine* engine, Slot* slot, bint is_refused) noexcept nogil
cdef void reading_lose(Engine* engine, Slot* slot, const Buffer* lost) noexcept nogil
cdef void reading_removed(Engine* engine, Slot* slot) noexcept nogil
cdef bint read_take_places(Slot* slot, ReadJob* job) noexcept nogil
cdef bint read_is_current(const Slot* slot, const ReadJob* job) noexcept nogil
cdef void read_drop(ReadJob* job) noexcept nogil
cdef void read_perform(ReadJob* job, BodyReader* reader) noexcept nogil
cdef void reads_free(Engine* engine) noexcept nogil
