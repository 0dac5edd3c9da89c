"""Configuration errors, with place and fix."""

from __future__ import annotations

from collections.abc import Iterable

from typing_extensions import override

from framework.errors import FrameworkError
from framework.topology.place import Place

__all__ = ["Mistakes", "TopologyError", "TopologyErrors"]


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


class Mistakes:
    """Collect errors; the same error at the same place counts once."""

    def __init__(self) -> None:
        self._errors: dict[tuple[Place, str], TopologyError] = {}

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._errors)

    def add(self, place: Place, problem: str, fix: str = "") -> None:
        """Note one mistake."""
        self._errors.setdefault((place, problem), TopologyError(place, problem, fix))

    def extend(self, errors: Iterable[TopologyError]) -> None:
        """Note mistakes that others have found."""
        for error in errors:
            self._errors.setdefault((error.place, error.problem), error)

    def raise_if_any(self) -> None:
        """End here if anything was wrong.

        Raises:
            TopologyErrors: With all that was noted.
        """
        if self._errors:
            raise TopologyErrors(self._errors.values())
