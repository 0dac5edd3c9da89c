"""Which destinations of subject mappings are of this cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from framework.spec import SubjectMapping


def mappings_of_cluster(
    mappings: tuple[SubjectMapping, ...], cluster: str
) -> tuple[SubjectMapping, ...]:
    """Return mappings as they are in one cluster, whose own destinations replace the general ones.

    Source: nats-server `accounts.go`, `selectMappedSubject`.
    """
    if not any(it.cluster for mapping in mappings for it in mapping.destinations):
        return mappings
    return tuple(_of_cluster(mapping, cluster) for mapping in mappings)


def _of_cluster(mapping: SubjectMapping, cluster: str) -> SubjectMapping:
    own = tuple(it for it in mapping.destinations if it.cluster and it.cluster == cluster)
    general = tuple(it for it in mapping.destinations if not it.cluster)
    return replace(mapping, destinations=tuple(replace(it, cluster="") for it in own) or general)
