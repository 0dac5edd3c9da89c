"""Subject permissions as a configuration has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from framework.dataplane.permissions import SubjectRules


def subject_rules(block: Mapping[str, Any] | None) -> SubjectRules:
    """Return what the value of a `subject_rules_option` comes to; None: all is allowed."""
    return SubjectRules(allow=block["allow"], deny=block["deny"]) if block else SubjectRules()
