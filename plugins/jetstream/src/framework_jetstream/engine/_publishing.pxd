"""The C face of publishing to streams; see `_publishing.pyx`."""

from framework_jetstream.engine._port cimport framework_batch, framework_row
from framework_jetstream.engine._state cimport Engine, Slot


cdef void publish_row(Engine* engine, Slot* slot, const framework_batch* batch, const framework_row* row) noexcept nogil
