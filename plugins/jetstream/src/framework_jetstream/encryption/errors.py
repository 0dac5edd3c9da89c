"""What is wrong with keys."""

from __future__ import annotations

from framework.errors import FrameworkError


class LockedFileError(FrameworkError):
    """A file that is needed is encrypted with a key that is not there; nothing was changed.

    Args:
        file: Its name.
        key_count: How many keys there are; 2: `prev_key` is one of them.
        opens_some: Whether `key` opens other files.
    """

    def __init__(self, file: str, *, key_count: int, opens_some: bool) -> None:
        if not key_count:
            why = "is encrypted, and there is no `key` in the block `jetstream`"
        elif key_count > 1:
            why = "is encrypted with neither `key` nor `prev_key` of the block `jetstream`"
        elif opens_some:
            why = (
                "is encrypted with an earlier key than others: give that one as `prev_key` in the"
                " block `jetstream`, beside `key`"
            )
        else:
            why = (
                "is not encrypted with `key` of the block `jetstream`; if that is a new one, the"
                " one before is to be its `prev_key`"
            )
        super().__init__(f"{file} {why}. Nothing was changed")


class CipherError(FrameworkError):
    """A cipher can't be used here."""
