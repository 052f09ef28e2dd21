"""`armlet identify` on the command line."""

import json
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import armlet
from armlet.cli import app

GAINS = np.array([12.0, 7.5])
LOAD = 2.0, (0.3, 0.1, 0.0)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Logs of a planar arm in amperes, without and with a payload."""
    folder = tmp_path_factory.mktemp("logs")
    robot = armlet.load("planar2r").without_drives()
    rng = np.random.default_rng(0)
    t, w = np.arange(0, 10, 2e-3), np.array([1.0, 2.3])
    s = np.outer(t, w)
    q, qd = np.sin(s) + np.cos(2 * s), w * (np.cos(s) - 2 * np.sin(2 * s))
    qdd = -(w**2) * (np.sin(s) + 4 * np.cos(2 * s))
    for name, arm in (("plain", robot), ("loaded", robot.with_payload(*LOAD))):
        tau = arm.inverse_dynamics(q, qd, qdd) + 0.05 * rng.normal(size=q.shape)
        np.savez(folder / f"{name}.npz", t=t, q=q, current=tau / GAINS)
        np.savez(folder / f"{name}_tau.npz", t=t, q=q, tau=tau)
    return folder


def run(*args):
    done = CliRunner().invoke(app, ["identify", "planar2r", *map(str, args), "--no-physical"])
    return done.exit_code, f"{done.output}{done.exception or ''}"


def test_gains_and_payloads_are_options(files):
    code, text = run(
        files / "plain.npz",
        "--loaded",
        files / "loaded.npz",
        "--payload",
        "2,0.3,0.1,0",
        "--gains",
        "--no-friction",
        "--json",
    )
    assert code == 0
    found = json.loads(text)
    off = np.abs(np.array(found["gains"]["values"]) - GAINS)
    assert (off < 4 * np.array(found["gains"]["deviations"])).all()
    assert np.shape(found["covariance"]) == (6, 6)
    code, text = run(
        files / "plain.npz",
        "--loaded",
        files / "loaded.npz",
        "--payload",
        "2,0.3,0.1,0",
        "--gains",
        "--no-friction",
    )
    assert code == 0
    assert "gain" in text


def test_instrumental_variables_are_an_option(files):
    code, text = run(files / "plain_tau.npz", "--estimator", "instrumental", "--json")
    assert code == 0
    found = json.loads(text)
    assert found["instrumental"]["rounds"] < 5
    assert 0 <= found["instrumental"]["p"] <= 1


def test_options_that_make_no_sense_are_refused(files):
    log = files / "plain_tau.npz"
    for options, message in (
        (("--estimator", "magic"), "--estimator is 'magic': expected one of ordinary, weighted"),
        (("--boxes", "0.1"), "--boxes is about physical bodies: expected no --no-physical"),
        (("-o", "a.urdf"), "--out is about physical bodies: expected no --no-physical"),
        (("--payload", "1,0,0,0"), "--loaded and --payload belong together"),
        (("--ratios", "1"), "--ratios is '1': expected 2 numbers with commas between"),
        (("--loaded", log, "--payload", "1,2"), "--payload is '1,2': expected 4 or 10 numbers"),
    ):
        code, text = run(log, *options)
        assert code != 0
        assert message in " ".join(text.split())


def test_an_arm_is_written_only_with_cvxpy_which_the_error_names(files, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "cvxpy", None)
    arguments = [
        "identify",
        "planar2r",
        str(files / "plain_tau.npz"),
        "-o",
        str(tmp_path / "a.urdf"),
    ]
    done = CliRunner().invoke(app, arguments)
    assert "cvxpy is needed" in f"{done.output}{done.exception or ''}"


def test_currents_of_coupled_joints_are_reported(tmp_path):
    """An arm of two joints that one coordinate moves, and a third one."""
    pytest.importorskip("plotly", reason="plotly is not installed: it is in the dev extra")
    links = "".join(
        f'<link name="l{k}"><inertial><origin xyz="0.2 0 0"/><mass value="1"/><inertia ixx="0.01" '
        f'iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j{k}" '
        f'type="continuous"><parent link="l{k - 1}"/><child link="l{k}"/><origin xyz="0.4 0 0" '
        f'rpy="{1.57 * (k == 1)} 0 0"/><axis xyz="0 0 1"/>'
        f"{'<mimic joint=' + chr(34) + 'j1' + chr(34) + '/>' if k == 2 else ''}</joint>"
        for k in (1, 2, 3)
    )
    path = tmp_path / "arm.urdf"
    path.write_text(f'<robot name="arm"><link name="l0"/>{links}</robot>')
    robot = armlet.load(path, tool="l3")
    t, w = np.arange(0, 10, 2e-3), np.array([1.0, 2.3])
    s, rng = np.outer(t, w), np.random.default_rng(0)
    q, qd = np.sin(s) + np.cos(2 * s), w * (np.cos(s) - 2 * np.sin(2 * s))
    qdd = -(w**2) * (np.sin(s) + 4 * np.cos(2 * s))
    for name, arm in (("plain", robot), ("loaded", robot.with_payload(*LOAD))):
        tau = arm.inverse_dynamics(q, qd, qdd) + 0.05 * rng.normal(size=q.shape)
        np.savez(tmp_path / f"{name}.npz", t=t, q=q, current=tau / GAINS)
    done = CliRunner().invoke(
        app,
        [
            "identify",
            str(path),
            str(tmp_path / "plain.npz"),
            "--tool",
            "l3",
            "--loaded",
            str(tmp_path / "loaded.npz"),
            "--payload",
            "2,0.3,0.1,0",
            "--gains",
            "--boxes",
            "0.1",
            "--report",
            str(tmp_path / "report.html"),
            "--plot",
            str(tmp_path / "plot.html"),
        ],
    )
    assert done.exit_code == 0, f"{done.output}{done.exception}"
    assert "j1" in done.output
    assert "j3" in done.output
    assert (tmp_path / "report.html").exists()
