"""The INFO document that clients get, and its updates."""

from __future__ import annotations

import platform
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from framework.spec import LinkKind
from framework.wire.document import build_document
from framework.wire.info import ClientInfo
from framework.wire.version import JETSTREAM_API_LEVEL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from framework.server.plane_port import ServerPlane
    from framework.spec import TlsSettings

RUNTIME: Final = f"python{platform.python_version()}"
"""What stands in the `go` field: clients expect it, and show it."""

CORE_FIELDS: Final = (
    "server_id",
    "server_name",
    "version",
    "proto",
    "go",
    "host",
    "port",
    "headers",
    "auth_required",
    "tls_required",
    "tls_verify",
    "tls_available",
    "max_payload",
    "client_id",
    "client_ip",
    "connect_info",
    "remote_account",
    "acc_is_sys",
    "api_lvl",
)


class ServerIdentity(Struct, frozen=True):
    """Name, ID and version of a server."""

    server_id: str
    name: str


class ClientInfoDocument:
    """Build INFO for clients, and send it again when it changes.

    Args:
        plane: Sends it.
        identity: Who the server is.
        host: As clients are told.
        port: As clients are told.
        headers: Whether clients may use headers.
        max_payload: Bytes of one message.
    """

    def __init__(
        self,
        plane: ServerPlane,
        identity: ServerIdentity,
        *,
        host: str,
        port: int,
        headers: bool,
        max_payload: int,
    ) -> None:
        self._plane = plane
        self._core = ClientInfo(
            server_id=identity.server_id,
            server_name=identity.name,
            go=RUNTIME,
            host=host,
            port=port,
            headers=headers,
            max_payload=max_payload,
            api_lvl=JETSTREAM_API_LEVEL,
        )
        self._extra: dict[str, object] = {}
        self._published = False
        self._sent: dict[int, bytes] = {}
        self._of_listeners: dict[int, dict[str, object | None]] = {}
        """Fields that are otherwise for clients of a listener; None: they are not there."""

    @property
    def field_names(self) -> Sequence[str]:
        """Return the fields that are the core's own; nobody else may set them."""
        return tuple(CORE_FIELDS)

    def set_address(self, host: str, port: int) -> None:
        """Set host and port in INFO."""
        self._core = replace(self._core, host=host, port=port)
        self._changed()

    def set_max_payload(self, max_payload: int) -> None:
        """Set `max_payload` in INFO."""
        self._core = replace(self._core, max_payload=max_payload)
        self._changed()

    def set_auth_required(self, required: bool) -> None:  # noqa: FBT001 - it is the whole change
        """Set `auth_required` in INFO."""
        self._core = replace(self._core, auth_required=required)
        self._changed()

    def set_tls(self, settings: TlsSettings | None) -> None:
        """Set `tls_required` and `tls_available` in INFO."""
        self._core = replace(
            self._core,
            tls_required=settings is not None and not settings.is_optional,
            tls_verify=settings is not None and settings.verify,
            tls_available=settings is not None and settings.is_optional,
        )
        self._changed()

    @property
    def fields(self) -> Mapping[str, object]:
        """Return what was added to the core's own fields."""
        return self._extra

    def document(self, extra: Mapping[str, object]) -> bytes:
        """Return the document with other fields beside those that it has now."""
        return build_document(self._core, {**self._extra, **extra})

    def publish(self) -> None:
        """Send it to new clients from now on; later changes go to connected ones too."""
        self._published = True
        self._send(announce=False)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Announce all changes made in the meantime as one."""
        assert self._published
        self._published = False
        try:
            yield
        finally:
            self._published = True
            self._changed()

    def update(self, fields: Mapping[str, object | None]) -> None:
        """Merge fields into INFO (None removes one); clients get a change."""
        for name, value in fields.items():
            if value is None:
                self._extra.pop(name, None)
            else:
                self._extra[name] = value
        self._changed()

    def update_listener(self, listener: int, fields: Mapping[str, object | None]) -> None:
        """Merge fields into what clients of one listener are told instead; they get a change."""
        self._of_listeners.setdefault(listener, {}).update(fields)
        self._changed()

    def _changed(self) -> None:
        if self._published:
            self._send(announce=True)

    def _send(self, *, announce: bool) -> None:
        self._send_to(LinkKind.CLIENT, self._core, self._extra, announce=announce)
        for listener, fields in self._of_listeners.items():
            own: dict[str, Any] = {
                name: value for name, value in fields.items() if name in CORE_FIELDS
            }
            extra = {**self._extra, **{name: fields[name] for name in fields if name not in own}}
            there = {name: value for name, value in extra.items() if value is not None}
            self._send_to(listener, replace(self._core, **own), there, announce=announce)

    def _send_to(
        self, listener: int, core: ClientInfo, extra: Mapping[str, object], *, announce: bool
    ) -> None:
        document = build_document(core, extra)
        if document != self._sent.get(listener):
            self._sent[listener] = document
            self._plane.set_info(listener, document, announce=announce)
