"""CRC-32C (Castagnoli), as it stands in S2 streams: with the processor's instruction where there is one, else eight bytes a table look-up.

Which of the two is found out at run time on x86-64; other processors take the tables.
Source: RFC 3720 B.4 (polynomial); Snappy framing format, 3 (mask).
"""

from libc.stdint cimport uint8_t, uint32_t

cdef extern from *:
    """
    #ifndef FRAMEWORK_CRC32C_H
    #define FRAMEWORK_CRC32C_H
    #include <stdint.h>
    #include <string.h>

    #define CRC32C_POLYNOMIAL 0x82f63b78u
    #if defined(__x86_64__) && defined(__GNUC__)
    #define CRC32C_INSTRUCTION 1
    #endif

    /* Written once, when the module is loaded; [n][b] is the CRC of byte b and n zero bytes behind it. */
    static uint32_t crc32c_tables[8][256];
    static int crc32c_has_instruction;

    static void crc32c_prepare(void) {
        for (uint32_t byte = 0; byte < 256; byte++) {
            uint32_t crc = byte;
            for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ CRC32C_POLYNOMIAL : crc >> 1;
            crc32c_tables[0][byte] = crc;
        }
        for (int table = 1; table < 8; table++)
            for (uint32_t byte = 0; byte < 256; byte++) {
                uint32_t crc = crc32c_tables[table - 1][byte];
                crc32c_tables[table][byte] = crc >> 8 ^ crc32c_tables[0][crc & 255];
            }
    #ifdef CRC32C_INSTRUCTION
        __builtin_cpu_init();
        crc32c_has_instruction = __builtin_cpu_supports("sse4.2");
    #endif
    }

    static inline uint64_t crc32c_load(const uint8_t *at) {
        uint64_t value;
        memcpy(&value, at, 8);
    #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        value = __builtin_bswap64(value);
    #endif
        return value;
    }

    static uint32_t crc32c_by_tables(uint32_t crc, const uint8_t *at, size_t length) {
        for (; length >= 8; at += 8, length -= 8) {
            uint64_t part = crc32c_load(at) ^ crc;
            crc = 0;
            for (int byte = 0; byte < 8; byte++) crc ^= crc32c_tables[7 - byte][part >> 8 * byte & 255];
        }
        while (length--) crc = crc >> 8 ^ crc32c_tables[0][(crc ^ *at++) & 255];
        return crc;
    }

    #ifdef CRC32C_INSTRUCTION
    __attribute__((target("sse4.2")))
    static uint32_t crc32c_by_instruction(uint32_t begin, const uint8_t *at, size_t length) {
        uint64_t crc = begin;
        for (; length >= 8; at += 8, length -= 8) crc = __builtin_ia32_crc32di(crc, crc32c_load(at));
        while (length--) crc = __builtin_ia32_crc32qi((uint32_t)crc, *at++);
        return (uint32_t)crc;
    }
    #endif

    static uint32_t crc32c(const uint8_t *at, size_t length, int by_tables) {
    #ifdef CRC32C_INSTRUCTION
        if (crc32c_has_instruction && !by_tables) return ~crc32c_by_instruction(~0u, at, length);
    #endif
        (void)by_tables;
        return ~crc32c_by_tables(~0u, at, length);
    }
    #endif
    """
    void crc32c_prepare() noexcept nogil
    # Before any other; by the module that includes this.
    uint32_t crc32c(const uint8_t* at, size_t length, bint by_tables) noexcept nogil


cdef inline uint32_t masked(uint32_t crc) noexcept nogil:
    """The form in which a CRC is sent, so that data with CRCs in it has no CRC that is always the same."""
    return (crc >> 15 | crc << 17) + <uint32_t> 0xa282ead8
