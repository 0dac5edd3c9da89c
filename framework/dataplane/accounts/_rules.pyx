"""Compile subject permissions into a table for the loop."""

from libc.stdint cimport int64_t, uint64_t

from framework.dataplane.accounts._interest cimport is_valid_subject
from framework.dataplane.accounts._permissions cimport permission_rule_add, permission_table_new, permission_table_release
from framework.dataplane._state cimport PermissionTable

from framework.dataplane.permissions import DEFAULT_ANSWERS

cdef enum:
    SECOND_NS = 1000000000
    NEVER_S = 1000000000
    UNLIMITED = 1099511627776


cdef object _add(PermissionTable* table, bint publish, bint deny, text):
    """Add one rule, `subject` or `subject queue`. A queue group has no meaning for a publisher: what denies it denies all."""
    cdef bytes subject, queue
    words = text.encode().split()
    if not 1 <= len(words) <= (1 if publish and not deny else 2):
        raise ValueError(f"a permission is a subject{'' if publish else ', or one and a queue group'}: {text!r}")
    for word in words:
        if not is_valid_subject(word, len(word)):
            raise ValueError(f"a permission for what is no valid subject: {text!r}")
    subject = words[0]
    queue = words[1] if len(words) > 1 and not publish else b""
    if not permission_rule_add(table, publish, deny, subject, len(subject), queue, len(queue)):
        raise MemoryError


cdef PermissionTable* table_made(permissions, uint64_t seed, uint64_t serial) except NULL:
    """Make a table that nobody else has yet.

    Raises:
        ValueError: A rule is not valid.
    """
    cdef PermissionTable* table = permission_table_new(seed, serial)
    if table == NULL:
        raise MemoryError
    try:
        for publish, rules in ((True, permissions.publish), (False, permissions.subscribe)):
            for deny, texts in ((False, rules.allow), (True, rules.deny)):
                for text in texts:
                    _add(table, publish, deny, text)
        _set_switches(table, permissions)
    except BaseException:
        permission_table_release(table)
        raise
    return table


cdef object _set_switches(PermissionTable* table, permissions):
    answers = permissions.responses
    # Who may answer may publish nothing else, unless it is said. Source: nats-server `auth.go`, `validateResponsePermissions`.
    table.publish_limited = bool(permissions.publish.allow) or answers is not None
    table.publish_checked = table.publish_limited or bool(permissions.publish.deny)
    table.subscribe_limited = bool(permissions.subscribe.allow)
    table.subscribe_checked = table.subscribe_limited or bool(permissions.subscribe.deny)
    if answers is None:
        return
    table.answers = True
    max_msgs = answers.max_msgs or DEFAULT_ANSWERS.max_msgs
    expires_s = answers.expires_s or DEFAULT_ANSWERS.expires_s
    table.answers_max = max_msgs if max_msgs > 0 else <int64_t> UNLIMITED
    table.answers_ns = <int64_t> (min(expires_s if expires_s > 0 else NEVER_S, NEVER_S) * SECOND_NS)
