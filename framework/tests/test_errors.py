from __future__ import annotations

import pytest

from framework.errors import BadQuery, FrameworkError, PluginError, ProtocolError
from framework.topology.errors import TopologyError, TopologyErrors
from framework.wire.closed_state import ClosedState


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (PluginError("audit", "is broken"), "plugin audit: is broken"),
        (
            PluginError("audit", "is broken", origin="audit.py", fix="mend it"),
            "plugin audit (audit.py): is broken; mend it",
        ),
    ],
)
def test_plugin_error_says_whose_where_what_and_the_fix(error, text):
    assert str(error) == text


def test_protocol_error_knows_what_the_peer_and_the_log_are_told():
    error = ProtocolError("no JSON", text="Parser Error", reason=ClosedState.PROTOCOL_VIOLATION)

    assert (str(error), error.text, error.reason.text) == (
        "no JSON",
        "Parser Error",
        "Protocol Violation",
    )


@pytest.mark.parametrize(
    "kind", [BadQuery, PluginError, ProtocolError, TopologyError, TopologyErrors]
)
def test_there_is_one_tree(kind):
    assert issubclass(kind, FrameworkError)
