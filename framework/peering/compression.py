"""Negotiate the compression of a connection between servers.

    accepted:   INFO: the mode of the acceptor              →  read by the solicitor
    solicited:  INFO: what the solicitor has chosen, plain  →  read by the acceptor

Either side comes to the same answer. Where something is to be compressed, both begin after that
INFO, and the acceptor's second one is compressed already. The two directions may differ, since
each side encodes as its own operator wants.

Source: nats-server `server.go`, `selectCompressionMode`, `selectS2AutoModeBasedOnRTT`; `route.go`,
`negotiateRouteCompression`; `leafnode.go`, `negotiateLeafCompression`; codecs are ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from framework.errors import ProtocolError
from framework.spec.compression import Codec, Coding, CompressionMode
from framework.wire.closed_state import ClosedState

CODECS_MAX: Final = 32
"""Names of codecs that one server may tell of; further ones count as not there."""
RTT_THRESHOLDS_MAX: Final = 4
"""As many as S2 has levels. Source: nats-server `server.go`."""

_OFF = "off"
_ACCEPT = "accept"
_AUTO = "s2_auto"
_NOT_SUPPORTED = "not supported"
_CODINGS = {coding.name.lower(): coding for coding in Coding}

RTT_THRESHOLDS_NS = (10_000_000, 50_000_000, 100_000_000)
"""Of `s2_auto` where none are configured. Source: nats-server `server.go`."""


class Offer(Protocol):
    """What every INFO of a server says of compression."""

    @property
    def compression(self) -> str:
        """Return what is wanted, or was chosen, in nats-server's words; empty: there is none."""
        ...

    @property
    def codecs(self) -> tuple[str, ...]:
        """Return the names of the codecs that may be used besides."""
        ...

    @property
    def codec(self) -> str:
        """Return the one of them that is wanted, or was chosen; empty: none."""
        ...


OfferT = TypeVar("OfferT", bound=Offer)


class CompressionTerms(Struct, frozen=True):
    """What the option `compression` comes to."""

    mode: str
    """Name of a mode."""
    rtt_thresholds_ns: tuple[int, ...] = RTT_THRESHOLDS_NS
    """What `s2_auto` goes by: from one to four, 0 leaves a level out."""


class Choice(Struct, frozen=True):
    """The compression of one connection."""

    compression: str
    """Of the INFO that follows."""
    codec_name: str
    """Of the INFO that follows, as `codec`; empty: none."""
    shown: str
    """In monitoring."""
    coding: Coding | None = None
    """How to encode; None: not by the plane."""
    codec: Codec | None = None
    """Encodes as this side wants and decodes as the other; None: nothing of the kind."""
    rtt_thresholds_ns: tuple[int, ...] = ()
    """The coding follows the round trip by these; empty: it does not."""
    is_theirs: bool = False
    """The other server has settled it alone, by its `off` or its codec, and is the one that makes a
    new connection when it wants something else."""
    remote_codecs: tuple[str, ...] = ()
    """Those that the other server knows."""

    @property
    def is_coded(self) -> bool:
        """Return whether anything is to be encoded, so that a second INFO is needed."""
        return self.coding is not None or self.codec is not None

    def coding_for(self, rtt_ns: int) -> Coding | None:
        """Return how to encode after a PONG that took so long."""
        if not self.rtt_thresholds_ns:
            return self.coding
        return _coding_by_rtt(rtt_ns, self.rtt_thresholds_ns)

    def at(self, rtt_ns: int) -> Choice:
        """Return the choice after a PONG that took so long; itself, when it stays."""
        coding = self.coding_for(rtt_ns)
        if coding is None or coding is self.coding:
            return self
        return replace(self, coding=coding, shown=coding.name.lower())


class Compression:
    """The option `compression` of one server.

    Args:
        terms: What it comes to.
        modes: All modes that there are, by name; without that of the terms nothing is compressed.
    """

    def __init__(self, terms: CompressionTerms, modes: Mapping[str, CompressionMode]) -> None:
        self._mode = modes.get(terms.mode) or CompressionMode(_OFF, offer=_OFF)
        self._thresholds = terms.rtt_thresholds_ns if self._mode.offer == _AUTO else ()
        codecs = [self._mode.codec, *(modes[name].codec for name in sorted(modes))]
        self._codecs: dict[str, Codec] = {}
        for codec in codecs if self._mode.offer != _OFF else ():
            if codec is not None:
                self._codecs.setdefault(codec.name, codec)

    @property
    def terms(self) -> object:
        """Return what compares equal when nothing changes for any connection."""
        return self._mode, self._thresholds

    @property
    def is_on(self) -> bool:
        """Tell whether this server compresses with anybody."""
        return self._mode.offer != _OFF

    def offer(self, info: OfferT) -> OfferT:
        """Return an INFO with what this server says first."""
        codec = self._mode.codec.name if self._mode.codec else ""
        names = tuple(self._codecs)[:CODECS_MAX]
        said = {"compression": self._mode.offer, "codecs": names, "codec": codec}
        return cast("OfferT", replace(cast("Struct", info), **said))

    def choose(self, remote: Offer, rtt_ns: int = 0, *, is_dialed: bool = False) -> Choice:
        """Return what a connection gets, whichever side has dialed.

        Args:
            remote: The first INFO of the other server.
            rtt_ns: Of the connection, as far as it is known.
            is_dialed: By this server, so the other one has said what it wants before it knew what
                this one does.

        Raises:
            ProtocolError: The other server says something unheard of.
        """
        agreed = _agree(self._mode.offer, remote.compression)
        if agreed in {_OFF, _NOT_SUPPORTED}:
            # Who was dialed hears `off` of a peer that accepts, too, unless it offered a level.
            is_sure = is_dialed or self._mode.offer not in {_OFF, _ACCEPT}
            is_theirs = is_sure and remote.compression == _OFF
            return Choice(self._told(agreed), "", agreed, is_theirs=is_theirs)
        codec = self._codec_with(remote)
        if codec is not None:
            choice = Choice(self._told(agreed), codec.name, codec.name, codec=codec)
            is_theirs = not self._wants_codec_of(remote.codecs)
            return replace(choice, is_theirs=is_theirs, remote_codecs=remote.codecs)
        is_auto = agreed == _AUTO
        coding = _coding_by_rtt(rtt_ns, self._thresholds) if is_auto else _CODINGS[agreed]
        shown = coding.name.lower()
        choice = Choice(self._told(shown), "", shown, coding, rtt_thresholds_ns=self._thresholds)
        return replace(choice, remote_codecs=remote.codecs)

    def follow(self, choice: Choice, rtt_ns: int) -> Choice | None:
        """Return what a connection has from now on that has got `choice` under other settings.

        Args:
            choice: What it has.
            rtt_ns: Of the connection.

        Returns:
            None when the two servers have to negotiate again, by a new connection.

        Source: nats-server `reload.go`, `clusterOption.Apply`, which makes new connections also
            for those that stay `off` because the other server is.
        """
        if not choice.is_coded:
            stays = self._mode.offer == _OFF or choice.is_theirs
            return choice if stays or choice.shown == _NOT_SUPPORTED else None
        if self._mode.offer in {_OFF, _ACCEPT} or self._wants_codec_of(choice.remote_codecs):
            return None
        if choice.codec is not None:
            return choice if choice.is_theirs else None
        coding = _CODINGS.get(self._mode.offer, choice.coding)
        assert coding is not None
        followed = replace(
            choice,
            compression=self._mode.offer,
            coding=coding,
            shown=coding.name.lower(),
            rtt_thresholds_ns=self._thresholds,
        )
        return followed.at(rtt_ns)

    def _wants_codec_of(self, names: Sequence[str]) -> bool:
        """Return whether this server wants a codec that a peer with these knows."""
        return self._mode.codec is not None and self._mode.codec.name in names

    def _told(self, agreed: str) -> str:
        """Return what the other server is told: who follows the round trip says so every time."""
        return _AUTO if self._mode.offer == _AUTO else agreed

    def _codec_with(self, remote: Offer) -> Codec | None:
        """Return the codec that both know and at least one wants; each encodes as it wants."""
        shared = {name: self._codecs[name] for name in remote.codecs if name in self._codecs}
        ours = shared.get(self._mode.codec.name) if self._mode.codec else None
        theirs = shared.get(remote.codec)
        if ours is None or theirs is None:
            return ours or theirs
        return replace(ours, new_decoder=theirs.new_decoder)


def _agree(own: str, remote: str) -> str:
    """Return what comes of two modes, or that the other server has none."""
    if remote in {"", _NOT_SUPPORTED}:
        return _NOT_SUPPORTED
    if _OFF in {own, remote}:
        return _OFF
    if remote == _ACCEPT:
        return _OFF if own == _ACCEPT else own
    if remote != _AUTO and remote not in _CODINGS:
        problem = f'unsupported route compression mode "{remote}"'
        raise ProtocolError(problem, text=problem, reason=ClosedState.PROTOCOL_VIOLATION)
    if own != _ACCEPT:
        return own
    return "s2_fast" if remote == _AUTO else remote


def _coding_by_rtt(rtt_ns: int, thresholds_ns: Sequence[int]) -> Coding:
    """Return the first level whose threshold a round trip does not pass."""
    for level, threshold_ns in enumerate(thresholds_ns):
        if rtt_ns <= threshold_ns:
            return Coding(level)
    # Who names three levels leaves all that is slower to the fourth.
    last = len(thresholds_ns)
    return Coding.S2_BEST if last >= Coding.S2_BEST else Coding(last - 1)
