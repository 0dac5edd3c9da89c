from typing import NamedTuple

from framework_jetstream.encryption._cipher import Keys

class SegmentDamage(NamedTuple):
    reason: int
    first_seq: int
    last_seq: int
    offset: int

class Segment(NamedTuple):
    group: int
    file: int
    messages: list[tuple[int, bytes, bytes, bytes, int]]
    lives: list[tuple[int, int]]
    damage: list[SegmentDamage]

def read_segment(
    data: bytes,
    salt: int = ...,
    group: int = ...,
    file: int = ...,
    keys: Keys | None = None,
) -> Segment: ...
