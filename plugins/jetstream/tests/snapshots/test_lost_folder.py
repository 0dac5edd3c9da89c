"""What is set aside is there whole or not at all, once, and sealed where the server has a key."""

from __future__ import annotations

import errno

import pytest
from framework_jetstream.encryption.errors import CipherError, LockedFileError
from framework_jetstream.snapshots.lost_folder import (
    ARCHIVE,
    BACKUP,
    FILES,
    REASON,
    LostFolder,
    Reason,
)
from msgspec.structs import replace

REASON_OF = Reason(
    reason="nothing of this name is assigned",
    set_aside="2026-11-26T10:00:00Z",
    server="n1",
    group="S-R3F-x1",
    account="A",
    stream="S",
    created="2026-11-01T10:00:00Z",
    messages=3,
    bytes=90,
    first_seq=1,
    last_seq=3,
    consumers=["C"],
    is_whole=True,
)
LARGE = bytes(range(256)) * 4096
PIECES = (b"NATSARC1", LARGE, b"x" * 100, LARGE, b"end")
CIPHERS = (1, 2)


def written(folder, reason=REASON_OF):
    writing = folder.begin(reason.group)
    for piece in PIECES:
        writing.write(piece)
    return writing.finish(b'{"config":{}}', reason)


def read(folder, path):
    return b"".join(folder.read(path))


def test_a_folder_has_what_was_written(tmp_path):
    folder = LostFolder(tmp_path)
    path = written(folder)

    assert (path / ARCHIVE).read_bytes() == b"".join(PIECES)
    assert (path / BACKUP).read_bytes() == b'{"config":{}}'
    assert [it.reason for it in folder.all()] == [REASON_OF]
    assert sorted(it.name for it in path.iterdir()) == sorted(FILES)
    assert [it.name for it in folder.path.iterdir()] == [REASON_OF.group]


def test_what_was_left_undone_is_not_there_and_is_begun_anew(tmp_path):
    folder = LostFolder(tmp_path)
    path = written(folder)
    path.rename(f"{path}.part")
    (folder.path / f"{path.name}.part" / ARCHIVE).write_bytes(b"part of it")

    assert list(folder.all()) == []
    assert folder.find(REASON_OF) is None

    assert written(folder) == path
    assert (path / ARCHIVE).read_bytes() == b"".join(PIECES)
    assert [it.name for it in folder.path.iterdir()] == [REASON_OF.group]


def test_the_same_is_found_again_and_another_one_stands_beside_it(tmp_path):
    folder = LostFolder(tmp_path)
    path = written(folder)
    later = replace(REASON_OF, set_aside="2026-12-01T00:00:00Z", reason="another one")
    longer = replace(REASON_OF, messages=4, last_seq=4)

    assert folder.find(later) == path
    assert folder.find(longer) is None
    assert written(folder, longer) != path
    assert sorted(it.reason.messages for it in folder.all()) == [3, 4]


def test_a_disk_without_room_leaves_nothing(tmp_path):
    folder = LostFolder(tmp_path)
    writing = folder.begin(REASON_OF.group)
    writing.write(b"part of it")
    writing.drop()

    assert list(folder.path.iterdir()) == []

    folder.path.rmdir()
    folder.path.touch()
    with pytest.raises(OSError, match="exists") as refused:
        folder.begin(REASON_OF.group)
    assert refused.value.errno == errno.EEXIST


@pytest.mark.parametrize("cipher", CIPHERS)
def test_with_a_key_nothing_can_be_read_without_it(tmp_path, cipher):
    folder = LostFolder(tmp_path, ["secret"], cipher)
    path = written(folder)
    stored = b"".join((path / it).read_bytes() for it in FILES)

    assert b"NATSARC1" not in stored
    assert b"assigned" not in stored
    assert b"config" not in stored
    assert [it.reason for it in LostFolder(tmp_path).all()] == [None]
    for keys in (["secret"], ["newer", "secret"]):
        other = LostFolder(tmp_path, keys)
        assert read(other, path / ARCHIVE) == b"".join(PIECES)
        assert [it.reason for it in other.all()] == [REASON_OF]
        assert other.find(REASON_OF) == path
    with pytest.raises(LockedFileError):
        list(LostFolder(tmp_path, ["wrong"]).all())


@pytest.mark.parametrize("cipher", CIPHERS)
def test_a_sealed_file_that_was_changed_is_refused(tmp_path, cipher):
    folder = LostFolder(tmp_path, ["secret"], cipher)
    file = written(folder) / ARCHIVE
    whole = file.read_bytes()
    head = 25
    piece = 4 + 256 * 1024 + 16
    changes = {
        "cut off": whole[:-1],
        "a piece cut off": whole[: head + piece],
        "all cut off": whole[:10],
        "a bit flipped": whole[:-20] + bytes([whole[-20] ^ 1]) + whole[-19:],
        "pieces that change places": whole[: head + piece]
        + whole[head + 2 * piece : head + 3 * piece]
        + whole[head + piece : head + 2 * piece]
        + whole[head + 3 * piece :],
    }
    for changed in changes.values():
        file.write_bytes(changed)
        with pytest.raises((CipherError, LockedFileError)):
            read(folder, file)
    file.write_bytes(whole)
    assert read(folder, file) == b"".join(PIECES)


def test_what_is_copied_is_plain(tmp_path):
    folder = LostFolder(tmp_path / "store", ["secret"], 1)
    written(folder)
    copied = folder.copied(next(folder.all()), tmp_path / "copy")

    assert (copied / ARCHIVE).read_bytes() == b"".join(PIECES)
    assert b"nothing of this name" in (copied / REASON).read_bytes()
