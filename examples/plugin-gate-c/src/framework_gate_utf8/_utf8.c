/* Refuses messages at a gate whose payload is not UTF-8. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <framework_port.h>
#include <poll.h>
#include <pthread.h>

enum { BATCH_MAX = 2048 };

static pthread_t thread;
static PyObject *capsule; /* it keeps the port */
static framework_port *port;
static const framework_verdict PASS = {.verdict = FRAMEWORK_VERDICT_PASS};
static const framework_verdict REFUSE = {.verdict = FRAMEWORK_VERDICT_REFUSE, .status = 400,
                                         .error = "not UTF-8", .error_length = 9,
                                         .description = "Not UTF-8", .description_length = 9};

static int is_utf8(const uint8_t *at, const uint8_t *end) {
    while (at < end) {
        uint64_t eight;
        uint32_t point, more;
        if (end - at >= 8 && (memcpy(&eight, at, 8), !(eight & 0x8080808080808080))) { at += 8; continue; }
        if (*at < 0x80) { at++; continue; }
        more = *at >= 0xf0 ? 3 : *at >= 0xe0 ? 2 : 1;
        if (*at < 0xc2 || *at > 0xf4 || end - at <= more) return 0;
        point = *at++ & (0x3f >> more);
        for (uint32_t left = more; left; left--, at++) {
            if ((*at & 0xc0) != 0x80) return 0;
            point = point << 6 | (*at & 0x3f);
        }
        /* Longer than it need be, half of a pair, or beyond the last one. */
        if (point < (more == 3 ? 0x10000 : more == 2 ? 0x800 : 0x80) || (point >> 11) == 0x1b || point > 0x10ffff) return 0;
    }
    return 1;
}

static void decide(const framework_batch *batch) {
    static framework_verdict verdicts[BATCH_MAX];
    uint32_t bad = 0;
    for (uint32_t at = 0; at < batch->count && at < BATCH_MAX; at++) {
        const framework_row *row = &batch->rows[at];
        const uint8_t *payload =
            (const uint8_t *)batch->chars + row->at + row->subject_length + row->reply_length + row->header_length;
        int is_good = is_utf8(payload, payload + row->payload_length);
        verdicts[at] = is_good ? PASS : REFUSE;
        bad += !is_good;
    }
    port->decide(port->self, batch, verdicts, bad ? batch->count : 0); /* none: all pass */
}

static void *serve(void *unused) {
    while (!port->has_ended(port->self)) {
        const framework_batch *batch = port->take(port->self);
        if (!batch) {
            struct pollfd waits = {.fd = port->wake_fd, .events = POLLIN};
            poll(&waits, 1, -1);
            continue;
        }
        if (batch->count && batch->rows[0].kind == FRAMEWORK_ROW_GATED) decide(batch);
        port->release(port->self, batch);
    }
    return unused;
}

static PyObject *start(PyObject *self, PyObject *given) {
    if (!(port = PyCapsule_GetPointer(given, FRAMEWORK_PORT_CAPSULE))) return NULL;
    if (port->size < sizeof(framework_port))
        return PyErr_Format(PyExc_RuntimeError, "this server has ports that decide at no gates");
    if (pthread_create(&thread, NULL, serve, NULL)) return PyErr_SetFromErrno(PyExc_OSError);
    Py_INCREF(capsule = given);
    Py_RETURN_NONE;
}

static PyObject *join(PyObject *self, PyObject *unused) {
    Py_BEGIN_ALLOW_THREADS
    pthread_join(thread, NULL);
    Py_END_ALLOW_THREADS
    Py_CLEAR(capsule);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {{"start", start, METH_O, "Decide on a thread, by the capsule of a port."},
                                {"join", join, METH_NOARGS, "Wait until that thread has ended."},
                                {NULL}};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_utf8", "A thread that refuses what is not UTF-8.", -1, methods};

PyMODINIT_FUNC PyInit__utf8(void) { return PyModule_Create(&module); }
