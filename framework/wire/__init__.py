"""Protocol documents and encodings without I/O, clock or randomness."""

from framework.wire.overlap import overlaps
from framework.wire.subject import is_literal, is_subset, is_valid_subject
from framework.wire.version import NATS_VERSION

__all__ = ["NATS_VERSION", "is_literal", "is_subset", "is_valid_subject", "overlaps"]
