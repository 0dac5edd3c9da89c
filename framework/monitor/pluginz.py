"""`/pluginz`: the plugins of a server, and how their hooks, taps and endpoints do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.monitor.head import head
from framework.spec.formats import duration_text

if TYPE_CHECKING:
    from framework.monitor.source import MonitorSource, PluginState
    from framework.plugins import CallCounters
    from framework.spec import NoOptions
    from framework.spec.addresses import RefusedAddressesRow
    from framework.spec.gate import GateRow
    from framework.spec.tap import TapRow


async def answer_pluginz(source: MonitorSource, _options: NoOptions) -> object:
    """Return every plugin, in the order of loading."""
    return head(source) | {"plugins": [_plugin(state) for state in source.plugins()]}


def _plugin(state: PluginState) -> dict[str, object]:
    plugin, counters = state.plugin, state.usage.values()
    return {
        "name": plugin.name,
        "version": plugin.version,
        "origin": plugin.origin,
        "hooks": list(plugin.hooks),
        "calls": sum(it.calls for it in counters),
        "failures": sum(it.failures for it in counters),
        "time": duration_text(sum(it.busy_ns for it in counters)),
        "called": [_called(name, it) for name, it in state.usage.items()],
        "taps": [_tap(row) for row in state.taps],
        "ports": [{"name": row.spec.name, "dropped": row.dropped} for row in state.ports],
        "gates": [_gate(row) for row in state.gates],
        "components": [
            {"name": name, "waiting": waiting, "failures": failures}
            for name, waiting, failures in state.components
        ],
        "refused_addresses": [_refused(row) for row in state.refused_addresses],
    }


def _called(name: str, counters: CallCounters) -> dict[str, object]:
    """Return what the calls of one sort came to; times are those for which they held the loop."""
    return {
        "name": name,
        "calls": counters.calls,
        "failures": counters.failures,
        "time": duration_text(counters.busy_ns),
        "longest": duration_text(counters.longest_ns),
    }


def _tap(row: TapRow) -> dict[str, object]:
    return {
        "name": row.spec.name,
        "kind": row.spec.kind.name.lower(),
        "account": row.spec.account,
        "subject": row.spec.subject,
        "batches": row.batches,
        "messages": row.messages,
        "dropped": row.dropped,
    }


def _gate(row: GateRow) -> dict[str, object]:
    spec, counters = row.spec, row.counters
    return {
        "name": spec.name,
        "account": spec.account,
        "subject": spec.subject,
        "order": spec.order,
        **({"port": spec.port} if spec.port else {}),
        "time_limit": duration_text(int(spec.time_limit_s * 1e9)),
        "without_verdict": "pass" if spec.is_open else "refuse",
        "messages": counters.messages,
        "passed": counters.passed,
        "delayed": counters.delayed,
        "changed": counters.changed,
        "refused": counters.refused,
        "expired": counters.expired,
        "failed": counters.failed,
        "waiting_bytes": counters.waiting_bytes,
    }


def _refused(row: RefusedAddressesRow) -> dict[str, object]:
    return {
        "name": row.spec.name,
        "kinds": [kind.name.lower() for kind in row.spec.kinds],
        "ranges": row.ranges,
        "refused": row.refused,
    }
