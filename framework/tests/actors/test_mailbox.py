"""The mailbox alone, with the other thread of each race played by the test."""

from __future__ import annotations

import pykka
import pytest

from framework.actors import MailboxFullError, Reply, WhenFull
from framework.actors._pykka import ActorStop, Envelope
from framework.actors.mailbox import KeptEnvelope, Mailbox


class Turns:
    """A dispatcher that only counts."""

    def __init__(self):
        self.count = 0

    def dispatch(self, _run):
        self.count += 1


def _mailbox(limit=4, when_full=WhenFull.REFUSE):
    turns = Turns()
    return Mailbox(limit, when_full, lambda: None, turns.dispatch), turns


def _waiting(mailbox):
    items = [mailbox.get() for _ in range(len(mailbox))]
    return [item.message if isinstance(item, Envelope) else item for item in items]


def test_a_turn_is_asked_for_once_until_it_rests():
    mailbox, turns = _mailbox()
    mailbox.put(1)
    mailbox.put(2)
    mailbox.wake()
    assert turns.count == 1
    mailbox.rest(lambda: True)
    assert turns.count == 2
    assert _waiting(mailbox) == [1, 2]
    mailbox.rest(lambda: False)
    mailbox.wake()
    assert turns.count == 3


def test_what_comes_while_a_turn_goes_to_rest_is_not_forgotten():
    mailbox, turns = _mailbox()
    mailbox.put(1)
    _waiting(mailbox)
    answers = iter([False, True])

    def has_work():
        answer = next(answers)
        if not answer:
            mailbox.put(2)
        return answer

    mailbox.rest(has_work)

    assert turns.count == 2


def test_what_comes_after_the_rest_asks_for_the_turn_itself():
    mailbox, turns = _mailbox()
    mailbox.put(1)
    _waiting(mailbox)
    calls = []

    def has_work():
        calls.append(1)
        if len(calls) == 2:
            mailbox.put(2)
        return len(calls) == 2

    mailbox.rest(has_work)

    assert turns.count == 2


def test_a_closed_mailbox_answers_what_waits_and_what_comes():
    mailbox, turns = _mailbox()
    asked, stopped, late = Reply(), Reply(), Reply()
    mailbox.put("tell")
    mailbox.put(Envelope("ask", reply_to=asked))
    mailbox.put(KeptEnvelope(ActorStop(), reply_to=stopped))
    mailbox.close("it stopped")
    mailbox.put(Envelope("late", reply_to=late))
    mailbox.wake()

    for reply in (asked, late):
        with pytest.raises(pykka.ActorDeadError, match="it stopped"):
            reply.get()
    assert stopped.get() is None
    assert mailbox.empty()
    assert turns.count == 1


@pytest.mark.parametrize("when_full", list(WhenFull))
def test_what_is_kept_is_taken_beyond_the_limit_and_never_dropped(when_full):
    mailbox, _ = _mailbox(limit=1, when_full=when_full)
    mailbox.put(KeptEnvelope("timer"))
    mailbox.put(KeptEnvelope("answer"))
    asked = Reply()
    mailbox.put(Envelope("asked", reply_to=asked))

    with pytest.raises(MailboxFullError):
        asked.get()
    assert _waiting(mailbox) == ["timer", "answer"]
    assert mailbox.dropped_count == 1


def test_told_messages_are_taken_up_to_the_first_that_is_not():
    mailbox, _ = _mailbox(limit=9)
    reply = Reply()
    for item in (1, 2, Envelope(3, reply_to=reply), "apart"):
        mailbox.put(item)

    assert mailbox.take_told({Envelope, str}) == [1, 2]
    assert mailbox.take_told({Envelope, str}) == []
    assert mailbox.get().reply_to is reply
    assert mailbox.take_told({Envelope, str}) == []
    assert _waiting(mailbox) == ["apart"]


def test_nobody_watches_the_pressure_any_more():
    mailbox, events = _mailbox(limit=4)[0], []
    mailbox.watch_pressure(events.append)
    mailbox.put(1)
    mailbox.watch_pressure(None)
    for number in range(3):
        mailbox.put(number)

    assert events == []
