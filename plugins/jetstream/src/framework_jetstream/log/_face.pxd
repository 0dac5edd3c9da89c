from framework_jetstream.log._log cimport Log as LogStruct
from framework_jetstream.log._log cimport LogRound


cdef class Log:
    cdef LogStruct* log  # for compiled callers, as long as they hold this
    cdef LogRound* flight
    cdef list unsynced  # files that have what was not synced, the oldest first
    cdef object read  # while the log is opened: reads the rest of a file
    cdef object read_error  # what it raised
