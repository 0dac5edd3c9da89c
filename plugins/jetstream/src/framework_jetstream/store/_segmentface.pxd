"""The C face of what Python has of segments; see `_segmentface.pyx`."""

from framework_jetstream.store._segment cimport SegmentReader


cdef list damage_of(const SegmentReader* reader)
