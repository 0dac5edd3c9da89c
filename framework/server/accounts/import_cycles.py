"""Find import cycles: imports that lead back to the importing account."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from framework.wire.overlap import overlaps

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from framework.spec import ServiceImport, StreamImport

    ImportsOf: TypeAlias = Callable[[str], Sequence[StreamImport] | Sequence[ServiceImport]]
    """By name of an account."""

DEPTH_MAX: Final = 1_024
"""Steps that are looked at. Source: nats-server `accounts.go`, `MaxAccountCycleSearchDepth`."""


def is_in_cycle(
    importer: str, imported: StreamImport | ServiceImport, imports_of: ImportsOf
) -> bool:
    """Return whether an import leads back to its own account.

    An account that imports from itself is no cycle, unless it does so from the same subject.

    Args:
        importer: Where the import stands.
        imported: A stream or a service.
        imports_of: The imports of the same sort of any account; none of one that is not known.

    Cost: O(imports that can be reached), at most `DEPTH_MAX`; one look where the exporter imports
    nothing.
    """
    goal = imported.to.encode()
    steps = [(imported.account, imported.subject)]
    seen = set(steps)
    for _ in range(DEPTH_MAX):
        if not steps:
            return False
        account, subject = steps.pop()
        if account == importer and overlaps(subject.encode(), goal):
            return True
        for other in imports_of(account):
            step = (other.account, other.subject)
            if step not in seen and overlaps(subject.encode(), other.to.encode()):
                seen.add(step)
                steps.append(step)
    return True
