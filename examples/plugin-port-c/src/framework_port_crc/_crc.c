/* Answers requests with the CRC-32 of their payload, as eight hexadecimal digits. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <framework_port.h>
#include <poll.h>
#include <pthread.h>

enum { BATCH_MAX = 2048, DIGITS = 8 };

static uint32_t table[256];
static pthread_t thread;
static PyObject *capsule; /* it keeps the port */
static framework_port *port;
static uint32_t account;

static void answer(const char *payload, uint32_t length, char *digits) {
    uint32_t crc = 0xffffffff;
    for (uint32_t at = 0; at < length; at++) crc = table[(crc ^ (uint8_t)payload[at]) & 255] ^ (crc >> 8);
    for (int at = 0; at < DIGITS; at++) digits[at] = "0123456789abcdef"[(~crc >> (28 - 4 * at)) & 15];
}

static void wait_for(framework_port *it) {
    struct pollfd waits = {.fd = it->wake_fd, .events = POLLIN};
    poll(&waits, 1, -1);
}

static void *serve(void *unused) {
    static framework_message answers[BATCH_MAX];
    static char digits[BATCH_MAX][DIGITS];
    while (!port->has_ended(port->self)) {
        const framework_batch *batch = port->take(port->self);
        uint32_t count = 0;
        if (!batch) { wait_for(port); continue; }
        for (uint32_t at = 0; at < batch->count && count < BATCH_MAX; at++) {
            const framework_row *row = &batch->rows[at];
            const char *reply = batch->chars + row->at + row->subject_length;
            if (row->kind != FRAMEWORK_ROW_MESSAGE || !row->reply_length) continue;
            answer(reply + row->reply_length + row->header_length, row->payload_length, digits[count]);
            answers[count] = (framework_message){.account = account, .subject = reply, .subject_length = row->reply_length,
                                                 .payload = digits[count], .payload_length = DIGITS};
            count++;
        }
        while (port->publish(port->self, answers, count) == FRAMEWORK_PORT_FULL) wait_for(port);
        port->release(port->self, batch);
    }
    return unused;
}

static PyObject *start(PyObject *self, PyObject *arguments) {
    const char *subject;
    Py_ssize_t length;
    if (!PyArg_ParseTuple(arguments, "OIs#", &capsule, &account, &subject, &length)) return NULL;
    if (!(port = PyCapsule_GetPointer(capsule, FRAMEWORK_PORT_CAPSULE))) return NULL;
    if (port->subscribe(port->self, account, subject, (uint32_t)length, "crc", 3, 1) != FRAMEWORK_PORT_OK)
        return PyErr_Format(PyExc_ValueError, "can't subscribe to %s", subject);
    Py_INCREF(capsule);
    if (pthread_create(&thread, NULL, serve, NULL)) return PyErr_SetFromErrno(PyExc_OSError);
    Py_RETURN_NONE;
}

static PyObject *join(PyObject *self, PyObject *unused) {
    Py_BEGIN_ALLOW_THREADS
    pthread_join(thread, NULL);
    Py_END_ALLOW_THREADS
    Py_CLEAR(capsule);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {{"start", start, METH_VARARGS, "Serve a subject on a thread, by the capsule of a port."},
                                {"join", join, METH_NOARGS, "Wait until that thread has ended."},
                                {NULL}};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_crc", "A thread that answers with CRC-32.", -1, methods};

PyMODINIT_FUNC PyInit__crc(void) {
    for (uint32_t at = 0; at < 256; at++) {
        table[at] = at;
        for (int bit = 0; bit < 8; bit++) table[at] = table[at] >> 1 ^ (table[at] & 1 ? 0xedb88320 : 0);
    }
    return PyModule_Create(&module);
}
