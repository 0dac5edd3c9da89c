/* A port: a subscriber and publisher inside a server, on a thread of its own that never needs Python.
 *
 * A plugin opens a port by `ServerContext.open_port` and takes `framework_port *` out of its capsule:
 *
 *     framework_port *port = PyCapsule_GetPointer(capsule, FRAMEWORK_PORT_CAPSULE);
 *
 * The capsule has to live for as long as the thread uses the port. All functions are called from one
 * thread at a time; none blocks, none needs the GIL. What a port is given and what it says travels in
 * batches: one call for many messages costs what one call for one message does.
 *
 * Sizes are in bytes. Functions that return int return FRAMEWORK_PORT_OK or one of the other values.
 * Fields are only ever added at the end of a struct, and `size` says how long it is.
 */
#ifndef FRAMEWORK_PORT_H
#define FRAMEWORK_PORT_H

#include <stdint.h>

#define FRAMEWORK_PORT_VERSION 1
#define FRAMEWORK_PORT_CAPSULE "framework.port.1"

enum { /* what functions return */
    FRAMEWORK_PORT_OK = 0,
    FRAMEWORK_PORT_FULL = 1,    /* too much waits: `wake_fd` becomes readable when there is room */
    FRAMEWORK_PORT_ENDED = 2,   /* the server stops, or the port was closed */
    FRAMEWORK_PORT_INVALID = 3, /* a subject or a length makes no sense; nothing was done */
    FRAMEWORK_PORT_MEMORY = 4   /* there is no memory; nothing was done */
};

enum { /* kinds of rows */
    FRAMEWORK_ROW_MESSAGE = 0, /* `tag` is that of the subscription */
    FRAMEWORK_ROW_ANSWER = 1,  /* what became of a message: `tag` is its token */
    FRAMEWORK_ROW_INTEREST = 2, /* interest in a watched subject has changed: `tag` is that of the watch */
    FRAMEWORK_ROW_GATED = 3     /* a message that waits for a verdict: `tag` is that of the gate */
};

enum { /* words of rows that are no messages */
    FRAMEWORK_WORD_NOBODY = 1,  /* nobody here or elsewhere has got it; nobody is interested any more */
    FRAMEWORK_WORD_FULL = 2,    /* it was delivered, and its receiver has much waiting: send no more */
    FRAMEWORK_WORD_ROOM = 3,    /* the receiver of a message that was answered FULL has caught up, or is gone */
    FRAMEWORK_WORD_REFUSED = 4, /* the account is not there, or there was no memory */
    FRAMEWORK_WORD_SOMEBODY = 5 /* somebody is interested now, here or elsewhere */
};

typedef struct {
    uint64_t link; /* the connection that it came by; 0: this process published it */
    int64_t tag;
    uint32_t at; /* in `chars` of the batch; these five follow each other from there */
    uint32_t subject_length;
    uint32_t reply_length;
    uint32_t header_length;
    uint32_t payload_length;
    uint16_t kind;
    uint16_t word;
} framework_row;

typedef struct {
    uint32_t count;
    const framework_row *rows;
    const char *chars;
    void *owner;
} framework_batch;

typedef struct { /* a message to be published; texts need not end with a zero */
    const char *subject;
    const char *reply;   /* none: `reply_length` is 0 */
    const char *header;  /* a block that begins with NATS/1.0; none: `header_length` is 0 */
    const char *payload;
    const char *inbox;   /* who subscribes to it gets the message, and sees `subject`; none: `inbox_length` is 0 */
    uint32_t subject_length;
    uint32_t reply_length;
    uint32_t header_length;
    uint32_t payload_length;
    uint32_t inbox_length;
    uint32_t account;
    uint32_t asks; /* not 0: NOBODY, FULL and ROOM are answered to it */
    int64_t token; /* shown by these answers */
} framework_message;

enum { /* verdicts on messages at a gate */
    FRAMEWORK_VERDICT_DELAY = 1, /* it goes on after `delay_ns`, at most 60 s; so does what its publisher says behind it */
    FRAMEWORK_VERDICT_PASS = 2,
    FRAMEWORK_VERDICT_CHANGE = 3, /* it goes on with what `changes` says in place of what was published */
    FRAMEWORK_VERDICT_REFUSE = 4  /* it goes no further */
};

enum { /* bits of `changes` */
    FRAMEWORK_CHANGE_SUBJECT = 1, /* its publisher must be allowed to publish there */
    FRAMEWORK_CHANGE_BODY = 2     /* header block and payload, both */
};

typedef struct { /* texts need not end with a zero, and are copied */
    uint16_t verdict;
    uint16_t changes;
    uint16_t status; /* REFUSE: of a message to the reply subject, such as 400; 0: none is sent */
    uint16_t unused;
    int64_t delay_ns;
    const char *subject;     /* CHANGE */
    const char *header;      /* CHANGE: a block that begins with NATS/1.0; none: `header_length` is 0 */
    const char *payload;     /* CHANGE */
    const char *error;       /* REFUSE: said to the publisher by -ERR; none: `error_length` is 0 */
    const char *description; /* REFUSE: behind the status; at most 256 bytes, as `error` */
    uint32_t subject_length;
    uint32_t header_length;
    uint32_t payload_length;
    uint32_t error_length;
    uint32_t description_length;
} framework_verdict;

typedef struct framework_port {
    uint32_t version;
    uint32_t size;
    int wake_fd; /* readable when something has come since `take` found nothing, or there is room again */
    void *self;
    /* Subscribe; a wildcard subject and a queue group are as a client's, `queue_length` 0 is none. Tags are the
     * caller's choice, one each for a subscription or a watch. */
    int (*subscribe)(void *self, uint32_t account, const char *subject, uint32_t subject_length, const char *queue,
                     uint32_t queue_length, int64_t tag);
    int (*unsubscribe)(void *self, int64_t tag);
    /* Be told by rows whether anybody, here or elsewhere, is interested in a subject without wildcards: now, and
     * when it changes. What the port itself subscribes to counts. */
    int (*watch)(void *self, uint32_t account, const char *subject, uint32_t subject_length, int64_t tag);
    int (*unwatch)(void *self, int64_t tag);
    /* The next batch, or NULL: nothing waits, and `wake_fd` will tell. What it holds counts until `release`. */
    const framework_batch *(*take)(void *self);
    void (*release)(void *self, const framework_batch *batch);
    /* Publish, in order. FULL, INVALID and MEMORY: none of them was. */
    int (*publish)(void *self, const framework_message *messages, uint32_t count);
    /* Whether the server stops, or the port was closed: then nothing comes any more, and `wake_fd` stays readable. */
    int (*has_ended)(void *self);
    /* Decide on a batch of the kind GATED, whose rows are all of one gate: one verdict for each row, in order, or
     * none at all, which lets all pass. It is still to be released; one that is released without verdicts counts as
     * failed, and so does one with too few, too many or senseless ones: what the gate says of such holds. One that
     * comes too late does nothing. INVALID: it is of no gate, or was decided on. A plugin looks at `size` first. */
    int (*decide)(void *self, const framework_batch *batch, const framework_verdict *verdicts, uint32_t count);
    /* Publish one message without inbox, reply and header, whose payload is not copied: it lies in `memory`, which came
     * from malloc(), `memory_before + subject_length` bytes behind its beginning, and `memory_behind` bytes follow it.
     * OK: the memory is the server's, which frees it. Else it is the caller's as before. A plugin looks at `size` first. */
    int (*publish_memory)(void *self, char *memory, const framework_message *message);
    uint32_t memory_before;
    uint32_t memory_behind;
} framework_port;

#endif
