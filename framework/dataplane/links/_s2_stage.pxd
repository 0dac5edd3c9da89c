"""The C face of the S2 stage; see `_s2_stage.pyx`."""

from framework.dataplane._state cimport StageRow


cdef void s2_stage_row(StageRow* row) noexcept nogil
