"""What plugins hear of the fields of other servers."""

from __future__ import annotations

from framework_route.effect import FieldsTold
from framework_route.told_fields import ToldFields

from framework.wire.info import RouteInfo


def info(server_id, *, ldm=False, **fields):
    return RouteInfo(server_id=server_id, ldm=ldm, others=fields)


def test_only_what_is_new_is_told():
    told = ToldFields()

    assert told.learn(info("A")) == []
    assert told.learn(info("A", shelf=1)) == [FieldsTold(info("A", shelf=1))]
    assert told.learn(info("A", shelf=1)) == []
    assert told.learn(info("A", shelf=2)) == [FieldsTold(info("A", shelf=2))]
    assert told.learn(info("A")) == [FieldsTold(info("A"))]
    assert told.learn(info("A")) == []


def test_a_lame_duck_is_news():
    told = ToldFields()
    told.learn(info("A", shelf=1))

    assert told.learn(info("A", ldm=True, shelf=1)) == [FieldsTold(info("A", ldm=True, shelf=1))]
    assert told.learn(info("B", ldm=True)) == []


def test_fields_go_with_their_server():
    told = ToldFields()
    for name in "ABC":
        told.learn(info(name, shelf=name))

    assert told.forget_all_but({"B"}) == [FieldsTold(info("A")), FieldsTold(info("C"))]
    assert told.forget_all_but({"B"}) == []
    assert told.learn(info("A", shelf="A")) == [FieldsTold(info("A", shelf="A"))]
