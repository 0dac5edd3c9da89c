"""Exports of an account, and the accounts that may import them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Generic, TypeVar

from framework.spec.account import StreamExport
from framework.wire.subject import is_subset

E = TypeVar("E", bound=StreamExport)

NOT_EXPORTED: Final = "that account does not export it"
NOT_ALLOWED: Final = "that account does not export it to this one"
NO_ACTIVATION: Final = "that account has signed no activation for this one"
REVOKED: Final = "that account has revoked the activation of this one"


class Exports(Generic[E]):
    """The exports of one account, of streams or of services.

    Args:
        exports: In the order of the account; of two with one subject the later counts.
    """

    __slots__ = ("_exact", "_patterns")

    def __init__(self, exports: Sequence[E]) -> None:
        self._exact = {export.subject: export for export in exports}
        self._patterns = tuple(it for it in self._exact.values() if not _is_plain(it.subject))

    def admit(self, importer: str, subject: str, activated_s: float | None) -> E | str:
        """Return the export by which an account may import a subject, or why it may not.

        Source: nats-server `accounts.go`, `checkStreamExportApproved`, `checkAuth`.
        """
        export = self._exact.get(subject)
        if export is None:
            export = next((it for it in self._patterns if is_subset(subject, it.subject)), None)
        if export is None:
            return NOT_EXPORTED
        return _objection(export, importer, subject, activated_s) or export


def _is_plain(subject: str) -> bool:
    return "*" not in subject and ">" not in subject


def _objection(
    export: StreamExport, importer: str, subject: str, activated_s: float | None
) -> str | None:
    """Return what speaks against an import by an export that holds its subject."""
    if export.account_token_position:
        tokens = subject.split(".")
        at = export.account_token_position - 1
        return None if at < len(tokens) and tokens[at] == importer else NOT_ALLOWED
    if export.token_required:
        if activated_s is None:
            return NO_ACTIVATION
        revoked = dict(export.revoked)
        ended_s = max(revoked.get(importer, -1), revoked.get("*", -1))
        return REVOKED if activated_s <= ended_s else None
    if export.accounts is not None and importer not in export.accounts:
        return NOT_ALLOWED
    return None
