"""Queue groups share the work: each message to one member, none left out."""

from __future__ import annotations

COUNT = 2_000


def test_each_message_goes_to_one_member_and_every_member_gets_some(fleet, kind):
    server = fleet.start(kind=kind)
    members = [server.client() for _ in range(4)]
    for member in members:
        member.log_in()
        member.send(b"SUB work.* workers 1\r\n")
        member.flush()
    with server.client() as publisher:
        publisher.log_in()
        publisher.send(b"".join(b"PUB work.%d 4\r\n%04d\r\n" % (n % 7, n) for n in range(COUNT)))
        publisher.flush()
    shares = [[int(operation.body) for operation in member.messages()] for member in members]
    for member in members:
        member.close()

    assert sorted(number for share in shares for number in share) == list(range(COUNT))
    assert all(share == sorted(share) for share in shares)
    assert min(map(len, shares)) > COUNT / len(members) / 2


def test_a_member_that_leaves_gets_nothing_more(fleet, kind):
    server = fleet.start(kind=kind)
    with server.client() as leaver, server.client() as stayer, server.client() as publisher:
        for member in (leaver, stayer):
            member.log_in()
            member.send(b"SUB job q 1\r\n")
            member.flush()
        publisher.log_in()
        leaver.send(b"UNSUB 1\r\n")
        leaver.flush()
        publisher.send(b"PUB job 1\r\nx\r\n" * 100)
        publisher.flush()

        assert leaver.messages() == []
        assert len(stayer.messages()) == 100


def test_a_member_whose_connection_broke_gets_nothing_more(fleet, kind):
    server = fleet.start(kind=kind)
    with server.client() as stayer, server.client() as publisher:
        with server.client() as leaver:
            for member in (leaver, stayer):
                member.log_in()
                member.send(b"SUB job q 1\r\n")
                member.flush()
            leaver.send(b"nonsense\r\n")
            leaver.read_to_end()
        publisher.log_in()
        publisher.send(b"PUB job 1\r\nx\r\n" * 100)
        publisher.flush()

        assert len(stayer.messages()) == 100
