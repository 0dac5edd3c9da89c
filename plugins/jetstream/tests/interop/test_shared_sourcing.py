"""Mirrors and sources among streams that servers share, whoever leads them."""

from __future__ import annotations

import json

import pytest

from framework.testing import OURS, Fleet
from plugins.jetstream.tests.interop import shared_clusters as shared

pytestmark = [pytest.mark.interop, pytest.mark.timeout(90)]

COUNT = 20


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    """Return three servers that share streams, by name; all tests of the module share them."""
    folder = tmp_path_factory.mktemp("shared")
    fleet = Fleet(folder)
    yield shared.start(fleet, folder, OURS)
    fleet.stop()


@pytest.fixture
def apis(servers, log_in):
    """Return the API as a client of each server has it."""
    found = {name: shared.connected(server, log_in) for name, server in servers.items()}
    yield [api for _, api in found.values()]
    for raw, _ in found.values():
        raw.close()


def create(api, name, **more):
    made = api(f"STREAM.CREATE.{name}", {"name": name, "num_replicas": 3, **more})
    assert made.get("did_create"), made
    return made


def publish(api, subject, first, count):
    for number in range(first, first + count):
        shared.until(lambda at=number: published(api, subject, at))


def published(api, subject, number):
    try:
        text = api.requests.ask(subject, b"%d" % number, [("Nats-Msg-Id", str(number))])[1]
    except TimeoutError:
        return None
    return json.loads(text or b"{}").get("seq")


def has(api, name, count):
    """Whether a stream has so many messages, and never had more."""
    state = api(f"STREAM.INFO.{name}")["state"]
    assert state["last_seq"] <= count
    return state["messages"] == count


def payloads(api, name, count):
    return [
        api(f"STREAM.MSG.GET.{name}", {"seq": seq})["message"]["data"]
        for seq in range(1, count + 1)
    ]


def step_down(api, name):
    """Let another server lead a stream."""
    before = api(f"STREAM.INFO.{name}")["cluster"]["leader"]
    while api(f"STREAM.INFO.{name}")["cluster"].get("leader") in {None, "", before}:
        api(f"STREAM.LEADER.STEPDOWN.{name}")


@pytest.mark.parametrize("replicas", [1, 3])
def test_mirrors_and_sources_go_on_when_others_lead(apis, replicas):
    api, other, third = apis
    origin, mirror, total = f"O{replicas}", f"M{replicas}", f"T{replicas}"
    create(api, origin, subjects=[f"{origin}.>"], num_replicas=replicas)
    create(other, mirror, mirror={"name": origin})
    turned = [{"src": f"{origin}.*", "dest": f"{total}." + "{{wildcard(1)}}"}]
    create(third, total, sources=[{"name": origin, "subject_transforms": turned}])
    publish(api, f"{origin}.x", 0, COUNT)
    for name in (mirror, total):
        shared.until(lambda it=name: has(other, it, COUNT))

    for name in (mirror, total) if replicas == 1 else (origin, mirror, total):
        step_down(third, name)
    publish(api, f"{origin}.x", COUNT, COUNT)
    for name in (mirror, total):
        shared.until(lambda it=name: has(other, it, 2 * COUNT))
        assert payloads(third, name, 2 * COUNT) == payloads(api, origin, 2 * COUNT)
    shown = api(f"STREAM.INFO.{total}")["sources"]
    assert [(it["name"], it["lag"]) for it in shown] == [(origin, 0)]
    assert api(f"STREAM.MSG.GET.{total}", {"seq": 1})["message"]["subject"] == f"{total}.x"
    missing = api(
        f"STREAM.CREATE.X{replicas}",
        {"name": f"X{replicas}", "mirror": {"name": mirror}, "subjects": ["x"]},
    )
    assert missing["error"]["err_code"] == 10034
    for name in (mirror, total, origin):
        assert api(f"STREAM.DELETE.{name}")["success"]
