"""The rules of one server, carried out."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Any

from framework_tap.clients import Clients
from framework_tap.make_turns import MakeTurns
from framework_tap.monitor import document
from framework_tap.processors import Processors
from framework_tap.rule_plan import RulePlan

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from framework.spec import ServerContext, TapSpec
    from framework_tap.config import TapRule
    from framework_tap.recorder import Sink


class Taps:
    """Plans by rule and account, which outlive reloads that don't change them.

    Args:
        server: Whose messages.
        unix_ns: The time of day.
        folder: What folders of rules are relative to.
    """

    def __init__(self, server: ServerContext, *, unix_ns: Callable[[], int], folder: Path) -> None:
        self.clients = Clients()
        self._server = server
        self._unix_ns = unix_ns
        self._processors = Processors()
        self._folder = folder
        self._plans: dict[tuple[str, str], RulePlan] = {}
        self._make_turns: defaultdict[str, MakeTurns] = defaultdict(MakeTurns)
        """By account."""
        self._count = 0

    def follow(
        self, rules: Mapping[str, TapRule]
    ) -> tuple[tuple[TapSpec, ...], tuple[RulePlan, ...]]:
        """Return the taps and plans of these rules."""
        plans: dict[tuple[str, str], RulePlan] = {}
        for name, rule in rules.items():
            for account in rule.accounts:
                plan = self._plans.get((name, account))
                plans[name, account] = (
                    plan if plan and plan.rule == rule else self._plan(name, account, rule)
                )
        self._plans = plans
        taps = tuple(tap for plan in plans.values() for tap in plan.taps())
        return taps, tuple(plans.values())

    def _plan(self, name: str, account: str, rule: TapRule) -> RulePlan:
        self._count += 1
        # No wildcard of a rule gets what begins so: an acknowledgement is no row of the next frame.
        inbox = f"$TAPS.{self._server.server_id}.{self._count}"
        return RulePlan(name, account, rule, inbox)

    def document(self) -> dict[str, object]:
        """Return what `/tapz` answers."""
        return document(self._plans.values())

    def recorder_arguments(self, plan: RulePlan) -> Mapping[str, Any]:
        """Return the arguments of a plan's recorder."""
        from framework_tap.frames import FrameMaker  # noqa: PLC0415 - for who has rules
        from framework_tap.latencies import Latencies  # noqa: PLC0415 - as above
        from framework_tap.redaction import Redaction  # noqa: PLC0415 - as above

        rule = plan.rule
        maker = FrameMaker(
            server=self._server.name,
            account=plan.account,
            clients=self.clients,
            redaction=Redaction(rule.redact, rule.redact_headers),
            latencies=Latencies() if rule.latency else None,
        )
        return {
            "plan": plan,
            "maker": maker,
            "sink": self._sink(plan),
            "unix_ns": self._unix_ns,
            "processors": self._processors,
            "log": self._server.log,
        }

    def _sink(self, plan: RulePlan) -> Sink:
        rule = plan.rule
        if rule.sink == "parquet":
            from framework_tap.file_sink import FileSink  # noqa: PLC0415 - as above

            folder = self._folder / (rule.folder or f"tap/{plan.name}")
            return FileSink(folder, rule, f"{plan.account}-{self._server.server_id[:8]}")
        from framework_tap.stream_sink import StreamSink  # noqa: PLC0415 - as above

        return StreamSink(
            rule=plan.name,
            account=plan.account,
            config=rule,
            server=self._server.name,
            run=f"{self._server.server_id}.{plan.inbox.rpartition('.')[2]}",
            inbox=plan.inbox,
            publish=partial(self._publish, self._server.account_number(plan.account)),
            turns=self._make_turns[plan.account],
        )

    def _publish(
        self, account: int, subject: bytes, reply: bytes, header: bytes, payload: bytes
    ) -> None:
        self._server.plane.publish(account, [(subject, reply, header, payload)])
