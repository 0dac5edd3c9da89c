from collections.abc import Callable
from typing import Self, final

from framework.sublist.transform import Program
from framework_jetstream.engine._port_memory import PortMemory
from framework_jetstream.engine._segment_jobs import SegmentJobs
from framework_jetstream.log import Log, LogThread
from framework_jetstream.raft.records import Settings
from framework_jetstream.store._segmentface import SegmentDamage

@final
class Engine:
    def __new__(
        cls,
        refusals: list[tuple[bytes, bytes]],
        seed: int,
        domain: bytes = b"",
        id_prefix: bytes = b"000000000000",
    ) -> Self: ...
    def open(self, capsule: object) -> None: ...
    def command(
        self,
        verb: int,
        number: int,
        *,
        numbers: tuple[int, ...] = (),
        limits: dict[str, int] | None = None,
        terms: dict[str, int] | None = None,
        first: bytes = b"",
        second: bytes = b"",
        third: bytes = b"",
        programs: list[Program] | None = None,
    ) -> int: ...
    def fileno(self) -> int: ...
    def answers(self) -> list[tuple[int, int, tuple[int, ...], bytes, PortMemory | None]]: ...
    def turn(self, now_ns: int, unix_ns: int) -> bool: ...
    def use_log(self, log: Log, thread: LogThread | None = None, log_fd: int = -1) -> None: ...
    def use_replicas(
        self,
        port: object,
        *,
        server: int,
        account: int,
        prefix: bytes,
        seed: int,
        settings: Settings,
        compressed_from: int = ...,
    ) -> None: ...
    def use_segments(
        self,
        jobs: SegmentJobs,
        segment_bytes: int = ...,
        small_bytes: int = ...,
        cache_bytes: int = ...,
        scrub_bytes_per_s: int = ...,
        scrub_interval_ns: int = ...,
        log_bytes: int = ...,
        unsaid_max_ns: int | None = ...,
    ) -> None: ...
    @property
    def is_rekeying(self) -> bool: ...
    @property
    def segment_error(self) -> int: ...
    @property
    def read_error(self) -> int: ...
    @property
    def scrubs(self) -> tuple[tuple[int, ...], tuple[int, ...]]: ...
    def digests(self, number: int) -> tuple[int, list[tuple[int, int]]] | None: ...
    @property
    def resident_bytes(self) -> int: ...
    @property
    def ranges_read(self) -> int: ...
    @property
    def entries_compressed(self) -> int: ...
    @property
    def segments_kept(self) -> int: ...
    @property
    def has_replicas(self) -> bool: ...
    @property
    def lies(self) -> int: ...
    @property
    def strangers(self) -> int: ...
    def restore_stream(
        self,
        number: int,
        group: int,
        name: bytes,
        description: bytes,
        limits: dict[str, int],
        first_seq: int,
        next_segment: int,
        read: Callable[[int, int], bytes],
        replicas: tuple[int, ...] = (),
        is_file: bool = True,
    ) -> list[tuple[int, int, SegmentDamage]]: ...
    def restore_consumer(self, number: int, group: int, replicas: tuple[int, ...] = ()) -> None: ...
    def restore_group(self, number: int, group: int, replicas: tuple[int, ...]) -> None: ...
    def replay(self, update: Callable[[int, bytes], dict[str, int] | None]) -> set[int]: ...
    def lost(self) -> list[tuple[int, int, int]]: ...
    def abandon_stream(self, group: int) -> None: ...
    def read_again(self) -> None: ...
    def forget_group(self, group: int) -> None: ...
    @property
    def wakes_ns(self) -> int: ...
    def run(self) -> None: ...
