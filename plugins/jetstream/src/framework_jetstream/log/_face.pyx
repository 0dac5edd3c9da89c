"""The log, for Python: what tests, the simulation and offline tools drive; the engine uses `_log.pxd`."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport free, malloc

from framework_jetstream.log._appending cimport (
    log_append, log_cut, log_group_close, log_group_describe, log_group_new, log_snapshot, log_vote,
)
from framework_jetstream.encryption._cipher cimport Keys
from framework_jetstream.log._committed cimport log_next_committed, log_trim
from framework_jetstream.log._log cimport LogDamage, LogEntry, LogFile, LogGroup, LogPart, log_free, log_new
from framework_jetstream.log._log_groups cimport group_begin_anew, log_group
from framework_jetstream.log._performing cimport log_round_done, log_sync, log_take_round
from framework_jetstream.log._recovery cimport RECOVERED_LOCKED, RECOVERED_NEWER, RECOVERED_NOTHING, log_load, log_recover
from framework_jetstream.log._seals cimport round_encrypt

from framework_jetstream.encryption.errors import LockedFileError
from framework_jetstream.log.record import Damage, DamageReason, Effect, Entry, GroupState, Kind, NewerVersionError, Refused


cdef bytes _bytes_of(const LogRound* it):
    """Return what a round writes."""
    cdef uint32_t at
    if not it.file.key.cipher:
        return b"".join(
            [PyBytes_FromStringAndSize(<char*> it.pieces[at].iov_base, it.pieces[at].iov_len) for at in range(it.piece_count)]
        )
    data = PyBytes_FromStringAndSize(NULL, it.length)
    round_encrypt(it, data)
    return data


cdef memoryview _view(char* image, uint64_t size):
    return memoryview(<unsigned char[:size]> <unsigned char*> image) if size else memoryview(bytearray())


cdef bint _fill(void* self, LogFile* file) noexcept with gil:
    cdef Log log = <Log> self
    try:
        log.read(file.number, _view(file.image, file.size))
    except Exception as error:
        log.read_error = error
    return log.read_error is None


cdef class Log:
    """The log of a server: entries of many groups, durable together.

    It does nothing itself: `take_round` says what is to be done on the disk, in this order, and `round_done` hears how that went.

    Args:
        file_bytes: Size of a file; one with a larger entry is longer.
        round_bytes_max: What one write has, at most, but for a single entry that is larger.
        salt: A number that nobody else knows, of a new log; one that is there has its own.
        syncs_always: Whether each round is synced before its entries are committed; else `sync` has to be called from time to time.
        keys: What files are encrypted with; None: they are not.
    """

    def __cinit__(
        self, *, uint64_t file_bytes=1 << 26, uint64_t round_bytes_max=1 << 23, uint64_t salt=0, bint syncs_always=True, Keys keys=None,
    ):
        self.unsynced = []
        self.log = log_new(file_bytes, round_bytes_max, salt, syncs_always)
        if self.log == NULL:
            raise MemoryError
        if keys is not None:
            self.log.keys = keys.ring

    def __dealloc__(self):
        log_free(self.log)

    def load(self, uint64_t number, uint64_t size):
        """Return memory for a file as it is on the disk, to be filled before `recover` and let go; ascending by number."""
        cdef char* image = log_load(self.log, number, size)
        if image == NULL:
            raise MemoryError
        return _view(image, size)

    def recover(self, read=None):
        """Read what was loaded, once, before anything else; without files a new log begins.

        Args:
            read: Takes number and memory of a file that is needed, and fills in what is behind its first `FILE_HEAD_BYTES`; None: that was
                done before.

        Raises:
            Exception: What `read` raised.
            NewerVersionError: A newer version wrote a file; nothing is changed.
            LockedFileError: A file that is needed is encrypted with a key that is not there; nothing is changed.
        """
        cdef int result
        if read is not None:
            self.read = read
            self.log.fill, self.log.filler = _fill, <void*> self
        with nogil:
            result = log_recover(self.log)
        self.log.fill = NULL
        self.read = None
        if self.read_error is not None:
            raise self.read_error
        if result == RECOVERED_NEWER:
            raise NewerVersionError
        if result == RECOVERED_LOCKED:
            raise LockedFileError(f"{self.log.locked_file:010}.log", key_count=self.log.keys.count, opens_some=bool(self.log.opens_some))
        if result == RECOVERED_NOTHING:
            raise MemoryError

    def new_group(self, bytes description=b"", bint has_lost=False):
        """Open a group; return its number, which was never given before, or 0 if it is refused.

        Args:
            description: What it is.
            has_lost: Whether it may have been here before, and what it had is lost.
        """
        return log_group_new(self.log, description, <uint32_t> len(description), has_lost)

    def describe_group(self, uint32_t group, bytes description not None):
        """Say anew what a group is. Returns False when it is refused."""
        return log_group_describe(self.log, group, description, <uint32_t> len(description))

    def close_group(self, uint32_t group):
        """Close a group for good; its entries are void. Returns False when it is refused."""
        return log_group_close(self.log, group)

    def append(self, uint32_t group, uint32_t kind, list parts not None):
        """Append an entry of a kind BATCH, OP or CONSUMER; return its index, 1 for the first of a group, or 0 if it is refused."""
        cdef LogPart* items = <LogPart*> malloc((len(parts) + 1) * sizeof(LogPart))
        cdef uint64_t index
        cdef uint32_t at = 0
        cdef bytes part
        if items == NULL:
            raise MemoryError
        for part in parts:
            items[at].chars = part
            items[at].length = <uint32_t> len(part)
            items[at].goes_on = False
            at += 1
        index = log_append(self.log, group, kind, items, at)
        free(items)
        return index

    def snapshot(self, uint32_t group, uint64_t index, bytes state=b"", *, uint64_t term=1, bint lacks=False):
        """Say that entries up to `index`, which is of `term`, live elsewhere. Returns False when it is refused.

        Args:
            state: What they have led to.
            lacks: Whether something is missing in it.
        """
        return log_snapshot(self.log, group, index, term, state, <uint32_t> len(state), lacks)

    def cut(self, uint32_t group, uint64_t first_index):
        """Make entries from an index on void. Returns False when it is refused."""
        return log_cut(self.log, group, first_index)

    def vote(self, uint32_t group, uint64_t term, uint64_t vote, bint has_lost=False):
        """Keep term and vote of a group, and whether what it had before is lost. Returns False when it is refused."""
        return log_vote(self.log, group, term, vote, has_lost)

    def begin_anew(self, uint32_t group):
        """Let nothing count that was read of an open group, as some of it is lost; once, before anything is appended."""
        return group_begin_anew(self.log, log_group(self.log, group))

    def group(self, uint32_t group):
        """Return a group as it is with all that was appended; None: it is not open."""
        cdef LogGroup* it = log_group(self.log, group)
        if it == NULL or not it.is_open:
            return None
        return GroupState(
            last_index=it.last_index,
            term=it.term,
            vote=it.vote,
            snapshot_index=it.snapshot_index,
            description=it.description[:it.description_bytes],
            snapshot=it.snapshot[:it.snapshot_bytes],
            has_lost=bool(it.has_lost),
            lacks=bool(it.lacks),
            is_doubted=bool(it.is_doubted),
        )

    def groups(self):
        """Return the numbers of all open groups, ascending."""
        if self.log.groups == NULL:
            return []
        return sorted(
            self.log.groups[at].id
            for at in range(self.log.group_mask + 1)
            if self.log.groups[at] != NULL and self.log.groups[at].is_open
        )

    def take_round(self):
        """Return what is to be done on the disk, in order; None: nothing, or a round is being done."""
        cdef LogRound* it = log_take_round(self.log, True)
        if it == NULL:
            return None
        self.flight = it
        effects = []
        if it.made_file:
            if it.recycled:
                effects.append((Effect.RENAME, it.recycled, it.made_file))
            effects += [(Effect.ALLOCATE, it.made_file, it.made_bytes), (Effect.SYNC_DIRECTORY,)]
        if it.piece_count:
            data = _bytes_of(it)
            effects.append((Effect.WRITE, it.file.number, it.offset, data))
            if not it.is_mark and it.file.number not in self.unsynced:
                self.unsynced.append(it.file.number)
        if it.synced_file and not it.syncs:
            effects += [(Effect.SYNC, number) for number in self.unsynced if number <= it.synced_file]
            self.unsynced = [number for number in self.unsynced if number > it.synced_file]
        if it.syncs and it.file != NULL:
            effects += [(Effect.SYNC, number) for number in self.unsynced or [it.file.number]]
            self.unsynced.clear()
        if it.removed:
            effects.append((Effect.KEEP if it.is_kept else Effect.REMOVE, it.removed))
        return effects

    def round_done(self, int error=0, int made_error=0):
        """Hear how the round went.

        Args:
            error: errno of writing or syncing; 0: all was done. Any other ends the log.
            made_error: errno of the effects before the first write; the disk may be full there, and is tried again.
        """
        assert self.flight != NULL, "no round is being done"
        self.flight.made_error = made_error
        log_round_done(self.log, self.flight, error)
        self.flight = NULL

    def committed(self, size_t count_max=1 << 30):
        """Return entries that are durable and were not returned before, in order."""
        cdef LogEntry entry
        cdef uint32_t at
        cdef size_t place
        entries = []
        while <size_t> len(entries) < count_max and log_next_committed(self.log, &entry):
            parts = []
            place = 0
            for at in range(entry.part_count):
                parts.append(entry.chars[place:place + entry.parts[at].length])
                place += entry.parts[at].length
            entries.append(Entry(entry.group, Kind(entry.kind), entry.term, entry.index, parts, entry.file))
        return entries

    def trim(self, uint64_t first_file):
        """Give up the files before `first_file`. Returns False if somebody still reads or writes one of them."""
        return log_trim(self.log, first_file)

    def sync(self):
        """Let the next round sync all that was written."""
        log_sync(self.log)

    @property
    def damage(self):
        """What was found damaged when the log was read."""
        cdef size_t at
        cdef LogDamage* it
        found = []
        for at in range(self.log.damage_count):
            it = &self.log.damages[at]
            found.append(
                Damage(DamageReason(it.reason), it.file, it.offset, it.length, it.group, it.first_index, it.last_index, it.part)
            )
        return found

    @property
    def unknown_damages(self):
        """How many of them there are in which a record of any group may have been."""
        return self.log.unknown_damages

    @property
    def torn_bytes(self):
        """How much was cut off at the end when the log was read: a write that was never acknowledged."""
        return self.log.torn_bytes

    @property
    def refused(self):
        """Why the last call was refused."""
        return Refused(self.log.refused)

    @property
    def locked_count(self):
        """How many files are encrypted and were read without their key: heads and sums, nothing of what is in entries."""
        return self.log.locked_count

    @property
    def has_other_keys(self):
        """Whether a file that is needed, when the log was opened, was not written with the key of now."""
        return bool(self.log.has_other_keys)

    @property
    def salt(self):
        """What tells this log from all others."""
        return self.log.salt

    @property
    def failed(self):
        """The errno that ended the log; 0: it goes on."""
        return self.log.failed

    @property
    def is_full(self):
        """Whether the disk has no room for the next file; it is tried again when something is to be stored."""
        return bool(self.log.disk_is_full)

    @property
    def file(self):
        """Number of the file that is written; 0: none yet."""
        return self.log.file.number if self.log.file != NULL else 0

    @property
    def first_file(self):
        """Number of the first file that is needed."""
        return self.log.first_file
