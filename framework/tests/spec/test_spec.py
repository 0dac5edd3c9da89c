from __future__ import annotations

import pytest
from msgspec import Struct

from framework import spec
from framework.spec import ConnectionInfo, GateSpec, LinkKind, Overflow, TapKind, TapSpec
from framework.spec.tap import TAP_BYTES_MAX


def test_every_public_name_is_there_and_in_order():
    assert spec.__all__ == sorted(set(spec.__all__), key=lambda name: (not name.isupper(), name))
    for name in spec.__all__:
        assert hasattr(spec, name)


def test_a_tap_drops_what_it_has_no_room_for():
    tap = TapSpec(name="t", subject="a.>", receive=print)

    assert (tap.queue, tap.bytes_max, tap.overflow) == (None, TAP_BYTES_MAX, Overflow.DROP)


@pytest.mark.parametrize(
    ("terms", "problem"),
    [
        ({"kind": TapKind.INGRESS, "queue": "q"}, "queue: expected None"),
        ({"kind": TapKind.UNHEARD, "overflow": Overflow.STALL}, "expected Overflow.DROP"),
        ({"kind": "ingress"}, "expected a TapKind"),
    ],
)
def test_a_tap_that_watches_shares_with_nobody_and_holds_up_nobody(terms, problem):
    with pytest.raises(ValueError, match=problem):
        TapSpec(name="t", subject="a", receive=print, **terms)


@pytest.mark.parametrize(
    "item",
    [item for item in vars(spec).values() if isinstance(item, type) and issubclass(item, Struct)],
    ids=lambda item: item.__name__,
)
def test_specs_and_messages_cannot_be_changed(item):
    assert item.__struct_config__.frozen


def test_connections_are_in_the_global_account_unless_said_otherwise():
    connection = ConnectionInfo(link=1, kind=LinkKind.CLIENT, cid=1, host="h", port=1)

    assert connection.account == "$G"


@pytest.mark.parametrize(
    ("terms", "problem"),
    [
        ({"subject": "a..b"}, "subject: expected a subject"),
        ({"decide": None}, "decide: expected a function"),
        ({"bytes_max": 0}, "bytes_max: expected above 0"),
        ({"time_limit_s": 0.0}, "time_limit_s: expected above 0 and at most 60"),
        ({"time_limit_s": 61.0}, "time_limit_s: expected above 0 and at most 60"),
    ],
)
def test_a_gate_holds_what_it_should(terms, problem):
    with pytest.raises(ValueError, match=problem):
        GateSpec(**{"name": "g", "subject": "a", "decide": print, **terms})
