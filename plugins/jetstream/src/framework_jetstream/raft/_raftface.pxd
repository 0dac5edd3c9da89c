"""Settings and members as Python has them, for compiled callers."""

from framework_jetstream.raft._state cimport RaftMembers, RaftSettings


cdef RaftSettings settings_of(settings) except *
cdef int members_of(dict votes, RaftMembers* members) except -1
