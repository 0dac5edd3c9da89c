from typing import final

def use_functions(addresses: bytes) -> None: ...
def encrypt_once(
    cipher: int, key: bytes, place: int, part: int, known: bytes, source: bytes
) -> bytes: ...

@final
class Keys:
    def __new__(
        cls,
        *,
        cipher: int = 0,
        keys: tuple[bytes, ...] = (),
        salt: bytes = ...,
        passes_locked: bool = False,
    ) -> Keys: ...
    @property
    def count(self) -> int: ...
    @property
    def cipher(self) -> int: ...
