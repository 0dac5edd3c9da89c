"""Entries whose bytes have left memory, for servers that are behind: read from files of the log, by who reads messages back.

All of an entry is looked at again. What can't be read, or is not what was written there, is not sent: it is asked for elsewhere.
"""

from libc.errno cimport ENOMEM
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc

from framework_jetstream.engine._groups cimport group_of
from framework_jetstream.engine._reading cimport reading_push
from framework_jetstream.engine._state cimport Group, ReadPlace
from framework_jetstream.log._record cimport RecordHead, bad_part, place_sum, record_is_good
from framework_jetstream.log._seals cimport record_decrypt
from framework_jetstream.replication._replica_frames cimport frame_records
from framework_jetstream.replication._replica_log cimport placed_at
from framework_jetstream.replication._replicas cimport Placed
from framework_jetstream.store._bodies cimport LOST

cdef enum:
    RANGES_MAX = 64
    # Are read at once; who asks for more asks again.


cdef void range_want(void* self, Replica* replica, const RaftRange* wanted, uint32_t count) noexcept nogil:
    """Have entries read, and sent then."""
    cdef Engine* engine = <Engine*> self
    cdef ReadJob* job = <ReadJob*> calloc(1, sizeof(ReadJob)) if engine.ranges < RANGES_MAX else NULL
    cdef const Placed* placed
    cdef uint32_t number
    if job != NULL:
        job.places = <ReadPlace*> malloc(count * sizeof(ReadPlace))
    if job == NULL or job.places == NULL:
        free(job)
        return
    job.group = replica.number
    job.wanted = wanted[0]
    job.place_count = count
    for number in range(count):
        placed = placed_at(replica, wanted.index + 1 + number)
        job.places[number].file = placed.place.file.number
        job.places[number].key = placed.place.file.key
        job.places[number].offset = placed.place.offset
        job.places[number].length = placed.place.length
        job.piece_bytes += placed.place.length
    engine.ranges += 1
    reading_push(engine, job)


cdef bint _is_entry(const ReadJob* job, const ReadPlace* place, uint64_t salt, char* record, uint64_t index) noexcept nogil:
    """Decrypt what was read; False: it is not the entry that was written there."""
    cdef const RecordHead* head = <const RecordHead*> record
    if not record_is_good(record, place.length, place_sum(salt, place.file, place.offset)) or head.length != place.length:
        return False
    if head.group != job.group or head.index != index or bad_part(record) >= 0:
        return False
    return head.seal_count == 0 or record_decrypt(&place.key, record, place.offset)


cdef int range_perform(ReadJob* job, BodyReader* reader) noexcept nogil:
    cdef const ReadPlace* place
    cdef int64_t handle = -1
    cdef uint64_t open_file = 0
    cdef char* into
    cdef uint32_t number
    cdef int error = 0
    if job.piece == NULL:
        job.piece = <char*> malloc(job.piece_bytes)
    if job.piece == NULL:
        return ENOMEM
    into = job.piece
    for number in range(job.place_count):
        place = &job.places[number]
        if place.file != open_file:
            if handle >= 0:
                reader.files.close(reader.files.self, handle)
            handle = reader.files.open(reader.files.self, 0, place.file)
            open_file = place.file
        if handle < 0:
            return <int> -handle
        error = reader.files.read(reader.files.self, handle, place.offset, into, place.length)
        if not error and not _is_entry(job, place, reader.salt, into, job.wanted.index + 1 + number):
            error = LOST
        if error:
            break
        into += place.length
    if handle >= 0:
        reader.files.close(reader.files.self, handle)
    return error


cdef void range_read(Engine* engine, ReadJob* job) noexcept nogil:
    """Send what was read."""
    cdef Group* group = group_of(engine, <uint32_t> job.group)
    cdef const char** records
    cdef const char* at = job.piece
    cdef uint32_t number
    engine.ranges -= 1
    if job.error or group == NULL or group.replica == NULL:
        return
    records = <const char**> malloc(job.place_count * sizeof(char*))
    if records == NULL:
        return
    for number in range(job.place_count):
        records[number] = at
        at += job.places[number].length
    frame_records(engine.replicas, group.replica, &job.wanted, records, job.place_count)
    engine.ranges_read += 1
    free(records)
