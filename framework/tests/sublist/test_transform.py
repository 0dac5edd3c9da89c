"""Subject transforms against a naive model, and against what nats-server 2.15.2 made of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.sublist import BadTransform, SubjectTransform
from framework.sublist.transform import Function, parse_transform, with_numbered_wildcards

OBSERVED = [
    ("foo.*", "bar.$1", "foo.x", "bar.x"),
    ("a.*.*", "b.{{wildcard(2)}}.{{Wildcard( 1 )}}", "a.1.2", "b.2.1"),
    ("a.*.>", "{{partition(7)}}.>", "a.x.y.z", "6.y.z"),
    ("p.*.*", "p.$1.$2.{{Partition(10, 2, 1)}}", "p.ab.cd", "p.ab.cd.5"),
    ("q", "q.{{partition(3)}}", "q", "q.0"),
    ("p0.*", "x.{{partition(0,1)}}.$1", "p0.a", "x.0.a"),
    ("pm.*", "x.{{partition(-3,1)}}.$1", "pm.a", "x.3826002220.a"),
    ("s.*", "s1.{{split(1,-)}}", "s.a-b--c-", "s1.a.b.c"),
    ("s2.*", "s2o.{{split(1,-)}}", "s2.-a-b", "s2o.a.b"),
    ("s3.*", "s3o.{{split(1,--)}}", "s3.a--b-c---d", "s3o.a.b-c.-d"),
    ("s4.*", "s4o.{{split(1,)}}", "s4.abc", "s4o.a.b.c"),
    ("s7.*", "s7o.{{split(1, -)}}", "s7.a-b", "s7o.a.b"),
    ("l.*", "lo.{{splitFromLeft(1,3)}}", "l.abcdef", "lo.abc.def"),
    ("l2.*", "l2o.{{SplitfromLeft(1,9)}}", "l2.abc", "l2o.abc"),
    ("l3.*", "l3o.{{splitFromLeft(1,0)}}", "l3.abc", "l3o.abc"),
    ("r.*", "ro.{{splitFromRight(1,2)}}", "r.abcdef", "ro.abcd.ef"),
    ("r2.*", "r2o.{{splitFromRight(1,3)}}", "r2.abc", "r2o.abc"),
    ("r3.*", "r3o.{{splitFromRight(1,-1)}}", "r3.abc", "r3o.abc"),
    ("c.*", "co.{{sliceFromLeft(1,3)}}", "c.1234567890", "co.123.456.789.0"),
    ("c2.*", "c2o.{{sliceFromLeft(1,5)}}", "c2.1234567890", "c2o.12345.67890"),
    ("c3.*", "c3o.{{sliceFromLeft(1,20)}}", "c3.123", "c3o.123"),
    ("c4.*", "c4o.{{sliceFromLeft(1,4)}}", "c4.12345678901", "c4o.1234.5678.901"),
    ("d.*", "do.{{sliceFromRight(1,3)}}", "d.1234567890", "do.1.234.567.890"),
    ("d2.*", "d2o.{{sliceFromRight(1,5)}}", "d2.1234567890", "d2o.12345.67890"),
    ("d3.*", "d3o.{{SliceFromRight(1,1)}}", "d3.123", "d3o.1.2.3"),
    ("e.*", "eo.{{left(1,2)}}", "e.abc", "eo.ab"),
    ("e2.*", "e2o.{{Left(1,0)}}", "e2.abc", "e2o.abc"),
    ("f.*", "fxo.{{right(1,2)}}", "f.abc", "fxo.bc"),
    ("f2.*", "f2o.{{right(1,5)}}", "f2.abc", "f2o.abc"),
    ("z.*", "z0.$0", "z.q", "z0.z"),
    ("zn.*", "zo.$-1", "zn.q", "zo.zn"),
    ("zp.*", "zpo.$+1", "zp.q", "zpo.q"),
    ("dl.*", "dlo.$1x.$1", "dl.q", "dlo.$1x.q"),
    (
        "m.*",
        "mo.{{partition(4,1)}}.{{split(1,_)}}.{{left(1,1)}}",
        "m.ab_cd",
        "mo.0.ab.cd.a",
    ),
    ("rn.*", "rno.{{random(1)}}.$1", "rn.a", "rno.0.a"),
    ("rm", "rmo.{{random(0)}}", "rm", "rmo.0"),
    ("sh", "{{}}", "sh", "{{}}"),
    ("k2.*", "k2o.pre{{wildcard(1)}}", "k2.a", "k2o.pre{{wildcard(1)}}"),
    ("k3.*", "k3o.{{foo}}{{wildcard(1)}}", "k3.a", "k3o.a"),
    ("w.*.b.*", "$2.$1.wo", "w.1.b.2", "2.1.wo"),
    ("w2.*", "w2o.{{wildcard(1)", "w2.a", "w2o.{{wildcard(1)"),
]
"""Source, destination, a subject, and where nats-server delivered it."""

REFUSED = [
    ("foo.*", "bar.$2", "no wildcard 2; the source has 1"),
    ("foo", "bar.$1", "the source has no wildcard"),
    ("foo.*", "bar.*", '"\\$1" is the first'),
    ("foo.>", "bar", 'both must end in ">"'),
    ("foo", "bar.>", 'both must end in ">"'),
    ("foo.*", "bar.{{wildcard()}}", "too few arguments: wildcard takes one"),
    ("foo.*", "bar.{{wildcard(1,2)}}", "too many arguments: wildcard"),
    ("foo.*", "bar.{{wildcard(a)}}", "wildcard needs a whole number"),
    ("foo.*", "bar.{{wildcard(1_0)}}", "wildcard needs a whole number"),
    ("foo.*", "bar.{{nope(1)}}", "no such function; there are wildcard"),
    ("foo.*", "bar.{{WILDCARD(1)}}", "no such function"),
    ("foo.*", "bar.{{partition()}}", "partition needs a whole number"),
    ("foo.*", "bar.{{partition(a,1)}}", 'partition needs a whole number in place of "a"'),
    ("foo.*", "bar.{{partition(3,2)}}", "no wildcard 2"),
    ("foo.*", "bar.{{partition(2147483648,1)}}", "partition needs"),
    ("foo.*", "bar.{{partition(3,x)}}", "partition needs"),
    ("foo.*", "bar.{{split(1)}}", "too few arguments: split takes 2"),
    ("foo.*", "bar.{{split(1,a,b)}}", "too many arguments: split"),
    ("foo.*", "bar.{{split(1,a b)}}", "split cannot split at blanks"),
    ("foo.*", "bar.{{splitFromLeft(1)}}", "too few arguments: splitFromLeft"),
    ("foo.*", "bar.{{splitFromLeft(1,2,3)}}", "too many arguments: splitFromLeft"),
    ("foo.*", "bar.{{splitFromLeft(1,a)}}", "splitFromLeft needs"),
    ("foo.*", "bar.{{left(2,1)}}", "no wildcard 2"),
    ("foo.*", "bar.{{left(1,2147483648)}}", "left needs"),
    ("foo.*", "bar.{{random()}}", "too few arguments: random"),
    ("foo.*", "bar.{{random(1,2)}}", "too many arguments: random"),
    ("foo.*", "bar.{{random(x)}}", "random needs"),
    ("foo.*", "bar..b", "empty tokens"),
    ("foo.*", "bar.>.b", "before the end"),
    ("foo", "bar.{{left(1,1)}}", "the source has no wildcard"),
    ("foo..a", "bar", "empty tokens"),
    ("foo.*", "bar. x", "it has blanks"),
    ("foo.*", "", "empty tokens"),
]
"""What nats-server refuses, too."""


@pytest.mark.parametrize(("source", "destination", "subject", "result"), OBSERVED)
def test_subjects_become_what_they_become_there(
    source: str, destination: str, subject: str, result: str
) -> None:
    assert result.encode() == SubjectTransform(source, destination).apply(subject.encode())


@pytest.mark.parametrize(("source", "destination", "problem"), REFUSED)
def test_what_makes_no_sense_is_refused_with_its_place(
    source: str, destination: str, problem: str
) -> None:
    with pytest.raises(BadTransform, match=problem):
        SubjectTransform(source, destination)


@pytest.mark.parametrize("subject", [b"foo", b"foo.a.b", b"f.a", b"foo.", b"foo.*", b"foo.>", b""])
def test_a_subject_outside_the_source_stays_out(subject: bytes) -> None:
    assert SubjectTransform("foo.*", "bar.$1").apply(subject) is None


def test_no_source_is_everything() -> None:
    assert b"t.a.b" == SubjectTransform("", "t.>").apply(b"a.b")


def test_everything_to_everything_changes_nothing() -> None:
    assert b"a..b" == SubjectTransform(">", ">").apply(b"a..b")


def test_random_numbers_stay_below_their_end_and_differ() -> None:
    transform = SubjectTransform("a", "r.{{random(3)}}")

    assert {b"r.0", b"r.1", b"r.2"} == {transform.apply(b"a") for _ in range(1000)}


@pytest.mark.parametrize(
    ("destination", "problem"),
    [("b.$1.{{left(2,1)}}", "no function but wildcard"), ("b.$1", "does not use each")],
)
def test_a_strict_one_can_be_reversed_or_is_refused(destination: str, problem: str) -> None:
    with pytest.raises(BadTransform, match=problem):
        SubjectTransform("a.*.*", destination, strict=True)


@given(
    tokens=st.lists(st.sampled_from(["x", "yy", "*"]), min_size=1, max_size=5),
    random=st.randoms(),
    rest=st.booleans(),
)
def test_the_way_back_leads_back(tokens: list[str], random: object, *, rest: bool) -> None:
    count = tokens.count("*")
    marks = [f"${at}" for at in range(1, count + 1)]
    random.shuffle(marks)  # type: ignore[attr-defined]
    tail = [">"] if rest else []
    transform = SubjectTransform(
        ".".join([*tokens, *tail]), ".".join(["to", *marks, *tail]), strict=True
    )
    subject = ".".join(
        [f"w{at}" if token == "*" else token for at, token in enumerate(tokens)]
        + (["r", "s"] if rest else [])
    ).encode()
    there = transform.apply(subject)

    assert there is not None
    assert subject == transform.reversed().apply(there)


# ---- the model -----------------------------------------------------------------------------------


def _partition(text: str, count: int) -> str:
    hashed = 2166136261
    for byte in text.encode():
        hashed = (hashed ^ byte) * 16777619 % 2**32
    return str(hashed % (count % 2**32)) if count else "0"


def _cut(function: Function, token: str, number: int) -> str:
    if not 0 < number < len(token):
        return token
    if function is Function.SPLIT_FROM_LEFT:
        return f"{token[:number]}.{token[number:]}"
    if function is Function.SPLIT_FROM_RIGHT:
        return f"{token[:-number]}.{token[-number:]}"
    if function is Function.LEFT:
        return token[:number]
    if function is Function.RIGHT:
        return token[-number:]
    first = len(token) % number if function is Function.SLICE_FROM_RIGHT else 0
    slices = [token[:first]] if first else []
    slices += [token[at : at + number] for at in range(first, len(token), number)]
    return ".".join(slices)


def _split(token: str, separator: str) -> str:
    parts = token.split(separator)
    made = ""
    for at, part in enumerate(parts):
        made += part
        if at + 1 < len(parts) and parts[at + 1] and not (at == 0 and not part):
            made += "."
    return made


def _modelled(source: str, steps: list[tuple[Function, int, int | str]], subject: str) -> str:
    tokens = subject.split(".")
    stars = [at for at, token in enumerate(source.split(".")) if token == "*"]
    made = []
    for function, wildcard, argument in steps:
        token = tokens[stars[wildcard - 1]]
        if function is Function.PARTITION:
            made.append(_partition(token, int(argument)))
        elif function is Function.SPLIT:
            made.append(_split(token, str(argument)))
        elif function is Function.WILDCARD:
            made.append(token)
        else:
            made.append(_cut(function, token, int(argument)))
    rest = tokens[len(source.split(".")) - 1 :] if source.endswith(">") else []
    return ".".join([*made, *rest])


def _written(function: Function, wildcard: int, argument: int | str) -> str:
    first, *others = function.name.lower().split("_")
    name = first + "".join(word.capitalize() for word in others)
    if function is Function.PARTITION:
        return f"{{{{{name}({argument},{wildcard})}}}}"
    if function is Function.WILDCARD:
        return f"${wildcard}"
    return f"{{{{{name}({wildcard},{argument})}}}}"


CUTS = [
    Function.SPLIT_FROM_LEFT,
    Function.SPLIT_FROM_RIGHT,
    Function.SLICE_FROM_LEFT,
    Function.SLICE_FROM_RIGHT,
    Function.LEFT,
    Function.RIGHT,
    Function.PARTITION,
]
STEPS = st.one_of(
    st.tuples(st.sampled_from(CUTS), st.integers(1, 3), st.integers(-2, 9)),
    st.tuples(st.just(Function.WILDCARD), st.integers(1, 3), st.just(0)),
    st.tuples(st.just(Function.SPLIT), st.integers(1, 3), st.sampled_from(["-", "--", "a"])),
)
WORDS = st.text("ab-", min_size=1, max_size=9)


@given(
    steps=st.lists(STEPS, min_size=1, max_size=4),
    words=st.tuples(WORDS, WORDS, WORDS),
    rest=st.lists(WORDS, max_size=3),
    open_ended=st.booleans(),
)
def test_subjects_become_what_the_model_says(
    steps: list[tuple[Function, int, int | str]],
    words: tuple[str, str, str],
    rest: list[str],
    *,
    open_ended: bool,
) -> None:
    source = "s.*.x.*.*" + (".>" if open_ended else "")
    destination = ".".join(_written(*step) for step in steps) + (".>" if open_ended else "")
    tail = rest or ["r"] if open_ended else []
    subject = ".".join(["s", words[0], "x", *words[1:], *tail])
    result = SubjectTransform(source, destination).apply(subject.encode())

    assert _modelled(source, steps, subject).encode() == result


@given(st.text(".*>${}()1, abwildcrtpoi", max_size=30), st.text(".*>a", max_size=8))
def test_any_text_is_a_transform_or_refused(destination: str, source: str) -> None:
    try:
        transform = SubjectTransform(source, destination)
    except BadTransform:
        return
    transform.apply(source.replace("*", "a").replace(">", "a").encode())

    assert parse_transform(source, destination).source == transform.source


def test_wildcards_get_their_numbers() -> None:
    assert "a.$1.b.$2.>" == with_numbered_wildcards("a.*.b.*.>")
