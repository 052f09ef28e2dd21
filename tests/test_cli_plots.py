"""`--plot FILE` of every command that has something to look at."""

import re

import numpy as np
import pytest
from support import hostile
from typer.testing import CliRunner

import armlet
from armlet.cli import COMMANDS, app

COMMAND = {
    "simulate": ("simulate", "planar2r", "--duration", "0.2"),
    "excite": (
        "excite",
        "planar2r",
        "--duration",
        "2",
        "--harmonics",
        "2",
        "--starts",
        "1",
        "--rate",
        "50",
        "--lower=-2",
        "--upper",
        "2",
        "--speed",
        "3",
    ),
    "identify": ("identify", "planar2r", "log.npz", "--no-physical"),
    "count": ("count", "planar2r", "--quantity", "inertia_matrix"),
    "published": ("count", "--published", "--quantity", "linearization"),
    "compare": ("compare", "planar2r", "--quantity", "gravity_torque"),
}
"""Each with little to do."""
SHOWN = {
    "simulate": "energy (J)",
    "excite": "condition number",
    "identify": "predicted",
    "count": "composite_bodies",
    "published": "published operation counts",
    "compare": " ns",
}
"""What the figure of each says."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a log."""
    place = tmp_path_factory.mktemp("plots")
    robot = armlet.load("planar2r").without_drives()
    t, w = np.arange(0, 5, 5e-3), np.array([1.0, 2.3])
    s = np.outer(t, w)
    q, qd, qdd = np.sin(s), w * np.cos(s), -(w**2) * np.sin(s)
    np.savez(place / "log.npz", t=t, q=q, tau=robot.inverse_dynamics(q, qd, qdd))
    return place


def run(command, path, folder):
    given = [str(folder / x) if x == "log.npz" else x for x in command]
    return CliRunner().invoke(app, [*given, "--plot", str(path)])


def test_the_table_has_every_command_that_plots():
    plots = {command.__name__ for command in COMMANDS if "plot" in command.__annotations__}
    assert plots == {command[0] for command in COMMAND.values()}


@pytest.mark.parametrize("name", COMMAND)
def test_a_command_writes_a_page_that_needs_no_network(name, folder, tmp_path):
    pytest.importorskip("plotly", reason="plotly is not installed: it is in the dev extra")
    page = tmp_path / "page.html"
    result = run(COMMAND[name], page, folder)
    assert result.exit_code == 0, result.exception
    assert "written:" in result.stdout
    text = page.read_text(encoding="utf-8")
    assert SHOWN[name] in text.partition("* plotly.js v")[0]
    assert not re.search(r"""<(?:script|link)[^>]*(?:src|href)=["']https?:""", text)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("page.pdf", r"page.pdf ends in '.pdf': a figure is saved as .html, .png, .svg"),
        ("nowhere/page.html", "nowhere is no folder"),
        (".", "a figure is saved as"),
    ],
)
@pytest.mark.parametrize("name", COMMAND)
def test_a_file_is_refused_before_the_work(name, path, message, folder, tmp_path, monkeypatch):
    def worked(*_, **__):
        raise AssertionError("worked before the file was checked")

    monkeypatch.setattr("armlet.cli.robot_options.load", worked)
    monkeypatch.setattr("armlet.cli.commands.count.totals", worked)
    result = run(COMMAND[name], tmp_path / path, folder)
    assert isinstance(result.exception, armlet.ArmletError)
    assert re.search(message, str(result.exception))


def test_a_full_disk_is_one_clear_line(tmp_path, folder):
    pytest.importorskip("plotly", reason="plotly is not installed: it is in the dev extra")
    (tmp_path / "page.html").symlink_to("/dev/full")
    result = run(COMMAND["compare"], tmp_path / "page.html", folder)
    message = str(result.exception)
    assert message.endswith("page.html: cannot be written: No space left on device")


@pytest.mark.filterwarnings("ignore::armlet.errors.ModelWarning")
@pytest.mark.parametrize("name", ["simulate", "count", "compare"])
def test_a_name_is_no_markup_in_a_figure(name, folder, tmp_path):
    pytest.importorskip("plotly", reason="plotly is not installed: it is in the dev extra")
    (tmp_path / "arm.toml").write_text(hostile.ARM)
    command = [str(tmp_path / "arm.toml") if x == "planar2r" else x for x in COMMAND[name]]
    result = run(command, tmp_path / "page.html", folder)
    assert result.exit_code == 0, result.exception
    own = (tmp_path / "page.html").read_text(encoding="utf-8").partition("* plotly.js v")[0]
    assert own.count("<script>") == 1  # of Plotly's library
    assert "☺" not in own
    assert own.replace("\n", "").isprintable()
