"""Mirrors and sources beside the real server: the same refusals, messages, states and reports."""

from __future__ import annotations

import random

import pytest

from plugins.jetstream.tests.interop import shared_clusters as shared

pytestmark = pytest.mark.interop

SEEDS = 12
SHOWN = ("messages", "first_seq", "last_seq", "num_subjects", "num_deleted", "deleted", "subjects")


def until(user, name, is_there):
    """Ask for a stream until it is as wanted; return its INFO."""

    def wanted():
        info = user.api(f"STREAM.INFO.{name}", {"deleted_details": True, "subjects_filter": ">"})
        return info if "error" not in info and is_there(info) else None

    return shared.until(wanted)


def caught_up(user, name, origin):
    """Wait until a mirror has all that its origin has."""
    last = user.api(f"STREAM.INFO.{origin}")["state"]["last_seq"]
    return until(user, name, lambda it: it["state"]["last_seq"] >= last)


def create(user, name, **config):
    """Make a stream, and return its answer."""
    made = user.api(f"STREAM.CREATE.{name}", {"name": name, **config})
    assert "error" not in made, made
    return made


def contents(user, name):
    """Return all messages, as the API shows them."""
    state = user.api(f"STREAM.INFO.{name}")["state"]
    found = [
        user.api(f"STREAM.MSG.GET.{name}", {"seq": seq}).get("message")
        for seq in range(max(state["first_seq"], 1), state["last_seq"] + 1)
    ]
    return [it for it in found if it]


def shown(info):
    return {name: info["state"].get(name) for name in SHOWN}


CONFIGS = [
    {"mirror": {"name": "O"}, "subjects": ["m"]},
    {"mirror": {"name": "O"}, "sources": [{"name": "O"}]},
    {"mirror": {"name": "O"}, "first_seq": 5},
    {"mirror": {"name": "a.b"}},
    {"mirror": {"name": ""}},
    {"mirror": {"name": "O"}, "max_msg_size": 10},
    {"mirror": {"name": "M"}},
    {"mirror": {"name": "O", "filter_subject": "o.a", "subject_transforms": [{"src": "o"}]}},
    {"mirror": {"name": "O", "subject_transforms": [{"src": "o..a", "dest": "x"}]}},
    {"mirror": {"name": "O", "subject_transforms": [{"src": "o.*"}, {"src": "o.a"}]}},
    {"mirror": {"name": "O"}, "subject_delete_marker_ttl": 10**9},
    {"mirror": {"name": "O", "consumer": {"name": "", "deliver_subject": "d"}}},
    {"mirror": {"name": "O", "consumer": {"name": "C", "deliver_subject": "d.*"}}},
    {"mirror": {"name": "O", "external": {"api": "$JS.API", "deliver": ""}}},
    {"mirror": {"name": "O", "external": {"api": "$JS.*.API", "deliver": ""}}},
    {"mirror": {"name": "O", "external": {"api": "$JS.x.API", "deliver": "a.*"}}},
    {"mirror_direct": True, "subjects": ["m"]},
    {"sources": [{"name": "O"}, {"name": "O"}]},
    {"sources": [{"name": ""}]},
    {"sources": [{"name": "O"}], "max_msg_size": 10},
    {"sources": [{"name": "O", "filter_subject": "o.a", "subject_transforms": [{"src": "o"}]}]},
    {"sources": [{"name": "O", "subject_transforms": [{"src": "o.a"}, {"src": "o.*"}]}]},
    {"sources": [{"name": "M"}], "subjects": ["m"]},
    {"sources": [{"name": "O", "consumer": {"name": "C"}}]},
    {"sources": [{"name": "O", "wrong": 1}]},
]


@pytest.mark.parametrize("config", CONFIGS, ids=lambda it: str(it)[:60])
def test_what_makes_no_sense_is_refused_in_the_same_words(pair, config):
    told = []
    for user in pair:
        create(user, "O", subjects=["o.*"], storage="memory", max_msg_size=100)
        made = user.api("STREAM.CREATE.M", {"name": "M", "storage": "memory", **config})
        told.append(made.get("error"))

    assert told[0] == told[1]


@pytest.mark.parametrize("storage", ["file", "memory"])
def test_a_mirror_has_the_sequences_times_and_holes_of_its_origin(pair, storage):
    told = []
    for user in pair:
        create(user, "O", subjects=["o.*"], allow_direct=True)
        for number in range(12):
            headers = [("Nats-Expected-Last-Sequence", str(number)), ("A", "b")][number % 2 :]
            user.ask(f"o.{number % 3}", b"%d" % number, headers if number % 4 else ())
        for seq in (1, 2, 5, 9, 12):
            user.api("STREAM.MSG.DELETE.O", {"seq": seq})
        made = create(user, "M", mirror={"name": "O"}, storage=storage)
        assert made["config"]["mirror_direct"] is True
        # The last one is gone: the mirror hears of it with the next one.
        until(user, "M", lambda it: it["state"]["last_seq"] == 11)
        user.ask("o.1", b"later")
        info = caught_up(user, "M", "O")
        origin = {it["seq"]: it for it in contents(user, "O")}
        mirrored = contents(user, "M")
        assert [it["time"] for it in mirrored] == [origin[it["seq"]]["time"] for it in mirrored]
        assert [it.get("data") for it in mirrored] == [it.get("data") for it in origin.values()]
        said = {name: info["mirror"].get(name) for name in ("name", "lag", "error", "external")}
        told.append((
            [{**it, "time": ""} for it in mirrored],
            shown(info),
            said,
            {**made["mirror"], "active": 0},
            made["config"],
        ))

    assert told[0] == told[1]


def test_nobody_publishes_to_a_mirror_and_direct_gets_are_answered_by_it(pair):
    told = []
    for user in pair:
        create(user, "O", subjects=["o.*"], allow_direct=True, max_msgs=2)
        create(user, "M", mirror={"name": "O"})
        until(user, "M", lambda it: it["mirror"]["active"] >= 0)
        for number in range(6):
            user.ask("o.a", b"%d" % number)
            caught_up(user, "M", "O")
        caught_up(user, "M", "O")
        header, body = user.ask("$JS.API.DIRECT.GET.M", {"seq": 6})
        kept = len(contents(user, "M"))
        told.append((body, header.split(b"\r\n")[1:4], kept))

    assert told[0] == told[1]
    assert told[0][2] == 6


def test_a_mirror_is_promoted_and_goes_on_by_itself(pair):
    told = []
    for user in pair:
        create(user, "O", subjects=["o.*"])
        user.ask("o.a", b"1")
        create(user, "M", mirror={"name": "O"})
        info = caught_up(user, "M", "O")
        other = {**info["config"], "mirror": {"name": "X"}}
        refused = user.api("STREAM.UPDATE.M", other)["error"]
        own = {**info["config"], "mirror": None, "subjects": ["m.*"]}
        own.pop("mirror")
        promoted = user.api("STREAM.UPDATE.M", own)
        assert "mirror" not in promoted
        acked = user.ask("m.a", b"2")[1]
        user.ask("o.b", b"not for it")
        data = [it["data"] for it in contents(user, "M")]
        told.append((refused, promoted["config"], acked, data))

    assert told[0] == told[1]


def test_sources_are_filtered_and_transformed_and_say_where_they_come_from(pair):
    sources = [
        {"name": "A", "filter_subject": "a.1"},
        {"name": "B", "subject_transforms": [{"src": "b.*", "dest": "from.b.$1"}]},
        {
            "name": "C",
            "subject_transforms": [{"src": "c.1", "dest": "one"}, {"src": "c.2.>", "dest": ""}],
        },
    ]
    told = []
    for user in pair:
        for name in "ABC":
            create(user, name, subjects=[f"{name.lower()}.>"])
        for number in range(9):
            name = "abc"[number % 3]
            user.ask(f"{name}.{number // 3}", b"%d" % number, [("X", "y")] if number % 2 else ())
        user.ask("c.2.x", b"deep", [("Nats-Stream-Source", "no")])
        user.ask("c.2.x", b"deep")
        made = create(user, "S", sources=sources, subjects=["s"])
        info = until(user, "S", lambda it: it["state"]["messages"] >= 6)
        user.ask("s", b"own")
        info = until(user, "S", lambda it: it["state"]["messages"] >= 7)
        rows = sorted(
            (it["subject"], it.get("hdrs", "")[:30], it.get("data", ""))
            for it in contents(user, "S")
        )
        names = ("name", "lag", "seq", "filter_subject", "subject_transforms")
        said = sorted(str([it.get(name) for name in names]) for it in info["sources"])
        told.append((rows, said, made["config"], made["config"].get("duplicate_window")))

    assert told[0] == told[1]


def test_ids_count_at_sources_and_expectations_do_not(pair):
    told = []
    for user in pair:
        create(user, "O", subjects=["o"])
        for number in (1, 2, 1, 3):
            user.ask("o", b"%d" % number, [("Nats-Msg-Id", str(number))])
        user.ask("o", b"4", [("Nats-Expected-Stream", "O"), ("Nats-Expected-Last-Msg-Id", "3")])
        create(user, "S", sources=[{"name": "O"}], duplicate_window=10**11)
        create(user, "T", sources=[{"name": "S"}])
        until(user, "T", lambda it: it["state"]["messages"] == 4)
        told.append([(it["subject"], it["data"]) for it in contents(user, "T")])

    assert told[0] == told[1]


def test_a_source_begins_where_it_is_told(pair):
    told = []
    for user in pair:
        create(user, "O", subjects=["o"])
        for number in range(8):
            user.ask("o", b"%d" % number)
        time = contents(user, "O")[5]["time"]
        create(user, "M", mirror={"name": "O", "opt_start_seq": 4})
        create(user, "N", mirror={"name": "O", "opt_start_time": time})
        create(user, "S", sources=[{"name": "O", "opt_start_seq": 7}])
        create(user, "T", sources=[{"name": "O", "opt_start_time": time}])
        found = []
        for name, count in (("M", 5), ("N", 3), ("S", 2), ("T", 3)):
            info = until(user, name, lambda it, n=count: it["state"]["messages"] >= n)
            found.append((shown(info), [it["data"] for it in contents(user, name)]))
        told.append(found)

    assert told[0] == told[1]


def test_an_origin_that_is_not_there_is_reported(pair):
    told = []
    for user in pair:
        create(user, "M", mirror={"name": "O"})
        create(user, "S", sources=[{"name": "P"}])
        mirror = until(user, "M", lambda it: it["mirror"].get("error"))["mirror"]
        [source] = until(user, "S", lambda it: it["sources"][0].get("error"))["sources"]
        told.append((mirror, source))

    assert told[0] == told[1]


def test_the_cli_reports_both(pair, nats_cli, both):
    user = pair[0]
    create(user, "O", subjects=["o"])
    create(user, "M", mirror={"name": "O"})
    create(user, "S", sources=[{"name": "O"}])
    user.ask("o", b"x")
    caught_up(user, "M", "O")
    until(user, "S", lambda it: it["state"]["messages"] == 1)
    url = both.servers[0].url
    report = nats_cli.run(url, "stream", "report")
    info = nats_cli.run(url, "stream", "info", "M")

    assert "Replication Report" in report
    assert "Mirror Information" in info
    assert "Stream Name: O" in info


@pytest.mark.parametrize("seed", range(SEEDS))
def test_seeds_find_no_difference(pair, seed):
    told = []
    for user in pair:
        rng = random.Random(seed)
        create(user, "O", subjects=["o.*"], storage=rng.choice(["file", "memory"]))
        wanted = [{"name": "O"}, {"name": "O", "filter_subject": "o.1"}]
        transforms = [{"src": "o.*", "dest": "t.$1"}]
        wanted.append({"name": "O", "subject_transforms": transforms})
        more = rng.choice([{}, {"max_msgs": 7}, {"max_msgs_per_subject": 1}])
        create(user, "M", mirror=rng.choice(wanted), storage=rng.choice(["file", "memory"]), **more)
        create(user, "S", sources=[rng.choice(wanted)], **more)
        for step in range(40):
            chance = rng.random()
            if chance < 0.8:
                headers = rng.choice([(), [("A", "b")], [("Nats-Msg-Id", str(step % 7))]])
                user.ask(f"o.{rng.randrange(4)}", b"%d" % step, headers)
            else:
                # What is deleted before it was taken depends on who is faster.
                take_all(user)
                user.api("STREAM.MSG.DELETE.O", {"seq": rng.randint(1, 30)})
                user.api("STREAM.PURGE.M", {"filter": "o.2"} if chance > 0.95 else {"seq": 3})
        user.ask("o.1", b"the end")
        mirror, source = take_all(user)
        told.append((
            [
                (it["seq"], it["subject"], it.get("hdrs"), it.get("data"))
                for it in contents(user, "M")
            ],
            [(it["seq"], it["subject"], it.get("data")) for it in contents(user, "S")],
            shown(mirror),
            shown(source),
        ))

    assert told[0] == told[1]


def take_all(user):
    """Wait until both have the last message, which they want; return their INFO."""
    user.ask("o.1", b"a mark")
    last = user.api("STREAM.INFO.O")["state"]["last_seq"]
    mirror = until(user, "M", lambda it: it["state"]["last_seq"] >= last)
    return mirror, until(user, "S", lambda it: it["sources"][0].get("seq") == last)


def test_a_consumer_that_is_there_already_is_used_and_acknowledged(pair):
    told = []
    for user in pair:
        create(user, "O", subjects=["o"], retention="workqueue")
        consumer = {
            "durable_name": "D",
            "deliver_subject": "deliver.d",
            "ack_policy": "flow_control",
        }
        made = user.api("CONSUMER.CREATE.O.D", {"stream_name": "O", "config": consumer})
        assert "error" not in made, made
        own = {"name": "D", "deliver_subject": "deliver.d"}
        create(user, "S", sources=[{"name": "O", "consumer": own}])
        for number in range(30):
            user.ask("o", b"%d" % number)
        until(user, "S", lambda it: it["state"]["messages"] == 30)
        until(user, "O", lambda it: it["state"]["messages"] == 0)
        told.append([(it["subject"], it["data"]) for it in contents(user, "S")])

    assert told[0] == told[1]


def test_a_work_queue_gives_its_messages_to_one_that_sources_it(pair):
    told = []
    for user in pair:
        create(user, "O", subjects=["o"], retention="workqueue")
        create(user, "S", sources=[{"name": "O"}])
        for number in range(30):
            user.ask("o", b"%d" % number)
        until(user, "S", lambda it: it["state"]["messages"] == 30)
        until(user, "O", lambda it: it["state"]["messages"] == 0)
        consumers = user.api("CONSUMER.LIST.O")["consumers"]
        config = {**consumers[0]["config"], "deliver_subject": "", "metadata": {}}
        told.append((config, [it["data"] for it in contents(user, "S")]))

    assert told[0][0] == told[1][0]
    assert told[0][1] == told[1][1]
