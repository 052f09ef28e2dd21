"""A viser server that answers only its own page, and obeys only camera and control messages.

A browser lets any page open a websocket to any address, so a server must check which page connects.
Viser does not check this, and obeys any message, even a request for a public tunnel. This module
checks each connection and each message before viser receives it.
"""

from __future__ import annotations

import contextlib
import errno
import http
import io
import ipaddress
import logging
import math
import socket
import threading
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from armlet._support.validation import integer
from armlet.errors import ArmletError, DataError, quote

PORTS = 1000
"""Maximum number of consecutive ports to try."""
CAMERA_VECTORS = {"wxyz": 4, "position": 3, "look_at": 3, "up_direction": 3}
CAMERA_NUMBERS = ("fov", "near", "far", "image_height", "image_width")
LOG = logging.getLogger("armlet.view")
LOG.addHandler(logging.NullHandler())  # keeps malformed requests off stderr
PATCH = threading.Lock()


def viser_server(host: str = "127.0.0.1", port: int = 8080) -> Any:
    """Start a viser server that answers its own page only; `port` is the first port to try."""
    try:
        viser = import_module("viser")
    except ImportError as error:
        raise ArmletError(
            f"the viewer needs viser, which cannot be imported ({error}): "
            'pip install "armlet[view]"'
        ) from None
    access = Access(host, listening_socket(host, port))
    with access.guard(), quiet():
        server = viser.ViserServer(host=host, port=port, verbose=False)
    if not access.in_use:
        access.socket.close()
        server.stop()
        raise ArmletError(
            f"viser {viser.__version__} cannot be kept from answering foreign pages: "
            'pip install "viser==1.1.1"'
        )
    access.controls = server.gui._gui_input_handle_from_uuid
    server.gui.configure_theme(show_logo=False, show_share_button=False, brand_color=(0, 114, 178))
    return server


def quiet() -> contextlib.AbstractContextManager[object]:
    """Return a context manager that suppresses what viser prints when it starts and stops."""
    return contextlib.redirect_stdout(io.StringIO())


def listening_socket(host: str, port: int) -> socket.socket:
    """Open a socket on the first free port, starting at `port`; port 0 means any free port."""
    integer(port, "port", low=0, high=65535)
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as error:
        raise _not_an_address(host, error) from None
    last = min(port + PORTS, 65536) if port else 1
    for candidate in range(port, last):
        try:
            return socket.create_server((address[0], candidate), family=family)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise _not_an_address(f"{host}:{candidate}", error) from None
    raise DataError(
        f"the ports {port} to {last - 1} of {host} are all taken: expected a free one; "
        "port=0 takes any"
    )


def _not_an_address(text: str, error: Exception) -> DataError:
    return DataError(
        f"the viewer cannot listen on {quote(text)} ({error}): expected an address of this "
        'machine, such as host="127.0.0.1", or host="0.0.0.0" for all of them'
    )


class Access:
    """Access checks for the pages and messages of a viser server; `guard` installs the checks."""

    def __init__(self, host: str, listening: socket.socket) -> None:
        self.host, self.socket = host, listening
        self.local = ipaddress.ip_address(listening.getsockname()[0]).is_loopback
        self.in_use = False
        self.controls: dict[str, Any] = {}
        """Controls of the page, by identifier."""

    def is_own_page(self, host: list[str], origin: list[str]) -> bool:
        """Whether the headers Host and Origin belong to a page that this server has sent.

        Both headers must name the same address. If only this machine can reach the server, the
        address must be numeric, localhost, or the host that the user chose: an attacker can make
        any other name resolve to this machine (DNS rebinding).
        """
        if len(host) != 1 or origin not in ([f"http://{host[0]}"], [f"https://{host[0]}"]):
            return False
        if not self.local:
            return True
        name = host[0].rpartition(":")[0] if host[0].rpartition(":")[2].isdigit() else host[0]
        try:
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return name.lower() in ("localhost", self.host.lower())
        return True

    def accepts(self, raw: Any) -> bool:
        """Whether a message moves the page's camera, or sets a control to an allowed value."""
        msgspec = import_module("msgspec")
        try:
            message = msgspec.msgpack.decode(raw, type=dict[str, Any])
        except (msgspec.MsgspecError, TypeError, ValueError, RecursionError):
            return False
        match message:
            case {"type": "ViewerCameraMessage"}:
                return _is_camera(message)
            case {"type": "GuiUpdateMessage", "uuid": str(uuid), "updates": {"value": value}}:
                control = self.controls.get(uuid)
                only = len(message["updates"]) == 1
                return only and control is not None and _fits(control, value)
        return False

    @contextlib.contextmanager
    def guard(self) -> Iterator[None]:
        """Return a context manager in which viser starts on `self.socket`, with access checks."""
        module: Any = import_module("websockets.asyncio.server")
        with PATCH:
            serve = module.serve

            def serve_own_page(handler: Any, *address: Any, **options: Any) -> Any:
                if not str(getattr(handler, "__module__", "")).startswith("viser."):
                    return serve(handler, *address, **options)
                self.in_use = True
                options["process_request"] = self._checked_request(options["process_request"])
                return serve(
                    self._checked_messages(handler), sock=self.socket, logger=LOG, **options
                )

            module.serve = serve_own_page
            try:
                yield
            finally:
                module.serve = serve

    def _checked_request(self, process: Callable[..., Any]) -> Callable[..., Any]:
        def process_request(connection: Any, request: Any) -> Any:
            host, origin = (request.headers.get_all(name) for name in ("Host", "Origin"))
            if request.headers.get_all("Upgrade") and not self.is_own_page(host, origin):
                return connection.respond(http.HTTPStatus.FORBIDDEN, "not a page of this viewer\n")
            return process(connection, request)

        return process_request

    def _checked_messages(self, handler: Callable[..., Any]) -> Callable[..., Any]:
        async def handle(connection: Any) -> None:
            receive = connection.recv

            async def receive_accepted() -> Any:
                while not self.accepts(raw := await receive()):
                    pass
                return raw

            connection.recv = receive_accepted
            await handler(connection)

        return handle


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _is_camera(message: dict[str, Any]) -> bool:
    vectors = [(message.get(name), size) for name, size in CAMERA_VECTORS.items()]
    return all(
        isinstance(x, list) and len(x) == size and all(map(_is_number, x)) for x, size in vectors
    ) and all(_is_number(message.get(name)) for name in CAMERA_NUMBERS)


def _fits(control: Any, value: Any) -> bool:
    """Whether a slider, dropdown, checkbox or button may take `value`."""
    if isinstance(control.value, float):
        return _is_number(value) and control.min <= value <= control.max
    if isinstance(control.value, str):
        return value in control.options
    return isinstance(value, bool)
