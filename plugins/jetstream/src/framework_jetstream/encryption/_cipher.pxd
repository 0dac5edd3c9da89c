"""Ciphers and keys of files, for compiled callers: no I/O, no randomness, no GIL.

The functions are libsodium's, as `libsodium.py` finds them; nobody has a key before they are there.
"""

from libc.stdint cimport uint32_t, uint64_t

cdef enum:
    TAG_BYTES = 16
    KEY_BYTES = 32
    SALT_BYTES = 16
    CHECK_BYTES = TAG_BYTES
    KEYS_MAX = 2

cdef enum:  # as it stands in files
    CIPHER_NONE = 0
    CIPHER_CHACHAPOLY = 1
    CIPHER_AES = 2
    CIPHER_END

cdef enum:  # what is encrypted by a key: part of it
    FILE_OF_LOG = 1
    FILE_OF_SEGMENT = 2


cdef struct FileKey:
    uint32_t cipher  # CIPHER_NONE: the file is not encrypted
    bint is_current  # it is what a new file would have: of `key`, not `prev_key`, and its cipher
    unsigned char[KEY_BYTES] chars


cdef struct KeyRing:
    uint32_t cipher  # of new files; CIPHER_NONE: they are not encrypted
    uint32_t count  # of keys: the first one is for new files
    bint passes_locked  # files of which nobody has the key are read as they are
    unsigned char[SALT_BYTES] salt  # of new files: random, of one start
    unsigned char[KEYS_MAX][KEY_BYTES] keys


cdef packed struct KeyHead:  # stands in the head of a file
    uint32_t crc  # of what follows, by who writes it
    uint32_t cipher
    unsigned char[SALT_BYTES] salt
    unsigned char[CHECK_BYTES] check  # shows whether a key is the one


# Make the key of a new file, and what stands in its head but the sum.
cdef void file_key_new(const KeyRing* ring, uint32_t kind, uint64_t group, uint64_t file, FileKey* key, KeyHead* head) noexcept nogil
# Find the key of a file; False: the ring does not have it.
cdef bint file_key_find(
    const KeyRing* ring, uint32_t kind, uint64_t group, uint64_t file, const KeyHead* head, FileKey* key
) noexcept nogil
# Encrypt `length` bytes to `target`, with a tag behind them. A pair of numbers is used once with a key.
cdef void encrypt(
    const FileKey* key, uint64_t place, uint32_t part, const void* known, uint64_t known_bytes, const char* source, uint64_t length,
    char* target,
) noexcept nogil
# Decrypt `length` bytes, behind which their tag stands, where they are; False: they are not what was encrypted.
cdef bint decrypt(
    const FileKey* key, uint64_t place, uint32_t part, const void* known, uint64_t known_bytes, char* chars, uint64_t length
) noexcept nogil


cdef class Keys:
    cdef KeyRing ring
