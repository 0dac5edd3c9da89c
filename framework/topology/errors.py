"""Configuration errors, with place and fix."""

from __future__ import annotations

from collections.abc import Iterable

from typing_extensions import override

from framework.errors import FrameworkError
from framework.topology.place import Place

__all__ = ["TopologyError", "TopologyErrors"]


class TopologyError(FrameworkError):
    """One error in a configuration.

    Args:
        place: Where it stands; a place without a file is not shown.
        problem: What is wrong; a clause without a full stop.
        fix: What the user can do about it; empty when the problem says it.
    """

    def __init__(self, place: Place, problem: str, fix: str = "") -> None:
        super().__init__(place, problem, fix)
        self.place = place
        self.problem = problem
        self.fix = fix

    @override
    def __str__(self) -> str:
        text = f"{self.place}: {self.problem}" if self.place.file else self.problem
        return f"{text}; {self.fix}" if self.fix else text


class TopologyErrors(FrameworkError):  # noqa: N818 -- it holds several
    """All errors of a configuration, in the order of their places.

    Args:
        errors: At least one.
    """

    def __init__(self, errors: Iterable[TopologyError]) -> None:
        self.errors = tuple(errors)
        assert self.errors
        super().__init__(*self.errors)

    @override
    def __str__(self) -> str:
        return "\n".join(str(error) for error in self.errors)
