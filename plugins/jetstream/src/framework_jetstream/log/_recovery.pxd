"""Read a log: what is in its files, what is torn, what is damaged."""

from libc.stdint cimport uint64_t

from framework_jetstream.log._log cimport Log

cdef enum:  # reasons of damage
    DAMAGE_FILE_MISSING = 1  # of `offset` 0
    DAMAGE_FILE_HEAD = 2  # both copies are bad; what is behind may be good
    DAMAGE_ROUND = 3  # the head of a round; records that could be found in it were read
    DAMAGE_RECORD = 4  # the head of a record: it is not known whose
    DAMAGE_PART = 5  # a message: of the entry `first_index` of `group`, the part `part`
    DAMAGE_INDEX = 6  # entries `first_index` to `last_index` of `group` are nowhere

cdef enum:  # what log_recover returns
    RECOVERED = 0
    RECOVERED_NOTHING = 1  # ENOMEM
    RECOVERED_NEWER = 2  # a newer version wrote it: nothing was done
    RECOVERED_LOCKED = 3  # nobody has the key of `locked_file`: nothing was done

# Make room for a file as it is on the disk; by number, ascending. The caller fills it. NULL: no memory.
cdef char* log_load(Log* log, uint64_t number, uint64_t size) noexcept nogil
# Read all that was loaded; then the log can be written. Entries are given by `log_next_committed`.
cdef int log_recover(Log* log) noexcept nogil
