"""Times of schedules beside a naive model, which looks at every second of a day that matches."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

import pytest
from framework_jetstream.stream._streamhandle import next_of_schedule, offset_in_zone
from hypothesis import given, settings
from hypothesis import strategies as st

SECOND_NS = 10**9
BOUNDS = [(0, 59), (0, 59), (0, 23), (1, 31), (1, 12), (0, 6)]
NAMES = {"jan": 1, "feb": 2, "dec": 12, "sun": 0, "wed": 3, "sat": 6}


def ns(moment):
    return int(moment.timestamp()) * SECOND_NS


def numbers(field, at):
    """Return the numbers that a field has, and whether it is a star."""
    least, most = BOUNDS[at]
    found, is_star = set(), False
    for part in field.split(","):
        ends, _, step = part.partition("/")
        first, _, last = ends.partition("-")
        begin = least if first == "*" else int(NAMES.get(first, first))
        end = int(NAMES.get(last, last)) if last else most if first == "*" or step else begin
        found |= set(range(begin, end + 1, int(step or 1)))
        is_star = is_star or (first == "*" and int(step or 1) == 1)
    return found, is_star


def day_matches(moment, days, week):
    by_month, by_week = moment.day in days[0], (moment.weekday() + 1) % 7 in week[0]
    return (by_month and by_week) if days[1] or week[1] else (by_month or by_week)


def model(text, after):
    fields = [numbers(field, at) for at, field in enumerate(text.split())]
    seconds, minutes, hours = (sorted(it[0]) for it in fields[:3])
    moment = after + timedelta(seconds=1)
    last_year = moment.year + 5
    day = moment.replace(hour=0, minute=0, second=0)
    while day.year <= last_year:
        if day.month in fields[4][0] and day_matches(day, fields[3], fields[5]):
            for hour in hours:
                for minute in minutes:
                    for second in seconds:
                        found = day.replace(hour=hour, minute=minute, second=second)
                        if found >= moment:
                            return found
        day += timedelta(days=1)
    return None


FIELDS = [
    st.sampled_from(["0", "*", "*/15", "5-10", "59", "1,30"]),
    st.sampled_from(["0", "*", "*/7", "30/10", "59", "1,2,3"]),
    st.sampled_from(["0", "*", "9-17", "*/6", "23"]),
    st.sampled_from(["*", "1", "15,31", "*/10", "29"]),
    st.sampled_from(["*", "2", "jan-feb", "12", "*/3"]),
    st.sampled_from(["*", "0", "wed-sat", "*/2", "6"]),
]


@settings(max_examples=150, deadline=None)
@given(st.tuples(*FIELDS), st.integers(0, 4 * 10**9))
def test_cron_texts_fire_when_the_model_says(fields, after_s):
    text = " ".join(fields)
    after = datetime.fromtimestamp(after_s, UTC)

    found = next_of_schedule(text.encode(), after_s * SECOND_NS, after_s * SECOND_NS)

    expected = model(text, after)
    assert found == (None if expected is None else (ns(expected), True))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "* * * * *",
        "* * * * * * *",
        "60 * * * * *",
        "* * * 0 * *",
        "* * * * 13 *",
        "* * * * * 7",
        "5-1 * * * * *",
        "1-2-3 * * * * *",
        "*/0 * * * * *",
        "*/ * * * * *",
        "1/2/3 * * * * *",
        "-1 * * * * *",
        "x * * * * *",
        "0 0 0 31 2 *",
        "@every 1ms",
        "@every -5s",
        "@every x",
        "@at tomorrow",
        "@never",
    ],
)
def test_what_makes_no_sense_is_told(text):
    assert next_of_schedule(text.encode(), 0, 0) is None


def test_intervals_begin_at_whole_seconds_and_leave_out_what_was_missed():
    second = SECOND_NS

    assert next_of_schedule(b"@every 10s", second // 2, 0) == (11 * second, True)
    assert next_of_schedule(b"@every 1m30s", 5 * second, 1000 * second) == (1090 * second, True)
    assert next_of_schedule(b"@at 1970-01-01T00:01:00Z", 0, 0) == (60 * second, False)
    assert next_of_schedule(b"@at 1970-01-01T01:01:00+01:00", 0, 0) == (60 * second, False)


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("@yearly", "0 0 0 1 1 *"),
        ("@annually", "0 0 0 1 1 *"),
        ("@monthly", "0 0 0 1 * *"),
        ("@weekly", "0 0 0 * * 0"),
        ("@daily", "0 0 0 * * *"),
        ("@midnight", "0 0 0 * * *"),
        ("@hourly", "0 0 * * * *"),
    ],
)
def test_words_stand_for_texts(word, text):
    now = 1_700_000_000 * SECOND_NS

    found = next_of_schedule(word.encode(), now, now)

    assert found is not None
    assert found == next_of_schedule(text.encode(), now, now)


CHANGES = {
    "America/New_York": ["2024-03-10T07:00", "2024-11-03T06:00"],
    "Europe/Berlin": ["2024-03-31T01:00", "2051-10-29T01:00"],
    "Australia/Lord_Howe": ["2024-04-06T15:00", "2024-10-05T15:30"],
    "America/Sao_Paulo": ["2018-11-04T03:00", "2018-02-18T02:00"],
    "Asia/Beirut": ["2024-03-30T22:00", "2024-10-26T21:00"],
    "Pacific/Apia": ["2011-12-30T10:00"],
    "Europe/Dublin": ["2024-03-31T01:00"],
    "Africa/Casablanca": ["2024-03-10T02:00"],
    "Asia/Kolkata": ["2024-03-10T02:00"],
}
"""Times in UTC when clocks are changed, beyond them all that differs."""
DAY_MINUTES = 24 * 60
LOOK_DAYS = 3


def moments():
    times = [
        (zone, int(datetime.fromisoformat(f"{text}+00:00").timestamp()))
        for zone, texts in CHANGES.items()
        for text in texts
    ]
    minutes = st.integers(-2 * DAY_MINUTES, 2 * DAY_MINUTES)
    return st.tuples(st.sampled_from(times), minutes).map(
        lambda drawn: (drawn[0][0], drawn[0][1] + drawn[1] * 60)
    )


def model_in_zone(text, zone, after_s):
    """Return the first minute that matches within some days; None: none does."""
    fields = [numbers(field, at) for at, field in enumerate(text.split())]
    for at in range(after_s // 60 * 60 + 60, after_s + LOOK_DAYS * DAY_MINUTES * 60, 60):
        moment = datetime.fromtimestamp(at, ZoneInfo(zone))
        if (
            moment.minute in fields[1][0]
            and moment.hour in fields[2][0]
            and moment.month in fields[4][0]
            and day_matches(moment, fields[3], fields[5])
        ):
            return at
    return None


@settings(max_examples=150, deadline=None)
@given(st.tuples(st.just("0"), *FIELDS[1:]), moments())
def test_cron_texts_fire_by_the_clocks_of_a_zone(fields, moment):
    zone, after_s = moment
    text = " ".join(fields)

    found = next_of_schedule(text.encode(), after_s * SECOND_NS, 0, zone.encode())

    expected = model_in_zone(text, zone, after_s)
    if expected is None:
        assert found is None or found[0] > (after_s + (LOOK_DAYS - 1) * 86400) * SECOND_NS
    else:
        assert found == (expected * SECOND_NS, True)


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(sorted(available_timezones())), st.integers(-(2**31), 6 * 10**9))
def test_zones_are_as_far_from_utc_as_python_says(zone, at_s):
    moment = datetime.fromtimestamp(0, UTC) + timedelta(seconds=at_s)
    offset = moment.astimezone(ZoneInfo(zone)).utcoffset()

    assert offset is not None
    assert offset_in_zone(zone.encode(), at_s) == offset.total_seconds()


@pytest.mark.parametrize(
    "name",
    [
        *("", "No/Such", "../etc/passwd", "Europe/../UTC", "/etc/localtime", "Europe", "zone.tab"),
        *("x" * 64, "Europe/Berlin\0", "Europe\\Berlin", "local"),
    ],
)
def test_what_is_no_zone_is_not_known(name):
    assert offset_in_zone(name.encode(), 0) is None
