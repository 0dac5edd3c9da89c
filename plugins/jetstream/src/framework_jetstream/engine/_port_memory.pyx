"""A payload in memory that a port takes as it is, on its way through the control plane: none of it is copied there.

    what the port needs  subject  payload  what the port needs

Source: `publish_memory` in `framework_port.h`.
"""

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport uint32_t
from libc.stdlib cimport free
from libc.string cimport memset

cimport cython

from framework_jetstream.engine._port cimport FRAMEWORK_PORT_CAPSULE, FRAMEWORK_PORT_OK, framework_message, framework_port


@cython.final
cdef class PortMemory:
    """A payload that can be published once; `bytes` copies it."""

    def __dealloc__(self) -> None:
        free(self.memory)

    def __len__(self) -> int:
        return self.length

    def __bytes__(self) -> bytes:
        return (self.memory + self.at)[:self.length] if self.memory != NULL else b""

    def publish(self, capsule: object, account: int, subject: bytes, token: int) -> bool:
        """Publish it; False: the port takes it not as it is, and it is as before.

        Args:
            capsule: Of a port.
            account: Number of the account.
            subject: As long as there is room for.
            token: Shown by what the port says of it.
        """
        cdef const framework_port* port = <const framework_port*> PyCapsule_GetPointer(capsule, FRAMEWORK_PORT_CAPSULE)
        cdef framework_message message
        if self.memory == NULL or port.memory_before + len(subject) != self.at:
            return False
        memset(&message, 0, sizeof(message))
        message.account = account
        message.subject, message.subject_length = subject, <uint32_t> len(subject)
        message.payload, message.payload_length = self.memory + self.at, self.length
        message.asks, message.token = 1, token
        if port.publish_memory(port.self, self.memory, &message) != FRAMEWORK_PORT_OK:
            return False
        self.memory = NULL
        self.length = 0
        return True


cdef PortMemory port_memory(char* memory, uint32_t at, uint32_t length):
    cdef PortMemory made
    try:
        made = PortMemory.__new__(PortMemory)
    except MemoryError:
        free(memory)
        raise
    made.memory = memory
    made.at = at
    made.length = length
    return made
