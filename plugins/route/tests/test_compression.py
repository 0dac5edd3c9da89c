"""What two servers say of compression, and what comes of it."""

from __future__ import annotations

from itertools import product

import pytest
from framework_route.info import parse_info
from framework_route.modes import MODES
from msgspec.structs import replace

from framework.errors import ProtocolError
from framework.peering import (
    CODECS_MAX,
    RTT_THRESHOLDS_NS,
    Choice,
    Compression,
    CompressionTerms,
)
from framework.spec import Codec, Coding, CompressionMode
from framework.wire.document import build_document
from framework.wire.info import RouteInfo

BY_NAME = {mode.name: mode for mode in MODES}
MS = 1_000_000
S2_MODES = ("off", "accept", "s2_fast", "s2_auto")


def compression(mode, *others, thresholds=RTT_THRESHOLDS_NS):
    """Return what a server wants that knows nats-server's modes, and these."""
    known = {name: BY_NAME[name] for name in BY_NAME if BY_NAME[name].codec is None}
    known.update((name, BY_NAME[name]) for name in (mode, *others))
    return Compression(CompressionTerms(mode, thresholds), known)


def says(mode, *others):
    """Return the first INFO of such a server."""
    return compression(mode, *others).offer(RouteInfo())


TABLE_D2 = [
    # own mode, what the other says, and what this side has
    ("off", "", "not supported"),
    ("off", "off", "off"),
    ("off", "accept", "off"),
    ("off", "s2_auto", "off"),
    ("off", "s2_best", "off"),
    ("accept", "", "not supported"),
    ("accept", "off", "off"),
    ("accept", "accept", "off"),
    ("accept", "s2_auto", "s2_fast"),
    ("accept", "s2_uncompressed", "s2_uncompressed"),
    ("accept", "s2_fast", "s2_fast"),
    ("accept", "s2_better", "s2_better"),
    ("accept", "s2_best", "s2_best"),
    ("s2_auto", "", "not supported"),
    ("s2_auto", "off", "off"),
    ("s2_auto", "accept", "s2_uncompressed"),
    ("s2_auto", "s2_auto", "s2_uncompressed"),
    ("s2_auto", "s2_best", "s2_uncompressed"),
    *(
        (own, remote, shown)
        for own in ("s2_fast", "s2_better", "s2_best")
        for remote, shown in (
            ("", "not supported"),
            ("not supported", "not supported"),
            ("off", "off"),
            ("accept", own),
            ("s2_auto", own),
            ("s2_fast", own),
            ("s2_best", own),
        )
    ),
]


@pytest.mark.parametrize(("own", "remote", "shown"), TABLE_D2)
def test_nats_servers_modes_meet_as_nats_server_has_it(own, remote, shown):
    choice = compression(own).choose(RouteInfo(compression=remote))

    assert choice.shown == shown
    assert choice.is_coded == shown.startswith("s2_")
    assert (choice.coding is None) or (choice.coding.name.lower() == shown)
    assert choice.compression == ("s2_auto" if own == "s2_auto" else shown)
    assert (choice.codec, choice.codec_name) == (None, "")


@pytest.mark.parametrize("own", ["accept", "s2_auto", "s2_fast", "zstd"])
def test_an_unheard_of_mode_is_refused_in_nats_servers_words(own):
    with pytest.raises(ProtocolError) as raised:
        compression(own).choose(RouteInfo(compression="gzip"))

    assert raised.value.text == 'unsupported route compression mode "gzip"'


def test_who_compresses_nothing_need_not_understand_the_mode():
    assert compression("off").choose(RouteInfo(compression="gzip")).shown == "off"


def test_a_server_says_its_mode_and_the_codecs_that_it_knows():
    info = says("zstd", "snappy", "lz4")

    assert (info.compression, info.codec) == ("s2_fast", "zstd")
    assert info.codecs == ("zstd", "lz4", "snappy")
    info = says("accept", "zstd")
    assert (info.compression, info.codec, info.codecs) == ("accept", "", ("zstd",))
    info = says("off", "zstd")
    assert (info.compression, info.codec, info.codecs) == ("off", "", ())


@pytest.mark.parametrize(
    ("ours", "theirs", "encoders"),
    [
        ("zstd", "zstd", ("zstd", "zstd")),
        ("zstd", "accept zstd", ("zstd", "zstd")),
        ("accept zstd", "zstd", ("zstd", "zstd")),
        ("s2_best zstd", "zstd", ("zstd", "zstd")),
        ("s2_auto zstd", "zstd", ("zstd", "zstd")),
        ("zstd lz4", "lz4 zstd", ("zstd", "lz4")),
        ("zstd lz4", "lz4", ("lz4", "lz4")),
        # Who does not know the codec gets S2.
        ("zstd", "accept", ("s2_fast", "s2_fast")),
        ("zstd", "s2_best", ("s2_fast", "s2_best")),
        ("zstd", "lz4", ("s2_fast", "s2_fast")),
        ("zstd", "off zstd", ("off", "off")),
        ("accept zstd", "accept zstd", ("off", "off")),
        ("s2_fast zstd", "s2_best zstd", ("s2_fast", "s2_best")),
    ],
)
def test_two_servers_come_to_one_answer_whoever_dialed(ours, theirs, encoders):
    ours, theirs = compression(*ours.split()), compression(*theirs.split())

    for acceptor, solicitor in ((ours, theirs), (theirs, ours)):
        chosen = solicitor.choose(acceptor.offer(RouteInfo()))
        told = solicitor.offer(RouteInfo())
        told = RouteInfo(
            compression=chosen.compression, codec=chosen.codec_name, codecs=told.codecs
        )
        answered = acceptor.choose(told)
        both = {id(solicitor): chosen, id(acceptor): answered}

        assert tuple(both[id(side)].shown for side in (ours, theirs)) == encoders
        assert chosen.is_coded == answered.is_coded
        assert (chosen.codec is None) == (answered.codec is None)
        if chosen.codec and answered.codec:
            for here, there in ((chosen, answered), (answered, chosen)):
                plain = b"INFO and so on" * 9
                into = memoryview(bytearray(len(plain)))
                encoded = memoryview(here.codec.new_encoder()(memoryview(plain)))
                assert there.codec.new_decoder()(encoded, into) == len(plain)
                assert into == plain


def test_a_real_server_is_told_only_what_it_understands():
    choice = compression("zstd").choose(RouteInfo(compression="s2_better"))

    assert (choice.compression, choice.codec_name) == ("s2_fast", "")
    assert choice.coding is Coding.S2_FAST


@pytest.mark.parametrize(
    ("thresholds_ms", "rtt_ms", "shown"),
    [
        ((10, 50, 100), 0, "s2_uncompressed"),
        ((10, 50, 100), 10, "s2_uncompressed"),
        ((10, 50, 100), 11, "s2_fast"),
        ((10, 50, 100), 50, "s2_fast"),
        ((10, 50, 100), 51, "s2_better"),
        ((10, 50, 100), 100, "s2_better"),
        ((10, 50, 100), 101, "s2_best"),
        ((0, 50), 1, "s2_fast"),
        ((0, 50), 51, "s2_fast"),
        ((10,), 99, "s2_uncompressed"),
        ((0, 0, 20, 30), 1, "s2_better"),
        ((0, 0, 20, 30), 21, "s2_best"),
        ((0, 0, 20), 21, "s2_best"),
        ((1, 2, 3, 4), 5, "s2_best"),
    ],
)
def test_s2_auto_goes_by_the_round_trip(thresholds_ms, rtt_ms, shown):
    auto = compression("s2_auto", thresholds=[it * MS for it in thresholds_ms])

    choice = auto.choose(RouteInfo(compression="accept"), rtt_ms * MS)

    assert choice.shown == shown
    other = auto.choose(RouteInfo(compression="accept"), 10**12)
    assert other.at(rtt_ms * MS) == choice
    assert other.coding_for(rtt_ms * MS) is choice.coding


def test_a_choice_that_does_not_follow_the_round_trip_stays_itself():
    for mode in ("s2_best", "zstd", "off"):
        choice = compression(mode).choose(says("zstd"))

        assert choice.at(10**12) is choice


@pytest.mark.parametrize(
    ("before", "remote", "after", "shown"),
    [
        ("s2_fast", "accept", "s2_best", "s2_best"),
        ("s2_best", "s2_fast", "s2_auto", "s2_fast"),
        ("s2_auto", "s2_fast", "s2_better", "s2_better"),
        ("accept", "s2_fast", "s2_best", "s2_best"),
        ("s2_fast", "", "off", "not supported"),
        ("off", "", "s2_fast", "not supported"),
        ("s2_fast", "accept", "zstd", "s2_fast"),
        ("s2_best", "accept", "zstd", "s2_fast"),
        ("accept", "off", "off", "off"),
        ("accept", "accept", "off", "off"),
        # The other one has said so although it was offered a level: that is all it wants.
        ("s2_fast", "off", "s2_best", "off"),
        ("s2_fast", "off", "accept", "off"),
        ("s2_fast", "off", "off", "off"),
        ("s2_auto", "off", "s2_auto", "off"),
        ("zstd", "off", "s2_fast", "off"),
        # The rest is negotiated again, also where `off` may be but the answer to what was said.
        ("accept", "off", "s2_fast", None),
        ("off", "off", "s2_fast", None),
        ("off", "off", "accept", None),
        ("s2_fast", "accept", "off", None),
        ("s2_fast", "s2_fast", "accept", None),
        ("off", "s2_fast", "s2_fast", None),
        ("zstd", "s2_fast", "s2_best", "s2_best"),
    ],
)
def test_a_reload_is_followed_in_place_or_by_a_new_connection(before, remote, after, shown):
    choice = compression(before).choose(RouteInfo(compression=remote))

    followed = compression(after).follow(choice, 20 * MS)

    assert (followed and followed.shown) == shown
    if choice.is_coded and after == "s2_auto":
        assert followed.compression == "s2_auto"
        assert followed.at(60 * MS).shown == "s2_better"


@pytest.mark.parametrize(
    ("before", "remote", "after", "stays"),
    [
        ("accept", "off", "s2_fast", True),
        ("off", "off", "s2_fast", True),
        ("off", "accept", "off", True),
        ("off", "accept", "accept", False),
        ("off", "s2_fast", "accept", False),
        ("accept", "accept", "s2_fast", False),
    ],
)
def test_who_has_dialed_knows_that_the_other_one_is_off(before, remote, after, stays):
    choice = compression(before).choose(RouteInfo(compression=remote), is_dialed=True)

    assert choice.shown == "off"
    assert compression(after).follow(choice, 0) is (choice if stays else None)


@pytest.mark.parametrize(
    ("before", "remote", "after", "stays"),
    [
        # Both know it, and this side wants it, or has wanted it.
        ("zstd", ("zstd",), "s2_fast", False),
        ("zstd", ("accept", "zstd"), "s2_fast", False),
        ("s2_fast zstd", ("s2_fast", "zstd"), "zstd", False),
        ("zstd lz4", ("zstd", "lz4"), "lz4 zstd", False),
        # Only the other one wants it.
        ("s2_fast zstd", ("zstd",), "s2_best zstd", True),
        ("zstd lz4", ("lz4",), "s2_best lz4", True),
        ("zstd lz4", ("lz4",), "snappy lz4", True),
        ("s2_fast zstd", ("zstd",), "zstd", False),
        ("s2_fast zstd", ("zstd",), "accept zstd", False),
        ("s2_fast zstd", ("zstd",), "off zstd", False),
    ],
)
def test_a_codec_stays_while_only_the_other_server_wants_one(before, remote, after, stays):
    choice = compression(*before.split()).choose(says(*remote))

    followed = compression(*after.split()).follow(choice, 0)

    assert followed is (choice if stays else None)


def negotiate(acceptor, solicitor):
    """Return what the acceptor and the solicitor have on a new connection."""
    chosen = solicitor.choose(acceptor.offer(RouteInfo()), is_dialed=True)
    told = replace(
        solicitor.offer(RouteInfo()), compression=chosen.compression, codec=chosen.codec_name
    )
    return [acceptor.choose(told), chosen]


@pytest.mark.parametrize(
    "codecs", [("zstd lz4", "zstd lz4"), ("zstd lz4", "zstd"), ("zstd", "zstd lz4"), ("zstd", "")]
)
def test_after_reloads_both_sides_have_what_a_new_connection_would_give_them(codecs):
    """But for the level: who only accepts does not hear of another one."""
    wanted = [
        [compression(mode, *known.split()) for mode in (*S2_MODES, *known.split())]
        for known in codecs
    ]
    links = [(pair, negotiate(*pair)) for pair in product(*wanted)]
    for _ in range(2):
        links = [
            following
            for pair, ends in links
            for side in (0, 1)
            for mode in wanted[side]
            if mode is not pair[side]
            for following in [after_reload(pair, ends, side, mode)]
        ]
        for pair, ends in links:
            fresh = negotiate(*pair)

            assert [(it.is_coded, it.codec_name) for it in fresh] == [
                (it.is_coded, it.codec_name) for it in ends
            ]


def after_reload(pair, ends, side, mode):
    """Return what the two want, and have, when one of them wants something else."""
    pair, ends = [*pair], [*ends]
    pair[side] = mode
    ends[side] = mode.follow(ends[side], 0)
    return pair, negotiate(*pair) if ends[side] is None else ends


def test_where_no_connection_has_anything_to_follow_the_terms_are_the_same():
    others = (1 * MS, 2 * MS)
    for mode in ("off", "accept", "s2_fast", "zstd"):
        assert compression(mode).terms == compression(mode, thresholds=others).terms
    assert compression("s2_auto").terms != compression("s2_auto", thresholds=others).terms
    assert compression("s2_auto").terms == compression("s2_auto").terms
    assert compression("s2_fast").terms != compression("zstd").terms


def test_modes_of_one_codec_encode_each_in_its_own_way_and_decode_each_other():
    def codec(mark):
        return Codec("rot", lambda: lambda plain: mark + plain, lambda: lambda _data, _into: 0)

    slow = CompressionMode("rot_slow", offer="s2_best", codec=codec(b"slow"))
    quick = CompressionMode("rot_quick", offer="s2_best", codec=codec(b"quick"))
    modes = {mode.name: mode for mode in (quick, slow)}
    choice = Compression(CompressionTerms("rot_slow"), modes).choose(
        Compression(CompressionTerms("rot_quick"), modes).offer(RouteInfo())
    )

    assert choice.codec.new_encoder()(b"") == b"slow"
    assert choice == Choice("s2_best", "rot", "rot", codec=choice.codec, remote_codecs=("rot",))


def test_a_peer_may_not_name_codecs_without_end():
    many = tuple(f"c{at}" for at in range(100))
    info = RouteInfo(server_id="S", codecs=("x" * 256, "a\nb", *many))

    assert parse_info(build_document(info)).codecs == many[:CODECS_MAX]
    with pytest.raises(ProtocolError, match="codec is too long or not printable"):
        parse_info(build_document(RouteInfo(server_id="S", codec="x" * 256)))
    with pytest.raises(ProtocolError, match="compression is too long or not printable"):
        parse_info(build_document(RouteInfo(server_id="S", compression="\x1b[0m")))


def test_a_server_with_many_codecs_names_its_own_first():
    modes = {
        f"c{at}": CompressionMode(
            f"c{at}", offer="s2_fast", codec=Codec(f"c{at}", lambda: None, lambda: None)
        )
        for at in range(50)
    }

    names = Compression(CompressionTerms("c49"), modes).offer(RouteInfo()).codecs

    assert names[0] == "c49"
    assert len(names) == CODECS_MAX
