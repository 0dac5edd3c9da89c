/* Load generator for NATS servers: raw sockets, so that the server is measured and not a client library.
 *
 *   gcc -O2 -Wall -Wextra -pthread -o loadgen loadgen.c loadgen_jetstream.c
 *   ./loadgen core port=4222 pid=1234 pubs=1 subs=1 size=128 seconds=2
 *
 * Modes, with their keys and defaults:
 *   core   Publish, and count what arrives.
 *            pubs=1 subs=1 size=128 seconds=2
 *            subjects=own      publisher i has subject i, subscriber i listens to subject i % pubs
 *                     shared   one subject for all
 *                     wild     `wild` subjects, each subscriber listens to all of them by `*`
 *            wild=1000         number of subjects
 *            queue=0           1: all subscribers are members of one queue group
 *            rate=0            messages a second of each publisher; 0: as fast as the server reads
 *            subport=port      another server of the cluster, for the subscribers
 *            verify=0          1: every message is parsed, and its order and content are checked
 *            payloads=         file that payloads are taken from, `size` bytes each; not with wild or verify
 *            window=0          messages that one publisher may be ahead of one subscriber; 0: it does not look
 *            accounts=0        pair i logs in as `user` (or "user") and the number i % accounts
 *            ws=0              port for WebSocket: all come by that, and each send is one frame; not with verify
 *   rtt    Request and reply over two connections, one after the other. `relay_p50_us` is what the same exchange
 *          takes through a process that only hands bytes on: what the machine itself costs at this time.
 *            size=16 count=10000 subport=port (of the responder)
 *            bgrate=-1         a pair publishes meanwhile at this rate (0: as fast as it can; -1: nobody does)
 *            bgsize=128
 *   idle   Open connections with one subscription each, and let them be.
 *            conns=5000 settle=1.5 (seconds before memory is read)
 *   js, jsreq  JetStream: see the head of loadgen_jetstream.c.
 *
 * `user` and `pass` log in.
 * `pid` may be several, with commas: CPU time and memory are those of all of them.
 * One line of JSON comes out. Exit code 1: something was lost, doubled, out of order or damaged.
 *
 * Unless `verify` is set, received bytes are thrown away in the kernel (MSG_TRUNC) and only counted, which
 * takes next to no CPU time. All frames of a run have one length, so bytes tell messages. The connections
 * say "protocol":0: then no INFO comes between the messages. A server's PING may: 6 bytes of slack.
 */
#define _GNU_SOURCE
#include "loadgen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    PIDS_MAX = 16,
    RECV_BYTES = 4 * 1024 * 1024,
    SILENCE_S = 5,   /* after it, what has not come is lost */
    DIALS_OPEN = 64, /* connections on their way at once */
    SEQ_DIGITS = 16,
};

static int server_pids[PIDS_MAX], server_pid_count;

void fail(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fprintf(stderr, "loadgen: ");
    vfprintf(stderr, format, args);
    fprintf(stderr, errno ? ": %s\n" : "\n", strerror(errno));
    va_end(args);
    exit(2);
}

/* ---------------------------------------------------------------- options */

static int option_count;
static char **options;

const char *text_option(const char *key, const char *otherwise) {
    size_t n = strlen(key);
    for (int i = 0; i < option_count; i++)
        if (!strncmp(options[i], key, n) && options[i][n] == '=') return options[i] + n + 1;
    return otherwise;
}

double number_option(const char *key, double otherwise) {
    const char *text = text_option(key, NULL);
    return text ? atof(text) : otherwise;
}

static void read_pids(void) {
    char *text = strdup(text_option("pid", "")), *rest = text;
    for (char *word; (word = strsep(&rest, ",")) && server_pid_count < PIDS_MAX;)
        if (*word) server_pids[server_pid_count++] = atoi(word);
    free(text);
}

/* ---------------------------------------------------------------- clocks and processes */

double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static void sleep_until(double at) {
    struct timespec t = {.tv_sec = (time_t)at, .tv_nsec = (long)((at - (time_t)at) * 1e9)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) {}
}

double server_cpu_s(void) {
    unsigned long ticks = 0;
    for (int i = 0; i < server_pid_count; i++) {
        char path[64], line[1024];
        snprintf(path, sizeof path, "/proc/%d/stat", server_pids[i]);
        FILE *file = fopen(path, "r");
        if (!file) fail("no process %d", server_pids[i]);
        size_t n = fread(line, 1, sizeof line - 1, file);
        fclose(file);
        line[n] = 0;
        unsigned long user, system;
        char *fields = strrchr(line, ')'); /* the name before it may hold anything */
        if (!fields || sscanf(fields + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2)
            fail("cannot read %s", path);
        ticks += user + system;
    }
    return (double)ticks / sysconf(_SC_CLK_TCK);
}

long server_rss_kib(void) {
    long total = 0;
    for (int i = 0; i < server_pid_count; i++) {
        char path[64], line[256];
        long kib;
        snprintf(path, sizeof path, "/proc/%d/status", server_pids[i]);
        FILE *file = fopen(path, "r");
        if (!file) fail("no process %d", server_pids[i]);
        while (fgets(line, sizeof line, file))
            if (sscanf(line, "VmRSS: %ld", &kib) == 1) total += kib;
        fclose(file);
    }
    return total;
}

double own_cpu_s(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

/* ---------------------------------------------------------------- connections */

static char connect_line[512];
static int accounts; /* 0: all are in one */

/* Write the login of a pair of publisher and subscriber. */
static void write_connect(char *line, size_t size, int pair, const char *no_responders) {
    const char *user = text_option("user", NULL);
    char numbered[64];
    if (accounts) {
        snprintf(numbered, sizeof numbered, "%s%d", user ? user : "user", pair % accounts);
        user = numbered;
    }
    int n = snprintf(line, size,
                     "CONNECT {\"verbose\":false,\"pedantic\":false,\"tls_required\":false,\"name\":\"loadgen\",\"lang\":\"c\","
                     "\"version\":\"1\",\"protocol\":0,\"echo\":true,\"headers\":true,\"no_responders\":%s",
                     no_responders);
    if (user) n += snprintf(line + n, size - n, ",\"user\":\"%s\",\"pass\":\"%s\"", user, text_option("pass", ""));
    snprintf(line + n, size - n, "}\r\n");
}

void send_all(int fd, const char *data, size_t count) {
    while (count) {
        ssize_t n = send(fd, data, count, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) fail("send");
        data += n;
        count -= n;
    }
}

static int ws_port; /* 0: nobody speaks WebSocket */

/* Send text; by WebSocket as one frame, with a mask of zeros: the server takes it off all the same. */
static void say(int fd, const char *data, size_t count) {
    unsigned char head[14] = {0x82};
    size_t n = 2;
    if (!ws_port) {
        send_all(fd, data, count);
        return;
    }
    if (count < 126) head[1] = count;
    else if (count < 65536) head[1] = 126, head[2] = count >> 8, head[3] = count, n = 4;
    else {
        head[1] = 127;
        for (int i = 0; i < 8; i++) head[2 + i] = (uint64_t)count >> (56 - 8 * i);
        n = 10;
    }
    head[1] |= 128;
    struct iovec parts[] = {{head, n + 4}, {(void *)data, count}};
    ssize_t sent = writev(fd, parts, 2);
    if (sent < (ssize_t)n + 4) fail("send");
    send_all(fd, data + (sent - n - 4), count - (sent - n - 4));
}

static void upgrade(int fd) {
    static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                                  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
    char answer[4096];
    size_t have = 0;
    send_all(fd, request, sizeof request - 1);
    while (have < 4 || memcmp(answer + have - 4, "\r\n\r\n", 4)) {
        if (have == sizeof answer || recv(fd, answer + have, 1, 0) != 1) fail("closed within the upgrade");
        have++;
    }
    if (strncmp(answer, "HTTP/1.1 101 ", 13)) fail("no upgrade: %.*s", 40, answer);
}

static int dial(int port) {
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (fd < 0) fail("socket");
    if (ws_port) address.sin_port = htons(ws_port);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0) fail("connect to port %d", port);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (ws_port) upgrade(fd);
    return fd;
}

/* Read frames up to one with a line that begins with `start`. */
static void await_frame(int fd, const char *start) {
    for (;;) {
        unsigned char head[4];
        char text[65536], *at;
        size_t count, have = 0;
        if (recv(fd, head, 2, MSG_WAITALL) != 2) fail("closed while waiting for a frame");
        count = head[1];
        if (count == 127) fail("a frame is too long for an answer");
        if (count == 126) {
            if (recv(fd, head + 2, 2, MSG_WAITALL) != 2) fail("closed while waiting for a frame");
            count = head[2] << 8 | head[3];
        }
        for (ssize_t n; have < count; have += n)
            if ((n = recv(fd, text + have, count - have, 0)) <= 0) fail("closed while waiting for a frame");
        text[count < sizeof text ? count : sizeof text - 1] = 0;
        at = strstr(text, start);
        if (at && (at == text || at[-1] == '\n')) return;
    }
}

/* Read up to a line that begins with `start`, and nothing of what follows it: look first, then take whole lines. */
static void await_line(int fd, const char *start) {
    char text[4096];
    if (ws_port) {
        await_frame(fd, start);
        return;
    }
    for (;;) {
        ssize_t n = recv(fd, text, sizeof text, MSG_PEEK);
        if (n <= 0) fail("closed while waiting for a line");
        size_t taken = 0;
        int found = 0;
        for (char *end; !found && (end = memchr(text + taken, '\n', n - taken)); taken = end + 1 - text) {
            found = !strncmp(text + taken, start, strlen(start));
            if (!found && !strncmp(text + taken, "-ERR", 4)) fail("server says %.*s", (int)(end - text - taken), text + taken);
        }
        if (taken == 0 && n == sizeof text) fail("a line is longer than %zu bytes", sizeof text);
        if (recv(fd, text, taken, 0) != (ssize_t)taken) fail("closed while waiting for a line");
        if (found) return;
    }
}

static void await_pong(int fd) {
    await_line(fd, "PONG");
}

/* Take the empty message that `await_interest` published; it may come some time after. */
static void take_probe(int fd) {
    await_line(fd, "MSG ");
    await_line(fd, "");
}

/* Log in as one of a pair, send `more`, and wait until the server has taken it. */
int log_in(int port, int pair, const char *more) {
    char text[sizeof connect_line + 512];
    int fd = dial(port), n;
    write_connect(text, sizeof connect_line, pair, "false");
    n = strlen(text);
    n += snprintf(text + n, sizeof text - n, "%sPING\r\n", more);
    say(fd, text, n);
    await_pong(fd);
    return fd;
}

/* Ask until the server of a pair knows interest in `subject`; over a route it needs a moment to get there. */
static void await_interest(int port, int pair, const char *subject) {
    char request[1024], buffer[4096];
    int fd = dial(port), n;
    write_connect(request, sizeof request, pair, "true");
    send_all(fd, request, strlen(request));
    n = snprintf(request, sizeof request, "SUB _INBOX.loadgen 1\r\nPING\r\n");
    send_all(fd, request, n);
    await_pong(fd);
    n = snprintf(request, sizeof request, "PUB %s _INBOX.loadgen 0\r\n\r\nPING\r\n", subject);
    for (int refused = 1; refused;) {
        send_all(fd, request, n);
        refused = 0;
        for (size_t have = 0;;) {
            ssize_t k = recv(fd, buffer + have, sizeof buffer - 1 - have, 0);
            if (k <= 0) fail("closed while waiting for interest");
            buffer[have += k] = 0;
            if (strstr(buffer, " 503\r\n")) refused = 1;
            if (strstr(buffer, "PONG\r\n")) break;
        }
    }
    close(fd);
}

/* ---------------------------------------------------------------- publishers */

struct publisher {
    int fd, size, wild, verify;
    double rate, end_s;
    char subject[64];
    uint64_t sent;
    atomic_int *stop; /* set: ends before `end_s` */
    const char *payloads;
    size_t payload_count;
    uint64_t window;
    _Atomic uint64_t *received; /* for the window */
    pthread_t thread;
};

/* What message `seq` holds: its number in hex, cut to the size from the right, then one letter that goes with it. */
static void fill_payload(char *payload, int size, uint64_t seq) {
    char digits[SEQ_DIGITS + 1];
    int n = size < SEQ_DIGITS ? size : SEQ_DIGITS;
    snprintf(digits, sizeof digits, "%016llx", (unsigned long long)seq);
    memcpy(payload, digits + SEQ_DIGITS - n, n);
    memset(payload + n, 'a' + seq % 26, size - n);
}

/* Scrambled order: neighbours in the list of subjects are not neighbours in time. */
static unsigned subject_index(uint64_t i, int wild) {
    return (unsigned)(i * 2654435761u % (unsigned)wild);
}

/* All messages of one round, ready to send: as many as make a good send, or one for each of the subjects. */
static char *build_frames(const struct publisher *p, size_t *frame_bytes, size_t *count, int *payload_at) {
    char head[128];
    int head_bytes = p->wild ? snprintf(head, sizeof head, "PUB bench.%07u %d\r\n", 0, p->size)
                             : snprintf(head, sizeof head, "PUB %s %d\r\n", p->subject, p->size);
    *payload_at = head_bytes;
    *frame_bytes = head_bytes + p->size + 2;
    *count = p->wild ? (size_t)p->wild : BATCH_BYTES / *frame_bytes ? BATCH_BYTES / *frame_bytes : 1;
    if (p->payloads) *count = p->payload_count;
    char *frames = malloc(*frame_bytes * *count);
    for (size_t i = 0; i < *count; i++) {
        char *frame = frames + i * *frame_bytes;
        if (p->wild) snprintf(head, sizeof head, "PUB bench.%07u %d\r\n", subject_index(i, p->wild), p->size);
        memcpy(frame, head, head_bytes);
        if (p->payloads) memcpy(frame + head_bytes, p->payloads + i * p->size, p->size);
        else fill_payload(frame + head_bytes, p->size, i);
        memcpy(frame + *frame_bytes - 2, "\r\n", 2);
    }
    return frames;
}

static void *publish(void *argument) {
    struct publisher *p = argument;
    size_t frame_bytes, count, at = 0;
    int payload_at;
    char *frames = build_frames(p, &frame_bytes, &count, &payload_at);
    size_t batch = BATCH_BYTES / frame_bytes ? BATCH_BYTES / frame_bytes : 1;
    double begin_s = now_s();
    while (now_s() < p->end_s && !(p->stop && atomic_load(p->stop))) {
        size_t n = count - at < batch ? count - at : batch;
        if (p->window) {
            uint64_t ahead = p->sent - atomic_load(p->received);
            if (ahead >= p->window) {
                sleep_until(now_s() + 0.0001);
                continue;
            }
            n = p->window - ahead < n ? p->window - ahead : n;
        }
        if (p->rate > 0) {
            uint64_t due = (now_s() - begin_s) * p->rate;
            if (due <= p->sent) {
                sleep_until(begin_s + (p->sent + 1) / p->rate + 0.0005); /* half a millisecond of them at once */
                continue;
            }
            n = due - p->sent < n ? due - p->sent : n;
        }
        if (p->verify)
            for (size_t i = 0; i < n; i++) fill_payload(frames + (at + i) * frame_bytes + payload_at, p->size, p->sent + i);
        say(p->fd, frames + at * frame_bytes, n * frame_bytes);
        p->sent += n;
        at = (at + n) % count;
    }
    say(p->fd, "PING\r\n", 6);
    await_pong(p->fd);
    free(frames);
    return NULL;
}

/* ---------------------------------------------------------------- subscribers */

struct subscriber {
    int fd, size;
    uint64_t bytes, messages; /* messages: only with verify */
    uint64_t damaged, disordered;
    uint64_t next_seq;
    int ordered; /* gets all messages of one publisher */
    char *buffer;
    size_t have;
    unsigned char head[10]; /* of a WebSocket frame, as far as it is there */
    size_t head_bytes;
    uint64_t frame_left;
};

static void check_payload(struct subscriber *s, const char *payload) {
    char expected[SEQ_DIGITS + 1];
    int n = s->size < SEQ_DIGITS ? s->size : SEQ_DIGITS;
    memcpy(expected, payload, n);
    expected[n] = 0;
    uint64_t seq = strtoull(expected, NULL, 16), mask = n < SEQ_DIGITS ? (1ull << 4 * n) - 1 : ~0ull;
    if (s->ordered && seq != (s->next_seq & mask)) s->disordered++;
    if (s->ordered) seq = s->next_seq; /* short payloads hold only its last digits */
    for (int i = n; i < s->size; i++)
        if (n == SEQ_DIGITS && payload[i] != (char)('a' + seq % 26)) {
            s->damaged++;
            break;
        }
    s->next_seq++;
}

/* Take whole messages off the buffer. */
static void parse(struct subscriber *s) {
    size_t at = 0;
    for (;;) {
        char *line = s->buffer + at, *end = memchr(line, '\n', s->have - at);
        if (!end) break;
        if (strncmp(line, "MSG ", 4)) { /* PING, or an INFO that was not asked for */
            if (!strncmp(line, "PING", 4)) send_all(s->fd, "PONG\r\n", 6);
            at = end + 1 - s->buffer;
            continue;
        }
        char *size = end - 1;
        while (size[-1] != ' ') size--;
        if (atoi(size) != s->size) s->damaged++;
        size_t whole = end + 1 - line + atoi(size) + 2;
        if (at + whole > s->have) break;
        if (memcmp(line + whole - 2, "\r\n", 2)) s->damaged++;
        check_payload(s, end + 1);
        s->messages++;
        at += whole;
    }
    memmove(s->buffer, s->buffer + at, s->have - at);
    s->have -= at;
}

/* Count the payload in what has come by WebSocket. */
static void count_frames(struct subscriber *s, const unsigned char *at, size_t n) {
    while (n) {
        if (s->frame_left) {
            size_t part = s->frame_left < n ? s->frame_left : n;
            s->bytes += part;
            s->frame_left -= part;
            at += part;
            n -= part;
            continue;
        }
        s->head[s->head_bytes++] = *at++;
        n--;
        size_t need = s->head_bytes < 2 ? 2 : s->head[1] == 126 ? 4 : s->head[1] == 127 ? 10 : 2;
        if (s->head_bytes < need) continue;
        s->frame_left = need == 2 ? s->head[1] : 0;
        for (size_t i = 2; i < need; i++) s->frame_left = s->frame_left << 8 | s->head[i];
        s->head_bytes = 0;
    }
}

/* Read what is there; tell whether anything was. */
static int receive(struct subscriber *s) {
    static char nowhere[1];
    int any = 0;
    for (int i = 0; i < 4; i++) {
        ssize_t n = s->buffer ? recv(s->fd, s->buffer + s->have, RECV_BYTES - s->have, 0)
                              : recv(s->fd, nowhere, RECV_BYTES, MSG_TRUNC);
        if (n == 0) fail("a subscriber was closed by the server");
        if (n < 0) break;
        any = 1;
        if (ws_port) {
            count_frames(s, (unsigned char *)s->buffer, n);
            if (n < 65536) break;
            continue;
        }
        s->bytes += n;
        s->have += s->buffer ? n : 0;
        if (s->buffer) parse(s);
        if (n < 65536) break;
    }
    return any;
}

static void subscribe(struct subscriber *s, int port, int pair, const char *subject, const char *group, int size, int verify) {
    char line[256];
    int bytes = RECV_BYTES;
    snprintf(line, sizeof line, "SUB %s %s 1\r\n", subject, group);
    s->size = size;
    s->fd = log_in(port, pair, line);
    s->buffer = verify || ws_port ? malloc(RECV_BYTES) : NULL;
    setsockopt(s->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    fcntl(s->fd, F_SETFL, O_NONBLOCK);
}

/* ---------------------------------------------------------------- mode core */

struct core {
    int pubs, subs, size, wild, queue, shared, verify, port, subport, window;
    double seconds, rate;
    const char *payloads;
    size_t payload_count;
    _Atomic uint64_t received;
    struct publisher *publisher;
    struct subscriber *subscriber;
    int epoll;
};

static void core_setup(struct core *c) {
    c->publisher = calloc(c->pubs, sizeof *c->publisher);
    c->subscriber = calloc(c->subs ? c->subs : 1, sizeof *c->subscriber);
    c->epoll = epoll_create1(0);
    for (int i = 0; i < c->subs; i++) {
        char subject[64];
        snprintf(subject, sizeof subject, "bench.%07d", c->shared ? 0 : i % c->pubs);
        struct subscriber *s = &c->subscriber[i];
        subscribe(s, c->subport, i, c->wild ? "bench.*" : subject, c->queue ? "workers" : "", c->size, c->verify);
        s->ordered = !c->queue && (c->pubs == 1 || !(c->shared || c->wild));
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = s};
        epoll_ctl(c->epoll, EPOLL_CTL_ADD, s->fd, &event);
    }
    for (int i = 0; i < c->pubs; i++) {
        struct publisher *p = &c->publisher[i];
        *p = (struct publisher){.size = c->size, .wild = c->wild, .rate = c->rate, .verify = c->verify};
        p->payloads = c->payloads;
        p->payload_count = c->payload_count;
        p->window = c->window;
        p->received = &c->received;
        snprintf(p->subject, sizeof p->subject, "bench.%07d", c->shared ? 0 : i);
        p->fd = log_in(c->port, i, "");
    }
}

char *read_payloads(int size, size_t *count) {
    const char *path = text_option("payloads", NULL);
    if (!path) return NULL;
    FILE *file = fopen(path, "r");
    if (!file) fail("no file %s", path);
    fseek(file, 0, SEEK_END);
    *count = ftell(file) / size;
    rewind(file);
    char *text = malloc(*count * size);
    if (!*count || fread(text, size, *count, file) != *count) fail("cannot read %s", path);
    fclose(file);
    return text;
}

/* Wait until the publishers' server knows the subscribers': each adds a last subscription, which is probed. */
static void core_await_routes(struct core *c) {
    if (c->subport == c->port) return;
    for (int i = 0; i < c->subs; i++) {
        char subject[64], mark[128];
        snprintf(subject, sizeof subject, "probe.%d.%d", getpid(), i);
        int n = snprintf(mark, sizeof mark, "SUB %s probe\r\nUNSUB probe 1\r\nPING\r\n", subject);
        struct subscriber *s = &c->subscriber[i];
        int flags = fcntl(s->fd, F_GETFL);
        fcntl(s->fd, F_SETFL, flags & ~O_NONBLOCK);
        send_all(s->fd, mark, n);
        await_pong(s->fd);
        await_interest(c->port, i, subject);
        take_probe(s->fd);
        fcntl(s->fd, F_SETFL, flags);
    }
}

static uint64_t message_bytes(const struct core *c) {
    char head[128];
    return snprintf(head, sizeof head, "MSG bench.%07d 1 %d\r\n", 0, c->size) + c->size + 2;
}

static uint64_t received(const struct core *c) {
    uint64_t total = 0;
    for (int i = 0; i < c->subs; i++)
        total += c->verify ? c->subscriber[i].messages : c->subscriber[i].bytes / message_bytes(c);
    return total;
}

static uint64_t published(const struct core *c) {
    uint64_t total = 0;
    for (int i = 0; i < c->pubs; i++) total += c->publisher[i].sent;
    return total;
}

/* How many messages all subscribers together should get. */
static uint64_t expected(const struct core *c) {
    if (c->queue) return c->subs ? published(c) : 0;
    if (c->shared || c->wild) return published(c) * c->subs;
    uint64_t total = 0;
    for (int i = 0; i < c->subs; i++) total += c->publisher[i % c->pubs].sent;
    return total;
}

static int poll_subscribers(struct core *c, int timeout_ms) {
    struct epoll_event events[64];
    int any = 0, n = epoll_wait(c->epoll, events, 64, timeout_ms);
    for (int i = 0; i < n; i++) any |= receive(events[i].data.ptr);
    return any;
}

static int all_joined(struct core *c) {
    int all = 1;
    for (int i = 0; i < c->pubs; i++) {
        struct publisher *p = &c->publisher[i];
        if (p->thread && pthread_tryjoin_np(p->thread, NULL) == 0) p->thread = 0;
        all &= !p->thread;
    }
    return all;
}

static int core_report(struct core *c, double seconds, double cpu_s, double own_s) {
    uint64_t sent = published(c), want = expected(c), got = received(c), damaged = 0, disordered = 0;
    for (int i = 0; i < c->subs; i++) {
        damaged += c->subscriber[i].damaged;
        disordered += c->subscriber[i].disordered;
    }
    int64_t lost = (int64_t)(want - got);
    printf("{\"mode\":\"core\",\"pubs\":%d,\"subs\":%d,\"size\":%d,\"wild\":%d,\"queue\":%d,\"rate_asked\":%.0f,"
           "\"published\":%llu,\"received\":%llu,\"seconds\":%.3f,\"publish_rate\":%.0f,\"receive_rate\":%.0f,"
           "\"server_cpu_s\":%.2f,\"server_cpu_s_per_million\":%.4f,\"own_cpu_s\":%.2f,\"server_rss_kib\":%ld,"
           "\"lost\":%lld,\"damaged\":%llu,\"disordered\":%llu,\"verified\":%s}\n",
           c->pubs, c->subs, c->size, c->wild, c->queue, c->rate, (unsigned long long)sent, (unsigned long long)got,
           seconds, sent / seconds, got / seconds, cpu_s, cpu_s / (sent / 1e6), own_s, server_rss_kib(),
           (long long)lost, (unsigned long long)damaged, (unsigned long long)disordered, c->verify ? "true" : "false");
    return lost > 0 || damaged || disordered || (c->verify && lost);
}

static int core(struct core *c) {
    c->payloads = read_payloads(c->size, &c->payload_count);
    core_setup(c);
    core_await_routes(c);
    double begin_s = now_s(), cpu_s = server_cpu_s(), own_s = own_cpu_s(), heard_s = begin_s;
    for (int i = 0; i < c->pubs; i++) {
        c->publisher[i].end_s = begin_s + c->seconds;
        pthread_create(&c->publisher[i].thread, NULL, publish, &c->publisher[i]);
    }
    for (int joined = 0;;) {
        if (poll_subscribers(c, 20)) heard_s = now_s();
        if (c->window) atomic_store(&c->received, received(c));
        if (!joined) heard_s = now_s();
        joined = joined || all_joined(c);
        if (joined && (received(c) >= expected(c) || now_s() - heard_s > SILENCE_S)) break;
    }
    double seconds = (received(c) >= expected(c) ? now_s() : heard_s) - begin_s;
    double spent_s = server_cpu_s() - cpu_s;
    if (c->verify) poll_subscribers(c, 100); /* what came twice */
    return core_report(c, seconds, spent_s, own_cpu_s() - own_s);
}

/* ---------------------------------------------------------------- mode rtt */

static void receive_exactly(int fd, char *buffer, size_t count) {
    for (size_t have = 0; have < count;) {
        ssize_t n = recv(fd, buffer + have, count - have, 0);
        if (n <= 0) fail("closed during rtt");
        have += n;
        if (have >= 6 && !memcmp(buffer, "PING\r\n", 6)) { /* comes between messages, so at the start */
            send_all(fd, "PONG\r\n", 6);
            memmove(buffer, buffer + 6, have -= 6);
        }
    }
}

static char *frame(const char *format, const char *subject, const char *reply, int size, size_t *bytes) {
    char *text = malloc(size + 256);
    int n = snprintf(text, 256, format, subject, reply, size);
    memset(text + n, 'r', size);
    memcpy(text + n + size, "\r\n", 2);
    *bytes = n + size + 2;
    return text;
}

int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static atomic_int background_stop;
static struct subscriber background_subscriber;

static void *drain_background(void *unused) {
    (void)unused;
    static char nowhere[1];
    while (!atomic_load(&background_stop)) {
        ssize_t n = recv(background_subscriber.fd, nowhere, RECV_BYTES, MSG_TRUNC);
        if (n > 0) background_subscriber.bytes += n;
        if (n == 0) fail("the background's subscriber was closed");
    }
    return NULL;
}

/* Hand bytes from one connection to the other, and back, in a process of its own. */
static void relay(const int *ends) {
    static char buffer[65536];
    int poller = epoll_create1(0);
    for (int i = 0; i < 2; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};
        epoll_ctl(poller, EPOLL_CTL_ADD, ends[i], &event);
    }
    for (;;) {
        struct epoll_event events[2];
        int n = epoll_wait(poller, events, 2, -1);
        for (int i = 0; i < n; i++) {
            int from = events[i].data.u32;
            ssize_t count = recv(ends[from], buffer, sizeof buffer, MSG_DONTWAIT);
            if (count <= 0) _exit(0);
            send_all(ends[!from], buffer, count);
        }
    }
}

static double p50_us(double *took_us, int count) {
    qsort(took_us, count, sizeof *took_us, by_value);
    return took_us[count / 2];
}

static double relay_p50_us(int count, size_t request_bytes, size_t reply_bytes) {
    int listener = socket(AF_INET, SOCK_STREAM, 0), near[2], far[2];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t room = sizeof address;
    if (bind(listener, (struct sockaddr *)&address, sizeof address) < 0 || listen(listener, 2) < 0) fail("listen");
    getsockname(listener, (struct sockaddr *)&address, &room);
    for (int i = 0, on = 1; i < 2; i++) {
        near[i] = dial(ntohs(address.sin_port));
        far[i] = accept(listener, NULL, NULL);
        setsockopt(far[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    pid_t child = fork();
    if (child < 0) fail("fork");
    if (child == 0) {
        close(near[0]), close(near[1]);
        relay(far);
    }
    close(listener), close(far[0]), close(far[1]);
    char *request = calloc(1, request_bytes + 16), *reply = calloc(1, reply_bytes + 16);
    double *took_us = malloc(sizeof *took_us * count);
    for (int i = 0; i < count; i++) {
        double sent_s = now_s();
        send_all(near[0], request, request_bytes);
        receive_exactly(near[1], request, request_bytes);
        send_all(near[1], reply, reply_bytes);
        receive_exactly(near[0], reply, reply_bytes);
        took_us[i] = (now_s() - sent_s) * 1e6;
    }
    close(near[0]), close(near[1]);
    waitpid(child, NULL, 0);
    double p50 = p50_us(took_us, count);
    free(took_us), free(request), free(reply);
    return p50;
}

static int rtt(int port, int subport, int size, int count, double bgrate, int bgsize) {
    size_t request_bytes, reply_bytes, got_request, got_reply;
    char *request = frame("PUB %s %s %d\r\n", "bench.rtt", "_INBOX.bench", size, &request_bytes);
    char *reply = frame("PUB %s%s %d\r\n", "_INBOX.bench", "", size, &reply_bytes);
    free(frame("MSG %s 1 %s %d\r\n", "bench.rtt", "_INBOX.bench", size, &got_request));
    free(frame("MSG %s 1%s %d\r\n", "_INBOX.bench", "", size, &got_reply));
    char *buffer = malloc(size + 4096);
    double bare_us = relay_p50_us(count / 4 + 1, request_bytes, reply_bytes);
    int client = log_in(port, 0, "SUB _INBOX.bench 1\r\n"), service = log_in(subport, 0, "SUB bench.rtt 1\r\n");
    if (port != subport) {
        await_interest(port, 0, "bench.rtt");
        take_probe(service);
        await_interest(subport, 0, "_INBOX.bench");
        take_probe(client);
    }
    struct publisher background = {.size = bgsize, .rate = bgrate, .end_s = 1e18, .stop = &background_stop};
    pthread_t drain = 0;
    if (bgrate >= 0) {
        snprintf(background.subject, sizeof background.subject, "bench.background");
        background_subscriber.fd = log_in(port, 0, "SUB bench.background 1\r\n");
        struct timeval patience = {.tv_usec = 100000};
        setsockopt(background_subscriber.fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        background.fd = log_in(port, 0, "");
        pthread_create(&drain, NULL, drain_background, NULL);
        pthread_create(&background.thread, NULL, publish, &background);
        sleep_until(now_s() + 0.2); /* until it runs evenly */
    }
    double *took_us = malloc(sizeof *took_us * count), begin_s = now_s(), cpu_s = server_cpu_s();
    uint64_t background_before = background.sent;
    for (int i = 0; i < count; i++) {
        double sent_s = now_s();
        send_all(client, request, request_bytes);
        receive_exactly(service, buffer, got_request);
        send_all(service, reply, reply_bytes);
        receive_exactly(client, buffer, got_reply);
        took_us[i] = (now_s() - sent_s) * 1e6;
    }
    double seconds = now_s() - begin_s, spent_s = server_cpu_s() - cpu_s;
    double background_rate = (background.sent - background_before) / seconds;
    if (bgrate >= 0) {
        atomic_store(&background_stop, 1);
        pthread_join(drain, NULL);
        shutdown(background_subscriber.fd, SHUT_RDWR);
        pthread_cancel(background.thread);
    }
    double p50 = p50_us(took_us, count);
    printf("{\"mode\":\"rtt\",\"size\":%d,\"count\":%d,\"p50_us\":%.1f,\"p90_us\":%.1f,\"p99_us\":%.1f,\"p999_us\":%.1f,"
           "\"max_us\":%.1f,\"relay_p50_us\":%.1f,\"rate\":%.0f,\"background_asked\":%.0f,\"background_rate\":%.0f,\"server_cpu_s\":%.2f}\n",
           size, count, p50, took_us[count * 9 / 10], took_us[(size_t)count * 99 / 100],
           took_us[(size_t)count * 999 / 1000], took_us[count - 1], bare_us, count / seconds, bgrate, background_rate, spent_s);
    return 0;
}

/* ---------------------------------------------------------------- mode idle */

static int idle(int port, int conns, double settle_s) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    int *fds = malloc(sizeof *fds * conns);
    long rss_before = server_rss_kib();
    double begin_s = now_s(), cpu_s = server_cpu_s();
    for (int first = 0; first < conns; first += DIALS_OPEN) {
        int n = conns - first < DIALS_OPEN ? conns - first : DIALS_OPEN;
        for (int i = first; i < first + n; i++) {
            char text[sizeof connect_line + 64];
            fds[i] = dial(port);
            say(fds[i], text, snprintf(text, sizeof text, "%sSUB idle.%d 1\r\nPING\r\n", connect_line, i));
        }
        for (int i = first; i < first + n; i++) await_pong(fds[i]);
    }
    double seconds = now_s() - begin_s, spent_s = server_cpu_s() - cpu_s;
    sleep_until(now_s() + settle_s);
    long rss_after = server_rss_kib();
    printf("{\"mode\":\"idle\",\"conns\":%d,\"seconds\":%.3f,\"connect_rate\":%.0f,\"server_rss_before_kib\":%ld,"
           "\"server_rss_after_kib\":%ld,\"kib_per_conn\":%.2f,\"server_cpu_us_per_conn\":%.1f}\n",
           conns, seconds, conns / seconds, rss_before, rss_after, (double)(rss_after - rss_before) / conns,
           spent_s * 1e6 / conns);
    return 0;
}

/* ---------------------------------------------------------------- */

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: loadgen core|rtt|idle|js|jsreq port=N pid=N [key=value ...]; see the head of loadgen.c\n");
        return 2;
    }
    option_count = argc - 2;
    options = argv + 2;
    read_pids();
    accounts = number_option("accounts", 0);
    write_connect(connect_line, sizeof connect_line, 0, "false");
    ws_port = number_option("ws", 0);
    int port = number_option("port", 4222), subport = number_option("subport", port), size = number_option("size", 128);
    if (!strcmp(argv[1], "core")) {
        const char *subjects = text_option("subjects", "own");
        struct core c = {
            .pubs = number_option("pubs", 1),
            .subs = number_option("subs", 1),
            .size = size,
            .seconds = number_option("seconds", 2),
            .rate = number_option("rate", 0),
            .wild = strcmp(subjects, "wild") ? 0 : (int)number_option("wild", 1000),
            .shared = !strcmp(subjects, "shared"),
            .queue = number_option("queue", 0),
            .verify = number_option("verify", 0),
            .window = number_option("window", 0),
            .port = port,
            .subport = subport,
        };
        return core(&c);
    }
    if (!strcmp(argv[1], "rtt"))
        return rtt(port, subport, number_option("size", 16), number_option("count", 10000), number_option("bgrate", -1),
                   number_option("bgsize", 128));
    if (!strcmp(argv[1], "idle")) return idle(port, number_option("conns", 5000), number_option("settle", 1.5));
    if (!strcmp(argv[1], "js")) return jetstream(port);
    if (!strcmp(argv[1], "jsreq")) return jetstream_requests(port);
    fail("unknown mode %s", argv[1]);
}
