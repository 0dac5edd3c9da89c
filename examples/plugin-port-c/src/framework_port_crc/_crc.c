/* Answers requests with the CRC-32 of their payload, as eight hexadecimal digits. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <framework_port.h>
#include <poll.h>
#include <pthread.h>

enum { BATCH_MAX = 2048, DIGITS = 8 };

typedef struct {
    PyObject *capsule; /* it keeps the port */
    framework_port *port;
    uint32_t account;
    pthread_t thread;
    framework_message answers[BATCH_MAX];
    char digits[BATCH_MAX][DIGITS];
} service;

static uint32_t table[256];

static void answer(const char *payload, uint32_t length, char *digits) {
    uint32_t crc = 0xffffffff;
    for (uint32_t at = 0; at < length; at++) crc = table[(crc ^ (uint8_t)payload[at]) & 255] ^ (crc >> 8);
    for (int at = 0; at < DIGITS; at++) digits[at] = "0123456789abcdef"[(~crc >> (28 - 4 * at)) & 15];
}

static void wait_for(framework_port *it) {
    struct pollfd waits = {.fd = it->wake_fd, .events = POLLIN};
    poll(&waits, 1, -1);
}

static void *serve(void *argument) {
    service *it = argument;
    framework_port *port = it->port;
    while (!port->has_ended(port->self)) {
        const framework_batch *batch = port->take(port->self);
        uint32_t count = 0;
        if (!batch) { wait_for(port); continue; }
        for (uint32_t at = 0; at < batch->count && count < BATCH_MAX; at++) {
            const framework_row *row = &batch->rows[at];
            const char *reply = batch->chars + row->at + row->subject_length;
            if (row->kind != FRAMEWORK_ROW_MESSAGE || !row->reply_length) continue;
            answer(reply + row->reply_length + row->header_length, row->payload_length, it->digits[count]);
            it->answers[count] = (framework_message){
                .account = it->account, .subject = reply, .subject_length = row->reply_length,
                .payload = it->digits[count], .payload_length = DIGITS};
            count++;
        }
        while (port->publish(port->self, it->answers, count) == FRAMEWORK_PORT_FULL) wait_for(port);
        port->release(port->self, batch);
    }
    return NULL;
}

static void forget(PyObject *handle) {
    service *it = PyCapsule_GetPointer(handle, NULL);
    Py_XDECREF(it->capsule);
    PyMem_Free(it);
}

static PyObject *start(PyObject *self, PyObject *arguments) {
    const char *subject;
    Py_ssize_t length;
    service *it = PyMem_Calloc(1, sizeof(service));
    PyObject *handle = it ? PyCapsule_New(it, NULL, forget) : PyErr_NoMemory();
    PyObject *capsule;
    if (!handle || !PyArg_ParseTuple(arguments, "OIs#", &capsule, &it->account, &subject, &length)) goto failed;
    it->capsule = Py_NewRef(capsule);
    if (!(it->port = PyCapsule_GetPointer(it->capsule, FRAMEWORK_PORT_CAPSULE))) goto failed;
    if (it->port->subscribe(it->port->self, it->account, subject, (uint32_t)length, "crc", 3, 1) != FRAMEWORK_PORT_OK) {
        PyErr_Format(PyExc_ValueError, "can't subscribe to %s", subject);
        goto failed;
    }
    if (pthread_create(&it->thread, NULL, serve, it)) { PyErr_SetFromErrno(PyExc_OSError); goto failed; }
    return handle;
failed:
    Py_XDECREF(handle);
    return NULL;
}

static PyObject *join(PyObject *self, PyObject *handle) {
    service *it = PyCapsule_GetPointer(handle, NULL);
    if (!it) return NULL;
    Py_BEGIN_ALLOW_THREADS
    pthread_join(it->thread, NULL);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {{"start", start, METH_VARARGS, "Serve a subject on a thread, by the capsule of a port."},
                                {"join", join, METH_O, "Wait until the thread has ended that `start` returned."},
                                {NULL}};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_crc", "A thread that answers with CRC-32.", -1, methods};

PyMODINIT_FUNC PyInit__crc(void) {
    for (uint32_t at = 0; at < 256; at++) {
        table[at] = at;
        for (int bit = 0; bit < 8; bit++) table[at] = table[at] >> 1 ^ (table[at] & 1 ? 0xedb88320 : 0);
    }
    return PyModule_Create(&module);
}
