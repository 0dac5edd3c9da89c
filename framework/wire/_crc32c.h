/* CRC-32C (Castagnoli), by the processor's instructions where it has them.
 *
 * Wheels are built without -march, so the processor is asked at run time.
 *
 * By its CRC instruction: three lanes, of a kibibyte or shorter, hide the latency of three cycles; their sums
 * are joined by multiplying with powers of x, which tables hold for the two distances that occur. What comes
 * behind the three is asked for meanwhile: the processor expects one row of addresses, not three short ones,
 * and would wait for what is not in a cache.
 *
 * By multiplication without carry, of 32 bytes at once: twice as fast, for a kibibyte and more. Of 64 bytes at once
 * it would be faster still, on fewer processors.
 */
#ifndef FRAMEWORK_CRC32C_H
#define FRAMEWORK_CRC32C_H

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

/* Polynomials are as sums are: the highest bit is that of x^0. */
static uint32_t crc32c_product(uint32_t one, uint32_t other) {
    uint32_t product = 0;
    for (; one; one <<= 1) {
        product ^= other & -(one >> 31);
        other = other >> 1 ^ (CRC32C_POLYNOMIAL & -(other & 1));
    }
    return product;
}

/* x^exponent. */
static uint32_t crc32c_power(uint64_t exponent) {
    uint32_t power = 1u << 31, square = 1u << 30;
    for (; exponent; exponent >>= 1, square = crc32c_product(square, square))
        if (exponent & 1) power = crc32c_product(power, square);
    return power;
}

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
#include <immintrin.h>
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

#if defined(__x86_64__) && defined(__GNUC__)
#define CRC32C_WIDE __attribute__((target("avx2,vpclmulqdq,pclmul,sse4.2")))
#define CRC32C_WIDE_LEAST 512 /* bytes */
#define CRC32C_PARTS 4        /* of 32 bytes, side by side */
#define CRC32C_ROW (32 * CRC32C_PARTS)

/* What moves 16 bytes on by 32 and by a row: for the first 8 of them, and for the last. */
static uint64_t crc32c_by_part[2], crc32c_by_row[2];

static int crc32c_has_wide(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("pclmul");
}

/* A product of 64 bits and 32, both with their highest power in bit 0, has x^33 too much in a register of 128. */
static void crc32c_moves(uint64_t moves[2], uint64_t length) {
    moves[0] = crc32c_power(8 * length + 64 - 33);
    moves[1] = crc32c_power(8 * length - 33);
}

CRC32C_WIDE static inline __attribute__((always_inline)) __m256i crc32c_wide(const uint64_t moves[2]) {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)moves));
}

CRC32C_WIDE static inline __attribute__((always_inline)) __m256i crc32c_part(const uint8_t *at) {
    return _mm256_loadu_si256((const __m256i *)at);
}

/* Move a part on, and add what stands there. */
CRC32C_WIDE static inline __attribute__((always_inline)) __m256i crc32c_folded(__m256i part, __m256i moves, __m256i there) {
    __m256i first = _mm256_clmulepi64_epi128(part, moves, 0x00), last = _mm256_clmulepi64_epi128(part, moves, 0x11);
    return _mm256_xor_si256(_mm256_xor_si256(first, last), there);
}

/* Parts whose sum is that of all bytes so far take their place. */
CRC32C_WIDE static uint32_t crc32c_by_products(uint32_t crc, const uint8_t *at, size_t length) {
    __m256i parts[CRC32C_PARTS], moves = crc32c_wide(crc32c_by_row);
    uint8_t rest[32];
    if (length < CRC32C_WIDE_LEAST) return crc32c_by_instruction(crc, at, length);
    for (int part = 0; part < CRC32C_PARTS; part++) parts[part] = crc32c_part(at + 32 * part);
    parts[0] = _mm256_xor_si256(parts[0], _mm256_zextsi128_si256(_mm_cvtsi32_si128((int)crc)));
    for (at += CRC32C_ROW, length -= CRC32C_ROW; length >= CRC32C_ROW; at += CRC32C_ROW, length -= CRC32C_ROW)
        for (int part = 0; part < CRC32C_PARTS; part++) parts[part] = crc32c_folded(parts[part], moves, crc32c_part(at + 32 * part));
    moves = crc32c_wide(crc32c_by_part);
    for (int part = 1; part < CRC32C_PARTS; part++) parts[0] = crc32c_folded(parts[0], moves, parts[part]);
    for (; length >= 32; at += 32, length -= 32) parts[0] = crc32c_folded(parts[0], moves, crc32c_part(at));
    _mm256_storeu_si256((__m256i *)rest, parts[0]);
    crc = crc32c_by_instruction(0, rest, sizeof(rest));
    /* Else each later instruction of 128 bits, in code that knows no longer ones, waits for the upper bits. */
    _mm256_zeroupper();
    return crc32c_by_instruction(crc, at, length);
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
#ifdef CRC32C_WIDE
    crc32c_moves(crc32c_by_part, 32);
    crc32c_moves(crc32c_by_row, CRC32C_ROW);
    if (crc32c_raw == crc32c_by_instruction && crc32c_has_wide()) crc32c_raw = crc32c_by_products;
#endif
}

/* Go on with a sum over more bytes; 0 begins. */
static inline uint32_t crc32c(uint32_t crc, const void *bytes, size_t length) {
    return ~crc32c_raw(~crc, (const uint8_t *)bytes, length);
}

/* What a sum is multiplied with to be moved on by so many bytes of zeros. */
static inline uint32_t crc32c_move(uint64_t length) { return crc32c_power(8 * length); }

/* Join the sums of bytes and of those behind them, for whose length `move` is. */
static inline uint32_t crc32c_joined(uint32_t first, uint32_t second, uint32_t move) {
    return crc32c_product(first, move) ^ second;
}

/* The sums of the same bytes by each way that this processor has; returns how many, at most CRC32C_WAYS. */
#define CRC32C_WAYS 3
static inline int crc32c_by_each(const uint8_t *at, size_t length, uint32_t sums[CRC32C_WAYS]) {
    int count = 0;
    sums[count++] = ~crc32c_by_tables(~0u, at, length);
#ifdef CRC32C_TARGET
    if (crc32c_has_instruction()) sums[count++] = ~crc32c_by_instruction(~0u, at, length);
#endif
#ifdef CRC32C_WIDE
    if (crc32c_raw == crc32c_by_products) sums[count++] = ~crc32c_by_products(~0u, at, length);
#endif
    return count;
}

#endif
