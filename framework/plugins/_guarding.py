"""What plugins hand over, with every function in it guarded: whose it is, and how it does."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from framework.actors import Component, MailboxFullError, Reply
from framework.errors import BadQuery, DownloadRefused, PluginError
from framework.plugins._places import definition_of
from framework.spec import Download, DownloadSpec, ServiceReply
from framework.spec.monitor import JSON
from framework.spec.request_options import option_fields

if TYPE_CHECKING:
    from msgspec import Struct

    from framework.plugins._guard import Guard
    from framework.spec import (
        Authenticator,
        ComponentSpec,
        DownloadRequest,
        HealthCheck,
        MonitorEndpoint,
        MonitorFields,
        ServerContext,
        ServiceAnswer,
        ServiceRequest,
        ServiceSpec,
        TapSpec,
    )


def guarded_tap(guard: Guard, plugin: str, spec: TapSpec) -> TapSpec:
    """Guard `receive`; who tells an actor that has too much to do does not fail."""
    passes = (MailboxFullError,)
    receive = guard.guarded(plugin, f"tap {spec.name}", spec.receive, passes=passes)
    return replace(spec, receive=receive, plugin=plugin)


def _look_at_options(plugin: str, what: str, spec: MonitorEndpoint | DownloadSpec) -> None:
    try:
        option_fields(spec.options)
    except (TypeError, NameError) as error:
        origin = definition_of(spec.open if isinstance(spec, DownloadSpec) else spec.answer)
        raise PluginError(plugin, f"{what}: options: {error}", origin=origin) from error


def guarded_endpoint(guard: Guard, plugin: str, spec: MonitorEndpoint) -> MonitorEndpoint:
    """Guard `answer`, and look at `options`; one that makes no sense is the asker's fault."""
    what = f"endpoint {spec.path or spec.request or spec.account_request or spec.status}"
    _look_at_options(plugin, what, spec)
    answer = guard.guarded_async(plugin, what, spec.answer, passes=(BadQuery,))

    async def answer_text(options: Struct) -> str | bytes:
        text = await answer(options)
        if isinstance(text, str | bytes):
            return text
        problem = f"{what} must return text or bytes, not {type(text).__name__}"
        raise guard.fail(plugin, what, problem, spec.answer, f"it is {spec.content_type}")

    return replace(spec, answer=answer if spec.content_type == JSON else answer_text)


def guarded_download(guard: Guard, plugin: str, spec: DownloadSpec) -> DownloadSpec:
    """Guard `open`, and look at `options` and at what it returns."""
    what = f"download {spec.folder}"
    _look_at_options(plugin, what, spec)
    begin = guard.guarded_async(plugin, what, spec.open, passes=(BadQuery, DownloadRefused))

    async def open_file(request: DownloadRequest) -> Download:
        found = await begin(request)
        if isinstance(found, Download):
            return found
        problem = f"{what} must return a Download, not {found!r:.80}"
        raise guard.fail(plugin, what, problem, spec.open)

    return replace(spec, open=open_file)


def guarded_fields(guard: Guard, plugin: str, spec: MonitorFields) -> MonitorFields:
    """Guard `make`: a document is answered without the fields of a plugin that fails."""
    what = f"fields of {spec.document}"
    make = guard.guarded_async(plugin, what, spec.make)

    async def make_fields() -> Mapping[str, object]:
        with suppress(PluginError):  # it is logged, and counted
            made = await make()
            if isinstance(made, Mapping):
                return {name: value for name, value in made.items() if name in spec.names}
            guard.fail(plugin, what, f"{what} must be a mapping, not {made!r:.80}", spec.make)
        return {}

    return replace(spec, make=make_fields)


def guarded_service(guard: Guard, plugin: str, spec: ServiceSpec) -> ServiceSpec:
    """Guard `answer`, and look at what it returns."""
    what = f"service {spec.name}"
    answer = guard.guarded_async(plugin, what, spec.answer)

    async def answer_request(request: ServiceRequest) -> ServiceAnswer:
        answered = await answer(request)
        if answered is None or isinstance(answered, bytes | ServiceReply):
            return answered
        problem = f"{what} must return bytes, a ServiceReply or None, not {answered!r:.80}"
        raise guard.fail(plugin, what, problem, spec.answer)

    return replace(spec, answer=answer_request)


def guarded_check(guard: Guard, plugin: str, spec: HealthCheck) -> HealthCheck:
    """Guard `check` and `examine`."""
    what = f"health check {spec.name}"
    return replace(
        spec,
        check=guard.guarded(plugin, what, spec.check),
        examine=guard.guarded(plugin, what, spec.examine),
    )


def guarded_authenticator(guard: Guard, plugin: str, spec: Authenticator) -> Authenticator:
    """Guard `authenticate` and `recheck`; what they raise may hold a client's secrets."""
    what = f"authenticator {spec.name}"

    def authenticate(request: object) -> Reply[Any]:
        try:
            reply = guard.call(plugin, what, spec.authenticate, request, is_secret=True)
        except PluginError as error:
            guard.report(what, error)
            raise
        if isinstance(reply, Reply):
            return reply
        problem = f"{what} must return a Reply, not {type(reply).__name__}"
        fix = "make a Reply(), set() it now or later, and return it"
        raise guard.fail(plugin, what, problem, spec.authenticate, fix)

    def recheck(request: object, accepted: object) -> object:
        assert spec.recheck is not None
        try:
            return guard.call(plugin, what, spec.recheck, request, accepted, is_secret=True)
        except PluginError as error:
            guard.report(what, error)
            raise

    return replace(
        spec, authenticate=authenticate, recheck=recheck if spec.recheck else None, plugin=plugin
    )


def guarded_component(guard: Guard, plugin: str, spec: ComponentSpec) -> ComponentSpec:
    """Guard `factory`, and look at what it returns."""
    what = f"component {spec.name}"

    def factory(server: ServerContext) -> tuple[type[Component], Mapping[str, Any]]:
        made = guard.call(plugin, what, spec.factory, server)
        match made:
            case (type() as kind, Mapping() as arguments) if issubclass(kind, Component):
                return kind, arguments
        problem = f"{what}: its factory must return (actor class, its arguments), not {made!r:.80}"
        raise PluginError(plugin, problem, origin=definition_of(spec.factory))

    return replace(spec, factory=factory)
