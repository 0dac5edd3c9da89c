"""Encrypt and decrypt, and derive the key of a file.

No key is used for two files, and no number twice with a key, so no nonce is ever used again. The key of a file comes from the configured
key, what the file is, its number, and a salt that is random for each start: who goes on from an older copy of the folder has another salt,
and so other keys, for files with the same numbers.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

cdef enum:
    NONCE_BYTES = 12

ctypedef int (*Encrypt)(
    unsigned char* target, unsigned long long* target_bytes, const void* source, unsigned long long source_bytes,
    const void* known, unsigned long long known_bytes, const void* secret_nonce, const void* nonce, const void* key,
) noexcept nogil
ctypedef int (*Decrypt)(
    unsigned char* target, unsigned long long* target_bytes, void* secret_nonce, const void* source, unsigned long long source_bytes,
    const void* known, unsigned long long known_bytes, const void* nonce, const void* key,
) noexcept nogil
ctypedef int (*Hash)(
    unsigned char* target, size_t target_bytes, const void* source, unsigned long long source_bytes, const void* key, size_t key_bytes,
    const void* salt, const void* personal,
) noexcept nogil


cdef struct Functions:
    Hash hash
    Encrypt[CIPHER_END] encrypt  # by cipher
    Decrypt[CIPHER_END] decrypt


cdef packed struct Nonce:
    uint64_t place
    uint32_t part


cdef packed struct KeyPlace:  # what a key is derived from
    uint32_t cipher
    uint32_t kind
    uint64_t group
    uint64_t file


cdef Functions FUNCTIONS
cdef bint HAS_FUNCTIONS = False


cdef void _derive(const unsigned char* key, const KeyPlace* place, const unsigned char* salt, FileKey* made) noexcept nogil:
    made.cipher = place.cipher
    FUNCTIONS.hash(made.chars, KEY_BYTES, place, sizeof(KeyPlace), key, KEY_BYTES, salt, b"FWKJS file key  ")


cdef void _check(const FileKey* key, char* check) noexcept nogil:
    """Make what shows that a key is the one: the tag of nothing, with a number that nothing else has."""
    encrypt(key, <uint64_t> -1, <uint32_t> -1, NULL, 0, NULL, 0, check)


cdef void file_key_new(const KeyRing* ring, uint32_t kind, uint64_t group, uint64_t file, FileKey* key, KeyHead* head) noexcept nogil:
    cdef KeyPlace place
    memset(head, 0, sizeof(KeyHead))
    memset(key, 0, sizeof(FileKey))
    key.is_current = True
    if ring.cipher == CIPHER_NONE:
        return
    place.cipher = head.cipher = ring.cipher
    place.kind = kind
    place.group = group
    place.file = file
    memcpy(head.salt, ring.salt, SALT_BYTES)
    _derive(ring.keys[0], &place, ring.salt, key)
    _check(key, <char*> head.check)


cdef bint file_key_find(
    const KeyRing* ring, uint32_t kind, uint64_t group, uint64_t file, const KeyHead* head, FileKey* key
) noexcept nogil:
    cdef KeyPlace place
    cdef char[CHECK_BYTES] check
    cdef uint32_t at
    memset(key, 0, sizeof(FileKey))
    if head.cipher == CIPHER_NONE or head.cipher >= CIPHER_END or (head.cipher == CIPHER_AES and FUNCTIONS.encrypt[CIPHER_AES] == NULL):
        return False
    place.cipher = head.cipher
    place.kind = kind
    place.group = group
    place.file = file
    for at in range(ring.count):
        _derive(ring.keys[at], &place, head.salt, key)
        _check(key, check)
        if memcmp(check, head.check, CHECK_BYTES) == 0:
            key.is_current = at == 0 and head.cipher == ring.cipher
            return True
    memset(key, 0, sizeof(FileKey))
    return False


cdef void encrypt(
    const FileKey* key, uint64_t place, uint32_t part, const void* known, uint64_t known_bytes, const char* source, uint64_t length,
    char* target,
) noexcept nogil:
    cdef Nonce nonce
    cdef unsigned long long made
    nonce.place = place
    nonce.part = part
    FUNCTIONS.encrypt[key.cipher](<unsigned char*> target, &made, source, length, known, known_bytes, NULL, &nonce, key.chars)


cdef bint decrypt(
    const FileKey* key, uint64_t place, uint32_t part, const void* known, uint64_t known_bytes, char* chars, uint64_t length
) noexcept nogil:
    cdef Nonce nonce
    cdef unsigned long long made
    nonce.place = place
    nonce.part = part
    return FUNCTIONS.decrypt[key.cipher](
        <unsigned char*> chars, &made, NULL, chars, length + TAG_BYTES, known, known_bytes, &nonce, key.chars
    ) == 0


def use_functions(const uint8_t[::1] addresses not None) -> None:
    """Let libsodium's functions be found.

    Args:
        addresses: Pointers as C has them: `blake2b`, then to encrypt and to decrypt for each cipher; 0: the processor can't.
    """
    cdef void** found = <void**> &addresses[0]
    global HAS_FUNCTIONS
    assert addresses.shape[0] == (2 * CIPHER_END - 1) * sizeof(void*)
    memset(&FUNCTIONS, 0, sizeof(FUNCTIONS))
    FUNCTIONS.hash = <Hash> found[0]
    cdef int cipher
    for cipher in range(1, CIPHER_END):
        FUNCTIONS.encrypt[cipher] = <Encrypt> found[2 * cipher - 1]
        FUNCTIONS.decrypt[cipher] = <Decrypt> found[2 * cipher]
    HAS_FUNCTIONS = True


cdef class Keys:
    """Keys of one start of a server, or of a tool.

    Args:
        cipher: Of what is written: 1 ChaCha20-Poly1305, 2 AES-256-GCM; 0: nothing is encrypted.
        keys: Of 32 bytes each, at most two; the first one is for what is written.
        salt: Of 16 bytes that are random, and never used for another start.
        passes_locked: Whether files without a key are read as they are, to look at their sums.
    """

    def __cinit__(self, *, uint32_t cipher=0, tuple keys=(), bytes salt=bytes(16), bint passes_locked=False):
        cdef bytes key
        assert len(keys) <= KEYS_MAX and len(salt) == SALT_BYTES and cipher < CIPHER_END
        assert HAS_FUNCTIONS or not keys, "use_functions comes before"
        assert keys or not cipher
        self.ring.cipher = cipher
        self.ring.passes_locked = passes_locked
        memcpy(self.ring.salt, <const char*> salt, SALT_BYTES)
        for key in keys:
            assert len(key) == KEY_BYTES
            memcpy(self.ring.keys[self.ring.count], <const char*> key, KEY_BYTES)
            self.ring.count += 1

    @property
    def count(self):
        """How many keys there are."""
        return self.ring.count

    @property
    def cipher(self):
        """Number of the cipher of what is written; 0: nothing is encrypted."""
        return self.ring.cipher

    def __dealloc__(self):
        memset(&self.ring, 0, sizeof(KeyRing))


def encrypt_once(uint32_t cipher, bytes key not None, uint64_t place, uint32_t part, bytes known not None, bytes source not None) -> bytes:
    """Return what is encrypted, with its tag behind it: for the test of the library at a start, and for tests."""
    cdef FileKey made
    target = bytearray(len(source) + TAG_BYTES)
    cdef char* chars = target
    made.cipher = cipher
    memcpy(made.chars, <const char*> key, KEY_BYTES)
    encrypt(&made, place, part, <const char*> known, len(known), source, len(source), chars)
    return bytes(target)
