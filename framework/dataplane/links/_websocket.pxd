"""The C face of the WebSocket stage; see `_websocket.pyx`."""

from framework.dataplane._state cimport StageRow


cdef void websocket_stage_row(StageRow* row) noexcept nogil
