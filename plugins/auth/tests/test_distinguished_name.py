"""Distinguished names: texts as RFC 4514 has them, and subjects of certificates."""

from __future__ import annotations

import pytest
from framework_auth.distinguished_name import (
    name_from_subject,
    parse_name,
    texts_from_subject,
    without_order,
)

CN, OU, ORG, C, DC, UNKNOWN = (
    "2.5.4.3",
    "2.5.4.11",
    "2.5.4.10",
    "2.5.4.6",
    "0.9.2342.19200300.100.1.25",
    "1.2.3",
)


def name(*parts):
    return tuple(frozenset(part) for part in parts)


NAMES = {
    "CN=ann": name({("cn", "ann")}),
    " cn = ann b , OU=x ": name({("cn", "ann b")}, {("ou", "x")}),
    "CN=ann+UID=7,C=NZ": name({("cn", "ann"), ("uid", "7")}, {("c", "NZ")}),
    r"CN=Smith\, Ann\+,O=A\3dB": name({("cn", "Smith, Ann+")}, {("o", "A=B")}),
    r"CN=\C3\A9": name({("cn", "é")}),
    "CN=é": name({("cn", "é")}),
    "CN=": name({("cn", "")}),
    "CN=a=b": name({("cn", "a=b")}),
}


@pytest.mark.parametrize(("text", "parsed"), NAMES.items(), ids=NAMES)
def test_texts(text, parsed):
    assert parse_name(text) == parsed


@pytest.mark.parametrize("text", ["", "ann", "CN=ann,x", "CN=#0401", "=x", "CN=a\\", ","])
def test_what_is_no_name(text):
    assert parse_name(text) is None


def test_a_subject_stands_in_the_other_order():
    subject = [[(C, "NZ")], [(OU, "x"), (OU, "y")], [], [(CN, "ann")]]

    assert name_from_subject(subject) == parse_name("CN=ann,OU=y+OU=x,C=NZ")
    assert name_from_subject([[(UNKNOWN, "x")]]) is None


def test_names_may_be_compared_whatever_their_order():
    one = without_order(parse_name("CN=ann,OU=x,OU=y"))

    assert one == without_order(parse_name("OU=y,CN=ann,OU=x"))
    assert one != without_order(parse_name("OU=y,CN=ann"))
    assert one != without_order(parse_name("OU=y,CN=ann,OU=x,OU=x"))


@pytest.mark.parametrize(
    ("subject", "texts"),
    [
        ([[(C, "NZ")], [(ORG, "org")], [(CN, "ann")]], ["CN=ann,O=org,C=NZ"]),
        ([[(OU, "x")], [(OU, "y")], [(CN, "a")], [(CN, "b")]], ["CN=b,OU=x+OU=y"]),
        ([[(CN, " a, b#")]], [r"CN=\ a\, b#"]),
        ([[(DC, "com")], [(DC, "acme")], [(CN, "ann")]], ["CN=ann,DC=com,DC=acme", "CN=ann"]),
        ([[(UNKNOWN, "x")], [(CN, "ann")]], ["CN=ann"]),
    ],
)
def test_how_go_writes_a_subject(subject, texts):
    assert list(texts_from_subject(subject)) == texts
