"""What servers let each other know: permissions of routes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from framework.dataplane import LinkKind, PeerTerms
from framework.dataplane.permissions import Permissions, SubjectRules

if TYPE_CHECKING:
    from framework.tests.dataplane.conftest import Peer, Talk


def _rules(
    talk: Talk,
    *,
    imports: SubjectRules = SubjectRules(),  # noqa: B008 - frozen
    exports: SubjectRules = SubjectRules(),  # noqa: B008 - frozen
) -> int:
    return talk.core.add_permissions(Permissions(publish=imports, subscribe=exports))


def _lines(peer: Peer) -> list[bytes]:
    return sorted(peer.heard().split(b"\r\n")[:-1])


def test_only_what_may_be_imported_is_told(talk: Talk) -> None:
    rules = _rules(talk, imports=SubjectRules(allow=("a.*", "b.>"), deny=("b.c",)))
    client = talk.client()
    client.say(b"SUB a.x 1\r\nSUB a.* 2\r\nSUB > 3\r\nSUB b.> 4\r\nSUB b.c 5\r\nSUB b.d q 6\r\n")
    route = talk.route(permissions=rules)
    first = _lines(route)
    client.say(b"SUB c 7\r\nSUB b.e 8\r\nUNSUB 5\r\nUNSUB 1\r\nSUB b.c q 9\r\n")

    assert [b"RS+ $G a.*", b"RS+ $G a.x", b"RS+ $G b.>", b"RS+ $G b.d q 1"] == first
    assert [b"RS+ $G b.e", b"RS- $G a.x"] == _lines(route)


def test_only_interest_that_may_be_exported_counts(talk: Talk) -> None:
    rules = _rules(talk, exports=SubjectRules(allow=("a.*",), deny=("a.c",)))
    client, route = talk.client(), talk.route(permissions=rules)
    route.say(b"RS+ $G a.b\r\nRS+ $G a.c\r\nRS+ $G b\r\nRS+ $G b q 1\r\nRS+ $G a.d q 1\r\n")
    client.say(b"PUB a.b 1\r\nx\r\nPUB a.c 1\r\nx\r\nPUB b 1\r\nx\r\nPUB a.d 1\r\nx\r\n")

    assert b"RMSG $G a.b 1\r\nx\r\nRMSG $G a.d | q 1\r\nx\r\n" == route.heard()


def test_what_is_denied_to_export_leaves_by_no_wildcard(talk: Talk) -> None:
    rules = _rules(talk, exports=SubjectRules(deny=("a.c",)))
    client = talk.client(no_responders=True)
    route, other = talk.route(permissions=rules), talk.route()
    route.say(b"RS+ $G a.*\r\nRS+ $G a.> q 1\r\n")
    client.say(b"SUB r 1\r\nPUB a.b 1\r\nx\r\nPUB a.c r 1\r\ny\r\n")
    refused = client.heard()
    other.say(b"RS+ $G a.> q 1\r\n")
    client.say(b"PUB a.c 1\r\nz\r\n" * 20)

    assert b"503" in refused
    assert b"RS+ $G r\r\nRMSG $G a.b | q 1\r\nx\r\n" == route.heard()
    assert 20 == other.heard().count(b"RMSG $G a.c | q 1\r\nz\r\n")


def test_messages_that_come_need_no_permission(talk: Talk) -> None:
    rules = _rules(talk, imports=SubjectRules(allow=("b",)), exports=SubjectRules(allow=("b",)))
    client, route = talk.client(), talk.route(permissions=rules)
    client.say(b"SUB a 1\r\n")
    route.say(b"RMSG $G a 1\r\nx\r\n")

    assert b"MSG a 1 1\r\nx\r\n" == client.heard()


def test_what_mqtt_needs_is_allowed_unless_it_is_denied(talk: Talk) -> None:
    rules = _rules(
        talk,
        imports=SubjectRules(allow=("a",), deny=("$MQTT.no",)),
        exports=SubjectRules(allow=("a",), deny=("$MQTT.no",)),
    )
    client, route = talk.client(), talk.route(permissions=rules)
    client.say(b"SUB $MQTT.x 1\r\nSUB $MQTT.no 2\r\nSUB b 3\r\n")
    told = _lines(route)
    route.say(b"RS+ $G $MQTT.y\r\nRS+ $G $MQTT.no\r\n")
    client.say(b"PUB $MQTT.y 1\r\nx\r\nPUB $MQTT.no 1\r\nx\r\n")

    assert [b"RS+ $G $MQTT.x"] == told
    assert b"RMSG $G $MQTT.y 1\r\nx\r\n" == route.heard()


def test_other_rules_are_put_in_force_in_place(talk: Talk) -> None:
    client, route = talk.client(), talk.route(permissions=_rules(talk))
    client.say(b"SUB a 1\r\nSUB b 2\r\nSUB b q 3\r\nSUB b q 4\r\nSUB c 5\r\n")
    route.say(b"RS+ $G d\r\nRS+ $G e\r\n")
    route.heard()
    allow = SubjectRules(allow=("a", "c"))
    talk.core.set_peer_permissions(
        LinkKind.ROUTE, _rules(talk, imports=allow, exports=SubjectRules(allow=("d", "f")))
    )
    talk.turn()
    narrow = _lines(route)
    route.say(b"RS+ $G f\r\nRS+ $G e\r\n")
    client.say(b"PUB d 1\r\nx\r\nPUB e 1\r\nx\r\nPUB f 1\r\nx\r\n")
    heard = route.heard()
    talk.core.set_peer_permissions(LinkKind.ROUTE, _rules(talk, imports=SubjectRules(deny=("a",))))
    talk.turn()

    assert [b"RS- $G b", b"RS- $G b q"] == narrow
    assert b"RMSG $G d 1\r\nx\r\nRMSG $G f 1\r\nx\r\n" == heard
    assert [b"RS+ $G b", b"RS+ $G b q 2", b"RS- $G a"] == _lines(route)


def test_no_rules_let_everything_through_again(talk: Talk) -> None:
    number = _rules(talk, imports=SubjectRules(allow=("a",)), exports=SubjectRules(allow=("a",)))
    client, route = talk.client(), talk.route(permissions=number)
    talk.core.drop_permissions(number)
    client.say(b"SUB b 1\r\n")
    before = route.heard()
    talk.core.set_peer_permissions(LinkKind.ROUTE, 0)
    route.say(b"RS+ $G c\r\n")
    route.say(b"RS+ $G c\r\n")
    client.say(b"PUB c 1\r\nx\r\n")

    assert (b"", b"RS+ $G b\r\nRMSG $G c 1\r\nx\r\n") == (before, route.heard())


def test_interest_is_told_once_more_on_demand(talk: Talk) -> None:
    client, route = talk.client(), talk.route()
    client.say(b"SUB a 1\r\nSUB b q 2\r\n")
    first = _lines(route)
    talk.core.repeat_interest(route.link)
    talk.turn()

    assert [b"RS+ $G a", b"RS+ $G b q 1"] == first == _lines(route)


def test_a_route_under_rules_that_nobody_made_is_refused(talk: Talk) -> None:
    with pytest.raises(ValueError, match="permissions 7"):
        talk.core.register_peer(1, PeerTerms(permissions=7))
    with pytest.raises(ValueError, match="permissions 7"):
        talk.core.set_peer_permissions(LinkKind.ROUTE, 7)


def test_interest_of_an_unknown_account_that_is_refused_leaves_no_account(talk: Talk) -> None:
    route = talk.route(permissions=_rules(talk, exports=SubjectRules(allow=("a",))))
    for number in range(70_000):
        talk.core.feed(route.link, b"RS+ X%d b\r\n" % number, 0)
    route.say(b"RS+ Y a\r\n")
    client = talk.client(account=talk.core.add_account(b"Y"))
    client.say(b"PUB a 1\r\nx\r\n")

    assert b"RMSG Y a 1\r\nx\r\n" == route.heard()
