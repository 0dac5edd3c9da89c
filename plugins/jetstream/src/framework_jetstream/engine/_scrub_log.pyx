"""Files of the log to which nothing is written any more are read though nobody wants that, a part of one after the other.

What they have is in memory as well, or in a state: entries are read from them for other servers alone, and looked at (`_log_ranges.pyx`).
So where one is not as it was written the log gives up all files before the one that is written, as it does now and then anyway
(`_trimming.pyx`): what lives is written elsewhere, and the damaged one is put aside. While a part is read its file is held, so that it is
not used again.
"""

from libc.errno cimport ENOENT, ENOMEM
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from framework_jetstream.engine._answers cimport answer_made
from framework_jetstream.engine._state cimport EVENT_MENDED, SCRUBS_LOG, STORE_EVENTS_SHIFT, Answer, Scrub
from framework_jetstream.log._checking cimport file_heads_are_good, round_is_whole, round_length
from framework_jetstream.log._committed cimport log_hold_sealed, log_let_damaged_go, log_let_go
from framework_jetstream.log._log cimport LogFile
from framework_jetstream.log._record cimport FILE_HEAD_BYTES, SECTOR_BYTES, RoundHead, rounded
from framework_jetstream.store._bodies cimport LOST
from framework_jetstream.store._segment cimport SEGMENT_BODY, SEGMENT_HEAD, Buffer, buffer_add

cdef enum:
    PART_BYTES = 1048576
    # Or the round that goes beyond.


# ---- reading ---------------------------------------------------------------------------------------------------------------


cdef int _read(const SegmentFiles* files, int64_t handle, uint64_t offset, Buffer* into, uint64_t length) noexcept nogil:
    into.used = 0
    if buffer_add(into, NULL, length) == NULL:
        return ENOMEM
    return files.read(files.self, handle, offset, into.chars, length)


cdef int _read_heads(ReadJob* job, const SegmentFiles* files, int64_t handle, Buffer* buffer) noexcept nogil:
    cdef int error = _read(files, handle, 0, buffer, FILE_HEAD_BYTES)
    if error == LOST or (not error and not file_heads_are_good(buffer.chars, job.file)):
        job.reason = SEGMENT_HEAD
    job.offset = FILE_HEAD_BYTES
    return error


cdef int _read_round(ReadJob* job, const SegmentFiles* files, int64_t handle, Buffer* buffer) noexcept nogil:
    cdef uint64_t length = 0, salt = job.log_file.salt
    cdef int error = _read(files, handle, job.offset, buffer, sizeof(RoundHead))
    if not error:
        length = round_length(buffer.chars, rounded(job.end, SECTOR_BYTES) - job.offset, salt, job.file, job.offset)
    if length:
        error = _read(files, handle, job.offset, buffer, length)
    if error == LOST or (not error and not (length and round_is_whole(buffer.chars, salt, job.file, job.offset))):
        job.reason = SEGMENT_BODY
    job.offset += rounded(length, SECTOR_BYTES)
    job.piece_bytes += length
    return error


cdef void scrub_log_perform(ReadJob* job, const SegmentFiles* files) noexcept nogil:
    """Read a part of a file; called by whoever performs jobs. Where it is not as it was written, that is all that is known of it."""
    cdef Buffer buffer
    cdef int64_t handle = files.open(files.self, 0, job.file)
    if handle < 0:
        job.reason = SEGMENT_HEAD if handle == -ENOENT else 0
        job.error = 0 if job.reason else <int> -handle
        return
    memset(&buffer, 0, sizeof(buffer))
    if job.offset == 0:
        files.uncache(files.self, handle)
        job.error = _read_heads(job, files, handle, &buffer)
    while not job.error and not job.reason and job.offset < job.end and job.piece_bytes < PART_BYTES:
        job.error = _read_round(job, files, handle, &buffer)
    if job.reason:
        job.error = 0
    free(buffer.chars)
    files.close(files.self, handle)


# ---- the engine ------------------------------------------------------------------------------------------------------------


cdef ReadJob* scrub_log_next(Engine* engine) noexcept nogil:
    """Return what is to be read next; NULL: all was, or there is no memory."""
    cdef Scrub* scrub = &engine.scrub
    cdef LogFile* file = log_hold_sealed(engine.log, scrub.log_file)
    cdef ReadJob* job = <ReadJob*> calloc(1, sizeof(ReadJob)) if file != NULL else NULL
    if job == NULL:
        if file != NULL:
            log_let_go(engine.log, file)
        return NULL
    if file.number != scrub.log_file:
        scrub.log_file = file.number
        scrub.log_offset = 0
    scrub.current.files += scrub.log_offset == 0
    job.scrubs = SCRUBS_LOG
    job.log_file = file
    job.file = file.number
    job.offset = scrub.log_offset
    job.end = file.end
    return job


cdef void scrub_log_took(Engine* engine, ReadJob* job) noexcept nogil:
    """Hear what was read; where something of a file is damaged or was not given, the next one follows."""
    cdef Scrub* scrub = &engine.scrub
    cdef Answer* answer
    scrub.log_offset = job.offset
    if job.reason or job.error or job.offset >= job.end:
        scrub.log_file += 1
        scrub.log_offset = 0
    if not job.reason:
        log_let_go(engine.log, job.log_file)
        return
    log_let_damaged_go(engine.log, job.log_file)
    scrub.current.damages += 1
    engine.has_dead = engine.has_dead or not engine.keeps_files
    answer = answer_made(engine, -(<int64_t> 1 << STORE_EVENTS_SHIFT), EVENT_MENDED, 0)
    if answer != NULL:
        answer.numbers[2] = <int64_t> job.file
        answer.numbers[3] = job.reason
