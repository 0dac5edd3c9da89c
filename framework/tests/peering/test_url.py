from __future__ import annotations

import pytest

from framework.peering import split_advertised


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.example", ("a.example", 6222)),
        ("a.example:7000", ("a.example", 7000)),
        ("[::1]:7000", ("::1", 7000)),
        ("[::1]", ("::1", 6222)),
        ("::1", ("::1", 6222)),
        ("10.0.0.1:0", ("10.0.0.1", 6222)),
    ],
)
def test_an_advertised_address_may_leave_out_the_port(text, expected):
    assert split_advertised(text, 6222) == expected
