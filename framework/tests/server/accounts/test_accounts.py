"""The book of accounts: who is there, what each imports, and what the plane is told."""

from __future__ import annotations

from typing import Any

import pytest
from structlog.testing import CapturingLogger

from framework.dataplane.tables import AccountTables, ServiceImportRow, StreamImportRow
from framework.server.accounts.accounts import Accounts
from framework.spec import (
    ALL_TIERS,
    GLOBAL_ACCOUNT,
    SYSTEM_ACCOUNT,
    AccountPlan,
    AccountSpec,
    JetStreamLimits,
    LatencySampling,
    MappedDestination,
    ResponseKind,
    ServiceExport,
    ServiceImport,
    StreamExport,
    StreamImport,
    SubjectMapping,
)
from framework.sublist import BadTransform


class Book:
    """Accounts without a system account, unless a test brings it, and a plane that remembers."""

    def __init__(self, plane: Any) -> None:
        self.plane = plane
        self.log = CapturingLogger()
        self.heard: list[list[str]] = []
        self.back: list[tuple[str, int]] = []
        self.accounts = Accounts(
            plane,
            log=self.log,  # type: ignore[arg-type]
            changed=lambda names: self.heard.append(list(names)),
            came_back=lambda name, index: self.back.append((name, index)),
        )
        self.heard.clear()

    def put(self, *specs: AccountSpec) -> None:
        self.plane.calls.clear()
        self.accounts.put(specs)

    def told(self) -> dict[str, AccountTables]:
        """Return the tables that the plane was told of since the last `put`."""
        sent = [arguments for arguments, _ in self.plane.named("set_account_tables")]
        return {self.accounts.name(index): tables for index, tables in sent}

    def complaints(self) -> list[tuple[str, str, str]]:
        return [
            (it.kwargs["account"], it.kwargs["exporter"], it.kwargs["detail"])
            for it in self.log.calls
        ]


@pytest.fixture
def book(plane: Any) -> Book:
    return Book(plane)


def test_an_account_is_fetched_only_where_that_can_be_and_while_it_is_not_known(
    book: Book,
) -> None:
    asked: list[str] = []

    def resolve(name: str) -> Any:
        asked.append(name)

    book.accounts.fetch("B")
    book.accounts.replace(AccountPlan(accounts=(AccountSpec(name="A"),), resolve=resolve))
    for name in ("A", "B"):
        book.accounts.fetch(name)
    book.accounts.replace(None)
    book.accounts.fetch("C")

    assert asked == ["B"]


def importer(name: str = "I", subject: str = "s.*", **changes: Any) -> AccountSpec:
    return AccountSpec(
        name=name,
        stream_imports=(StreamImport(account="E", subject=subject, to="in.*", **changes),),
    )


def exporter(**changes: Any) -> AccountSpec:
    return AccountSpec(name="E", stream_exports=(StreamExport(subject="s.>", **changes),))


def test_an_account_keeps_its_number_while_the_server_runs(book: Book) -> None:
    book.put(AccountSpec(name="A"))
    first = book.accounts.index("A")
    book.accounts.remove(["A"])

    assert book.accounts.get("A") is None
    with pytest.raises(KeyError):
        book.accounts.index("A")
    assert book.plane.named("remove_account") == [((first,), {})]
    assert book.accounts.name(first) == "A"
    book.put(AccountSpec(name="A"))
    assert book.accounts.index("A") == first


def test_an_account_that_comes_again_is_put_in_service_again(book: Book) -> None:
    book.put(AccountSpec(name="A"), AccountSpec(name="B"))
    book.accounts.remove(["A"])
    book.put(AccountSpec(name="A"))
    again = book.plane.named("add_account")
    book.put(AccountSpec(name="A", tags=("x",)))

    assert again == [((b"A",), {})]
    assert book.plane.named("add_account") == []


def test_without_a_plan_there_are_the_global_and_the_system_account(book: Book) -> None:
    book.accounts.replace(None)

    assert book.accounts.names() == (GLOBAL_ACCOUNT, SYSTEM_ACCOUNT)
    assert book.accounts.system_account == SYSTEM_ACCOUNT
    assert book.accounts.index(GLOBAL_ACCOUNT) == 0


def test_a_plan_takes_the_place_of_another(book: Book) -> None:
    a, b, c = (AccountSpec(name=name) for name in "ABC")
    book.accounts.replace(AccountPlan(accounts=(a, b), system_account="A"))
    book.accounts.replace(AccountPlan(accounts=(b, c), system_account="C"))

    assert set(book.accounts.names()) == {GLOBAL_ACCOUNT, "B", "C"}
    assert book.heard == [["A", "B"], ["C", "A"]]
    assert book.told()["B"].service_imports[0].account == book.accounts.index("C")


def test_accounts_that_were_fetched_outlive_a_plan_that_can_fetch(book: Book) -> None:
    plan = AccountPlan(accounts=(), system_account="", resolve=lambda name: name)  # type: ignore[arg-type,return-value]
    book.put(AccountSpec(name="fetched"))
    book.accounts.replace(plan)

    assert set(book.accounts.names()) == {GLOBAL_ACCOUNT, "fetched"}


def test_the_global_and_the_system_account_are_never_gone(book: Book) -> None:
    book.accounts.replace(None)
    mapping = SubjectMapping(source="a", destinations=(MappedDestination(subject="b"),))
    book.put(AccountSpec(name=GLOBAL_ACCOUNT, mappings=(mapping,)))
    book.accounts.remove([GLOBAL_ACCOUNT, SYSTEM_ACCOUNT, "nobody"])

    assert book.accounts.names() == (GLOBAL_ACCOUNT, SYSTEM_ACCOUNT)
    assert book.accounts.get(GLOBAL_ACCOUNT) == AccountSpec(name=GLOBAL_ACCOUNT)
    assert book.plane.named("remove_account") == []


def test_what_is_put_as_it_was_changes_nothing(book: Book) -> None:
    book.put(exporter(), importer())
    book.heard.clear()
    book.put(exporter(), importer())

    assert book.plane.calls == []
    assert book.heard == []


def test_a_stream_that_is_exported_to_everybody_can_be_imported(book: Book) -> None:
    book.put(exporter(), importer(allow_trace=True))

    imported = StreamImportRow(
        account=book.accounts.index("E"), subject="s.*", to="in.*", allow_trace=True
    )
    assert book.told() == {"I": AccountTables(stream_imports=(imported,))}
    assert book.complaints() == []


def test_an_import_comes_alive_when_its_exporter_comes_and_ends_with_it(book: Book) -> None:
    book.put(importer())
    book.put(AccountSpec(name="other"))
    assert book.told() == {}
    assert book.complaints() == [("I", "E", "that account is not known")]

    book.put(exporter())
    assert [imported.to for imported in book.told()["I"].stream_imports] == ["in.*"]
    assert book.accounts.invalid_imports("I") == ()

    book.plane.calls.clear()
    book.accounts.remove(["E"])
    assert book.told()["I"] == AccountTables()
    assert len(book.complaints()) == 2


@pytest.mark.parametrize(
    ("export", "subject", "activated_s", "problem"),
    [
        ({}, "x.*", None, "that account does not export it"),
        ({}, ">", None, "that account does not export it"),
        ({"accounts": ("I",)}, "s.*", None, ""),
        ({"accounts": ("J",)}, "s.*", None, "that account does not export it to this one"),
        ({"account_token_position": 2}, "s.I", None, ""),
        ({"account_token_position": 2}, "s.J", None, "that account does not export it to this one"),
        ({"account_token_position": 3}, "s.I", None, "that account does not export it to this one"),
        ({"token_required": True}, "s.*", 9.0, ""),
        (
            {"token_required": True},
            "s.*",
            None,
            "that account has signed no activation for this one",
        ),
        ({"token_required": True, "revoked": (("I", 8), ("J", 10))}, "s.*", 9.0, ""),
        (
            {"token_required": True, "revoked": (("I", 9),)},
            "s.*",
            9.0,
            "that account has revoked the activation of this one",
        ),
        (
            {"token_required": True, "revoked": (("*", 9),)},
            "s.*",
            9.0,
            "that account has revoked the activation of this one",
        ),
    ],
)
def test_an_exporter_says_who_may_import(
    book: Book, export: dict[str, Any], subject: str, activated_s: float | None, problem: str
) -> None:
    book.put(exporter(**export), importer(subject=subject, activated_s=activated_s))

    assert book.complaints() == ([("I", "E", problem)] if problem else [])
    assert bool(book.told()) is not bool(problem)


def test_a_service_is_imported_with_what_its_export_says(book: Book) -> None:
    export = ServiceExport(
        subject="svc.*",
        response=ResponseKind.CHUNKED,
        threshold_s=3.0,
        latency=LatencySampling(subject="lat", percent=40),
        allow_trace=True,
    )
    taken = ServiceImport(account="E", subject="svc.one", to="mine", share=True)
    book.put(
        AccountSpec(name="E", service_exports=(export,)),
        AccountSpec(name="I", service_imports=(taken,)),
    )

    (imported,) = book.told()["I"].service_imports
    assert imported == ServiceImportRow(
        account=book.accounts.index("E"),
        subject="svc.one",
        to="mine",
        response=ResponseKind.CHUNKED,
        threshold_s=3.0,
        share=True,
        latency=imported.latency,
        latency_percent=40,
        allow_trace=True,
    )
    assert book.accounts.sampled.service_of(imported.latency) == ("E", "svc.*")
    book.accounts.remove(["E"])
    assert book.accounts.sampled.service_of(imported.latency) is None


def test_a_service_has_two_minutes_to_answer_unless_it_says_otherwise(book: Book) -> None:
    book.put(
        AccountSpec(name="E", service_exports=(ServiceExport(subject="svc"),)),
        AccountSpec(name="I", service_imports=(ServiceImport(account="E", subject="svc", to="s"),)),
    )

    (imported,) = book.told()["I"].service_imports
    assert (imported.threshold_s, imported.latency) == (120.0, 0)


def test_every_account_gets_the_services_of_the_system_account(book: Book) -> None:
    book.accounts.replace(None)
    book.put(AccountSpec(name="A"))

    imports = {it.to: (it.account, it.subject, it.share) for it in book.told()["A"].service_imports}
    system = book.accounts.index(SYSTEM_ACCOUNT)
    assert imports == {
        "$SYS.REQ.USER.INFO": (system, "$SYS.REQ.USER.A.INFO", True),
        "$SYS.REQ.ACCOUNT.PING.CONNZ": (system, "$SYS.REQ.ACCOUNT.A.CONNZ", False),
        "$SYS.REQ.SERVER.PING.CONNZ": (system, "$SYS.REQ.ACCOUNT.A.CONNZ", False),
        "$SYS.REQ.ACCOUNT.PING.STATZ": (system, "$SYS.REQ.ACCOUNT.A.STATZ", False),
    }


API = "$JS.API.>"


def reaches_jetstream(book: Book, name: str) -> bool:
    return API in {it.to for it in book.accounts.system_imports(name)}


def test_without_other_servers_there_is_no_jetstream_to_reach(book: Book) -> None:
    book.accounts.replace(None)
    book.put(AccountSpec(name="A", jetstream={ALL_TIERS: JetStreamLimits()}))

    assert not any(reaches_jetstream(book, name) for name in ("A", GLOBAL_ACCOUNT))
    assert API not in {it.subject for it in book.accounts.system_exports()}


def test_accounts_that_may_use_jetstream_reach_that_of_other_servers(book: Book) -> None:
    book.accounts.join_cluster()
    book.accounts.replace(None)
    limits = {ALL_TIERS: JetStreamLimits()}
    book.put(AccountSpec(name="A", jetstream=limits), AccountSpec(name="B"))

    assert ["A"] == [name for name in "AB" if reaches_jetstream(book, name)]
    assert API in {it.subject for it in book.accounts.system_exports()}
    (row,) = (it for it in book.told()["A"].service_imports if it.to == API)
    assert (book.accounts.index(SYSTEM_ACCOUNT), API, True) == (row.account, row.subject, row.share)


def test_all_accounts_reach_the_jetstream_of_their_own_server_also_by_its_domain(
    book: Book,
) -> None:
    before = book.accounts.jetstream_domain
    book.accounts.offer_jetstream("hub")
    book.accounts.replace(None)
    mine = SubjectMapping(
        source="$JS.hub.API.INFO", destinations=(MappedDestination(subject="x", weight=100),)
    )
    limits = {ALL_TIERS: JetStreamLimits(max_streams=1)}
    book.put(AccountSpec(name="A", jetstream=limits), AccountSpec(name="B", mappings=(mine,)))
    mapped = {it.source: it.destinations[0].subject for it in book.told()["A"].mappings}
    may = {name: book.accounts.jetstream_limits(name) for name in ("$G", "A", "B", "no")}

    assert (None, "hub") == (before, book.accounts.jetstream_domain)
    assert all(reaches_jetstream(book, name) for name in ("$G", "A", "B"))
    assert not reaches_jetstream(book, SYSTEM_ACCOUNT)
    assert {"$G": None, "A": limits, "B": None, "no": None} == may
    assert "$JS.API.STREAM.>" == mapped["$JS.hub.API.STREAM.>"]
    assert "$KV.>" == mapped["$JS.hub.API.$KV.>"]
    assert mine in book.told()["B"].mappings
    assert [mine.source] == [
        it.source for it in book.told()["B"].mappings if it.source == mine.source
    ]


def test_the_global_account_reaches_jetstream_where_it_is_the_only_one(book: Book) -> None:
    book.accounts.join_cluster()
    book.accounts.replace(None)
    before = reaches_jetstream(book, GLOBAL_ACCOUNT)
    book.put(AccountSpec(name="A"))
    (told,) = {it.to for it in book.told()[GLOBAL_ACCOUNT].service_imports} & {API} or {""}
    book.accounts.remove(["A"])

    assert before
    assert "" == told
    assert reaches_jetstream(book, GLOBAL_ACCOUNT)


def test_the_system_account_tells_its_users_who_they_are(book: Book) -> None:
    book.accounts.replace(None)

    (imported,) = book.told()[SYSTEM_ACCOUNT].service_imports
    assert (imported.to, imported.subject) == ("$SYS.REQ.USER.INFO", "$SYS.REQ.USER.$SYS.INFO")


def test_an_account_that_imports_a_system_service_itself_has_its_own_way(book: Book) -> None:
    book.accounts.replace(None)
    own = ServiceImport(
        account=SYSTEM_ACCOUNT, subject="$SYS.REQ.ACCOUNT.A.CONNZ", to="$SYS.REQ.SERVER.PING.CONNZ"
    )
    foreign = ServiceImport(account=SYSTEM_ACCOUNT, subject="$SYS.REQ.ACCOUNT.B.CONNZ", to="b")
    book.put(AccountSpec(name="A", service_imports=(own, foreign)))

    imports = [it.to for it in book.told()["A"].service_imports]
    assert imports.count("$SYS.REQ.SERVER.PING.CONNZ") == 1
    assert "b" not in imports
    assert book.complaints() == [
        ("A", SYSTEM_ACCOUNT, "that account does not export it to this one")
    ]


def test_a_name_that_cannot_stand_in_a_subject_has_no_system_services(book: Book) -> None:
    book.accounts.replace(None)
    book.put(AccountSpec(name="two words"))

    assert book.told() == {}


def service_ring(*names: str) -> list[AccountSpec]:
    """Return accounts of which each imports the service of the next, and the last of the first."""
    return [
        AccountSpec(
            name=name,
            service_exports=(ServiceExport(subject="q"),),
            service_imports=(ServiceImport(account=following, subject="q", to="q"),),
        )
        for name, following in zip(names, (*names[1:], names[0]), strict=True)
    ]


@pytest.mark.parametrize("names", ["A", "AB", "ABCD"])
def test_services_that_lead_in_a_circle_do_nothing_until_it_is_broken(
    book: Book, names: str
) -> None:
    ring = service_ring(*names)
    book.put(*ring)
    assert book.told() == {}
    assert [it[2] for it in book.complaints()] == ["it leads back to this account"] * len(names)

    book.put(AccountSpec(name="A", service_exports=(ServiceExport(subject="q"),)))
    assert set(book.told()) == set(names) - {"A"}


def test_streams_that_lead_in_a_circle_do_nothing(book: Book) -> None:
    book.put(
        *(
            AccountSpec(
                name=name,
                stream_exports=(StreamExport(subject=">"),),
                stream_imports=(StreamImport(account=other, subject="s.>", to="s.>"),),
            )
            for name, other in (("A", "B"), ("B", "A"))
        )
    )

    assert book.told() == {}


def test_accounts_that_serve_each_other_on_other_subjects_are_no_circle(book: Book) -> None:
    book.put(
        *(
            AccountSpec(
                name=name,
                service_exports=(ServiceExport(subject=f"of.{name}"),),
                service_imports=(
                    ServiceImport(account=other, subject=f"of.{other}", to=f"to.{other}"),
                ),
            )
            for name, other in (("A", "B"), ("B", "A"))
        )
    )

    assert set(book.told()) == {"A", "B"}


def test_tables_that_cannot_be_followed_do_nothing_and_are_complained_of(book: Book) -> None:
    def refuse(account: int, tables: AccountTables) -> None:
        book.plane.calls.append(("set_account_tables", (account, tables), {}))
        if tables.mappings:
            raise BadTransform("no subject")

    book.plane.set_account_tables = refuse
    book.accounts.replace(None)
    mapping = SubjectMapping(source="a..", destinations=(MappedDestination(subject="b"),))
    book.put(AccountSpec(name="A", mappings=(mapping,)))

    tables = book.told()["A"]
    assert tables.mappings == ()
    assert len(tables.service_imports) == 4
    (line,) = book.log.calls
    assert (line.method_name, line.kwargs) == ("error", {"account": "A", "detail": "no subject"})


def test_an_account_that_comes_back_is_the_planes_again(book: Book) -> None:
    book.put(AccountSpec(name="A"))
    book.accounts.remove(["A"])
    assert book.back == []

    book.put(AccountSpec(name="A"))
    book.accounts.put([AccountSpec(name="A", tags=("changed",))])

    assert book.plane.named("add_account") == [((b"A",), {})]
    assert book.back == [("A", book.accounts.index("A"))]
