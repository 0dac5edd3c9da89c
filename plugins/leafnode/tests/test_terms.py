"""What a leaf node connection lets pass."""

from __future__ import annotations

import pytest
from framework_leafnode.terms import Domains

GROUPS = {"$NRG.>", "$FJS.>", "$JSC.>"}


@pytest.mark.parametrize(
    ("own", "has_jetstream", "domain"),
    [("hub", True, "spoke"), ("hub", True, ""), ("", True, "spoke"), ("", False, "")],
)
def test_groups_of_other_domains_are_not_heard(own, has_jetstream, domain):
    domains = Domains(own=own, has_jetstream=has_jetstream, is_system=True)

    assert set(domains.withheld(domain)) >= GROUPS


@pytest.mark.parametrize(("own", "has_jetstream"), [("", True), ("hub", False), ("hub", True)])
def test_groups_of_the_same_domain_are_heard(own, has_jetstream):
    domains = Domains(own=own, has_jetstream=has_jetstream, is_system=True)

    assert domains.withheld(own) == ()
