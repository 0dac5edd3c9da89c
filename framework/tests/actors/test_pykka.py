"""What of pykka this room leans on, beyond its documents."""

from __future__ import annotations

import inspect

import pykka

from framework.actors import ActorRef, Component, Reply
from framework.actors._pykka import ActorStop, Envelope


def test_the_shapes_that_are_private_to_pykka():
    assert issubclass(ActorStop, tuple)
    assert Envelope("message", reply_to=None).message == "message"
    assert list(inspect.signature(pykka.Actor._handle_receive).parameters) == ["self", "message"]
    assert "_actor_weakref()" in inspect.getsource(pykka.ActorProxy.__init__)
    assert pykka.Future()._get_hook is None


def test_ours_are_pykkas():
    assert issubclass(Component, pykka.Actor)
    assert issubclass(ActorRef, pykka.ActorRef)
    assert issubclass(Reply, pykka.Future)


def test_nothing_of_pykkas_loop_and_registry_is_left_to_reach():
    ours = vars(Component)

    assert {"start", "stop", "_start_actor_loop", "_create_actor_inbox"} <= set(ours)
    assert "ActorRegistry" not in "".join(
        inspect.getsource(method) for method in (pykka.Actor._handle_receive, pykka.ActorRef.tell)
    )
