"""`/tapz`: the rules of a server, and what became of what they found."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from framework_tap.rule_plan import RulePlan


def document(plans: Iterable[RulePlan]) -> dict[str, object]:
    """Return the document."""
    return {"rules": [_rule(plan) for plan in plans]}


def _rule(plan: RulePlan) -> dict[str, object]:
    sink = plan.sink
    return {
        "name": plan.name,
        "account": plan.account,
        "subjects": list(plan.rule.subjects),
        "messages": plan.messages,
        "dropped": plan.dropped,
        "why_dropped": plan.why_dropped,
        "waiting_bytes": plan.size_bytes,
        "to": sink.place if sink else "",
        "rows": sink.rows if sink else 0,
        "lost": sink.lost if sink else 0,
        "failures": plan.failures,
        "problem": sink.problem if sink else "",
    }
