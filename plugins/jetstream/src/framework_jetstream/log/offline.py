"""Read a log that no server has open, and change nothing."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Final

from framework.wire.s2 import Decoder
from framework_jetstream.log._face import Log
from framework_jetstream.log.record import Kind

if TYPE_CHECKING:
    import os

    from framework_jetstream.encryption._cipher import Keys
    from framework_jetstream.log.record import Damage, Entry

_COMPRESSED_HEAD: Final = struct.Struct("<qQQII")
"""As `CompressedHead` of `engine/_message_entries.pxd` says."""
_COMPRESSED_PARTS: Final = 2
_FILE_NAME: Final = re.compile(r"[0-9]{10}\.log")


def read_log(folder: str | os.PathLike[str], keys: Keys | None = None) -> Log:
    """Return a log as it is in a folder: its groups, damage and entries. It is not to be written.

    Raises:
        OSError: The folder can't be read.
        NewerVersionError: A newer version wrote it.
        LockedFileError: It is encrypted with another key.
    """
    log = Log(keys=keys)
    for file in sorted(it for it in Path(folder).iterdir() if _FILE_NAME.fullmatch(it.name)):
        data = file.read_bytes()
        log.load(int(file.stem), len(data))[:] = data
    log.recover()
    return log


def plain_parts(entry: Entry) -> list[bytes]:
    """Return the parts of an entry; of one that is compressed its head, and the messages as parts.

    Raises:
        ProtocolError: What was compressed can't be decoded.
    """
    if entry.kind is not Kind.COMPRESSED or len(entry.parts) != _COMPRESSED_PARTS:
        return list(entry.parts)
    head, packed = entry.parts
    *_, count, length = _COMPRESSED_HEAD.unpack(head)
    plain = Decoder().feed(packed)
    at, parts = 0, [head]
    for size_bytes in struct.unpack(f"<{count}I", plain[length - 4 * count : length]):
        parts.append(plain[at : at + size_bytes])
        at += size_bytes
    return parts


def words_of(damage: Damage) -> str:
    """Return what is damaged, for people."""
    place = f"file {damage.file:010}.log, byte {damage.offset}"
    what = damage.reason.name.lower().replace("_", " ")
    if not damage.first_index:
        length = f", {damage.length} bytes" if damage.length else ""
        return f"{place}{length}: {what}"
    entries = f"entry {damage.first_index}"
    if damage.last_index != damage.first_index:
        entries = f"entries {damage.first_index} to {damage.last_index}"
    part = f", message {damage.part + 1} of it" if damage.part >= 0 else ""
    return f"{place}: {what}: group {damage.group}, {entries}{part}"
