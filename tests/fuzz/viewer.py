"""Messages and origins of every kind sent to a viewer: it keeps serving its own page only."""

import contextlib
import io
import logging
import socket
import time
from functools import cache
from importlib.util import find_spec

import numpy as np

import armlet
from fuzz import pick

PATIENCE = 20
NAMES = (
    "GuiUpdateMessage",
    "ViewerCameraMessage",
    "ShareUrlRequest",
    "ShareUrlDisconnect",
    "GuiButtonHoldMessage",
    "GuiFormSubmitMessage",
    "FileTransferStartUpload",
    "FileTransferPart",
    "ScenePointerMessage",
    "CommandTriggerMessage",
    "SceneNodeUpdateMessage",
    "Message",
    "\x00",
)
CAMERA = {
    "wxyz": [1, 0, 0, 0],
    "position": [1.5, 1, 1],
    "fov": 1,
    "near": 0.1,
    "far": 100,
    "image_height": 500,
    "image_width": 700,
    "look_at": [0, 0, 0],
    "up_direction": [0, 0, 1],
}


def missing():
    """The reason why no viewer can run on this machine, or an empty text."""
    absent = [name for name in ("viser", "websockets") if find_spec(name) is None]
    return f'the viewer needs {absent[0]}: pip install "armlet[view]"' if absent else ""


@cache
def shown():
    """A viewer with a run, for all trials of a process, and the log of its server."""
    import viser

    def tunnel(self, verbose=True):
        raise AssertionError("a public tunnel was asked for")

    viser.ViserServer.request_share_url = tunnel
    log = io.StringIO()
    for name in ("asyncio", "websockets", "concurrent.futures"):
        logging.getLogger(name).addHandler(logging.StreamHandler(log))
    robot = armlet.load("planar2r")
    run = armlet.simulate(robot, [0.1, 0.2], [0, 0], duration=0.1, dt=0.01)
    return armlet.view(robot, run, port=0), log


def trial(rng, folder):
    viewer, log = shown()
    printed = io.StringIO()
    with contextlib.redirect_stderr(printed), contextlib.redirect_stdout(printed):
        viewer.pause()
        before = state(viewer)
        for _ in range(rng.integers(1, 6)):
            host, origin, own = headers(rng, viewer.server.get_port())
            converse(rng, viewer, host, origin, own)
            assert state(viewer) == before, f"Host {host!r}, Origin {origin!r} changed the viewer"
        heeds_its_page(rng, viewer)
    output = printed.getvalue() + log.getvalue()
    log.truncate(0)
    log.seek(0)
    assert not output, output


def state(viewer):
    """The state of a viewer that a page can change."""
    controls = viewer.server.gui._gui_input_handle_from_uuid.values()
    values = [(control.value, control.label, control.visible) for control in controls]
    return [viewer.q.tolist(), viewer.time, values]


def headers(rng, port):
    """Random headers Host and Origin, and whether they belong to the viewer's own page."""
    host = str(
        pick(
            rng,
            (
                f"127.0.0.1:{port}",
                f"localhost:{port}",
                f"[::1]:{port}",
                f"other.example:{port}",
                f"127.0.0.1.other.example:{port}",
                "localhost.other.example",
                f"localhost@other.example:{port}",
                "",
                ":",
                f"localhost:{port}:{port}",
                "[::1",
                "٣:80",
                "a" * 3000,
            ),
        )
    )
    local = host in (f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}")
    if rng.random() < 0.5:
        return host, f"http://{host}", local
    origin = pick(
        rng,
        (
            "http://other.example",
            "null",
            "",
            None,
            f"http://{host}/",
            f"file://{host}",
            "http://localhost:3000",
            f"HTTP://{host}",
            f"http://x@{host}",
            f"http://{host} http://other.example",
            "http://" + "b" * 3000,
        ),
    )
    return host, origin, False


def converse(rng, viewer, host, origin, own):
    """Open a socket, and send frames and bytes that are not valid messages of the page."""
    with socket.create_connection(("127.0.0.1", viewer.server.get_port()), PATIENCE) as sock:
        try:
            sock.sendall(request(rng, host, origin))
            answer = sock.recv(4096)
            if not own:
                assert not answer.startswith(b"HTTP/1.1 101"), f"{host!r}, {origin!r}: not refused"
            for _ in range(rng.integers(0, 8)):
                sock.sendall(frame(rng, bad_message(rng, viewer)))
            if rng.random() < 0.3:
                sock.sendall(rng.bytes(int(rng.integers(1, 200))))
        except ConnectionError:
            pass  # the server has closed it
    time.sleep(0.005)


def request(rng, host, origin):
    import viser

    lines = [
        pick(rng, ("GET / HTTP/1.1",) * 8 + ("POST / HTTP/1.1", "GET", "GET /%00/..%2f HTTP/1.1")),
        f"Host: {host}",
        "Upgrade: " + pick(rng, ("websocket",) * 6 + ("WebSocket", "h2c")),
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        f"Sec-WebSocket-Protocol: viser-v{viser.__version__}",
    ]
    if origin is not None:
        lines.append(f"Origin: {origin}")
    if rng.random() < 0.1:
        lines.append(pick(rng, lines[1:]))  # a header twice
    return "\r\n".join([*lines, "", ""]).encode()


def frame(rng, payload):
    """A websocket frame of a payload, masked as browsers do."""
    opcode = 2 if rng.random() < 0.8 else int(rng.integers(16))
    size = len(payload)
    length = bytes([128 | size]) if size < 126 else bytes([254]) + size.to_bytes(2, "big")
    return bytes([128 | opcode]) + length + bytes(4) + payload


def bad_message(rng, viewer):
    """Bytes, less than 64 KiB, that are not a valid message of the page."""
    import msgspec

    if rng.random() < 0.2:
        return rng.bytes(int(rng.integers(0, 300)))
    if rng.random() < 0.05:
        return b"\x91" * int(rng.integers(1, 60_000))
    uuid = pick(rng, list(viewer.server.gui._gui_input_handle_from_uuid))
    fields = {"type": pick(rng, NAMES), "uuid": uuid}
    match fields["type"]:
        case "GuiUpdateMessage":
            name = pick(
                rng, ("value",) * 4 + ("min", "max", "label", "removed", "sync_cb", "visible")
            )
            fields["updates"] = {name: odd(rng)}
            if name != "value":
                fields["updates"]["value"] = 0.0
        case "ViewerCameraMessage":
            fields = {"type": fields["type"]} | CAMERA | {pick(rng, list(CAMERA)): odd(rng)}
        case _:
            fields |= {str(rng.integers(9)): odd(rng) for _ in range(rng.integers(3))}
    data = bytearray(msgspec.msgpack.encode(fields))
    if rng.random() < 0.2 and fields["type"] != "GuiUpdateMessage":
        data[rng.integers(len(data))] = rng.integers(256)
    return bytes(data)


def odd(rng):
    """A value that is invalid for all controls of the page and for the camera."""
    return pick(
        rng,
        (
            None,
            np.nan,
            np.inf,
            -np.inf,
            1e300,
            -1e9,
            2**63,
            "x",
            "",
            [],
            {},
            [1] * 9,
            {"value": 0.5},
            [[0.0]],
            b"\x00",
            "a" * 1000,
        ),
    )


def heeds_its_page(rng, viewer):
    """Raise if a slider moved in the viewer's own page does not move the arm."""
    import msgspec
    import viser
    from websockets.sync.client import connect

    slider = viewer.sliders[0]
    table = viewer.server.gui._gui_input_handle_from_uuid
    uuid = next(name for name, handle in table.items() if handle is slider)
    value = float(rng.uniform(slider.min, slider.max))
    subprotocols = [f"viser-v{viser.__version__}"]
    with connect(
        viewer.url.replace("http", "ws"), origin=viewer.url, subprotocols=subprotocols
    ) as ws:
        update = {"type": "GuiUpdateMessage", "uuid": uuid, "updates": {"value": value}}
        for fields in ({"type": "ViewerCameraMessage"} | CAMERA, update):
            ws.send(msgspec.msgpack.encode(fields))
        deadline = time.monotonic() + PATIENCE
        while viewer.q[0] != value:
            assert time.monotonic() < deadline, "the page's own slider does nothing"
            time.sleep(0.002)
