"""Bytes in memory: copy, compare and hash short runs; no allocation, no length limit."""

from libc.stdint cimport int64_t, uint64_t

cdef extern from *:
    """
    #ifndef FRAMEWORK_BYTES_H
    #define FRAMEWORK_BYTES_H
    #include <stdint.h>
    #include <string.h>

    /* Bytes that a copy may write past its end, and read past its source: every buffer of the plane has them. */
    #define COPY_SLACK 64

    static inline void copy_short(char *to, const char *from, size_t count) {
        /* Two 16-byte moves a round; a call of memcpy costs more than the copy below ~100 bytes. */
        if (count > 192) { memcpy(to, from, count); return; }
        char *end = to + count;
        do {
            uint64_t part[4];
            memcpy(part, from, 32); memcpy(to, part, 32);
            to += 32; from += 32;
        } while (to < end);
    }

    static inline int same_bytes(const char *left, const char *right, size_t count) {
        /* Both have at least 8 readable bytes past their end. */
        while (count >= 8) {
            uint64_t a, b;
            memcpy(&a, left, 8); memcpy(&b, right, 8);
            if (a != b) return 0;
            left += 8; right += 8; count -= 8;
        }
        if (count) {
            uint64_t a, b;
            memcpy(&a, left, 8); memcpy(&b, right, 8);
            return ((a ^ b) << (8 * (8 - count))) == 0;
        }
        return 1;
    }

    static inline uint64_t mix_bits(uint64_t a, uint64_t b) {
        __uint128_t product = (__uint128_t)a * b;
        return (uint64_t)product ^ (uint64_t)(product >> 64);
    }

    static inline uint64_t hash_bytes(uint64_t seed, const char *bytes, size_t count) {
        /* Multiply and fold, eight bytes a round; the seed is secret, so that a peer cannot choose collisions. */
        uint64_t state = mix_bits(seed ^ 0x9e3779b97f4a7c15ull, count + 0xd6e8feb86659fd93ull), part;
        while (count >= 8) {
            memcpy(&part, bytes, 8);
            state = mix_bits(state ^ part, 0xa0761d6478bd642full ^ seed);
            bytes += 8; count -= 8;
        }
        if (count) {
            part = 0; memcpy(&part, bytes, count);
            state = mix_bits(state ^ part, 0xe7037ed1a0b428dbull ^ seed);
        }
        return state ? state : 1;
    }

    static inline int write_decimal(char *to, uint64_t value) {
        char digits[20]; int count = 0;
        do { digits[count++] = (char)('0' + value % 10); value /= 10; } while (value);
        for (int at = 0; at < count; at++) to[at] = digits[count - 1 - at];
        return count;
    }
    #endif
    """
    enum:
        COPY_SLACK
    void copy_short(char *to, const char *source, size_t count) noexcept nogil
    bint same_bytes(const char *left, const char *right, size_t count) noexcept nogil
    uint64_t hash_bytes(uint64_t seed, const char *source, size_t count) noexcept nogil
    int write_decimal(char *to, uint64_t value) noexcept nogil
