"""The C face of what sources give; see `_giving.pyx`."""

from framework_jetstream.engine._port cimport framework_batch, framework_row
from framework_jetstream.engine._state cimport Engine, Input


cdef void source_row(Engine* engine, Input* input, const framework_batch* batch, const framework_row* row) noexcept nogil
