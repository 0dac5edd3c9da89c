"""Which subscriptions a subject reaches, and what transforms make of it; not who may publish."""

from framework.sublist._sublist import Sublist
from framework.sublist._transform import SubjectTransform
from framework.sublist.result import SublistResult
from framework.sublist.transform import BadTransform

__all__ = ["BadTransform", "SubjectTransform", "Sublist", "SublistResult"]
