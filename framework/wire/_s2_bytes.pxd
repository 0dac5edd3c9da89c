"""Reading, comparing and copying bytes for the S2 codec: whole words, least significant byte first on every machine, at any address."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

cdef extern from *:
    """
    #ifndef FRAMEWORK_S2_BYTES_H
    #define FRAMEWORK_S2_BYTES_H
    #include <stdint.h>
    #include <string.h>

    #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    #define S2_LITTLE_32(value) __builtin_bswap32(value)
    #define S2_LITTLE_64(value) __builtin_bswap64(value)
    #else
    #define S2_LITTLE_32(value) (value)
    #define S2_LITTLE_64(value) (value)
    #endif

    static inline uint32_t load_32(const uint8_t *at) {
        uint32_t value; memcpy(&value, at, 4); return S2_LITTLE_32(value);
    }
    static inline uint64_t load_64(const uint8_t *at) {
        uint64_t value; memcpy(&value, at, 8); return S2_LITTLE_64(value);
    }
    static inline void store_32(uint8_t *at, uint32_t value) {
        value = S2_LITTLE_32(value); memcpy(at, &value, 4);
    }
    static inline void store_64(uint8_t *at, uint64_t value) {
        value = S2_LITTLE_64(value); memcpy(at, &value, 8);
    }
    static inline void copy_8(uint8_t *to, const uint8_t *from) {
        uint64_t part; memcpy(&part, from, 8); memcpy(to, &part, 8);
    }
    static inline void copy_16(uint8_t *to, const uint8_t *from) {
        /* By way of a register: the two may overlap. */
        uint64_t part[2]; memcpy(part, from, 16); memcpy(to, part, 16);
    }
    static inline unsigned int last_bits(uint64_t value) { return (unsigned int)__builtin_ctzll(value); }
    static inline unsigned int first_bits(uint64_t value) { return (unsigned int)__builtin_clzll(value); }
    #endif
    """
    uint32_t load_32(const uint8_t* at) noexcept nogil
    uint64_t load_64(const uint8_t* at) noexcept nogil
    void store_32(uint8_t* at, uint32_t value) noexcept nogil
    void store_64(uint8_t* at, uint64_t value) noexcept nogil
    void copy_8(uint8_t* to, const uint8_t* source) noexcept nogil
    void copy_16(uint8_t* to, const uint8_t* source) noexcept nogil
    unsigned int last_bits(uint64_t value) noexcept nogil
    # Zero bits at the least significant end; `value` is not 0.
    unsigned int first_bits(uint64_t value) noexcept nogil
    # Zero bits at the most significant end; `value` is not 0.


cdef inline uint32_t load_16(const uint8_t* at) noexcept nogil:
    return at[0] | <uint32_t> at[1] << 8


cdef inline uint32_t load_24(const uint8_t* at) noexcept nogil:
    return at[0] | <uint32_t> at[1] << 8 | <uint32_t> at[2] << 16


cdef inline void store_16(uint8_t* at, uint32_t value) noexcept nogil:
    at[0] = <uint8_t> value
    at[1] = <uint8_t> (value >> 8)


cdef inline void store_24(uint8_t* at, uint32_t value) noexcept nogil:
    at[0] = <uint8_t> value
    at[1] = <uint8_t> (value >> 8)
    at[2] = <uint8_t> (value >> 16)


cdef inline size_t shared_length(const uint8_t* left, const uint8_t* right, const uint8_t* end) noexcept nogil:
    """How many bytes are the same in both places; `right` is the later one and does not go past `end`."""
    cdef const uint8_t* begin = right
    cdef uint64_t differing
    while end - right >= 8:
        differing = load_64(left) ^ load_64(right)
        if differing:
            return right - begin + (last_bits(differing) >> 3)
        left += 8
        right += 8
    while right < end and left[0] == right[0]:
        left += 1
        right += 1
    return right - begin


cdef inline size_t shared_before(
    const uint8_t* left, const uint8_t* left_begin, const uint8_t* right, const uint8_t* right_begin
) noexcept nogil:
    """How many bytes are the same before both places, neither of which goes past its beginning."""
    cdef size_t most = right - right_begin, count = 0
    cdef uint64_t differing
    if left - left_begin >= 8:
        # Some of these eight may be of what was copied already: they may be read, but not counted.
        differing = load_64(left - 8) ^ load_64(right - 8)
        if differing:
            count = first_bits(differing) >> 3
            return count if count < most else most
        count = 8 if most > 8 else most
    while count < most and left - count > left_begin and (left - count - 1)[0] == (right - count - 1)[0]:
        count += 1
    return count
