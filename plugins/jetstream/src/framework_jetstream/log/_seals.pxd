"""Records of a log that is encrypted: heads stay as they are, parts are encrypted in *seals* of some 4 KiB. See `_seals.pyx`."""

from libc.stdint cimport uint32_t, uint64_t

from framework_jetstream.encryption._cipher cimport FileKey, KeyRing
from framework_jetstream.log._log cimport LogFile, LogPart, LogRound
from framework_jetstream.log._record cimport RecordHead

# Return the bytes behind a record in memory that its tags take on the disk; the parts of the first may be said in pieces.
cdef uint64_t tags_of_pieces(const FileKey* key, const LogPart* parts, uint32_t count) noexcept nogil
cdef uint64_t tags_of_record(const FileKey* key, const RecordHead* head) noexcept nogil
# Return what these are at most, for a record of so many bytes and parts.
cdef uint64_t tags_room(const KeyRing* keys, uint64_t length, uint64_t part_count) noexcept nogil
# Make what a round writes, `length` bytes of it, out of what it has in memory.
cdef void round_encrypt(const LogRound* it, char* target) noexcept nogil
# Decrypt a record whose head is good where it was read to, so that it is as in memory; False: a part is bad, and its sum says so.
cdef bint record_decrypt(const FileKey* key, char* record, uint64_t offset) noexcept nogil
