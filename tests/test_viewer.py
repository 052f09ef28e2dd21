"""The viewer in headless Chromium: sliders are moved, a run is played, the picture changes."""

import io
import json
import socket
import time
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from support.browser import CHROMIUM, Browser
from typer.testing import CliRunner

import armlet
from armlet.cli import app
from armlet.view import server, start_posture

pytest.importorskip("viser", reason='the viewer needs viser: pip install "armlet[view]"')
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium to look at the page with")

START = np.array([0.0, 0.3, 0.0, -1.8, 0.0, 2.2, 0.7])
READY = "document.querySelector('canvas') !== null"


@pytest.fixture(scope="module")
def panda():
    return armlet.load("panda")


@pytest.fixture(scope="module")
def run(panda):
    return armlet.simulate(panda, START, np.zeros(7), duration=1.0, dt=0.01)


@pytest.fixture(scope="module")
def viewer(panda, run):
    heavier = panda.with_inertia(1.3 * panda.phi)
    shown = armlet.view(panda, run, ghost=heavier, q=START, port=8765)
    yield shown
    shown.close()


@pytest.fixture(scope="module")
def page(viewer):
    with Browser(viewer.url) as browser:
        browser.until(f"{READY} && document.querySelectorAll('[role=slider]').length > 7")
        browser.until(lambda: steady(browser))
        yield browser


def pixels(picture):
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(picture)).convert("RGB"), float)


def scene(browser):
    """The left part of the picture, where no control is."""
    return pixels(browser.picture())[:, :380]


def changed(before, after):
    """How much of a picture is another."""
    return float((np.abs(before - after).max(axis=2) > 30).mean())


def steady(browser):
    """Whether something is drawn that does not change."""
    before = scene(browser)
    coloured = np.ptp(before, axis=2) > 60
    return coloured.mean() > 0.003 and changed(before, scene(browser)) < 1e-4


def stopped(browser, clock):
    """Whether the run stands still; if not, press the key that stops it (a busy page misses it)."""
    before = browser.run(clock)
    time.sleep(0.3)
    if browser.run(clock) == before:
        return True
    browser.run("window.dispatchEvent(new KeyboardEvent('keydown', {code: 'Space'}))")
    return False


def torques(browser):
    """The torques that the page shows."""
    texts = "[...document.getElementsByClassName('armlet-text')].map(x => x.textContent)"
    return [float(text.split()[0]) for text in json.loads(browser.run(f"JSON.stringify({texts})"))]


def is_shown(browser, tau):
    shown = torques(browser)
    return len(shown) == len(tau) and np.allclose(shown, tau, atol=0.0051)


# ---------------------------------------------------------------------------------- without a page


def test_showing_a_posture_moves_the_sliders_and_the_numbers(viewer, panda):
    viewer.show(START + 0.1)
    np.testing.assert_allclose([x.value for x in viewer.sliders], START + 0.1, atol=1e-9)
    tau = panda.gravity_torque(START + 0.1)
    assert f"{tau[1]:.2f} / 87 Nm" in viewer.numbers.content
    assert "Torques that hold the arm" in viewer.numbers.content


def test_moving_a_slider_moves_the_arm(viewer, panda):
    viewer.show(START)
    viewer.sliders[1].value = 0.9
    assert viewer.q[1] == 0.9
    drawn = viewer.stage.robot.bodies[6]
    own = panda.frames["link7"].pose.inverse().r
    pose = panda.poses(viewer.q, ["link7"])[0]
    np.testing.assert_allclose(drawn.position, pose[:3, :3] @ own + pose[:3, 3], atol=1e-6)


def test_a_slider_stays_within_the_limits_and_the_limits_on_the_slider(viewer, panda):
    for slider, joint in zip(viewer.sliders, panda.joints, strict=True):
        assert joint.limits.lower <= slider.min <= joint.limits.lower + 2e-3
        assert joint.limits.upper - 2e-3 <= slider.max <= joint.limits.upper


def test_a_payload_changes_the_torques(viewer, panda):
    viewer.show(START)
    viewer.payload[0].value = 2.0
    viewer.payload[3].value = 0.1
    tau = panda.with_payload(2.0, [0, 0, 0.1]).gravity_torque(START)
    assert f"{tau[1]:.2f} / 87 Nm" in viewer.numbers.content
    viewer.payload[0].value = 0.0
    assert f"{panda.gravity_torque(START)[1]:.2f} / 87 Nm" in viewer.numbers.content


def test_along_a_run_torques_are_those_of_inverse_dynamics(viewer, panda, run):
    viewer.seek(0.5)
    k = 50
    tau = panda.inverse_dynamics(run.q[k], run.qd[k], run.qdd[k])
    np.testing.assert_allclose(viewer.q, run.q[k], atol=1e-9)
    assert viewer.clock.value == 0.5
    assert f"{tau[3]:.2f} / 87 Nm" in viewer.numbers.content
    assert "Torques of the run" in viewer.numbers.content


def test_the_ghost_has_marks_of_its_own(viewer, panda):
    viewer.show(START)
    mark = 50 + 50 * 1.3 * panda.gravity_torque(START)[1] / 87
    assert f"left:{mark:.2f}%" in viewer.numbers.content


def test_a_ghost_that_looks_the_same_is_drawn_by_its_bodies_only(viewer):
    drawn = viewer.stage.ghost
    viewer.boxes["inertia"].value = True
    assert not any(handle.visible for handle in drawn.layers["shapes"])
    assert all(handle.visible for handle in drawn.layers["inertia"])
    viewer.ghost_box.value = False
    assert not any(handle.visible for handle in drawn.layers["inertia"])
    viewer.ghost_box.value, viewer.boxes["inertia"].value = True, False


def test_a_ghost_of_another_shape_is_drawn(panda):
    rows = (panda.dh[0], panda.dh[1], panda.dh[2]._replace(d=0.4), *panda.dh[3:])
    viewer = armlet.view(panda, ghost=replace(panda, dh=rows))
    assert all(handle.visible for handle in viewer.stage.ghost.layers["shapes"])
    viewer.close()
    viewer.wait()  # returns at once


def test_a_run_of_one_row_is_a_posture(tmp_path, panda, run):
    armlet.view(panda, run[40:41], html=tmp_path / "page.html")
    tau = panda.inverse_dynamics(run.q[40], run.qd[40], run.qdd[40])
    assert f"{tau[3]:.2f} / 87 Nm" in (tmp_path / "page.html").read_text()


def test_the_command_writes_a_page(tmp_path, run):
    run.to_csv(tmp_path / "run.csv")
    files = [str(tmp_path / name) for name in ("run.csv", "page.html")]
    result = CliRunner().invoke(app, ["view", "panda", files[0], "--html", files[1]])
    assert result.exit_code == 0, result.output
    assert result.output.split() == ["wrote", files[1]]
    assert "<title>panda</title>" in (tmp_path / "page.html").read_text()


# ---------------------------------------------------------------------------------- access


def connection(viewer, origin, host=None):
    """A websocket to a viewer, with headers as a browser sends them for a page of that origin."""
    import viser
    from websockets.sync.client import connect

    port = viewer.server.get_port()
    return connect(
        f"ws://{host or f'127.0.0.1:{port}'}",
        origin=origin,
        compression=None,
        sock=socket.create_connection(("127.0.0.1", port)),
        subprotocols=[f"viser-v{viser.__version__}"],
    )


def message(kind, **fields):
    import msgspec

    return msgspec.msgpack.encode({"type": kind, **fields})


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


def identifier(viewer, control):
    table = viewer.server.gui._gui_input_handle_from_uuid
    return next(uuid for uuid, handle in table.items() if handle is control)


def state(viewer):
    """All that a page can change."""
    controls = viewer.server.gui._gui_input_handle_from_uuid.values()
    return [viewer.q.tolist(), viewer.time, [control.value for control in controls]]


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://other.example"},
        {"origin": "http://other.example", "host": "other.example:8765"},
        {"origin": "http://other.example:8765", "host": "other.example:8765"},  # DNS rebinding
        {"origin": "http://localhost:3000"},
        {"origin": "http://127.0.0.1"},
        {"origin": "null"},
        {"origin": "file://"},
        {"origin": None},
    ],
    ids=str,
)
def test_a_page_of_another_origin_is_refused(viewer, headers):
    from websockets.exceptions import InvalidStatus

    with pytest.raises(InvalidStatus, match="403"), connection(viewer, **headers):
        pass


@pytest.mark.parametrize("host", ["127.0.0.1:{}", "localhost:{}", "[::1]:{}", "localhost:9000"])
def test_the_page_of_the_viewer_is_answered_by_every_name_of_this_machine(viewer, host):
    """Also through a tunnel, where the page has another port."""
    host = host.format(viewer.server.get_port())
    with connection(viewer, f"http://{host}", host) as page:
        assert len(page.recv(timeout=60)) > 100


def test_a_page_may_move_sliders_and_nothing_else(viewer, monkeypatch, capfd):
    import viser

    asked = []
    monkeypatch.setattr(viser.ViserServer, "request_share_url", lambda *_, **__: asked.append(1))
    viewer.show(START)
    uuid = identifier(viewer, viewer.sliders[1])
    before = state(viewer)
    with connection(viewer, viewer.url) as page:
        page.send(message("ViewerCameraMessage", **CAMERA))
        for bad in (
            b"",
            b"\xff",
            "text",
            b"\x91" * 100_000,
            message("GuiUpdateMessage"),
            message("ViewerCameraMessage", **CAMERA | {"wxyz": [1]}),
            message("ViewerCameraMessage", **CAMERA | {"image_height": np.nan}),
            *(
                message("GuiUpdateMessage", uuid=uuid, updates=x)
                for x in (
                    {"value": np.nan},
                    {"value": 99.0},
                    {"value": "x"},
                    {"value": [1]},
                    {"min": -9},
                    {"value": 0.5, "sync_cb": 1},
                    {"removed": True},
                    [],
                    {},
                )
            ),
            message("GuiUpdateMessage", uuid="another", updates={"value": 0.5}),
            message("ShareUrlRequest"),
        ):
            page.send(bad)
        time.sleep(0.3)
        assert state(viewer) == before
        page.send(message("GuiUpdateMessage", uuid=uuid, updates={"value": 0.5}))
        deadline = time.monotonic() + 60
        while viewer.q[1] != 0.5 and time.monotonic() < deadline:
            time.sleep(0.01)
    assert viewer.q[1] == 0.5
    assert not asked
    assert capfd.readouterr() == ("", "")


def test_a_viser_that_answers_every_page_is_refused(panda, monkeypatch):
    monkeypatch.setattr(server.Access, "guard", lambda self: nullcontext())
    with pytest.raises(armlet.ArmletError, match="cannot be kept from answering foreign pages"):
        armlet.view(panda, port=0)


def test_an_address_that_is_none_of_this_machine_is_refused_at_once(panda):
    for host in ("999.1.1.1", "192.0.2.1", "no such host", "x" * 300):
        with pytest.raises(armlet.DataError, match=r"cannot listen on .*expected an address"):
            armlet.view(panda, host=host)
    for port in (99999, -1, "8080", 80.5):
        with pytest.raises(armlet.DataError, match=r"port is .*expected a whole number"):
            armlet.view(panda, port=port)


def test_a_port_that_is_taken_is_passed_over(viewer, panda):
    taken = viewer.server.get_port()
    other = armlet.view(panda, port=taken)
    assert int(other.url.rpartition(":")[2]) > taken
    other.close()


# ---------------------------------------------------------------------------------- in the page


@needs_chromium
def test_a_slider_of_the_page_moves_the_arm_and_the_picture_changes(viewer, page, panda):
    viewer.show(START)
    page.until(lambda: steady(page))
    before = scene(page)
    page.run("document.querySelectorAll('[role=slider]')[2].focus()")  # 0 is the time
    page.key("End")
    page.until(lambda: viewer.q[1] == viewer.sliders[1].max)
    page.until(lambda: is_shown(page, panda.gravity_torque(viewer.q)))
    page.until(lambda: changed(before, scene(page)) > 0.02)
    assert not page.errors


@needs_chromium
def test_a_run_that_is_played_moves_the_picture(viewer, page, panda, run):
    viewer.seek(0.0)
    page.until(lambda: steady(page))
    before = scene(page)
    page.run("[...document.querySelectorAll('button')].find(x => x.innerText == 'Play').click()")
    page.until(lambda: viewer.time == run.t[-1])
    page.until(lambda: is_shown(page, panda.inverse_dynamics(run.q[-1], run.qd[-1], run.qdd[-1])))
    page.until(lambda: changed(before, scene(page)) > 0.02)
    assert not page.errors


@needs_chromium
def test_layers_that_are_switched_on_are_seen(viewer, page):
    viewer.show(START)
    page.until(lambda: steady(page))
    for box in viewer.boxes.values():
        before = scene(page)
        box.value = True
        page.until(lambda before=before: changed(before, scene(page)) > 0.001)
    assert list(viewer.boxes) == ["frames", "com", "inertia"]


@needs_chromium
def test_a_written_page_plays_a_run_without_a_network(tmp_path, panda, run):
    path = tmp_path / "page.html"
    assert armlet.view(panda, run, html=path) is None
    assert path.stat().st_size < 2e6
    with Browser(path.as_uri()) as browser:
        slider = "document.querySelector('[role=slider]')"
        browser.until(f"{READY} && {slider} !== null")
        time = f"Number({slider}.getAttribute('aria-valuenow'))"
        browser.until(f"{time} > 0.05")
        early = scene(browser)
        browser.until(f"{time} > 0.5")
        browser.until(lambda: changed(early, scene(browser)) > 0.01)
        browser.until(lambda: stopped(browser, time))
        browser.until(lambda: steady(browser))
        at = run.at([np.floor(browser.run(time) * 30 + 1e-6) / 30])
        assert is_shown(browser, panda.inverse_dynamics(at.q[0], at.qd[0], at.qdd[0]))
        assert not browser.errors
        assert {url.partition(":")[0] for url in browser.requests} <= {"file", "data", "blob"}


@needs_chromium
def test_a_name_is_not_markup_in_a_written_page(tmp_path, panda):
    name = "<img src=x onerror='document.title=1'></script>"
    joints = tuple(joint._replace(name=f"{name}{k}") for k, joint in enumerate(panda.joints))
    armlet.view(replace(panda, name=name, joints=joints), html=tmp_path / "page.html")
    with Browser((tmp_path / "page.html").as_uri()) as browser:
        browser.until(READY)
        browser.until(lambda: is_shown(browser, panda.gravity_torque(start_posture(panda))))
        assert browser.run("document.title") == name
        assert browser.run("document.querySelectorAll('img').length") == 0
