"""Messages that are under way for more than one slice of work.

A message that reaches more receivers than a slice of work is enough for gives the rest of them to a fan-out, which goes on in turns to
come. Its publisher is read no further meanwhile, so that its messages stay in order. Who subscribes while a message is under way does not
get it; who unsubscribes does not any more.

A fan-out leads to subscriptions, which may end in the meantime. So their memory stays until every fan-out has ended that had begun before
they did: what ends is given to the youngest fan-out, and when that is done, to the next older one.
"""

from libc.stdint cimport uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from framework.dataplane.links._output cimport block_chars, block_drop, block_new
from framework.dataplane._state cimport FANOUTS_BYTES_MAX, Block, Fanout, Hop, Link, Message, State, Subscription
from framework.sublist._bytes cimport COPY_SLACK
from framework.sublist._sublist cimport Interest

cdef enum:
    BODY_COPIED_BYTES = 65536
    # A longer body keeps the block that it was read into.
    GRAVES_A_TURN = 8192


cdef Hop THROUGH_A_SERVICE


cdef bint _keep_body(State* state, Fanout* fanout) noexcept nogil:
    """Let a fan-out hold the body of its message; False: no memory."""
    cdef Message* message = &fanout.message
    cdef Block* block = message.block
    if block != NULL and message.body_length > BODY_COPIED_BYTES:
        block.users += 1
        return True
    block = block_new(message.body_length + 2)
    if block == NULL:
        return False
    memcpy(block_chars(block), message.body, message.body_length + 2)
    message.body = block_chars(block)
    message.block = block
    return True


cdef Fanout* fanout_new(State* state, Message* message, Interest** rest, uint32_t count, uint32_t room) noexcept nogil:
    """Let a message reach the rest of its receivers in turns to come, behind those of its publisher that are under way already.

    Args:
        rest: The receivers, `count` of them.
        room: For more of them, by `fanout_add`.

    Returns:
        NULL: there is no memory for it, or too many are under way: deliver it at once.
    """
    cdef Link* link = message.source
    cdef size_t receivers = (<size_t> count + room) * sizeof(Interest*)
    cdef size_t shown = message.shown_length if message.shown != NULL else 0
    cdef size_t size = sizeof(Fanout) + receivers + message.subject_length + message.reply_length + shown + COPY_SLACK
    cdef size_t held = size + message.body_length
    cdef Fanout* made
    cdef char* chars
    if state.fanouts_bytes + held > FANOUTS_BYTES_MAX:
        return NULL
    made = <Fanout*> malloc(size)
    if made == NULL:
        return NULL
    made.message = message[0]
    if not _keep_body(state, made):
        free(made)
        return NULL
    made.message.queue_count = 0
    made.message.trace = NULL
    if message.hops != NULL:
        # Services were asked already; for streams it matters only that it came through one.
        made.message.hops = &THROUGH_A_SERVICE
    made.next = NULL
    made.first_dead = made.last_dead = NULL
    made.at = 0
    made.count = count
    made.size = held
    memcpy(<char*> (made + 1), rest, count * sizeof(Interest*))
    chars = <char*> (made + 1) + receivers
    memcpy(chars, message.subject, message.subject_length)
    made.message.subject = chars
    chars += message.subject_length
    if message.reply_length:
        memcpy(chars, message.reply, message.reply_length)
        made.message.reply = chars
        chars += message.reply_length
    if shown:
        memcpy(chars, message.shown, shown)
        made.message.shown = chars
    if link.last_fanout != NULL:
        link.last_fanout.next = made
    else:
        link.first_fanout = made
    link.last_fanout = made
    made.younger = NULL
    made.older = state.youngest_fanout
    if made.older != NULL:
        made.older.younger = made
    state.youngest_fanout = made
    state.fanouts_bytes += held
    return made


cdef void _inherit(State* state, Fanout* older, Subscription* first, Subscription* last) noexcept nogil:
    """Let what ended be freed with the fan-out before, or by the sweep when there is none."""
    if first == NULL:
        return
    if older != NULL:
        last.next = older.first_dead
        older.first_dead = first
        if older.last_dead == NULL:
            older.last_dead = last
    else:
        last.next = state.graves
        state.graves = first


cdef void fanout_end(State* state, Link* link) noexcept nogil:
    """End the first fan-out of a link."""
    cdef Fanout* fanout = link.first_fanout
    link.first_fanout = fanout.next
    if fanout.next == NULL:
        link.last_fanout = NULL
    if fanout.older != NULL:
        fanout.older.younger = fanout.younger
    if fanout.younger != NULL:
        fanout.younger.older = fanout.older
    else:
        state.youngest_fanout = fanout.older
    _inherit(state, fanout.older, fanout.first_dead, fanout.last_dead)
    block_drop(state, fanout.message.block)
    state.fanouts_bytes -= fanout.size
    free(fanout)


cdef void dead_sweep(State* state, Subscription* last) noexcept nogil:
    """Bury what ended in this turn, of which `last` is the last, and free some of what nothing leads to any more."""
    cdef Subscription* freed
    cdef uint32_t left = GRAVES_A_TURN
    _inherit(state, state.youngest_fanout, state.dead, last)
    state.dead = NULL
    while state.graves != NULL and left:
        freed = state.graves
        state.graves = freed.next
        free(freed)
        left -= 1
