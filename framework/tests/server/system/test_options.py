from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from framework.errors import BadOptions
from framework.monitor.request_options import options_from_members
from framework.server.system.options import ServerFilter, read_connection

if TYPE_CHECKING:
    from framework.server.system.server_stamp import ServerStamp


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "meant"),
        ({"server_name": "n"}, "meant"),
        ({"server_name": "n", "exact_match": True}, "others"),
        ({"server_name": "n1", "exact_match": True}, "meant"),
        ({"server_name": "n2"}, "others"),
        ({"host": "10."}, "meant"),
        ({"host": "10.", "exact_match": True}, "others"),
        ({"cluster": "c1", "exact_match": True}, "meant"),
        ({"cluster": "east"}, "others"),
        ({"tags": ["blue"]}, "meant"),
        ({"tags": ["blue", "ssd"]}, "meant"),
        ({"tags": ["blue", "hdd"]}, "others"),
        ({"tags": None, "exact_match": None, "server_name": None}, "meant"),
        ({"domain": "hub"}, "others"),
        ({"server_name": "n1", "tags": ["red"]}, "others"),
    ],
)
def test_whom_a_request_is_for(
    stamp: ServerStamp, options: dict[str, object], expected: str
) -> None:
    is_meant = options_from_members(ServerFilter, options).admits(stamp)

    assert ("meant" if is_meant else "others") == expected


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"server_name": 5}, "number into .*server_name of type string"),
        ({"tags": "blue"}, r"string into .*tags of type \[\]string"),
        ({"tags": [1]}, "number into .*tags of type string"),
        ({"exact_match": "yes"}, "string into .*exact_match of type bool"),
    ],
)
def test_a_filter_of_the_wrong_type_is_named(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadOptions, match=problem):
        options_from_members(ServerFilter, options)


@pytest.mark.parametrize("value", [None, -1, "7", True, 1.5])
def test_a_connection_is_a_whole_number(value: object) -> None:
    assert read_connection({"cid": 7}) == 7

    with pytest.raises(BadOptions, match="cid must be the number of a connection"):
        read_connection({"cid": value})


@pytest.mark.parametrize(("domain", "is_meant"), [("hub", True), ("hu", False), ("", True)])
def test_a_request_may_name_the_domain_of_streams(
    server: Any, stamp: ServerStamp, domain: str, *, is_meant: bool
) -> None:
    server.accounts.jetstream_domain = "hub"

    assert ServerFilter(domain=domain).admits(stamp) is is_meant
