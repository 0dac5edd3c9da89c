from typing import final

from framework.sublist.result import SublistResult

@final
class Sublist:
    def __new__(cls, *, cache_max: int = 1024) -> Sublist: ...
    def __len__(self) -> int: ...
    def insert(
        self,
        subject: bytes,
        value: object,
        *,
        queue: bytes = b"",
        weight: int = 1,
        remote: int = 0,
    ) -> int: ...
    def remove(self, token: int) -> None: ...
    def match(self, subject: bytes) -> SublistResult: ...
    @property
    def cache_hits(self) -> int: ...
