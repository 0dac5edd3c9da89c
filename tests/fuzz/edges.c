/* Counts which edges of the compiled rooms a run has taken.
 *
 * Loaded before everything else; code built with -fsanitize-coverage=trace-pc calls the first function at each edge.
 */
#include <stdint.h>
#include <string.h>

enum { EDGES = 1 << 16 };

static uint8_t taken[EDGES];
static uint8_t known[EDGES];
static uintptr_t before;

void __sanitizer_cov_trace_pc(void) {
    uintptr_t here = (uintptr_t) __builtin_return_address(0);
    uintptr_t edge = ((here >> 1) ^ (here >> 17) ^ before) & (EDGES - 1);
    if (taken[edge] != UINT8_MAX) {
        taken[edge]++;
    }
    before = here >> 2;
}

/* One bit for each power of two of a count, so that a loop taken twice as often is news. */
static uint8_t bucket(uint8_t count) {
    uint8_t bit = 1;
    while (count >>= 1) {
        bit <<= 1;
    }
    return bit;
}

/* Return how much of the run since the last call was never seen before, and forget the run. */
uint32_t edges_new(void) {
    uint32_t news = 0;
    for (int edge = 0; edge < EDGES; edge++) {
        if (taken[edge]) {
            uint8_t bit = bucket(taken[edge]);
            news += !(known[edge] & bit);
            known[edge] |= bit;
        }
    }
    memset(taken, 0, sizeof taken);
    return news;
}

uint32_t edges_known(void) {
    uint32_t count = 0;
    for (int edge = 0; edge < EDGES; edge++) {
        count += known[edge] != 0;
    }
    return count;
}
