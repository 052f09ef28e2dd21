"""`armlet demo`: its numbers, and the page that shows them."""

import io
import re

import _demo
import numpy as np
import pytest
from support import hostile
from support.browser import CHROMIUM
from support.commands import run

import armlet
from armlet.cli import timing
from armlet.cli.commands import demo as command
from armlet.cli.commands.demo import MOST_JOINTS, collect, demo_page, motion, plan

plotly = pytest.importorskip("plotly", reason="plotly is not installed")


@pytest.fixture(scope="module")
def demo():
    return collect(armlet.load("planar2r"))


@pytest.fixture(scope="module")
def page(demo, tmp_path_factory):
    path = tmp_path_factory.mktemp("demo") / "demo.html"
    path.write_text(demo_page(demo), encoding="utf-8")
    return path


def test_demo_prints_what_it_found_and_writes_one_page(tmp_path):
    shown = run("demo", "planar3r", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    for words in (
        "inverse_dynamics",
        "10 s of motion",
        "parameters are identified",
        "page: demo.html",
    ):
        assert words in shown.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["demo.html"]


def test_no_published_count_is_below_armlet_s(demo):
    assert len(demo.published) > 50
    assert all(x.counted.total < x.printed.total for x in demo.published)


def test_programs_compute_what_the_definitions_do(demo):
    assert all(x.deviation < 1e-12 for x in demo.counted.values())


def test_the_parameters_are_those_of_the_arm_that_moved(demo):
    assert demo.identified.fits["validation, least squares"].whole < 2
    assert demo.near >= len(demo.identified.names) - 1


def test_the_same_program_in_numpy_gives_the_same_result():
    kernel = armlet.compile(armlet.load("puma560"), "inertia_matrix")
    q = np.linspace(-1, 1, 6)
    plain = timing.numpy_function(kernel.program, np.array)
    np.testing.assert_allclose(plain(q), kernel(q), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["puma560", "panda", "stanford", "scara"])
def test_the_motion_stays_within_the_limits_of_the_joints(name):
    arm = armlet.load(name)
    q, qd, _ = plan(arm)
    lower, upper, velocity, _ = np.array([joint.limits for joint in arm.joints]).T
    assert (q >= lower).all()
    assert (q <= upper).all()
    assert (np.abs(qd) <= velocity).all()
    assert np.ptp(q, axis=0).min() > 0.05


def test_the_arm_follows_its_plan():
    arm = armlet.load("puma560")
    assert np.abs(motion(arm).q[:-1] - plan(arm)[0]).max() < 0.01


def test_what_cannot_be_shown_is_named(monkeypatch):
    def missing(name):
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(timing, "import_module", missing)
    monkeypatch.setattr(command, "MOST_JOINTS", 1)
    found = collect(armlet.load("planar2r"))
    assert found.identified is None
    assert found.left_out == [
        "Pinocchio: No module named 'pinocchio'",
        "identification: more than 1 joints",
    ]
    text = demo_page(found)
    assert all(f"Left out: {word}" in text for word in ("Pinocchio", "identification"))
    assert MOST_JOINTS > 7


def test_names_in_the_page_are_no_markup(tmp_path):
    path = tmp_path / "arm.toml"
    path.write_text(hostile.ARM)
    with pytest.warns(armlet.ModelWarning):
        arm = armlet.load(path)
    text = demo_page(collect(arm))
    name = hostile.NAME.encode().decode("unicode_escape")
    assert name not in text
    assert "\x1b" not in text
    assert "<script> " not in text


def test_the_page_is_whole_in_itself(page):
    text = page.read_text(encoding="utf-8")
    assert len(re.findall(r"plotly\.js v\d", text)) == 1
    outside = re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    assert not re.search(r"(?:src|href)=|@import|url\(", outside)
    for title in ("Operations", "Speed", "A motion", "What its log tells"):
        assert f"<h2>{title}</h2>" in text


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 400])
def test_the_page_is_drawn_without_errors_at_every_width(page, width, theme):
    pytest.importorskip("websockets", reason="websockets is not installed")
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    found, problems = _demo.picture(page, width, theme)
    assert problems == []
    corner = image.open(io.BytesIO(found)).convert("L").getpixel((2, 2))
    assert corner > 200 if theme == "light" else corner < 60
