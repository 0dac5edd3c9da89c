/* CRC-32C (Castagnoli), by the processor's instruction where it has one.
 *
 * Wheels are built without -march, so the processor is asked at run time. Three lanes, of a kibibyte or
 * shorter, hide the instruction's latency of three cycles; their sums are joined by multiplying with powers
 * of x, which tables hold for the two distances that occur. What comes behind the three is asked for
 * meanwhile: the processor expects one row of addresses, not three short ones, and would wait for what is
 * not in a cache.
 */
#ifndef FRAMEWORK_JETSTREAM_CRC32C_H
#define FRAMEWORK_JETSTREAM_CRC32C_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CRC32C_POLYNOMIAL 0x82f63b78u /* reversed */
#define CRC32C_LONG 1024              /* bytes of a lane */
#define CRC32C_SHORT 128
#define CRC32C_LINE 64                /* of a cache */

static uint32_t crc32c_slices[8][256];
static uint32_t crc32c_long_shifts[4][256]; /* a sum, moved on by CRC32C_LONG bytes of zeros */
static uint32_t crc32c_short_shifts[4][256];

static uint32_t crc32c_by_tables(uint32_t crc, const uint8_t *at, size_t length) {
    uint64_t word;
    for (; length >= 8; at += 8, length -= 8) {
        memcpy(&word, at, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        word = __builtin_bswap64(word);
#endif
        word ^= crc;
        crc = crc32c_slices[7][word & 255] ^ crc32c_slices[6][word >> 8 & 255] ^ crc32c_slices[5][word >> 16 & 255] ^
              crc32c_slices[4][word >> 24 & 255] ^ crc32c_slices[3][word >> 32 & 255] ^ crc32c_slices[2][word >> 40 & 255] ^
              crc32c_slices[1][word >> 48 & 255] ^ crc32c_slices[0][word >> 56];
    }
    while (length--) crc = crc32c_slices[0][(crc ^ *at++) & 255] ^ crc >> 8;
    return crc;
}

#if defined(__x86_64__) && defined(__GNUC__)
#include <nmmintrin.h>
#define CRC32C_TARGET __attribute__((target("sse4.2")))
#define crc32c_word(crc, word) ((uint32_t)_mm_crc32_u64(crc, word))
#define crc32c_byte(crc, byte) _mm_crc32_u8(crc, byte)
static int crc32c_has_instruction(void) { return __builtin_cpu_supports("sse4.2"); }
#elif defined(__aarch64__) && defined(__linux__) && defined(__GNUC__)
#include <sys/auxv.h>
#define CRC32C_TARGET __attribute__((target("+crc")))
#define crc32c_word(crc, word) __builtin_aarch64_crc32cx(crc, word)
#define crc32c_byte(crc, byte) __builtin_aarch64_crc32cb(crc, byte)
static int crc32c_has_instruction(void) { return getauxval(AT_HWCAP) >> 7 & 1; /* HWCAP_CRC32 */ }
#endif

#ifdef CRC32C_TARGET
static inline uint32_t crc32c_moved_on(const uint32_t (*shifts)[256], uint32_t crc) {
    return shifts[0][crc & 255] ^ shifts[1][crc >> 8 & 255] ^ shifts[2][crc >> 16 & 255] ^ shifts[3][crc >> 24];
}

/* Go on over three lanes of whole lines. */
CRC32C_TARGET static inline __attribute__((always_inline)) uint32_t
crc32c_of_three(uint32_t crc, const uint8_t *at, size_t lane, const uint32_t (*shifts)[256]) {
    uint32_t second = 0, third = 0;
    uint64_t word, second_word, third_word;
    for (const uint8_t *end = at + lane; at < end;) {
        for (int ahead = 3; ahead < 6; ahead++) __builtin_prefetch(at + ahead * lane);
        for (const uint8_t *line = at + CRC32C_LINE; at < line; at += 8) {
            memcpy(&word, at, 8);
            memcpy(&second_word, at + lane, 8);
            memcpy(&third_word, at + 2 * lane, 8);
            crc = crc32c_word(crc, word);
            second = crc32c_word(second, second_word);
            third = crc32c_word(third, third_word);
        }
    }
    return crc32c_moved_on(shifts, crc32c_moved_on(shifts, crc) ^ second) ^ third;
}

CRC32C_TARGET static uint32_t crc32c_by_instruction(uint32_t crc, const uint8_t *at, size_t length) {
    uint64_t word;
    for (; length >= 3 * CRC32C_LONG; at += 3 * CRC32C_LONG, length -= 3 * CRC32C_LONG)
        crc = crc32c_of_three(crc, at, CRC32C_LONG, crc32c_long_shifts);
    for (; length >= 3 * CRC32C_SHORT; at += 3 * CRC32C_SHORT, length -= 3 * CRC32C_SHORT)
        crc = crc32c_of_three(crc, at, CRC32C_SHORT, crc32c_short_shifts);
    for (; length >= 8; at += 8, length -= 8) {
        memcpy(&word, at, 8);
        crc = crc32c_word(crc, word);
    }
    while (length--) crc = crc32c_byte(crc, *at++);
    return crc;
}
#endif

static uint32_t (*crc32c_raw)(uint32_t, const uint8_t *, size_t);

/* Fill the tables and choose; once, before anything else. */
static void crc32c_prepare(void) {
    uint8_t zeros[CRC32C_LONG] = {0};
    for (uint32_t at = 0; at < 256; at++) {
        uint32_t crc = at;
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? CRC32C_POLYNOMIAL : 0);
        crc32c_slices[0][at] = crc;
    }
    for (int slice = 1; slice < 8; slice++)
        for (uint32_t at = 0; at < 256; at++) {
            uint32_t crc = crc32c_slices[slice - 1][at];
            crc32c_slices[slice][at] = crc32c_slices[0][crc & 255] ^ crc >> 8;
        }
    for (int byte = 0; byte < 4; byte++)
        for (uint32_t at = 0; at < 256; at++) {
            crc32c_long_shifts[byte][at] = crc32c_by_tables(at << 8 * byte, zeros, CRC32C_LONG);
            crc32c_short_shifts[byte][at] = crc32c_by_tables(at << 8 * byte, zeros, CRC32C_SHORT);
        }
    crc32c_raw = crc32c_by_tables;
#ifdef CRC32C_TARGET
    if (crc32c_has_instruction()) crc32c_raw = crc32c_by_instruction;
#endif
}

/* Go on with a sum over more bytes; 0 begins. */
static inline uint32_t crc32c(uint32_t crc, const void *bytes, size_t length) {
    return ~crc32c_raw(~crc, (const uint8_t *)bytes, length);
}

/* Polynomials are as sums are: the highest bit is that of x^0. */
static uint32_t crc32c_product(uint32_t one, uint32_t other) {
    uint32_t product = 0;
    for (; one; one <<= 1) {
        product ^= other & -(one >> 31);
        other = other >> 1 ^ (CRC32C_POLYNOMIAL & -(other & 1));
    }
    return product;
}

/* What a sum is multiplied with to be moved on by so many bytes of zeros: x^(8 * length). */
static uint32_t crc32c_move(uint64_t length) {
    uint32_t move = 1u << 31, square = 1u << 23; /* x^8 */
    for (; length; length >>= 1, square = crc32c_product(square, square))
        if (length & 1) move = crc32c_product(move, square);
    return move;
}

/* Join the sums of bytes and of those behind them, for whose length `move` is. */
static inline uint32_t crc32c_joined(uint32_t first, uint32_t second, uint32_t move) {
    return crc32c_product(first, move) ^ second;
}

#endif
