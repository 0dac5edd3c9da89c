"""The C face of what a port's thread decides at gates; see `_gateface.pyx`."""

from libc.stdint cimport uint32_t

from framework.dataplane._state cimport SinkBatch, framework_batch
from framework.dataplane.ports._portface cimport Face, framework_verdict


cdef int face_decide(void* self, const framework_batch* batch, const framework_verdict* verdicts, uint32_t count) noexcept nogil
cdef int face_answer(Face* face, SinkBatch* batch, const char* records, size_t length) noexcept nogil
cdef void face_release(void* self, const framework_batch* batch) noexcept nogil
