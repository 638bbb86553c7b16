"""What stands before the application: who may talk to it, how much, and what the browser may do with its pages."""

import ipaddress
import json
import re
import socket
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from damas_rl.play.languages import language_of, said_in

LARGEST_BODY = 256 * 1024
"""Bytes of a request; enough for a long PDN file."""

_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-cache",
}


class Guard:
    """Refuses requests under another host name, from pages of another origin, and those that are too large.

    A page elsewhere can make a browser talk to this server, also under a name of its own that leads here. Its requests
    carry that name in ``Host``, or its own address in ``Origin``.

    Args:
        app: what is guarded.
        loopback: only this machine is served, under its own names; else also under any address in figures and under the
            machine's name.
    """

    def __init__(self, app: ASGIApp, loopback: bool) -> None:
        self._app, self._loopback = app, loopback

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request or lets it through."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        host, origin = headers.get("host", ""), headers.get("origin")
        fault = None
        if not self._known(host):
            fault = 421, "This server does not answer under that name; start it with --host to open it to others."
        elif origin is not None and origin.partition("://")[2] != host:
            fault = 403, "Pages of another origin cannot use this server."
        if fault and scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": fault[1]})
        elif fault:
            await _refuse(send, *fault, language_of(headers.get("accept-language", "")))
        elif scope["type"] == "http":
            await self._app(scope, _Limited(receive), self._with_headers(send))
        else:
            await self._app(scope, receive, send)

    def _known(self, host: str) -> bool:
        match = re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+)(?::[0-9]{1,5})?", host)
        if not match:
            return False
        name = match[1].lower().strip("[]")
        if name == "localhost":
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            own = socket.gethostname().lower()
            return not self._loopback and name in (own, f"{own}.local")
        return address.is_loopback or not self._loopback

    @staticmethod
    def _with_headers(send: Send) -> Send:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *_encoded(_HEADERS)]
            await send(message)

        return sending


class TooLargeError(Exception):
    """The body of a request is larger than ``LARGEST_BODY``."""


class _Limited:
    """A request's ``receive`` that gives up on a body that is too large."""

    def __init__(self, receive: Receive) -> None:
        self._receive, self._left = receive, LARGEST_BODY

    async def __call__(self) -> Message:
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            raise TooLargeError
        return message


async def _refuse(send: Send, status: int, sentence: str, language: str) -> None:
    """Answers with a sentence as JSON."""
    body = json.dumps({"error": said_in(language, sentence)}).encode()
    headers: dict[str, Any] = {
        "content-type": "application/json", "content-length": str(len(body)), "content-language": language, **_HEADERS
    }  # fmt: skip
    await send({"type": "http.response.start", "status": status, "headers": _encoded(headers)})
    await send({"type": "http.response.body", "body": body})


def _encoded(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers.items()]
