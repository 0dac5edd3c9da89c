/* What the modes of the load generator share; see `loadgen.c`. */
#ifndef LOADGEN_H
#define LOADGEN_H

#include <stddef.h>

enum {
    BATCH_BYTES = 128 * 1024, /* one send of a publisher */
};

void fail(const char *format, ...); /* ends the process */

const char *text_option(const char *key, const char *otherwise);
double number_option(const char *key, double otherwise);

double now_s(void); /* of a clock that never goes back */
double server_cpu_s(void);
long server_rss_kib(void);
double own_cpu_s(void);

char *read_payloads(int size, size_t *count); /* of the file that an option names; NULL: none does */
void send_all(int fd, const char *data, size_t count);
int log_in(int port, int pair, const char *more);

int by_value(const void *a, const void *b); /* for qsort, of doubles */

int jetstream(int port); /* modes js and jsreq; return the exit code */
int jetstream_requests(int port);

#endif
