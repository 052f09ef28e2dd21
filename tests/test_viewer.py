"""The viewer in headless Chromium: sliders are moved, a run is played, the picture changes."""

import io
import json
from dataclasses import replace

import numpy as np
import pytest
from browser import CHROMIUM, Browser
from typer.testing import CliRunner

import armlet
from armlet.cli import app
from armlet.view import start_posture

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
    drawn = viewer.stage.robots[0][1].bodies[6]
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
    drawn = viewer.stage.robots[1][1]
    viewer.boxes["inertia"].value = True
    assert not any(handle.visible for handle in drawn.layers["shapes"])
    assert all(handle.visible for handle in drawn.layers["inertia"])
    viewer.ghost_box.value = False
    assert not any(handle.visible for handle in drawn.layers["inertia"])
    viewer.ghost_box.value, viewer.boxes["inertia"].value = True, False


def test_a_ghost_of_another_shape_is_drawn(panda):
    rows = (panda.dh[0], panda.dh[1], panda.dh[2]._replace(d=0.4), *panda.dh[3:])
    viewer = armlet.view(panda, ghost=replace(panda, dh=rows))
    assert all(handle.visible for handle in viewer.stage.robots[1][1].layers["shapes"])
    viewer.close()
    viewer.wait()  # returns at once


def test_a_run_of_one_row_is_a_posture(tmp_path, panda, run):
    armlet.view(panda, run[40:41], html=tmp_path / "page.html")
    tau = panda.inverse_dynamics(run.q[40], run.qd[40], run.qdd[40])
    assert f"{tau[3]:.2f} / 87 Nm" in (tmp_path / "page.html").read_text()


def test_the_command_writes_a_page(tmp_path, run):
    run.to_csv(tmp_path / "run.csv")
    files = [str(tmp_path / name) for name in ("run.csv", "page.html")]
    told = CliRunner().invoke(app, ["view", "panda", files[0], "--html", files[1]])
    assert told.exit_code == 0, told.output
    assert told.output.split() == ["wrote", files[1]]
    assert "<title>panda</title>" in (tmp_path / "page.html").read_text()


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
        browser.run("window.dispatchEvent(new KeyboardEvent('keydown', {code: 'Space'}))")
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
