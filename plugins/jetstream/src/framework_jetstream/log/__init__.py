"""The log: what happens to all streams and consumers of a server, in one order, synced together.

It is pure: it says what to do on the disk, and hears what has become of that.
"""

from framework_jetstream.log._face import Log
from framework_jetstream.log._thread import LogThread
from framework_jetstream.log.record import (
    Damage,
    DamageReason,
    Effect,
    Entry,
    GroupState,
    Kind,
    NewerVersionError,
    Refused,
)

__all__ = [
    "Damage",
    "DamageReason",
    "Effect",
    "Entry",
    "GroupState",
    "Kind",
    "Log",
    "LogThread",
    "NewerVersionError",
    "Refused",
]
