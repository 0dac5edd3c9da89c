"""Encrypt a segment page by page, and read it from any place on. See `_pages.pxd`."""

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

from framework.wire._crc32c cimport crc32c
from framework_jetstream.encryption._cipher cimport (
    CIPHER_END, FILE_OF_SEGMENT, TAG_BYTES, Keys, decrypt, encrypt, file_key_find, file_key_new,
)
from framework_jetstream.log._record cimport head_sum

from framework_jetstream.encryption.errors import LockedFileError
from framework_jetstream.log.record import NewerVersionError

cdef enum:
    HEAD_COPY = 512
    CRC_AT = 8
    SUM_BYTES = 4
    PART = 0x53474553  # numbers of pages are those of no records


cdef void pages_new(const KeyRing* ring, uint64_t group, uint64_t file, uint64_t length, Pages* pages) noexcept nogil:
    memset(pages, 0, sizeof(Pages))
    memcpy(pages.head.magic, b"FWKJSENC", 8)
    pages.head.version = PAGES_VERSION
    pages.head.group = group
    pages.head.file = file
    pages.head.length = pages.length = length
    file_key_new(ring, FILE_OF_SEGMENT, group, file, &pages.key, &pages.head.key)
    pages.head.crc = head_sum(0, &pages.head.crc, sizeof(PagesHead) - CRC_AT)
    pages.stored = pages_end(pages, (length + PAGE_BYTES - 1) // PAGE_BYTES)


cdef bint _head_is_good(const PagesHead* head, uint64_t group, uint64_t file) noexcept nogil:
    if memcmp(head.magic, b"FWKJSENC", 8) != 0 or head.crc != head_sum(0, &head.crc, sizeof(PagesHead) - CRC_AT):
        return False
    return file == 0 or (head.group == group and head.file == file)


cdef int pages_open(
    const KeyRing* ring, uint64_t group, uint64_t file, const char* chars, uint64_t size, Pages* pages
) noexcept nogil:
    cdef int copy
    memset(pages, 0, sizeof(Pages))
    pages.length = pages.stored = size
    for copy in range(2 if size >= PAGES_AT else 0):
        memcpy(&pages.head, chars + copy * HEAD_COPY, sizeof(PagesHead))
        if not _head_is_good(&pages.head, group, file):
            continue
        if pages.head.version > PAGES_VERSION or pages.head.key.cipher >= CIPHER_END:
            return PAGES_NEWER
        pages.length = pages.head.length
        if not file_key_find(ring, FILE_OF_SEGMENT, pages.head.group, pages.head.file, &pages.head.key, &pages.key):
            return PAGES_LOCKED
        return PAGES_OPEN
    pages.key.is_current = ring.cipher == 0
    return PAGES_PLAIN


cdef uint64_t pages_end(const Pages* pages, uint64_t count) noexcept nogil:
    return PAGES_AT + min(count * PAGE_BYTES, pages.length) + count * PAGE_MORE


cdef uint64_t _plain_bytes(const Pages* pages, uint64_t page) noexcept nogil:
    cdef uint64_t at = page * PAGE_BYTES
    return min(pages.length - at, <uint64_t> PAGE_BYTES) if at < pages.length else 0


cdef uint64_t pages_write(const Pages* pages, const char* plain, uint64_t first, uint64_t count, char* target) noexcept nogil:
    cdef char* to = target
    cdef uint64_t page, length
    cdef uint32_t crc
    if first == 0:
        memset(to, 0, PAGES_AT)
        memcpy(to, &pages.head, sizeof(PagesHead))
        memcpy(to + HEAD_COPY, &pages.head, sizeof(PagesHead))
        to += PAGES_AT
    for page in range(first, first + count):
        length = _plain_bytes(pages, page)
        encrypt(&pages.key, page, PART, NULL, 0, plain + page * PAGE_BYTES, length, to + SUM_BYTES)
        crc = crc32c(0, to + SUM_BYTES, length + TAG_BYTES)
        memcpy(to, &crc, SUM_BYTES)
        to += length + PAGE_MORE
    return to - target


cdef const char* page_open(const Pages* pages, uint64_t page, char* stored, uint64_t room, uint64_t* length) noexcept nogil:
    cdef uint32_t crc
    length[0] = _plain_bytes(pages, page)
    if room < length[0] + PAGE_MORE or pages.key.cipher == 0:
        return NULL
    memcpy(&crc, stored, SUM_BYTES)
    if crc != crc32c(0, stored + SUM_BYTES, length[0] + TAG_BYTES):
        return NULL
    return stored + SUM_BYTES if decrypt(&pages.key, page, PART, NULL, 0, stored + SUM_BYTES, length[0]) else NULL


cdef bytes plain_bytes(const KeyRing* ring, data, uint64_t group, uint64_t file, bint* is_current):
    """Return what is in a segment, decrypted if it is encrypted.

    Args:
        data: The file.
        group: Of the stream in the log.
        file: Its number; 0: both are what it says itself.
        is_current: Gets whether it was written with the key of now.

    Raises:
        LockedFileError: Nobody has its key.
        NewerVersionError: A newer version wrote it.
    """
    cdef Pages pages
    cdef bytes copy
    cdef char* chars
    cdef char* to
    cdef const char* page
    cdef uint64_t number, at, length, size = len(data)
    cdef int found = pages_open(ring, group, file, data, size, &pages)
    is_current[0] = pages.key.is_current
    if found == PAGES_PLAIN:
        return data
    if found == PAGES_NEWER:
        raise NewerVersionError
    if found != PAGES_OPEN:
        raise LockedFileError(f"{pages.head.group:010}-{pages.head.file:010}.seg", key_count=ring.count, opens_some=True)
    # A head that lies about the length is one whose sum is right: nothing longer than the file is made of it.
    pages.length = min(pages.length, size)
    copy = bytes(bytearray(data))
    made = bytearray(pages.length)
    chars = copy
    to = made
    with nogil:
        for number in range((pages.length + PAGE_BYTES - 1) // PAGE_BYTES):
            at = pages_end(&pages, number)
            page = page_open(&pages, number, chars + at, size - at if at < size else 0, &length)
            if page != NULL:
                memcpy(to + number * PAGE_BYTES, page, length)
    return bytes(made)


def bad_pages(data: bytes) -> list[int]:
    """Return where pages begin in a segment that are not what was written, by their sums; no key is needed.

    Of one that is not encrypted none is.
    """
    cdef Pages pages
    cdef Keys nobody = Keys()
    cdef const char* chars = data
    cdef uint64_t at, length, number, size = len(data)
    cdef uint32_t crc
    found = []
    if pages_open(&nobody.ring, 0, 0, data, size, &pages) != PAGES_LOCKED:
        return found
    for number in range((pages.length + PAGE_BYTES - 1) // PAGE_BYTES):
        at = pages_end(&pages, number)
        length = _plain_bytes(&pages, number) + PAGE_MORE
        if at > size or size - at < length:
            found.append(at)
            break
        memcpy(&crc, chars + at, SUM_BYTES)
        if crc != crc32c(0, chars + at + SUM_BYTES, length - SUM_BYTES):
            found.append(at)
    return found


def state_of(head: bytes, keys: Keys, group: int, file: int) -> tuple[bool, bool, bool]:
    """Return what the first bytes of a segment say: whether it is encrypted, whether a key opens it, whether that is the key of now.

    Raises:
        NewerVersionError: A newer version wrote it.
    """
    cdef Pages pages
    cdef int found = pages_open(&keys.ring, group, file, head, len(head), &pages)
    if found == PAGES_NEWER:
        raise NewerVersionError
    return found != PAGES_PLAIN, found in (PAGES_PLAIN, PAGES_OPEN), bool(pages.key.is_current)
