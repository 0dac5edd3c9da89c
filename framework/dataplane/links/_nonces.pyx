"""Nonces that clients sign: 11 random bytes in base64url. Source: nats-server `nkey.go`, `generateNonce`."""

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy

from framework.dataplane._state cimport NONCE_BYTES, Link, State

cdef enum:
    RAW_BYTES = 11


cdef bint _random(State* state, unsigned char* into) noexcept nogil:
    """Fill RAW_BYTES: with what nobody can guess, or without sockets, with what the seed gives. False: there was none."""
    cdef int at
    cdef uint64_t part
    if state.shell.random != NULL:
        return state.shell.random(state.shell.self, <char*> into, RAW_BYTES)
    for at in range(0, RAW_BYTES, 4):
        state.nonce_random ^= state.nonce_random << 13
        state.nonce_random ^= state.nonce_random >> 7
        state.nonce_random ^= state.nonce_random << 17
        part = state.nonce_random >> 16
        memcpy(into + at, &part, min(4, RAW_BYTES - at))
    return True


cdef bint nonce_give(State* state, Link* link) noexcept nogil:
    """Write a nonce into the link; False: no randomness."""
    cdef unsigned char raw[RAW_BYTES + 1]
    cdef const char* digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    cdef uint32_t group
    cdef int at, digit
    raw[RAW_BYTES] = 0
    if not _random(state, raw):
        return False
    for at in range(4):
        group = (<uint32_t> raw[3 * at] << 16) | (<uint32_t> raw[3 * at + 1] << 8) | raw[3 * at + 2]
        for digit in range(4):
            if 4 * at + digit < NONCE_BYTES:
                link.nonce[4 * at + digit] = digits[(group >> (18 - 6 * digit)) & 63]
    return True
