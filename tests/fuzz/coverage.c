/* What code compiled with -fsanitize-coverage=trace-pc calls at each edge: it counts in a table that the fuzzer reads.
 *
 * Loaded before that code, with its symbols global. One thread.
 */
#include <stdint.h>
#include <string.h>

enum { EDGES = 1 << 16 };

static uint8_t counts[EDGES];
static uint8_t seen[EDGES]; /* per edge, the classes of counts that any input reached */
static uintptr_t previous;

void __sanitizer_cov_trace_pc(void) {
    uintptr_t here = (uintptr_t)__builtin_return_address(0);
    uint8_t *count = &counts[(here ^ previous) & (EDGES - 1)];
    *count += *count < 255;
    previous = here >> 1;
}

void coverage_begin(void) {
    memset(counts, 0, sizeof counts);
    previous = 0;
}

/* Counts fall into classes, so that one more turn of a loop is nothing new, but twice as many are. */
static uint8_t class_of(uint8_t count) {
    return count == 0 ? 0 : count < 4 ? 1 << (count - 1) : count < 8 ? 8 : count < 32 ? 16 : count < 128 ? 32 : 64;
}

/* Take what the run reached, and tell how many edges or classes of it are new. */
int coverage_end(void) {
    int fresh = 0;
    for (int i = 0; i < EDGES; i++) {
        uint8_t bit = class_of(counts[i]);
        if (bit & ~seen[i]) fresh++;
        seen[i] |= bit;
    }
    return fresh;
}

int coverage_edges(void) {
    int edges = 0;
    for (int i = 0; i < EDGES; i++) edges += seen[i] != 0;
    return edges;
}
