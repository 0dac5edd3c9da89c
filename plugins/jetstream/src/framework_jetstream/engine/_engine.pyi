from typing import Self, final

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
        first: bytes = b"",
        second: bytes = b"",
    ) -> int: ...
    def fileno(self) -> int: ...
    def answers(self) -> list[tuple[int, int, tuple[int, ...], bytes]]: ...
    def turn(self, now_ns: int, unix_ns: int) -> bool: ...
    @property
    def wakes_ns(self) -> int: ...
    def run(self) -> None: ...
