"""Templates in permissions."""

from __future__ import annotations

import pytest
from framework_auth.claims import ClaimsError, UserRules
from framework_auth.limits import TEMPLATE_SUBJECTS_MAX
from framework_auth.operator.templates import Facts, fill_rules

from framework.spec import SubjectRules

FACTS = Facts(
    name="ann",
    subject="UANN",
    tags=("dept:sales", "dept:it", "level:3"),
    account_name="acme",
    account_subject="AACME",
    account_tags=("zone:eu",),
)


def fill(*allow, deny=(), facts=FACTS):
    rules = UserRules(subscribe=SubjectRules(allow=allow, deny=tuple(deny)))
    return fill_rules(rules, facts).subscribe


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("plain.>", ("plain.>",)),
        ("u.{{name()}}.>", ("u.ann.>",)),
        ("u.{{ NAME() }}", ("u.ann",)),
        ("{{subject()}}.{{account-subject()}}", ("UANN.AACME",)),
        ("{{account-name()}}.{{account-tag(zone)}}", ("acme.eu",)),
        ("d.{{tag(dept)}}", ("d.sales", "d.it")),
        ("{{tag(DEPT)}}.{{tag(level)}}", ("sales.3", "it.3")),
        ("{{tag(dept)}}.{{tag(dept)}}", ("sales.sales", "sales.it", "it.sales", "it.it")),
        ("q.{{name()}} workers", ("q.ann workers",)),
    ],
)
def test_what_a_template_comes_to(template, expected):
    assert fill(template).allow == expected


def test_an_allowed_subject_without_a_value_is_left_out():
    assert fill("a", "b.{{tag(none)}}").allow == ("a",)


def test_when_no_subject_is_left_nothing_is_allowed():
    assert fill("b.{{tag(none)}}") == SubjectRules(deny=(">",))


def test_a_denied_subject_without_a_value_refuses_the_user():
    with pytest.raises(ClaimsError, match="comes to no subject"):
        fill("a", deny=["b.{{tag(none)}}"])


@pytest.mark.parametrize("name", ["a b", "", "a..b", "a\tb", ".", "> x"])
def test_a_name_that_makes_no_subject_opens_nothing(name):
    facts = Facts(
        name=name, subject="U", tags=(), account_name="", account_subject="", account_tags=()
    )

    assert fill("u.{{name()}}", facts=facts) == SubjectRules(deny=(">",))
    with pytest.raises(ClaimsError, match="not valid"):
        fill("a", deny=["u.{{name()}}"], facts=facts)


@pytest.mark.parametrize("template", ["{{nothing()}}", "a.{{tag(x}}", "{{name}}"])
def test_an_unknown_operation_refuses_the_user(template):
    with pytest.raises(ClaimsError, match="not defined"):
        fill(template)


def test_too_many_subjects_refuse_the_user():
    tags = tuple(f"t:{number}" for number in range(70))
    facts = Facts(
        name="", subject="", tags=tags, account_name="", account_subject="", account_tags=()
    )

    assert len(fill("{{tag(t)}}", facts=facts).allow) == 70
    for templates in (["{{tag(t)}}.{{tag(t)}}"], ["{{tag(t)}}"] * 60):
        with pytest.raises(ClaimsError, match=str(TEMPLATE_SUBJECTS_MAX)):
            fill(*templates, facts=facts)
