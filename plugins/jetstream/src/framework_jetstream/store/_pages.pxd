"""Segments that are encrypted: what else stands in the file, in pages; all numbers little-endian, nothing is aligned.

    file    PagesHead in 512 bytes, the same again, pages
    page    checksum of what follows (4), 4096 bytes encrypted, in the last one fewer, tag (16)

What is encrypted is a segment as it is without (`_segment.pxd`). So damage in a page is found without a key, and what it costs is named by
what stands in the others: a page that is bad is read as zeros, which have none of the sums.
"""

from libc.stdint cimport uint32_t, uint64_t

from framework_jetstream.encryption._cipher cimport FileKey, KeyHead, KeyRing
from framework_jetstream.store._segment cimport SEGMENT_PAGE_BYTES

cdef enum:
    PAGES_VERSION = 1
    PAGES_AT = 1024
    PAGE_BYTES = SEGMENT_PAGE_BYTES
    PAGE_MORE = 20  # bytes that stand there beside it

cdef enum:  # what `pages_open` returns
    PAGES_PLAIN = 0  # it is not encrypted
    PAGES_OPEN = 1
    PAGES_LOCKED = 2  # nobody has its key
    PAGES_NEWER = 3


cdef packed struct PagesHead:
    char magic[8]  # FWKJSENC
    uint32_t crc  # of what follows
    uint32_t version
    uint64_t group
    uint64_t file
    uint64_t length  # of what is encrypted
    KeyHead key  # its own sum is 0


cdef struct Pages:
    FileKey key  # without a cipher: it is not encrypted
    PagesHead head
    uint64_t length  # as the file seems to have, whatever it is
    uint64_t stored  # as it has


# Make the key and the head of a new file.
cdef void pages_new(const KeyRing* ring, uint64_t group, uint64_t file, uint64_t length, Pages* pages) noexcept nogil
# Look at the first bytes of a file, `PAGES_AT` if it has so many: PAGES_*. `group` and `file` 0: what it says itself.
cdef int pages_open(
    const KeyRing* ring, uint64_t group, uint64_t file, const char* chars, uint64_t size, Pages* pages
) noexcept nogil
# Return how much of a file its first `count` pages are, with what is before them.
cdef uint64_t pages_end(const Pages* pages, uint64_t count) noexcept nogil
# Write some pages; before the first one the head. Returns how many bytes that is: PAGES_AT and 4116 a page at most.
cdef uint64_t pages_write(const Pages* pages, const char* plain, uint64_t first, uint64_t count, char* target) noexcept nogil
# Decrypt a page where it stands; NULL: it is not what was written. `room`: bytes that are there.
cdef const char* page_open(const Pages* pages, uint64_t page, char* stored, uint64_t room, uint64_t* length) noexcept nogil
# See there.
cdef bytes plain_bytes(const KeyRing* ring, data, uint64_t group, uint64_t file, bint* is_current)
