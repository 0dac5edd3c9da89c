/* The modes of the load generator for JetStream; see `loadgen.c`.
 *
 *   js     Publish to streams and wait for PubAcks; take messages from consumers; or both at once. Streams and
 *          consumers are there before.
 *            pubs=1            publishers, a connection each
 *            window=500        messages of each that wait for their PubAck at most; 1: one at a time, with p50_us
 *            subject=bench     where they publish, with the number of the stream behind it if there are several
 *            streams=1         publisher i publishes to stream i % streams
 *            wild=0            subjects of each stream: `subject`.ddd.dddd; 0: only `subject`
 *            size=128
 *            payloads=         file that payloads are taken from, `size` bytes each
 *            seconds=2         how long, or count=0: how many messages of all publishers together
 *            pulls=0           clients that share the pull consumer `next`: its subject for requests
 *            batch=500         messages that each asks for; asked again when half of them have come.
 *                              1: one fetch after the other, with p50_us
 *            pushes=0          clients with a push consumer each
 *            deliver=          its subject; %d: the number of the client
 *            acks=0            1: each message is acknowledged, and the last one's acknowledgement is answered
 *            take=0            messages that each push consumer, or all pulling clients together, are to get;
 *                              0: as many as are published
 *   jsreq  Requests, one after the other: gets of keys, and the like.
 *            subject= wild=0 size=0 count=2000
 *
 * A PubAck that is an error, a status that is not one of flow control, and a message out of the order of its
 * stream (push consumers, and a pull consumer of one client) end in exit code 1 or 2.
 */
#define _GNU_SOURCE
#include "loadgen.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    READ_BYTES = 1 << 18,
    PATIENCE_MS = 30000, /* after so long a server says nothing any more */
    SAMPLES_MAX = 1 << 20,
    REPLY_DIGITS = 8,
    KEY_CHARS = 8, /* ddd.dddd */
};

/* ---------------------------------------------------------------- what a server says */

struct reader {
    int fd;
    char *buffer;
    size_t begin, end, room;
};

struct message {
    const char *subject, *reply, *header, *payload;
    int subject_bytes, reply_bytes, header_bytes, payload_bytes;
};

static void reader_open(struct reader *r, int fd) {
    struct timeval patience = {.tv_sec = PATIENCE_MS / 1000};
    *r = (struct reader){.fd = fd, .room = READ_BYTES, .buffer = malloc(READ_BYTES)};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
}

/* Read what is there, or wait for something; return whether anything came. */
static int reader_fill(struct reader *r, int flags) {
    if (r->begin) {
        memmove(r->buffer, r->buffer + r->begin, r->end - r->begin);
        r->end -= r->begin;
        r->begin = 0;
    }
    if (r->end == r->room) r->buffer = realloc(r->buffer, r->room *= 2);
    ssize_t n = recv(r->fd, r->buffer + r->end, r->room - r->end, flags);
    if (n == 0) fail("closed by the server");
    if (n < 0 && (flags & MSG_DONTWAIT) && (errno == EAGAIN || errno == EWOULDBLOCK)) return 0;
    if (n < 0) fail("nothing comes");
    r->end += n;
    return 1;
}

/* Take the next message off the buffer; 0: it is not whole yet. */
static int reader_next(struct reader *r, struct message *m) {
    for (;;) {
        char *line = r->buffer + r->begin, *end = memchr(line, '\n', r->end - r->begin), *words[6];
        int count = 0;
        if (!end) return 0;
        int has_header = *line == 'H';
        if (*line != 'M' && !has_header) {
            if (*line == '-') fail("server says %.*s", (int)(end - line), line);
            if (!strncmp(line, "PING", 4)) send_all(r->fd, "PONG\r\n", 6);
            r->begin = end + 1 - r->buffer;
            continue;
        }
        for (char *at = line; at < end && count < 6;) {
            words[count++] = at;
            while (at < end && *at != ' ' && *at != '\r') at++;
            at++;
        }
        int plain = has_header ? 5 : 4; /* words without a reply subject */
        size_t whole = atoi(words[count - 1]);
        if (count != plain && count != plain + 1) fail("what is %.*s", (int)(end - line), line);
        if ((size_t)(r->buffer + r->end - end) < whole + 3) return 0;
        m->subject = words[1];
        m->subject_bytes = words[2] - words[1] - 1;
        m->reply = count > plain ? words[3] : NULL;
        m->reply_bytes = count > plain ? words[4] - words[3] - 1 : 0;
        m->header_bytes = has_header ? atoi(words[count - 2]) : 0;
        m->header = end + 1;
        m->payload = m->header + m->header_bytes;
        m->payload_bytes = whole - m->header_bytes;
        r->begin = end + 1 + whole + 2 - r->buffer;
        return 1;
    }
}

/* Whether a message is a status and nothing else; its three digits are behind `NATS/1.0 `. */
static int is_status(const struct message *m) {
    return m->header_bytes > 12 && m->header[8] == ' ';
}

/* ---------------------------------------------------------------- samples */

struct samples {
    double *took_us;
    size_t count;
};

static void sample(struct samples *s, double us) {
    if (!s->took_us) s->took_us = malloc(SAMPLES_MAX * sizeof *s->took_us);
    if (s->count < SAMPLES_MAX) s->took_us[s->count++] = us;
}

static double percentile(struct samples *s, double part) {
    if (!s->count) return 0;
    qsort(s->took_us, s->count, sizeof *s->took_us, by_value);
    return s->took_us[(size_t)(part * (s->count - 1))];
}

/* ---------------------------------------------------------------- publishers */

struct js_publisher {
    struct reader reader;
    char *frames;
    size_t frame_bytes, batch;
    int key_at, reply_at, payload_at;
    uint64_t sent, acked, count; /* count: how many at most */
    double sent_s;
};

struct js_publishers {
    int count, window, wild, size;
    double seconds, begin_s, end_s;
    const char *payloads;
    size_t payload_count;
    struct js_publisher *each;
    struct samples samples;
    _Atomic uint64_t acked;
    atomic_int done;
};

/* Neighbours in the list of keys are not neighbours in time. */
static unsigned key_of(uint64_t i, int wild) {
    return (unsigned)(i * 2654435761u % (unsigned)wild);
}

static void digits(char *to, uint64_t value, int count, unsigned base) {
    while (count) {
        to[--count] = "0123456789abcdef"[value % base];
        value /= base;
    }
}

static void write_key(char *to, unsigned key) {
    digits(to, key / 10000, 3, 10);
    digits(to + 4, key % 10000, 4, 10);
}

static void js_build(const struct js_publishers *all, struct js_publisher *p, int number) {
    char head[256];
    int streams = number_option("streams", 1), n;
    const char *subject = text_option("subject", "bench");
    n = snprintf(head, sizeof head, "PUB %s", subject);
    if (streams > 1) n += snprintf(head + n, sizeof head - n, "%d", number % streams);
    if (all->wild) n += snprintf(head + n, sizeof head - n, ".000.0000");
    p->key_at = n - KEY_CHARS;
    n += snprintf(head + n, sizeof head - n, " _INBOX.js%06d.%0*d", number, REPLY_DIGITS, 0);
    p->reply_at = n - REPLY_DIGITS;
    n += snprintf(head + n, sizeof head - n, " %d\r\n", all->size);
    p->payload_at = n;
    p->frame_bytes = n + all->size + 2;
    p->batch = BATCH_BYTES / p->frame_bytes ? BATCH_BYTES / p->frame_bytes : 1;
    if (p->batch > (size_t)all->window) p->batch = all->window;
    p->frames = malloc(p->batch * p->frame_bytes);
    for (size_t i = 0; i < p->batch; i++) {
        char *frame = p->frames + i * p->frame_bytes;
        memcpy(frame, head, n);
        for (int k = 0; k < all->size; k++) frame[n + k] = 'a' + (k * 7 + i) % 26;
        memcpy(frame + p->frame_bytes - 2, "\r\n", 2);
    }
}

/* Send as much as one send takes and the window allows; return whether that was something. */
static int js_publish_some(struct js_publishers *all, struct js_publisher *p) {
    uint64_t room = all->window - (p->sent - p->acked), left = p->count - p->sent;
    size_t n = room < left ? room : left;
    if (n > p->batch) n = p->batch;
    if (!n) return 0;
    for (size_t i = 0; i < n; i++) {
        char *frame = p->frames + i * p->frame_bytes;
        if (all->wild) write_key(frame + p->key_at, key_of(p->sent + i, all->wild));
        digits(frame + p->reply_at, p->sent + i, REPLY_DIGITS, 16);
        if (all->payloads)
            memcpy(frame + p->payload_at, all->payloads + (p->sent + i) % all->payload_count * all->size, all->size);
    }
    if (all->window == 1) p->sent_s = now_s();
    send_all(p->reader.fd, p->frames, n * p->frame_bytes);
    p->sent += n;
    return 1;
}

static void js_take_acks(struct js_publishers *all, struct js_publisher *p) {
    struct message m;
    uint64_t before = p->acked;
    while (reader_next(&p->reader, &m)) {
        if (m.header_bytes || memmem(m.payload, m.payload_bytes, "\"error\"", 7))
            fail("a publish was answered with %.*s", m.header_bytes + m.payload_bytes, m.header);
        if (all->window == 1) sample(&all->samples, (now_s() - p->sent_s) * 1e6);
        p->acked++;
    }
    if (p->acked > p->sent) fail("more PubAcks than messages");
    if (p->acked != before) atomic_fetch_add(&all->acked, p->acked - before);
}

/* Fill the window; PubAcks that come meanwhile make room in it. */
static void js_publish_all(struct js_publishers *all, struct js_publisher *p) {
    while (js_publish_some(all, p) && p->sent - p->acked < (uint64_t)all->window)
        if (reader_fill(&p->reader, MSG_DONTWAIT)) js_take_acks(all, p);
}

static int js_is_done(struct js_publishers *all) {
    int done = 1, over = all->seconds && now_s() >= all->begin_s + all->seconds;
    for (int i = 0; i < all->count; i++) {
        struct js_publisher *p = &all->each[i];
        if (over) p->count = p->sent;
        done &= p->acked == p->count;
    }
    return done;
}

static void *js_publish(void *argument) {
    struct js_publishers *all = argument;
    int poller = epoll_create1(0);
    for (int i = 0; i < all->count; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &all->each[i]};
        epoll_ctl(poller, EPOLL_CTL_ADD, all->each[i].reader.fd, &event);
        js_publish_all(all, &all->each[i]);
    }
    while (!js_is_done(all)) {
        struct epoll_event events[256];
        /* One publisher waits in its read: a system call less for each message. */
        int n = all->count == 1 ? 1 : epoll_wait(poller, events, 256, PATIENCE_MS);
        if (n == 0) fail("no PubAck comes");
        if (all->count == 1) events[0].data.ptr = all->each;
        for (int i = 0; i < n; i++) {
            struct js_publisher *p = events[i].data.ptr;
            if (p->acked < p->sent) reader_fill(&p->reader, all->count == 1 ? 0 : MSG_DONTWAIT);
            js_take_acks(all, p);
            js_publish_all(all, p);
        }
    }
    all->end_s = now_s();
    atomic_store(&all->done, 1);
    close(poller);
    return NULL;
}

/* ---------------------------------------------------------------- consumers */

struct js_client {
    struct reader reader;
    int number;
    uint64_t got, asked, requests;
    uint64_t last_seq, disordered;
    double asked_s;
    char *out; /* acknowledgements that were not sent yet */
    size_t out_bytes, out_room;
};

struct js_clients {
    int pulls, pushes, batch, acks, checks_order;
    uint64_t take; /* 0: not known yet */
    const char *next, *deliver;
    double begin_s, end_s;
    struct js_client *each;
    struct samples samples;
    struct js_publishers *publishers;
};

static void js_say(struct js_client *c, const char *text, size_t count) {
    if (c->out_bytes + count > c->out_room) c->out = realloc(c->out, c->out_room = 2 * c->out_room + count + 65536);
    memcpy(c->out + c->out_bytes, text, count);
    c->out_bytes += count;
}

static void js_flush(struct js_client *c) {
    if (c->out_bytes) send_all(c->reader.fd, c->out, c->out_bytes);
    c->out_bytes = 0;
}

static void js_ask(struct js_clients *all, struct js_client *c) {
    char text[512], body[96];
    uint64_t count = all->batch - c->asked;
    int n = snprintf(body, sizeof body, "{\"batch\":%llu,\"expires\":60000000000}", (unsigned long long)count);
    n = snprintf(text, sizeof text, "PUB %s _INBOX.js%06d.%llu %d\r\n%s\r\n", all->next, c->number,
                 (unsigned long long)++c->requests, n, body);
    js_say(c, text, n);
    c->asked += count;
    c->asked_s = now_s();
}

/* Return a number of the reply subject `$JS.ACK.stream.consumer.deliveries.stream_seq...`: the token at `which`, from 0 on. */
static uint64_t ack_number(const struct message *m, int which) {
    const char *at = m->reply, *end = m->reply + m->reply_bytes;
    uint64_t value = 0;
    while (which && at < end) which -= *at++ == '.';
    while (at < end && *at != '.') value = value * 10 + (*at++ - '0');
    return value;
}

static void js_answer_status(struct js_client *c, const struct message *m) {
    char text[512];
    const char *stalled = memmem(m->header, m->header_bytes, "Nats-Consumer-Stalled: ", 23);
    if (strncmp(m->header + 9, "100", 3)) fail("a consumer says %.*s", m->header_bytes, m->header);
    if (m->reply_bytes) js_say(c, text, snprintf(text, sizeof text, "PUB %.*s 0\r\n\r\n", m->reply_bytes, m->reply));
    if (stalled) {
        int length = strcspn(stalled + 23, "\r");
        js_say(c, text, snprintf(text, sizeof text, "PUB %.*s 0\r\n\r\n", length, stalled + 23));
    }
}

static void js_take(struct js_clients *all, struct js_client *c) {
    struct message m;
    char text[512];
    while (reader_next(&c->reader, &m)) {
        if (is_status(&m)) {
            js_answer_status(c, &m);
            continue;
        }
        if (!m.reply_bytes) fail("a message without a subject for its acknowledgement");
        if (all->batch == 1 && all->pulls) sample(&all->samples, (now_s() - c->asked_s) * 1e6);
        if (all->checks_order) {
            uint64_t seq = ack_number(&m, 5);
            c->disordered += seq <= c->last_seq;
            c->last_seq = seq;
        }
        c->got++;
        if (all->acks) {
            int is_last = all->take && c->got == all->take && all->pulls + all->pushes == 1;
            int n = is_last ? snprintf(text, sizeof text, "PUB %.*s _INBOX.js%06d.last 4\r\n+ACK\r\n", m.reply_bytes, m.reply, c->number)
                            : snprintf(text, sizeof text, "PUB %.*s 4\r\n+ACK\r\n", m.reply_bytes, m.reply);
            js_say(c, text, n);
            if (is_last) {
                js_flush(c);
                while (!reader_next(&c->reader, &m)) reader_fill(&c->reader, 0);
                return;
            }
        }
        if (all->pulls && --c->asked <= (uint64_t)all->batch / 2 && !(all->take && c->got + c->asked >= all->take)) js_ask(all, c);
        if (c->out_bytes > 65536) js_flush(c);
    }
    js_flush(c);
}

static int js_has_all(struct js_clients *all) {
    uint64_t got = 0, least = UINT64_MAX;
    if (!all->take && atomic_load(&all->publishers->done)) all->take = atomic_load(&all->publishers->acked);
    for (int i = 0; i < all->pulls + all->pushes; i++) {
        got += all->each[i].got;
        if (all->each[i].got < least) least = all->each[i].got;
    }
    return all->take && (all->pulls ? got : least) >= all->take;
}

static void js_open_clients(struct js_clients *all, int port) {
    for (int i = 0; i < all->pulls + all->pushes; i++) {
        struct js_client *c = &all->each[i];
        char line[256], subject[200];
        c->number = 500000 + i;
        snprintf(line, sizeof line, "SUB _INBOX.js%06d.* 1\r\n", c->number);
        reader_open(&c->reader, log_in(port, i, all->pulls ? line : ""));
        if (all->pulls) continue;
        snprintf(subject, sizeof subject, all->deliver, i);
        js_say(c, line, snprintf(line, sizeof line, "SUB _INBOX.js%06d.* 2\r\nSUB %s 1\r\n", c->number, subject));
    }
}

static void *js_consume(void *argument) {
    struct js_clients *all = argument;
    int poller = epoll_create1(0), count = all->pulls + all->pushes;
    for (int i = 0; i < count; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &all->each[i]};
        epoll_ctl(poller, EPOLL_CTL_ADD, all->each[i].reader.fd, &event);
        if (all->pulls) js_ask(all, &all->each[i]);
        js_flush(&all->each[i]);
    }
    double heard_s = now_s();
    while (!js_has_all(all)) {
        struct epoll_event events[256];
        int n = count == 1 && all->take ? 1 : epoll_wait(poller, events, 256, 20);
        if (count == 1 && all->take) events[0].data.ptr = all->each;
        for (int i = 0; i < n; i++) {
            struct js_client *c = events[i].data.ptr;
            reader_fill(&c->reader, count == 1 && all->take ? 0 : MSG_DONTWAIT);
            js_take(all, c);
        }
        if (n || (all->publishers && !atomic_load(&all->publishers->done))) heard_s = now_s();
        if (now_s() - heard_s > PATIENCE_MS / 1000) fail("messages are missing");
    }
    all->end_s = now_s();
    close(poller);
    return NULL;
}

/* ---------------------------------------------------------------- mode js */

static void js_open_publishers(struct js_publishers *all, int port, uint64_t count) {
    for (int i = 0; i < all->count; i++) {
        struct js_publisher *p = &all->each[i];
        char line[64];
        snprintf(line, sizeof line, "SUB _INBOX.js%06d.* 1\r\n", i);
        reader_open(&p->reader, log_in(port, i, line));
        p->count = count ? count / all->count + (i < (int)(count % all->count)) : UINT64_MAX;
        js_build(all, p, i);
    }
}

static int js_report(struct js_publishers *pubs, struct js_clients *clients, double cpu_s, double own_s) {
    uint64_t published = pubs->acked, received = 0, disordered = 0;
    for (int i = 0; i < clients->pulls + clients->pushes; i++) {
        received += clients->each[i].got;
        disordered += clients->each[i].disordered;
    }
    int has_clients = clients->pulls + clients->pushes, has_pubs = pubs->count > 0;
    double publish_s = has_pubs ? pubs->end_s - pubs->begin_s : 0, receive_s = has_clients ? clients->end_s - clients->begin_s : 0;
    struct samples *samples = pubs->samples.count ? &pubs->samples : &clients->samples;
    uint64_t messages = has_pubs ? published : received;
    printf("{\"mode\":\"js\",\"published\":%llu,\"received\":%llu,\"publish_s\":%.3f,\"receive_s\":%.3f,\"publish_rate\":%.0f,"
           "\"receive_rate\":%.0f,\"flow_rate\":%.0f,\"p50_us\":%.1f,\"p99_us\":%.1f,\"server_cpu_s\":%.2f,"
           "\"server_cpu_s_per_million\":%.4f,\"own_cpu_s\":%.2f,\"server_rss_kib\":%ld,\"disordered\":%llu}\n",
           (unsigned long long)published, (unsigned long long)received, publish_s, receive_s,
           has_pubs ? published / publish_s : 0, has_clients ? received / receive_s : 0,
           has_clients ? messages / receive_s : published / publish_s, percentile(samples, 0.5), percentile(samples, 0.99), cpu_s,
           cpu_s / (messages / 1e6), own_s, server_rss_kib(), (unsigned long long)disordered);
    return disordered > 0;
}

static void many_files(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

int jetstream(int port) {
    uint64_t count = number_option("count", 0);
    struct js_publishers pubs = {
        .count = number_option("pubs", 1),
        .window = number_option("window", 500),
        .wild = number_option("wild", 0),
        .size = number_option("size", 128),
        .seconds = count ? 0 : number_option("seconds", 2),
    };
    pubs.payloads = read_payloads(pubs.size, &pubs.payload_count);
    struct js_clients clients = {
        .pulls = number_option("pulls", 0),
        .pushes = number_option("pushes", 0),
        .batch = number_option("batch", 500),
        .acks = number_option("acks", 0),
        .take = number_option("take", 0),
        .next = text_option("next", ""),
        .deliver = text_option("deliver", ""),
        .publishers = &pubs,
    };
    pthread_t publisher, consumer;
    many_files();
    if (clients.pulls && clients.pushes) fail("pulls and pushes at once are not there");
    clients.checks_order = clients.pushes || clients.pulls == 1;
    pubs.each = calloc(pubs.count + 1, sizeof *pubs.each);
    clients.each = calloc(clients.pulls + clients.pushes + 1, sizeof *clients.each);
    js_open_publishers(&pubs, port, count);
    js_open_clients(&clients, port);
    double cpu_s = server_cpu_s(), own_s = own_cpu_s();
    clients.begin_s = pubs.begin_s = now_s();
    if (clients.pulls + clients.pushes) pthread_create(&consumer, NULL, js_consume, &clients);
    if (pubs.count) pthread_create(&publisher, NULL, js_publish, &pubs);
    if (pubs.count) pthread_join(publisher, NULL);
    if (clients.pulls + clients.pushes) pthread_join(consumer, NULL);
    return js_report(&pubs, &clients, server_cpu_s() - cpu_s, own_cpu_s() - own_s);
}

/* ---------------------------------------------------------------- mode jsreq */

int jetstream_requests(int port) {
    struct js_publishers all = {.count = 1, .window = 1, .wild = number_option("wild", 0), .size = number_option("size", 0)};
    struct js_publisher p = {0};
    struct message m;
    uint64_t count = number_option("count", 2000);
    reader_open(&p.reader, log_in(port, 0, "SUB _INBOX.js000000.* 1\r\n"));
    js_build(&all, &p, 0);
    p.count = count;
    double begin_s = now_s(), cpu_s = server_cpu_s();
    for (uint64_t i = 0; i < count; i++) {
        js_publish_some(&all, &p);
        while (!reader_next(&p.reader, &m)) reader_fill(&p.reader, 0);
        if (is_status(&m) || memmem(m.payload, m.payload_bytes, "\"error\"", 7))
            fail("a request was answered with %.*s", m.header_bytes + m.payload_bytes, m.header);
        sample(&all.samples, (now_s() - p.sent_s) * 1e6);
        p.acked++;
    }
    double seconds = now_s() - begin_s, spent_s = server_cpu_s() - cpu_s;
    printf("{\"mode\":\"jsreq\",\"count\":%llu,\"rate\":%.0f,\"p50_us\":%.1f,\"p99_us\":%.1f,\"server_cpu_s_per_million\":%.4f}\n",
           (unsigned long long)count, count / seconds, percentile(&all.samples, 0.5), percentile(&all.samples, 0.99),
           spent_s / (count / 1e6));
    return 0;
}
