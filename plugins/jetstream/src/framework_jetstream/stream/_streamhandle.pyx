"""One stream by itself, for tests and tools: what the engine does to it, one call each."""

cimport cython
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

from framework_jetstream.raft._digests cimport Digests, digest_at, digests_keep, digests_restored
from framework_jetstream.stream._digesting cimport digest_entry
from framework_jetstream.stream._headers cimport Text
from framework_jetstream.stream._machine cimport (
    Limits, Outcome, Publish, Stream, limits_made, stream_begin, stream_delete, stream_free, stream_publish,
    stream_purge, stream_set_limits,
)
from framework_jetstream.store._segment cimport (
    CODING_PLAIN, LiveRun, SegmentReader, SegmentRow, SegmentWriter, segment_close, segment_open, segment_state,
)
from framework_jetstream.store._subjects cimport Subject, marks_clear, pattern_matches, subject_chars, subjects_mark
from framework_jetstream.stream._cron cimport schedule_next
from framework_jetstream.stream._zones cimport Zone, zone_find, zone_offset
from framework_jetstream.stream._decimals cimport Decimal, decimal_of_text, write_sum
from framework_jetstream.stream._evicting cimport Sweep, messages_sweep
from framework_jetstream.stream._expiring cimport stream_expire
from framework_jetstream.stream._messages cimport (
    Messages, Record, messages_count_marked, messages_first_of, messages_last_of, messages_memory, messages_next,
    messages_next_matching, messages_seq_from, messages_subject, record_header, record_payload,
)
from framework_jetstream.stream._saving cimport (
    Loading, Save, loading_begin, loading_end, loading_read, save_begin, save_end, save_next, save_took,
)
from framework_jetstream.stream._subject_terms cimport terms_drop
from framework_jetstream.stream._whole cimport whole_end, whole_read


@cython.final
cdef class StreamMachine:
    """One stream by itself: what tests and tools drive.

    Args:
        name: Of the stream.
        limits: Fields of `Limits` by name; others are 0.
        first_seq: Of the first message; 0: 1.
    """

    cdef Stream stream
    cdef Digests digests
    cdef bytes name

    def __cinit__(self, name: bytes, limits: dict[str, int], first_seq: int = 0) -> None:
        cdef Limits wanted = limits_made(limits)
        self.name = name
        stream_begin(&self.stream, &wanted, self.name, <uint32_t> len(name), 7, False, first_seq)
        terms_drop(wanted.subject_terms)

    def __dealloc__(self) -> None:
        stream_free(&self.stream)

    def publish(self, subject: bytes, header: bytes, payload: bytes, now_ns: int) -> tuple[int, bool, int, bytes]:
        """Return (refusal, whether it is a duplicate, sequence, shown text)."""
        cdef Publish publish
        cdef Outcome outcome
        memset(&publish, 0, sizeof(publish))
        publish.subject.chars, publish.subject.length = subject, <uint32_t> len(subject)
        publish.header.chars, publish.header.length = header, <uint32_t> len(header)
        publish.payload.chars, publish.payload.length = payload, <uint32_t> len(payload)
        stream_publish(&self.stream, &publish, now_ns, &outcome)
        shown = outcome.shown.chars[:outcome.shown.length] if outcome.shown.chars != NULL else b""
        return outcome.refusal, bool(outcome.is_duplicate), outcome.seq, shown

    def set_limits(self, limits: dict[str, int], now_ns: int) -> None:
        """Change the limits."""
        cdef Limits wanted = limits_made(limits)
        stream_set_limits(&self.stream, &wanted, now_ns)
        terms_drop(wanted.subject_terms)

    def expire(self, now_ns: int) -> None:
        """Remove what is too old."""
        stream_expire(&self.stream, now_ns)

    def purge(self, pattern: bytes, seq: int, keep: int) -> int:
        """Remove messages; return how many."""
        return stream_purge(&self.stream, pattern, len(pattern), seq, keep)

    def delete(self, seq: int) -> bool:
        """Remove one message; False: there is none with this sequence."""
        return stream_delete(&self.stream, seq)

    def state(self) -> tuple[int, int, int, int, int]:
        """Return (messages, bytes, first sequence, last sequence, subjects)."""
        cdef Messages* messages = &self.stream.messages
        return messages.count, messages.bytes, messages.first_seq, messages.last_seq, messages.subjects.count

    def memory(self) -> int:
        """Return the bytes of memory that messages take, but for what malloc needs itself."""
        return messages_memory(&self.stream.messages)

    def let_go(self, after: int = 0) -> int:
        """Let bytes of messages leave memory, as if those up to a sequence were saved (0: all); return how many blocks are without."""
        cdef Sweep sweep
        cdef int _pass
        sweep.saved_seq = after if after else <uint64_t> -1
        sweep.bytes = <uint64_t> -1
        sweep.looks = <uint32_t> -1
        sweep.keeps_headers = 0
        for _pass in range(3):
            messages_sweep(&self.stream.messages, &sweep)
        return self.stream.messages.absent

    def entries(self) -> list[tuple[int, bytes, int, int]]:
        """Return (sequence, subject, length of header and payload, time) of all messages, in order: what is known without their bytes."""
        cdef Record record = messages_next(&self.stream.messages, 0)
        rows = []
        while record.seq:
            rows.append((
                record.seq, subject_chars(record.subject)[:record.subject.length], record.header_length + record.payload_length,
                record.time_ns,
            ))
            record = messages_next(&self.stream.messages, record.seq + 1)
        return rows

    def seq_from(self, time_ns: int) -> int:
        """Return the first sequence at a time or behind it."""
        return messages_seq_from(&self.stream.messages, time_ns)

    def records(self) -> list[tuple[int, bytes, bytes, bytes, int]]:
        """Return (sequence, subject, header, payload, time) of all messages, in order."""
        cdef Record record = messages_next(&self.stream.messages, 0)
        rows = []
        while record.seq:
            rows.append((
                record.seq, subject_chars(record.subject)[:record.subject.length], record_header(&record)[:record.header_length],
                record_payload(&record)[:record.payload_length], record.time_ns,
            ))
            record = messages_next(&self.stream.messages, record.seq + 1)
        return rows

    def subject_seqs(self, subject: bytes) -> list[int]:
        """Return the sequences of one subject's messages, in order."""
        cdef Text filter
        cdef Record record
        filter.chars, filter.length = subject, <uint32_t> len(subject)
        record = messages_next_matching(&self.stream.messages, 0, &filter, 1)
        seqs = []
        while record.seq:
            seqs.append(record.seq)
            record = messages_next_matching(&self.stream.messages, record.seq + 1, &filter, 1)
        return seqs

    def count(self, pattern: bytes, seq: int) -> int:
        """Return how many messages from a sequence on a pattern holds."""
        marks_clear(&self.stream.messages.subjects)
        subjects_mark(&self.stream.messages.subjects, pattern, len(pattern))
        return messages_count_marked(&self.stream.messages, seq)

    def save(self, after: int, salt: int, group: int, file: int, coding: int = CODING_PLAIN) -> bytes:
        """Return a segment of the messages behind a sequence, which says what lives of all.

        Args:
            coding: Of bodies: 0 plain, 1 S2, 2 of each block what is worth it.
        """
        cdef Save save
        cdef SegmentRow row
        cdef SegmentWriter writer
        memset(&save, 0, sizeof(save))
        save.salt, save.group, save.next_file = salt, group, file
        save.file_bytes = row.bytes = <uint64_t> -1
        save.keeps_all = True
        save.coding = coding
        row.file = row.first_seq = 1
        row.last_seq = after
        row.count = 0
        save_begin(&save, &self.stream, &row, after != 0)
        done = save_next(&save, &writer, NULL)
        save_end(&save, &self.stream.messages)
        free(save.rows.chars)
        if not done:
            raise MemoryError
        data = writer.out.chars[:writer.out.used]
        save_took(&save, &writer)
        return data

    def load(self, segments: list[bytes]) -> list[tuple[int, int]]:
        """Append the messages of segments, in the order in which they were saved; return what is lost as (first sequence, count)."""
        cdef SegmentReader last, reader
        cdef Loading loading
        cdef const LiveRun* lost
        cdef const char* data = segments[-1]
        cdef bint is_last_good = segment_open(&last, data, len(segments[-1]), 0, 0, 0)
        cdef size_t at
        if is_last_good:
            whole_read(&self.stream, segment_state(&last), last.head.state_bytes)
        loading_begin(&loading, &last if is_last_good else NULL)
        for segment in segments:
            data = segment
            if segment_open(&reader, data, len(segment), 0, 0, 0):
                loading_read(&loading, &self.stream, &reader)
            segment_close(&reader)
        loading_end(&loading)
        if is_last_good:
            whole_end(&self.stream, segment_state(&last))
        segment_close(&last)
        lost = <LiveRun*> loading.lost.chars
        found = [(lost[at].first_seq, lost[at].count) for at in range(loading.lost.used // sizeof(LiveRun))]
        free(loading.lost.chars)
        return found

    def compare(self) -> None:
        """Have a digest from here on, as streams have that are several servers'."""
        self.stream.digests = &self.digests

    def applied(self, index: int) -> None:
        """Take what was done since the last call for what an entry has led to."""
        digests_keep(&self.digests, index)
        digest_entry(&self.stream, index)

    def restored(self, index: int) -> int:
        """Take what was loaded for the state at an index; return since which entry its digest is."""
        digests_restored(&self.digests, index)
        return self.digests.since

    def digest(self, applied: int, index: int) -> int | None:
        """Return the digest at an index, where all up to another one is applied; None: it is not known."""
        cdef uint64_t found = 0
        return found if digest_at(&self.digests, applied, index, &found) else None

    def subject_ends(self, subject: bytes) -> tuple[int, int, int]:
        """Return (messages, first sequence, last sequence) of a subject; zeros: it has no messages."""
        cdef Subject* found = messages_subject(&self.stream.messages, subject, len(subject))
        if found == NULL:
            return 0, 0, 0
        return found.count, messages_first_of(&self.stream.messages, found), messages_last_of(&self.stream.messages, found)


def next_of_schedule(pattern: bytes, after_ns: int, now_ns: int, zone: bytes = b"UTC") -> tuple[int, bool] | None:
    """Return when a schedule fires, and whether it does so again; None: its text makes no sense, or there is no such time zone."""
    cdef Text text, name
    cdef const Zone* known
    cdef int64_t next_ns = 0
    cdef bint repeats = False
    text.chars, text.length = pattern, <uint32_t> len(pattern)
    name.chars, name.length = zone, <uint32_t> len(zone)
    known = zone_find(name)
    if known == NULL or not schedule_next(text, known, after_ns, now_ns, &next_ns, &repeats):
        return None
    return next_ns, bool(repeats)


def offset_in_zone(zone: bytes, at_s: int) -> int | None:
    """Return how many seconds a time zone is ahead of UTC at a Unix time; None: the system does not know it."""
    cdef Text name
    cdef const Zone* known
    name.chars, name.length = zone, <uint32_t> len(zone)
    known = zone_find(name)
    return zone_offset(known, at_s) if known != NULL else None


def added(one: bytes, other: bytes) -> bytes | None:
    """Return the sum of two whole numbers; None: one of them is none."""
    cdef Decimal left, right
    cdef Text text
    text.chars, text.length = one, <uint32_t> len(one)
    if not decimal_of_text(text, &left):
        return None
    text.chars, text.length = other, <uint32_t> len(other)
    if not decimal_of_text(text, &right):
        return None
    room = bytearray(len(one) + len(other) + 2)
    return bytes(room[:write_sum(room, &left, &right)])


def matches(pattern: bytes, subject: bytes) -> bool:
    """Whether a valid subject with wildcards holds one without."""
    return pattern_matches(pattern, len(pattern), subject, len(subject))
