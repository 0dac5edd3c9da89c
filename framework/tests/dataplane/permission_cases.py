"""What clients under rules say and hear; the same lines were said to nats-server 2.15.2."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from framework.dataplane.permissions import Permissions, ResponsePermission, SubjectRules

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Case:
    """A talk of a client under rules (`U`) with one that may do everything (`O`)."""

    name: str
    permissions: Permissions
    talk: str
    """Lines `U> text` and `O> text` are said, `U< text` and `O< text` are heard; `|` is CR LF.

    What is heard is complete: each saying ends with a PING, whose PONG is left out.
    """


def publishing(
    *allow: str, deny: tuple[str, ...] = (), answers: ResponsePermission | None = None
) -> Permissions:
    """Return rules for publishing alone."""
    return Permissions(publish=SubjectRules(allow=allow, deny=deny), responses=answers)


def subscribing(*allow: str, deny: tuple[str, ...] = ()) -> Permissions:
    """Return rules for subscribing alone."""
    return Permissions(subscribe=SubjectRules(allow=allow, deny=deny))


CASES = (
    Case(
        "publish what is allowed",
        publishing("foo", "bar.*", "baz.>"),
        """
        O> SUB > 1
        U> PUB foo 1|x|PUB bar.a 1|x|PUB baz.a.b 1|x
        O< MSG foo 1 1|x|MSG bar.a 1 1|x|MSG baz.a.b 1 1|x
        U> PUB fool 1|x
        U< -ERR 'Permissions Violation for Publish to "fool"'
        U> PUB bar 1|x|PUB bar.a.b 1|x|PUB baz 1|x|PUB Foo 1|x
        U< -ERR 'Permissions Violation for Publish to "bar"'
        U< -ERR 'Permissions Violation for Publish to "bar.a.b"'
        U< -ERR 'Permissions Violation for Publish to "baz"'
        U< -ERR 'Permissions Violation for Publish to "Foo"'
        """,
    ),
    Case(
        "publish all but what is denied",
        publishing(deny=("foo", "bar.*")),
        """
        O> SUB > 1
        U> PUB ok 1|x|PUB ok 1|y|PUB foo 1|x|PUB ok 1|z|PUB bar.a 1|x|PUB bar 1|x
        O< MSG ok 1 1|x|MSG ok 1 1|y|MSG ok 1 1|z|MSG bar 1 1|x
        U< -ERR 'Permissions Violation for Publish to "foo"'
        U< -ERR 'Permissions Violation for Publish to "bar.a"'
        """,
    ),
    Case(
        "what is denied is not allowed, whatever allows it",
        publishing("foo.>", deny=("foo.bar", "foo.*.baz")),
        """
        O> SUB > 1
        U> PUB foo.a 1|x|PUB foo.bar 1|x|PUB foo.bar.a 1|x|PUB foo.a.baz 1|x
        O< MSG foo.a 1 1|x|MSG foo.bar.a 1 1|x
        U< -ERR 'Permissions Violation for Publish to "foo.bar"'
        U< -ERR 'Permissions Violation for Publish to "foo.a.baz"'
        """,
    ),
    Case(
        "the subject of a header message is looked at too",
        publishing("foo"),
        """
        O> SUB > 1
        U> HPUB bar 12 13|NATS/1.0||x|HPUB foo 12 13|NATS/1.0||x
        O< HMSG foo 1 12 13|NATS/1.0||x
        U< -ERR 'Permissions Violation for Publish to "bar"'
        """,
    ),
    Case(
        "a reply subject is nobody's permission",
        publishing("foo"),
        """
        O> SUB > 1
        U> PUB foo bar 1|x
        O< MSG foo 1 bar 1|x
        """,
    ),
    Case(
        "nobody asks for answers where only servers do",
        Permissions(),
        """
        O> SUB > 1
        U> PUB foo _R_.x 1|x|PUB foo $JS.ACK.x 1|x|PUB foo _GR_.x 1|x|PUB foo $GR.x 1|x
        U< -ERR 'Permissions Violation for Publish with Reply of "_R_.x"'
        U< -ERR 'Permissions Violation for Publish with Reply of "$JS.ACK.x"'
        U< -ERR 'Permissions Violation for Publish with Reply of "_GR_.x"'
        U< -ERR 'Permissions Violation for Publish with Reply of "$GR.x"'
        U> PUB foo _R_ 1|x
        O< MSG foo 1 _R_ 1|x
        """,
    ),
    Case(
        "nobody publishes where only gateways do",
        Permissions(),
        """
        O> SUB > 1
        U> PUB _GR_.x 1|x|PUB $GR.x 1|x|PUB _R_.x 1|x|PUB _GR_ 1|x
        U< -ERR 'Permissions Violation for Publish to "_GR_.x"'
        U< -ERR 'Permissions Violation for Publish to "$GR.x"'
        O< MSG _R_.x 1 1|x|MSG _GR_ 1 1|x
        """,
    ),
    Case(
        "a subject is quoted as Go does",
        publishing("foo"),
        r"""
        U> PUB a"b\c 1|x
        U< -ERR 'Permissions Violation for Publish to "a\"b\\c"'
        U> PUB 世界 1|x
        U< -ERR 'Permissions Violation for Publish to "世界"'
        """,
    ),
    Case(
        "a subject with an empty token is not allowed",
        publishing("foo.>"),
        """
        U> PUB foo..a 1|x|PUB foo. 1|x|PUB .foo 1|x
        U< -ERR 'Permissions Violation for Publish to "foo..a"'
        U< -ERR 'Permissions Violation for Publish to "foo."'
        U< -ERR 'Permissions Violation for Publish to ".foo"'
        """,
    ),
    Case(
        "subscribe to what is allowed",
        subscribing("foo", "bar.*", "baz.>"),
        """
        U> SUB foo 1|SUB bar.a 2|SUB bar.* 3|SUB baz.> 4|SUB baz.*.a 5|SUB baz.* 6
        U> SUB bar 8|SUB > 9|SUB * 10|SUB fool 11
        U< -ERR 'Permissions Violation for Subscription to "bar"'
        U< -ERR 'Permissions Violation for Subscription to ">"'
        U< -ERR 'Permissions Violation for Subscription to "*"'
        U< -ERR 'Permissions Violation for Subscription to "fool"'
        O> PUB baz.a.b 1|x
        U< MSG baz.a.b 4 1|x
        """,
    ),
    Case(
        "subscribe to all but what is denied",
        subscribing(deny=("foo", "bar.*")),
        """
        U> SUB foo 1|SUB bar.a 2|SUB bar.* 3|SUB baz 4|SUB bar 5
        U< -ERR 'Permissions Violation for Subscription to "foo"'
        U< -ERR 'Permissions Violation for Subscription to "bar.a"'
        U< -ERR 'Permissions Violation for Subscription to "bar.*"'
        O> PUB foo 1|x|PUB baz 1|x|PUB bar 1|x
        U< MSG baz 4 1|x|MSG bar 5 1|x
        """,
    ),
    Case(
        "a wildcard hears nothing of what is denied",
        subscribing(deny=("foo.bar", "baz.>")),
        """
        U> SUB > 1|SUB foo.* 2
        O> PUB foo.bar 1|x|PUB foo.bar 1|x|PUB foo.bar 1|x|PUB foo.a 1|y|PUB baz.a.b 1|x|PUB baz 1|z
        U< MSG foo.a 1 1|y|MSG foo.a 2 1|y|MSG baz 1 1|z
        """,
    ),
    Case(
        "a wildcard within what is allowed hears nothing of what is denied there",
        subscribing("foo.>", deny=("foo.*.secret",)),
        """
        U> SUB foo.> 1|SUB foo.*.* 2|SUB foo.*.secret 3|SUB foo.a.secret 4
        U< -ERR 'Permissions Violation for Subscription to "foo.*.secret"'
        U< -ERR 'Permissions Violation for Subscription to "foo.a.secret"'
        O> PUB foo.a.secret 1|x|PUB foo.a.open 1|y
        U< MSG foo.a.open 1 1|y|MSG foo.a.open 2 1|y
        """,
    ),
    Case(
        "a request to who may not hear it has no responders",
        subscribing(deny=("foo.bar",)),
        """
        U> SUB foo.* 1
        O> SUB _I 9|PUB foo.bar _I 1|x
        O< HMSG _I 9 39 39|NATS/1.0 503|Nats-Subject: foo.bar||
        """,
    ),
    Case(
        "an allowed subject allows every group of it",
        subscribing("foo"),
        """
        U> SUB foo q 1|SUB foo any 2|SUB bar q 3
        U< -ERR 'Permissions Violation for Subscription to "bar" using queue "q"'
        """,
    ),
    Case(
        "an allowed group allows no other, and no plain subscription",
        subscribing("foo q"),
        """
        U> SUB foo q 1|SUB foo r 2|SUB foo 3
        U< -ERR 'Permissions Violation for Subscription to "foo" using queue "r"'
        U< -ERR 'Permissions Violation for Subscription to "foo"'
        """,
    ),
    Case(
        "an allowed group beside its subject allows plain subscriptions, and no other group",
        subscribing("foo", "foo q"),
        """
        U> SUB foo q 1|SUB foo r 2|SUB foo 3
        U< -ERR 'Permissions Violation for Subscription to "foo" using queue "r"'
        """,
    ),
    Case(
        "groups may be allowed by wildcards",
        subscribing("foo.* v1.*", "bar *.prod", "baz v2.>"),
        """
        U> SUB foo.a v1.a 1|SUB foo.* v1.b 2|SUB foo.a v1.* 5
        U> SUB foo.a v1 3|SUB foo.a v1.a.b 4|SUB foo.a v1.> 6
        U< -ERR 'Permissions Violation for Subscription to "foo.a" using queue "v1"'
        U< -ERR 'Permissions Violation for Subscription to "foo.a" using queue "v1.a.b"'
        U< -ERR 'Permissions Violation for Subscription to "foo.a" using queue "v1.>"'
        U> SUB bar x.prod 11|SUB bar x.dev 12|SUB baz v2.a.b 13|SUB baz v2 14
        U< -ERR 'Permissions Violation for Subscription to "bar" using queue "x.dev"'
        U< -ERR 'Permissions Violation for Subscription to "baz" using queue "v2"'
        """,
    ),
    Case(
        "a denied group is denied alone",
        subscribing(deny=("foo q", "foo *.dev")),
        """
        U> SUB foo q 1|SUB foo r 2|SUB foo 3|SUB foo a.dev 4
        U< -ERR 'Permissions Violation for Subscription to "foo" using queue "q"'
        U< -ERR 'Permissions Violation for Subscription to "foo" using queue "a.dev"'
        """,
    ),
    Case(
        "a denied subject is denied to every group",
        subscribing("foo q", "bar", deny=("bar",)),
        """
        U> SUB bar q 1|SUB bar 2|SUB foo q 3
        U< -ERR 'Permissions Violation for Subscription to "bar" using queue "q"'
        U< -ERR 'Permissions Violation for Subscription to "bar"'
        """,
    ),
    Case(
        "a group with a wildcard hears nothing of what is denied to it",
        subscribing(deny=("foo.a q", "foo.b")),
        """
        U> SUB foo.* q 1|SUB foo.* r 2
        O> PUB foo.a 1|x
        U< MSG foo.a 2 1|x
        U> UNSUB 2|SUB foo.* 3
        O> PUB foo.a 1|x
        U< MSG foo.a 3 1|x
        O> PUB foo.b 1|x
        """,
    ),
    Case(
        "a message that a member may not hear goes to another one",
        subscribing(deny=("foo.a",)),
        """
        U> SUB foo.* q 1
        O> SUB foo.* q 9|PUB foo.a 1|x|PUB foo.a 1|x|PUB foo.a 1|x|PUB foo.a 1|x|PUB foo.a 1|x
        O< MSG foo.a 9 1|x|MSG foo.a 9 1|x|MSG foo.a 9 1|x|MSG foo.a 9 1|x|MSG foo.a 9 1|x
        """,
    ),
    Case(
        "the group of the servers is theirs",
        Permissions(),
        """
        U> SUB foo _sys_ 1
        U< -ERR 'Permissions Violation for Subscription to "foo" using queue "_sys_"'
        """,
    ),
    Case(
        "a subject that is not valid is not allowed, where not all are",
        subscribing("foo.>"),
        """
        U> SUB foo..a 1
        U< -ERR 'Permissions Violation for Subscription to "foo..a"'
        """,
    ),
    Case(
        "who may answer may answer once",
        publishing(answers=ResponsePermission(max_msgs=1)),
        """
        U> SUB svc 1|PUB in.1 1|x
        U< -ERR 'Permissions Violation for Publish to "in.1"'
        O> SUB in.* 9|PUB svc in.1 1|x
        U< MSG svc 1 in.1 1|x
        U> PUB in.1 1|a|PUB in.1 1|b
        O< MSG in.1 9 1|a
        U< -ERR 'Permissions Violation for Publish to "in.1"'
        U> PUB in.2 1|c
        U< -ERR 'Permissions Violation for Publish to "in.2"'
        """,
    ),
    Case(
        "who may answer thrice may answer thrice",
        publishing(answers=ResponsePermission(max_msgs=3)),
        """
        U> SUB svc 1
        O> SUB in.* 9|PUB svc in.1 1|x|PUB svc in.2 1|x
        U< MSG svc 1 in.1 1|x|MSG svc 1 in.2 1|x
        U> PUB in.1 1|a|PUB in.2 1|a|PUB in.1 1|b|PUB in.1 1|c|PUB in.1 1|d|PUB in.2 1|b
        O< MSG in.1 9 1|a|MSG in.2 9 1|a|MSG in.1 9 1|b|MSG in.1 9 1|c|MSG in.2 9 1|b
        U< -ERR 'Permissions Violation for Publish to "in.1"'
        """,
    ),
    Case(
        "who may answer as often as it likes does",
        publishing(answers=ResponsePermission(max_msgs=-1)),
        """
        U> SUB svc 1
        O> SUB in.* 9|PUB svc in.1 1|x
        U< MSG svc 1 in.1 1|x
        U> PUB in.1 1|a|PUB in.1 1|b|PUB in.1 1|c|PUB in.1 1|d
        O< MSG in.1 9 1|a|MSG in.1 9 1|b|MSG in.1 9 1|c|MSG in.1 9 1|d
        """,
    ),
    Case(
        "who may answer may publish what is allowed besides, as often as it likes",
        publishing("in.*", answers=ResponsePermission(max_msgs=1)),
        """
        U> SUB svc 1
        O> SUB in.* 9|PUB svc in.1 1|x
        U< MSG svc 1 in.1 1|x
        U> PUB in.1 1|a|PUB in.1 1|b|PUB out 1|c
        O< MSG in.1 9 1|a|MSG in.1 9 1|b
        U< -ERR 'Permissions Violation for Publish to "out"'
        """,
    ),
    Case(
        "an answer may go where it is denied to publish",
        publishing(deny=("in.*",), answers=ResponsePermission(max_msgs=1)),
        """
        U> SUB svc 1
        O> SUB in.* 9|PUB svc in.1 1|x
        U< MSG svc 1 in.1 1|x
        U> PUB in.1 1|a|PUB in.1 1|b|PUB out 1|c
        O< MSG in.1 9 1|a
        U< -ERR 'Permissions Violation for Publish to "in.1"'
        U< -ERR 'Permissions Violation for Publish to "out"'
        """,
    ),
    Case(
        "an answer with headers is one",
        publishing(answers=ResponsePermission(max_msgs=1)),
        """
        U> SUB svc 1
        O> SUB in.* 9|HPUB svc in.1 12 13|NATS/1.0||x
        U< HMSG svc 1 in.1 12 13|NATS/1.0||x
        U> HPUB in.1 12 13|NATS/1.0||a|PUB in.1 1|b
        O< HMSG in.1 9 12 13|NATS/1.0||a
        U< -ERR 'Permissions Violation for Publish to "in.1"'
        """,
    ),
    Case(
        "both directions have rules of their own",
        Permissions(
            publish=SubjectRules(allow=("out.>",)), subscribe=SubjectRules(allow=("in.>",))
        ),
        """
        O> SUB out.> 9
        U> SUB in.a 1|SUB out.a 2|PUB out.a 1|x|PUB in.a 1|x
        U< -ERR 'Permissions Violation for Subscription to "out.a"'
        U< -ERR 'Permissions Violation for Publish to "in.a"'
        O< MSG out.a 9 1|x
        """,
    ),
)


def parse_talk(talk: str) -> Iterator[tuple[str, bytes, dict[str, bytes]]]:
    """Yield each saying of a case: who says it, what, and what both hear of it."""
    for who, said, heard in re.findall(
        r"^ *([UO])> (.*)\n((?: *[UO]< .*\n)*)", talk, flags=re.MULTILINE
    ):
        hears = {"U": b"", "O": b""}
        for hearer, line in re.findall(r"([UO])< (.*)", heard):
            hears[hearer] += line.replace("|", "\r\n").encode() + b"\r\n"
        yield who, said.replace("|", "\r\n").encode() + b"\r\n", hears
