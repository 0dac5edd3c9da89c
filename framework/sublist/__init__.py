"""The sublist: match subjects with subscriptions; and subject transforms."""

from framework.sublist._sublist import Sublist
from framework.sublist._transform import SubjectTransform
from framework.sublist.result import SublistResult
from framework.sublist.transform import BadTransform

__all__ = ["BadTransform", "SubjectTransform", "Sublist", "SublistResult"]
