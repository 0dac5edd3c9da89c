"""Records that keep secrets out of logs and tracebacks."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct
from typing_extensions import override

__all__ = ["Redacted"]


class Redacted(Struct, frozen=True):
    """A record whose `repr` leaves out the fields that `hidden` names.

    Example:
        >>> class Token(Redacted, frozen=True):
        ...     hidden = frozenset({"text"})
        ...     user: str
        ...     text: str
        >>> Token("alice", "s3cr3t")
        Token(user='alice')
    """

    hidden: ClassVar[frozenset[str]] = frozenset()

    @override
    def __repr__(self) -> str:
        shown = (name for name in self.__struct_fields__ if name not in self.hidden)
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
        return f"{type(self).__name__}({fields})"
