"""Make OpenSSL contexts for listeners and for dials from `tls` settings."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import TYPE_CHECKING

from typing_extensions import override

from framework.errors import FrameworkError
from framework.topology import TopologyError
from framework.topology.place import NOWHERE
from framework.wire.certificates import facts_from_pem, is_name_for
from framework.wire.cipher_suites import (
    CURVE_NAMES,
    INSECURE_NAMES,
    OPENSSL_NAMES,
    TLS13_NAMES,
)

if TYPE_CHECKING:
    from framework.spec import TlsSettings
    from framework.topology import ServerConfig

_VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}


class TlsError(FrameworkError):
    """A `tls` block can't be used.

    Args:
        path: Of the option, such as `tls.key_file`.
        problem: What is wrong with it.
        fix: What to do about it.
    """

    def __init__(self, path: str, problem: str, fix: str) -> None:
        super().__init__(path, problem, fix)
        self.path = path
        self.problem = problem
        self.fix = fix

    @override
    def __str__(self) -> str:
        return f"`{self.path}`: {self.problem}; {self.fix}"


def placed_tls_error(error: TlsError, config: ServerConfig) -> TopologyError:
    """Return an error with the place in a configuration that it comes from."""
    block, _, option = error.path.rpartition(".")
    # Of several pairs of `certs`, places are not kept.
    paths = [error.path, f"{block}.certs" if option in {"cert_file", "key_file"} else block, block]
    place = next((config.places[path] for path in paths if path in config.places), NOWHERE)
    return TopologyError(place, f"`{error.path}`: {error.problem}", error.fix)


def make_server_context(settings: TlsSettings) -> ssl.SSLContext:
    """Return the context for peers that connect.

    Raises:
        TlsError: A file or a setting is not what it should be.
    """
    contexts = [_make(settings, ssl.PROTOCOL_TLS_SERVER, pair) for pair in settings.certificates]
    for context in contexts:
        # NATS clients never resume; two tickets a connection would be for nothing.
        context.num_tickets = 0
        context.options |= ssl.OP_NO_RENEGOTIATION
        if not settings.cipher_suites:
            # The peer knows which cipher its processor is good at.
            context.options &= ~ssl.OP_CIPHER_SERVER_PREFERENCE
        if settings.verify:
            context.verify_mode = ssl.CERT_REQUIRED
            _trust(context, settings, ssl.Purpose.CLIENT_AUTH)
    if len(contexts) > 1:
        _choose_by_name(contexts, settings)
    return contexts[0]


def make_client_context(settings: TlsSettings) -> ssl.SSLContext:
    """Return the context for servers that we dial; it shows the same certificate, if there is one.

    Raises:
        TlsError: A file or a setting is not what it should be.
    """
    pair = settings.certificates[0] if settings.certificates else None
    context = _make(settings, ssl.PROTOCOL_TLS_CLIENT, pair)
    if settings.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    else:
        _trust(context, settings, ssl.Purpose.SERVER_AUTH)
    return context


def _make(settings: TlsSettings, protocol: int, pair: tuple[str, str] | None) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.minimum_version = _VERSIONS[settings.min_version]
    if pair is not None:
        _load_pair(context, settings.path, *pair)
    _choose_ciphers(context, settings)
    _prefer_curves(context, settings)
    return context


def _choose_ciphers(context: ssl.SSLContext, settings: TlsSettings) -> None:
    """Allow the cipher suites of TLS 1.2 that are named; those of 1.3 are always allowed."""
    wanted = [name for name in settings.cipher_suites if name not in TLS13_NAMES]
    if not wanted:
        return
    names = [OPENSSL_NAMES.get(name) or INSECURE_NAMES.get(name) or "" for name in wanted]
    try:
        context.set_ciphers(":".join(filter(None, names)))
    except ssl.SSLError:
        path = f"{settings.path}.cipher_suites"
        fix = "choose suites that this machine's OpenSSL has"
        raise TlsError(path, "OpenSSL has none of them", fix) from None


def _load_pair(context: ssl.SSLContext, block: str, cert_file: str, key_file: str) -> None:
    for option, path in (("cert_file", cert_file), ("key_file", key_file)):
        try:
            with Path(path).open("rb"):
                pass
        except OSError as error:
            problem = f"can't read {path}: {(error.strerror or '').lower()}"
            raise TlsError(
                f"{block}.{option}", problem, "name a file that the server may read"
            ) from None
    try:
        # Without a passphrase OpenSSL would ask for one at the terminal.
        context.load_cert_chain(cert_file, key_file, password="")
    except (ssl.SSLError, ValueError) as error:
        reason = getattr(error, "reason", None) or ""
        if reason == "KEY_VALUES_MISMATCH":
            problem, fix = f"is not the key of {cert_file}", "name the two that belong together"
        elif reason == "EE_KEY_TOO_SMALL":
            problem = f"the key of {cert_file} is too short for OpenSSL"
            fix = "make one of 2,048 bits or more"
        else:
            problem = f"{cert_file} or {key_file} can't be used: {_words(reason)}"
            fix = "give a certificate and its key in PEM, without a passphrase"
        raise TlsError(f"{block}.key_file", problem, fix) from None


def _trust(context: ssl.SSLContext, settings: TlsSettings, purpose: ssl.Purpose) -> None:
    if not settings.ca_file:
        context.load_default_certs(purpose)
        return
    try:
        context.load_verify_locations(cafile=settings.ca_file)
    except OSError as error:
        why = _words(error.reason) if isinstance(error, ssl.SSLError) else error.strerror
        problem = f"can't use {settings.ca_file}: {(why or '').lower()}"
        raise TlsError(
            f"{settings.path}.ca_file", problem, "name a file with certificates in PEM"
        ) from None


def _prefer_curves(context: ssl.SSLContext, settings: TlsSettings) -> None:
    """Restrict the key exchanges to one; Python before 3.15 can't tell OpenSSL of several."""
    curves = settings.curves
    if not curves:
        return
    names = [CURVE_NAMES[curve] for curve in curves]
    try:
        if hasattr(context, "set_groups"):
            context.set_groups(":".join(names))
        elif len(names) == 1:
            context.set_ecdh_curve(names[0])
    except (ssl.SSLError, ValueError):
        problem = f"OpenSSL has no {', '.join(curves)}"
        raise TlsError(
            f"{settings.path}.curve_preferences", problem, "choose X25519 or CurveP256"
        ) from None


def _choose_by_name(contexts: list[ssl.SSLContext], settings: TlsSettings) -> None:
    """Let the first context hand over to the one whose certificate is for the name asked for."""
    names = [
        facts_from_pem(Path(cert_file).read_bytes()).names for cert_file, _ in settings.certificates
    ]

    def choose(connection: ssl.SSLObject, host: str | None, _context: ssl.SSLContext) -> None:
        for context, mine in zip(contexts, names, strict=True):
            if host and is_name_for(mine, host):
                connection.context = context
                return

    contexts[0].sni_callback = choose


def _words(reason: str) -> str:
    return reason.lower().replace("_", " ") or "not understood"
