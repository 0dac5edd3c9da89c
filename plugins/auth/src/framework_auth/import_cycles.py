"""Find import cycles between accounts of a configuration.

Source: nats-server `accounts.go`, `checkServiceImportsForCycles`, `checkStreamImportsForCycles`.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from framework.spec import StreamImport
from framework.wire.overlap import overlaps
from framework.wire.subject import is_subset

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.spec import AccountSpec, ServiceImport

_STEPS_MAX: Final = 100_000
"""Ways that are looked at for one import; a configuration that needs more is refused."""


class ImportGraph:
    """Imports that were accepted so far.

    Args:
        accounts: All of them, by name.
    """

    def __init__(self, accounts: Mapping[str, AccountSpec]) -> None:
        self._accounts = accounts
        self._streams: dict[str, list[StreamImport]] = defaultdict(list)
        self._services: dict[str, list[ServiceImport]] = defaultdict(list)

    def add(self, importer: str, made: StreamImport | ServiceImport) -> bool:
        """Add an import, unless it leads to an account that was passed already; tell whether.

        It is enough that subjects overlap, as in nats-server, even if no message could take that
        way.
        """
        if isinstance(made, StreamImport):
            subjects = dict.fromkeys((made.to, made.subject))
        else:
            subjects = dict.fromkeys((_plain(made.to),))
        if any(self._leads_back(importer, made, subject) for subject in subjects):
            return False
        if isinstance(made, StreamImport):
            self._streams[importer].append(made)
        else:
            self._services[importer].append(made)
        return True

    def _leads_back(self, importer: str, made: StreamImport | ServiceImport, subject: str) -> bool:
        follow = self._streams_on if isinstance(made, StreamImport) else self._services_on
        steps = [(made.account, subject, frozenset({importer}))]
        seen = set(steps)
        while steps:
            name, subject, passed = steps.pop()
            for following in follow(name, subject):
                if following.account in passed or len(seen) > _STEPS_MAX:
                    return True
                there = _plain(following.to)
                onward = there if is_subset(there, subject) else subject
                step = (following.account, onward, passed | {name})
                if step not in seen:
                    seen.add(step)
                    steps.append(step)
        return False

    def _streams_on(self, name: str, subject: str) -> list[StreamImport]:
        """Return the streams of an account that may become one that it exports."""
        exports = self._accounts[name].stream_exports
        if not any(is_subset(subject, export.subject) for export in exports):
            return []
        return [it for it in self._streams[name] if _overlap(subject, _plain(it.to))]

    def _services_on(self, name: str, subject: str) -> list[ServiceImport]:
        """Return the services that requests of an account may go on to."""
        return [it for it in self._services[name] if _overlap(subject, it.subject)]


def _overlap(one: str, other: str) -> bool:
    return overlaps(one.encode(), other.encode())


def _plain(subject: str) -> str:
    """Return a subject with `*` in place of `$1` and the like."""
    return ".".join("*" if token.startswith("$") else token for token in subject.split("."))
