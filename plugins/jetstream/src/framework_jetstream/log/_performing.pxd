"""What is to be done on the disk, one round at a time; see `_performing.pyx`."""

from libc.stdint cimport uint64_t

from framework_jetstream.log._log cimport Log, LogRound


cdef LogRound* log_take_round(Log* log, bint rests) noexcept nogil
# For who appends and performs by itself what is little: no more than `bytes_max`, and no file is to be made.
cdef LogRound* log_take_small_round(Log* log, uint64_t bytes_max) noexcept nogil
cdef bint log_has_other_keys(Log* log) noexcept nogil
# The disk is full: let files go that wait to be written anew, one with each round.
cdef void log_make_room(Log* log) noexcept nogil
cdef bint log_is_small(Log* log, uint64_t bytes_max) noexcept nogil
cdef void log_round_done(Log* log, LogRound* done, int error) noexcept nogil
# The round that what was appended last is in, and the last one that is durable, as far as `syncs_always` says.
cdef uint64_t log_last_round(Log* log) noexcept nogil
cdef uint64_t log_durable_round(Log* log) noexcept nogil
# With `sync: interval`: the next round syncs all that was written.
cdef void log_sync(Log* log) noexcept nogil
