"""Events for Python, made from the records that the loop leaves."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.string cimport memcpy

from framework.dataplane.delivery._delivery cimport record_chars
from framework.dataplane.accounts._latency cimport SampleRecord
from framework.dataplane.delivery._message_trace cimport NO_ACCOUNT, StepRecord, TraceRecord
from framework.dataplane.accounts._remote_latency cimport RemoteLatencyRecord
from framework.dataplane.ports._sinkbatch cimport batch_made
from framework.dataplane._state cimport (
    RECORD_CLOSED, RECORD_CONFIRMED, RECORD_DELIVERED, RECORD_DETACHED, RECORD_ERR, RECORD_GATE_FAILED, RECORD_GREETING, RECORD_INTEREST,
    RECORD_LATENCY, RECORD_MESSAGE_TRACE, RECORD_OPENED, RECORD_PONG, RECORD_REFUSED, RECORD_REMOTE_LATENCY, RECORD_TRACE,
    RECORD_VIOLATED, Record, Row,
)
from framework.dataplane.protocol._violations cimport ViolationRecord

from framework.dataplane.event import (
    AddressRefused, Closed, Confirmed, Delivered, Detached, ErrReceived, GateFailed, Greeting, InterestChanged, LatencySampled, Listed,
    Opened, PongReceived, ResponderTimed, Traced, Violated, Violation,
)
from framework.dataplane.link import KINDS, LinkRow
from framework.dataplane.message_trace import MessageTraced, StepKind, TraceFault, TraceStep
from framework.wire.closed_state import ClosedState

VIOLATIONS = tuple(Violation)
STEPS = tuple(StepKind)
FAULTS = tuple(TraceFault)
REASONS = {int(reason): reason for reason in ClosedState}


cdef bytes _text(Record* record):
    return PyBytes_FromStringAndSize(record_chars(record), record.length)


cdef object row_made(Row* row):
    return LinkRow(
        row.link, KINDS[row.kind], row.cid, row.host.decode(), row.port, row.opened_ns, row.received_ns, row.rtt_ns, row.pending,
        row.in_msgs, row.in_bytes, row.out_msgs, row.out_bytes, row.subscriptions, row.stalls, row.wire_in_bytes, row.wire_out_bytes,
    )


cdef object _violation_made(Record* record):
    cdef ViolationRecord head
    cdef bytes text
    cdef size_t sid
    memcpy(&head, record_chars(record), sizeof(head))
    text = _text(record)[sizeof(head):]
    sid = head.subject_length + head.queue_length
    return Violated(
        record.link, KINDS[record.kind], VIOLATIONS[record.number], text[: head.subject_length], text[head.subject_length : sid],
        text[sid:], head.missed,
    )


cdef object _sample_made(Record* record):
    cdef SampleRecord head
    cdef const char* at = record_chars(record) + sizeof(head)
    memcpy(&head, record_chars(record), sizeof(head))
    requestor = at[: head.requestor_length]
    at += head.requestor_length
    responder = at[: head.responder_length]
    at += head.responder_length
    return LatencySampled(
        record.number, head.status, head.started_ns, head.ended_ns, head.requestor_rtt_ns, head.responder_rtt_ns, requestor, responder,
        at[: head.header_length], at[head.header_length : head.header_length + head.reply_length],
    )


cdef object _remote_latency_made(Record* record):
    cdef RemoteLatencyRecord head
    cdef bytes text = _text(record)[sizeof(head):]
    memcpy(&head, record_chars(record), sizeof(head))
    return ResponderTimed(
        record.number, text[: head.reply_length], head.started_ns, head.ended_ns, head.responder_rtt_ns, text[head.reply_length :]
    )


cdef object _steps_made(const char* at, size_t count):
    cdef StepRecord step
    steps = []
    for _ in range(count):
        memcpy(&step, at, sizeof(step))
        at += sizeof(step)
        first = at[: step.lengths[0]]
        at += step.lengths[0]
        second = at[: step.lengths[1]]
        at += step.lengths[1]
        third = at[: step.lengths[2]]
        at += step.lengths[2]
        account = None if step.account == NO_ACCOUNT else step.account
        steps.append(TraceStep(
            STEPS[step.kind], account, first, second, third, step.link, KINDS[step.link_kind], step.cid, FAULTS[step.fault]
        ))
    return tuple(steps)


cdef object _message_trace_made(Record* record):
    cdef TraceRecord head
    cdef const char* at = record_chars(record) + sizeof(head)
    cdef int which
    memcpy(&head, record_chars(record), sizeof(head))
    texts = []
    for which in range(4):
        texts.append(at[: head.lengths[which]])
        at += head.lengths[which]
    return MessageTraced(
        record.link, KINDS[record.kind], head.cid, head.account, *texts, head.size, head.hops, head.at_ns, FAULTS[head.fault],
        _steps_made(at, head.step_count),
    )


cdef object event_made(Record* record):
    cdef bytes text
    if record.type == RECORD_OPENED:
        return Opened(
            record.link, KINDS[record.kind], record.row.cid, record.row.host.decode(), record.row.port, record.number,
            record.row.opened_ns, _text(record), record.other,
        )
    if record.type == RECORD_GREETING:
        return Greeting(
            record.link, KINDS[record.kind], "INFO" if record.number else "CONNECT", _text(record), record.flag != 0
        )
    if record.type == RECORD_CLOSED:
        return Closed(
            record.link, KINDS[record.kind], REASONS[record.number], _text(record).decode("ascii", "replace"), row_made(&record.row),
            record.other,
        )
    if record.type == RECORD_DELIVERED:
        batch = batch_made(record.batch)
        record.batch = NULL
        return Delivered(record.number, batch)
    if record.type == RECORD_DETACHED:
        fd = record.number
        record.number = -1
        return Detached(
            record.link, KINDS[record.kind], fd, record.row.cid, record.row.host.decode(), record.row.port, record.flag != 0, _text(record),
            record.other,
        )
    if record.type == RECORD_TRACE:
        return Traced(record.link, KINDS[record.kind], record.flag != 0, _text(record), record.number)
    if record.type == RECORD_MESSAGE_TRACE:
        return _message_trace_made(record)
    if record.type == RECORD_LATENCY:
        return _sample_made(record)
    if record.type == RECORD_REMOTE_LATENCY:
        return _remote_latency_made(record)
    if record.type == RECORD_ERR:
        return ErrReceived(record.link, KINDS[record.kind], _text(record))
    if record.type == RECORD_PONG:
        return PongReceived(record.link, KINDS[record.kind], record.number)
    if record.type == RECORD_INTEREST:
        text = _text(record)
        return InterestChanged(record.number, text[: record.link], text[record.link + 1 :], record.other)
    if record.type == RECORD_VIOLATED:
        return _violation_made(record)
    if record.type == RECORD_REFUSED:
        return AddressRefused(KINDS[record.kind], record.number, _text(record).decode(), record.row.port, record.other)
    if record.type == RECORD_GATE_FAILED:
        return GateFailed(record.number, _text(record).decode(), record.other)
    if record.type == RECORD_CONFIRMED:
        return Confirmed(record.number)
    return Listed(record.number, _text(record), record.other, record.flag != 0)
