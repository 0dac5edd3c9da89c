"""Perform rounds in a folder; nothing but system calls."""

from libc.stdint cimport uint32_t, uint64_t

from framework_jetstream.log._log cimport LogRound


cdef struct LogDisk:
    int folder
    int fd  # of the file that was used last
    uint64_t file  # its number; 0: none
    bint is_unsynced  # it has what was not synced
    int behind[4]  # files before it that have, the oldest first
    uint32_t behind_count
    uint64_t new_file  # the last one that was made out of nothing: its blocks were never written; 0: none
    uint64_t written_to  # up to here they were, by now
    char* encrypted  # room for what a round writes, where that is encrypted
    uint64_t encrypted_room


cdef void disk_close(LogDisk* disk) noexcept nogil
# Do all that a round says; errno of writing and syncing, 0: done. `made_error` of the round gets that of making a file.
cdef int disk_perform(LogDisk* disk, LogRound* it) noexcept nogil
