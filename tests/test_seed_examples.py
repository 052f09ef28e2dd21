"""The arms of Saha (1999) and the simulation that Lin (1991) advises: the physics, and the page."""

import re
import sys
from pathlib import Path

import numpy as np
import pictures
import planar_3r
import puma_lin_1991 as puma
import pytest
import stanford_arm

import armlet

ROOT = Path(__file__).parents[1]
NUMBER = re.compile(r"-?\b\d+\.?\d*(?:e[-+]\d+)?")
PAGE = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
EXAMPLES = [planar_3r, stanford_arm, puma]
g = 9.81


# ------------------------------------------------------------------ the planar 3R


@pytest.fixture(scope="module")
def planar_fall():
    return planar_3r.free_fall()


def explicit_torques(q, qd, qdd):
    """Lagrange's equations of three unit rods in angles against the horizontal, summed by joint.

    Row i of the equations is what acts on link i at its joint; a joint carries all links beyond it.
    """
    inertia = np.array([[7 / 3, 3 / 2, 1 / 2], [3 / 2, 4 / 3, 1 / 2], [1 / 2, 1 / 2, 1 / 3]])
    phi, rate, acceleration = (np.cumsum(x, -1) for x in (q, qd, qdd))
    between = phi[..., :, None] - phi[..., None, :]
    rows = (
        (inertia * np.cos(between)) @ acceleration[..., None]
        + (inertia * np.sin(between)) @ rate[..., None] ** 2
    )[..., 0] + g * np.array([5 / 2, 3 / 2, 1 / 2]) * np.cos(phi)
    return np.cumsum(rows[..., ::-1], -1)[..., ::-1]


def test_the_planar_arm_is_held_against_gravity_at_both_ends():
    np.testing.assert_allclose(planar_3r.inverse(0.0), [4.5 * g, 2 * g, g / 2], rtol=1e-12)
    np.testing.assert_allclose(planar_3r.inverse(10.0), [-1.5 * g, g, -g / 2], rtol=1e-12)


def test_in_the_middle_the_planar_arm_takes_centrifugal_and_gravity_torques():
    """There the links point up, back and down, and turn at w, 2w and 3w without accelerating."""
    w = 2 * np.pi / 10
    expected = [-7 * w**2 - 1.5 * g, -(w**2) - 1.5 * g, 2 * w**2]
    np.testing.assert_allclose(planar_3r.inverse(5.0), expected, rtol=1e-12)


def test_the_planar_torques_are_those_of_the_explicit_equations():
    t = np.linspace(0, 10, 101)
    expected = explicit_torques(*planar_3r.motion(t))
    np.testing.assert_allclose(planar_3r.inverse(t), expected, atol=1e-12)
    expected = [[41.564123, 17.159901, 3.766414], [-14.536942, 9.064277, -3.276452]]
    np.testing.assert_allclose(planar_3r.inverse([2.5, 7.5]), expected, atol=1e-6)


def test_the_planar_arm_falls_from_known_accelerations_through_known_states(planar_fall):
    expected = np.linalg.solve(
        planar_3r.arm().inertia_matrix(np.zeros(3)), [-4.5 * g, -2 * g, -g / 2]
    )
    np.testing.assert_allclose(planar_fall.qdd[0], expected, rtol=1e-12)
    np.testing.assert_allclose(planar_fall.qdd[0], [-12.451154, 15.846923, -4.527692], atol=1e-6)
    expected = [[-0.951148, 0.431000, 0.634529], [-1.806143, -0.541806, -0.132219]]
    np.testing.assert_allclose(planar_fall.at([0.5, 1.0]).q, expected, atol=2e-6)


def test_the_first_joint_of_the_planar_arm_falls_in_the_negative_direction(planar_fall):
    first = planar_fall.t <= 1
    assert (planar_fall.qd[first, 0][1:] < 0).all()
    assert (np.diff(planar_fall.q[first, 0]) < 0).all()


def test_the_planar_arm_swings_as_a_triple_pendulum(planar_fall):
    """All joints turn to and fro, between the horizontal it fell from and the lowest posture."""
    turns = np.abs(np.diff(np.sign(planar_fall.qd[1:]), axis=0)).sum(0) / 2
    assert (turns >= 3).all()
    assert planar_fall.potential.max() < 1e-9 < -planar_fall.potential.min() < 4.5 * g
    assert np.ptp(planar_fall.energy) < 1e-9 * np.ptp(planar_fall.kinetic)


def test_fallen_to_the_other_side_the_planar_arm_moves_as_in_a_mirror(planar_fall):
    other = planar_3r.free_fall((np.pi, 0.0, 0.0), duration=2.0).at(np.linspace(0, 2, 21)).q
    expected = [np.pi, 0, 0] - planar_fall.at(np.linspace(0, 2, 21)).q
    np.testing.assert_allclose(other, expected, atol=1e-6)


# ------------------------------------------------------------------ the Stanford arm


@pytest.fixture(scope="module")
def stanford_fall():
    return stanford_arm.free_fall()


def test_the_stanford_arm_moves_between_the_postures_that_are_stated():
    first, last = stanford_arm.motion(0.0), stanford_arm.motion(10.0)
    np.testing.assert_allclose(stanford_arm.in_degrees(first.q), [0, 90, 0, 0, 0, 0], atol=1e-12)
    np.testing.assert_allclose(
        stanford_arm.in_degrees(last.q), [60, 60, 0.1, 60, 60, 60], atol=1e-12
    )
    assert np.abs([first.qd, first.qdd, last.qd, last.qdd]).max() < 1e-15


def test_the_stanford_arm_is_held_against_gravity_at_both_ends():
    """Link 4 has its mass 0.7 m from the shoulder, links 5 and 6 theirs at 0.6 m, link 3 at 0."""
    start = [0, g * (0.7 * 1 + 0.6 * 1.1), 0, 0, 0, 0]
    np.testing.assert_allclose(stanford_arm.inverse(0.0), start, atol=1e-12)
    arm = np.sin(np.pi / 3) * (0.1 * 4 + 0.8 * 1 + 0.7 * 1.1)
    end = [0, g * arm, -g * np.cos(np.pi / 3) * (4 + 1 + 0.6 + 0.5), 0, 0, 0]
    np.testing.assert_allclose(stanford_arm.inverse(10.0), end, atol=1e-12)


def test_the_stanford_torques_on_the_way_are_known():
    expected = [
        [0.104303, 13.822716, -2.786294, 0.000327, 0.000047, 0.000268],
        [-0.005709, 15.753785, -15.574392, 0.000040, -0.000098, -0.000070],
        [-0.099837, 16.732867, -27.518354, -0.000210, 0.000032, -0.000217],
    ]
    np.testing.assert_allclose(stanford_arm.inverse([2.5, 5.0, 7.5]), expected, atol=1e-6)


@pytest.mark.parametrize("example", [planar_3r, stanford_arm])
def test_the_way_back_takes_the_same_torques(example):
    """Torques do not depend on the sign of the velocities."""
    motion = example.motion(np.linspace(0, 10, 21))
    back = motion._replace(qd=-motion.qd)
    robot = example.arm()
    np.testing.assert_allclose(
        robot.inverse_dynamics(*back), robot.inverse_dynamics(*motion), atol=1e-12
    )


def test_the_stanford_arm_falls_from_known_accelerations_through_known_states(stanford_fall):
    """At first the wrist keeps its direction: joint 5 turns back what joint 2 turns."""
    about_the_shoulder = 0.06 + 0.4 + 0.0005 + 0.7**2 * 1 + 0.6**2 * 1.1
    first = -g * (0.7 * 1 + 0.6 * 1.1) / about_the_shoulder
    np.testing.assert_allclose(stanford_fall.qdd[0], [0, first, 0, 0, -first, 0], atol=1e-9)
    expected = [
        [-2.3282, 32.4739, 0.3480, -1.3785, 57.5339, 0.7401],
        [0.1457, 4.6390, 2.9997, 2.5470, 85.3465, -0.2060],
    ]
    found = stanford_arm.in_degrees(stanford_fall.at([0.5, 1.0]).q)
    np.testing.assert_allclose(found, expected, atol=1e-4)
    assert np.ptp(stanford_fall.energy) < 1e-10 * np.ptp(stanford_fall.kinetic)


def test_joint_3_runs_away_once_joint_2_has_left_90_degrees(stanford_fall):
    past = 90 - np.degrees(stanford_fall.q[:, 1])
    slide = stanford_fall.q[:, 2]
    assert (np.diff(past) > 0).all()
    assert np.abs(slide[past < 5]).max() < 2e-3
    assert slide[past > 60].min() > 0.3
    assert slide[past > 85].min() > 2.5
    assert (stanford_fall.qdd[past > 50, 2] > g).all()
    assert past[-1] < 90
    assert slide[-1] > 8


def test_with_gravity_reversed_joint_2_exceeds_90_degrees_and_joint_3_moves_alike(stanford_fall):
    upside_down = stanford_arm.arm().with_gravity((0, 0, g))
    times = np.linspace(0, 1, 21)
    found = stanford_arm.free_fall(upside_down, duration=1.0).at(times).q
    expected = stanford_fall.at(times).q
    assert (found[1:, 1] > np.pi / 2).all()
    np.testing.assert_allclose(found[:, 1], np.pi - expected[:, 1], atol=1e-6)
    np.testing.assert_allclose(found[:, 2], expected[:, 2], atol=1e-6)


# ------------------------------------------------------------------ the PUMA


def test_the_motion_of_the_puma_is_within_its_limits():
    motion = puma.motion(np.linspace(0, puma.DURATION, 101))
    limits = [joint.limits for joint in puma.robot.joints]
    assert (np.abs(motion.qd) < [limit.velocity for limit in limits]).all()
    assert (np.abs(puma.robot.inverse_dynamics(*motion)) < [limit.effort for limit in limits]).all()


def test_ldl_solves_symmetric_positive_systems():
    rng = np.random.default_rng(0)
    for n in range(1, 8):
        root, y = rng.normal(size=(n, n)), rng.normal(size=n)
        H = root @ root.T + np.eye(n)
        np.testing.assert_allclose(puma.ldl_solve(H, y), np.linalg.solve(H, y), rtol=1e-10)


def test_forward_dynamics_by_ldl_solve_the_equations_of_motion():
    q, qd, tau = np.random.default_rng(1).normal(size=(3, 20, 6))
    robot = puma.robot
    found = puma.accelerations(q, qd, tau)
    left = robot.inertia_matrix(q) @ found[..., None]
    np.testing.assert_allclose(left[..., 0], tau - robot.bias(q, qd), atol=1e-10)
    np.testing.assert_allclose(found, robot.forward_dynamics(q, qd, tau), atol=1e-10)


def test_the_simulated_puma_follows_the_motion_that_its_torques_are_for():
    found = puma.simulation()
    exact = puma.motion(found.t)
    assert np.abs(found.q - exact.q).max() < 1e-8
    assert np.abs(found.qd - exact.qd).max() < 1e-7
    np.testing.assert_allclose(found.tau, puma.robot.inverse_dynamics(*exact), atol=1e-9)


def test_adams_bashforth_agrees_with_dop853():
    exact = armlet.Adaptive("dop853", rtol=1e-12, atol=1e-12)
    found, expected = puma.simulation(), puma.simulation(exact)
    assert np.abs(found.q - expected.q).max() < 1e-8
    assert np.abs(expected.q - puma.motion(expected.t).q).max() < 1e-11


@pytest.mark.parametrize(("method", "expected"), [("adams_bashforth4", 4), ("rk4", 4)])
def test_errors_on_the_puma_fall_with_the_fourth_power_of_the_step(method, expected):
    assert puma.order(method) == pytest.approx(expected, abs=0.1)


# ------------------------------------------------------------------ the documentation


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.__name__)
def test_the_page_states_the_numbers_that_an_example_prints(example):
    """Word by word; the last digits depend on the machine's sines."""
    printed = "\n".join(example.numbers())
    blocks = re.findall(r"```text\n(.*?)\n```", PAGE, re.DOTALL)
    (stated,) = (x for x in blocks if NUMBER.sub("#", x) == NUMBER.sub("#", printed))
    for found, expected in zip(NUMBER.findall(printed), NUMBER.findall(stated), strict=True):
        wide = "e" in found
        assert float(found) == pytest.approx(
            float(expected), rel=0.5 if wide else 1e-3, abs=0 if wide else 1e-4
        )


def test_an_example_says_what_its_figures_need(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "argv", ["planar_3r.py", "--out", str(tmp_path)])
    monkeypatch.setitem(sys.modules, "kaleido", None)
    with pytest.raises(SystemExit, match=r"kaleido is needed.*pip install .armlet\[plot\]"):
        pictures.run("", lambda: [], lambda: {"x": pictures.figure([pictures.Panel("y", [])])})


def test_the_page_shows_all_figures_of_the_examples():
    pytest.importorskip("plotly", reason="plotly is not installed: it is in the dev extra")
    names = {name for example in EXAMPLES for name in example.figures()}
    assert set(re.findall(r"\]\(figures/(\w+)\.svg\)", PAGE)) == names


def test_every_figure_is_on_a_page_and_every_page_has_its_figures():
    folder = ROOT / "docs" / "figures"
    pages = "".join(path.read_text(encoding="utf-8") for path in folder.parent.glob("*.md"))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"figures/([\w.]+\.(?:svg|png))", pages + readme))
    assert shown == {path.name for path in folder.iterdir()}
