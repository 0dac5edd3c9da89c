"""Files of the log: when they are made, and that each is begun once."""

from __future__ import annotations

from framework_jetstream.log import Effect, Kind, Log

FILE_BYTES = 1 << 15
SMALL, LARGE = b"x" * 3000, b"x" * (2 * FILE_BYTES)


def perform(files: dict[int, bytearray], effects: list[tuple]) -> None:
    for effect in effects:
        match effect:
            case (Effect.ALLOCATE, number, length):
                it = files.setdefault(number, bytearray())
                it.extend(bytes(max(length - len(it), 0)))
            case (Effect.WRITE, number, offset, data):
                files[number][offset : offset + len(data)] = data


def settle(log: Log, files: dict[int, bytearray]) -> None:
    while (effects := log.take_round()) is not None:
        perform(files, effects)
        log.round_done()


def end_of(file: bytearray) -> int:
    return len(file.rstrip(b"\0"))


def read_again(files: dict[int, bytearray]) -> Log:
    log = Log(file_bytes=FILE_BYTES, round_bytes_max=1 << 20, salt=1)
    for number, data in sorted(files.items()):
        log.load(number, len(data))[:] = data
    log.recover()
    return log


def test_a_file_that_is_made_longer_is_begun_once() -> None:
    files: dict[int, bytearray] = {}
    log = read_again(files)
    settle(log, files)
    group = log.new_group()
    stored = 0
    while len(files) < log.file + 1 or FILE_BYTES - end_of(files[log.file]) > len(SMALL):
        stored += bool(log.append(group, Kind.BATCH, [b"x" * 500]))
        settle(log, files)

    assert not log.append(group, Kind.BATCH, [LARGE])
    effects = log.take_round()
    assert effects is not None
    during = log.append(group, Kind.BATCH, [SMALL])
    perform(files, effects)
    log.round_done()
    settle(log, files)
    stored += bool(during)
    for part in (LARGE, SMALL):
        while not log.append(group, Kind.BATCH, [part]):
            settle(log, files)
        stored += 1
    settle(log, files)

    again = read_again(files)

    assert not again.damage
    assert len([it for it in again.committed() if it.kind is Kind.BATCH]) == stored


def test_damage_in_what_a_start_has_written_again_is_none_that_a_write_has_left() -> None:
    files: dict[int, bytearray] = {}
    log = read_again(files)
    settle(log, files)
    group = log.new_group()
    settle(log, files)
    assert log.append(group, Kind.BATCH, [SMALL])
    effects = log.take_round()
    assert effects is not None
    perform(files, effects)  # and the server stops before it says on the disk that this was synced
    file, begun = log.file, len(files)

    again = read_again(files)
    settle(again, files)  # nothing is appended
    files[file][files[file].rindex(SMALL) + 100] ^= 1
    hurt = read_again(files)

    assert len(files) > begun
    assert [(it.group, it.part) for it in hurt.damage] == [(group, 0)]
    assert not hurt.torn_bytes
