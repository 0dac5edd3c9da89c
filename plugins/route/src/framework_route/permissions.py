"""Route permissions: `import` and `export`.

Source: nats-server `route.go`, `setRoutePermissions`, `canImport`, `canExport`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from framework.spec import Permissions, subject_rules
from framework.wire.info import SubjectPermission

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.spec import SubjectRules


def route_permissions(block: Mapping[str, Any] | None) -> Permissions | None:
    """Return what the block `permissions` of `cluster` comes to; None: all subjects cross.

    As for clients, to publish is to be asked for interest here: it is what we import.
    """
    if block is None:
        return None
    return Permissions(
        publish=subject_rules(block["import"]), subscribe=subject_rules(block["export"])
    )


def told(rules: SubjectRules) -> SubjectPermission | None:
    """Return rules as INFO says them; None when there are none."""
    if not rules.allow and not rules.deny:
        return None
    return SubjectPermission(allow=rules.allow, deny=rules.deny)
