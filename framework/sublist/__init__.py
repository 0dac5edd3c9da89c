"""Which subscriptions a subject reaches; not who may publish it."""

from framework.sublist._sublist import Sublist
from framework.sublist.result import SublistResult

__all__ = ["Sublist", "SublistResult"]
