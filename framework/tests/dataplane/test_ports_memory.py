"""Messages of a port, by its C functions, whose payloads are not copied."""

from __future__ import annotations

import ctypes
from ctypes import c_char_p, c_int, c_int64, c_uint32, c_void_p
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from framework.dataplane.port import Port
    from framework.tests.dataplane.conftest import Talk

OK, ENDED, INVALID = 0, 2, 3
TEXTS = ("subject", "reply", "header", "payload", "inbox")
NAMES = ("subscribe", "unsubscribe", "watch", "unwatch", "take", "release", "publish")


class Message(ctypes.Structure):
    _fields_ = (
        *((name, c_void_p) for name in TEXTS),
        *((f"{name}_length", c_uint32) for name in TEXTS),
        ("account", c_uint32),
        ("asks", c_uint32),
        ("token", c_int64),
    )


class Functions(ctypes.Structure):
    _fields_ = (
        ("version", c_uint32),
        ("size", c_uint32),
        ("wake_fd", c_int),
        ("self", c_void_p),
        *((name, c_void_p) for name in (*NAMES, "has_ended", "decide")),
        (
            "publish_memory",
            ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, ctypes.POINTER(Message)),
        ),
        ("memory_before", c_uint32),
        ("memory_behind", c_uint32),
    )


def functions_of(port: Port) -> Functions:
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = c_void_p, (ctypes.py_object, c_char_p)
    functions = Functions.from_address(pointer(port.capsule(), b"framework.port.1"))
    assert functions.size == ctypes.sizeof(Functions)
    return functions


def publish(port: Port, subject: bytes, payload: bytes, *, off: int = 0) -> int:
    """Publish from memory in which the payload lies; `off`: bytes from where it should."""
    functions, libc = functions_of(port), ctypes.CDLL(None)
    libc.malloc.restype, libc.free.argtypes = c_void_p, (c_void_p,)
    before = functions.memory_before + len(subject)
    memory = libc.malloc(before + len(payload) + functions.memory_behind)
    ctypes.memset(memory, 0xEE, before + len(payload) + functions.memory_behind)
    ctypes.memmove(memory + before, payload, len(payload))
    text = ctypes.create_string_buffer(subject)
    message = Message(ctypes.addressof(text), subject_length=len(subject))
    message.payload, message.payload_length = memory + before + off, len(payload)
    said = functions.publish_memory(functions.self, memory, message)
    if said != OK:
        assert ctypes.string_at(memory + before, len(payload)) == payload
        libc.free(memory)
    return said


@pytest.mark.parametrize("length", [0, 1, 5, 8, 8191, 8192, 100_000, 600_000])
def test_a_payload_is_sent_from_where_it_lies(talk: Talk, length: int) -> None:
    port = talk.core.open_port()
    client, other = talk.client(), talk.client()
    client.say(b"SUB a.b 1\r\n")
    other.say(b"SUB a.> 2\r\n")
    payload = bytes(at % 251 for at in range(length))
    assert publish(port, b"a.b", payload) == OK
    assert publish(port, b"a.b", b"behind") == OK
    for each, sid in ((client, b"1"), (other, b"2")):
        first = b"MSG a.b %b %d\r\n%b\r\n" % (sid, length, payload)
        assert each.heard() == first + b"MSG a.b %b 6\r\nbehind\r\n" % sid


def test_memory_that_is_refused_stays_the_caller_s(talk: Talk) -> None:
    port = talk.core.open_port()
    client = talk.client()
    client.say(b"SUB > 1\r\n")
    assert publish(port, b"a b", b"payload") == INVALID
    assert publish(port, b"a", b"payload", off=1) == INVALID
    port.close()
    talk.turn()
    assert publish(port, b"a", b"payload") == ENDED
    assert client.heard() == b""
