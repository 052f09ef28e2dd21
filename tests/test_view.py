"""What the viewer draws, as data, and the errors of `armlet.view`; viser is not needed."""

import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from support.robots import random_robot

import armlet
from armlet.algebra import point_inertia
from armlet.plotting import COLOURS
from armlet.robot import BASE, Pose
from armlet.view.panel import LiveDynamics, bars, panel
from armlet.view.scene import (
    ALARM,
    between,
    body_poses,
    joint_range,
    links,
    payload,
    place,
    principal,
    rails,
    reach,
    scene,
    solid,
)

pytest.importorskip("trimesh", reason="trimesh is not installed: it is in the dev extra")
POINTS = 12


def closed(mesh):
    """Whether each edge, by where its ends are, belongs to two triangles in opposite directions."""
    place = {}
    at = [place.setdefault(tuple(np.round(v, 9)), len(place)) for v in mesh.vertices]
    edges = [(at[f[k]], at[f[k - 2]]) for f in mesh.faces for k in range(3)]
    return sorted(edges) == sorted((b, a) for a, b in edges)


def volume(mesh):
    return np.linalg.det(mesh.vertices[mesh.faces]).sum() / 6


SOLIDS = {
    "box": ((0.2, 0.3, 0.5), 0.03),
    "sphere": (0.3, 4 / 3 * math.pi * 0.027),
    "ellipsoid": ((0.1, 0.2, 0.3), 4 / 3 * math.pi * 0.006),
    "cylinder": ((0.1, 0.5), math.pi * 0.005),
    "capsule": ((0.1, 0.5), math.pi * 0.005 + 4 / 3 * math.pi * 0.001),
}


@pytest.mark.parametrize("kind", SOLIDS)
def test_a_solid_is_closed_faces_outwards_and_has_its_volume(kind):
    size, expected = SOLIDS[kind]
    mesh = solid(kind, size)
    assert closed(mesh)
    assert volume(mesh) == pytest.approx(expected, rel=0.03)
    assert np.allclose(mesh.vertices.min(axis=0), -mesh.vertices.max(axis=0))


def test_a_mirrored_surface_still_faces_outwards():
    mesh = place(solid("box", (1, 2, 3)), Pose(np.eye(3), np.ones(3)), (-1, 1, 1))
    assert volume(mesh) == pytest.approx(6)


@pytest.mark.parametrize("end", [(0, 0, 1), (0.3, -0.2, 0.1), (-1, 0, 0)])
def test_a_capsule_goes_from_one_point_to_another(end):
    start, end = np.array([0.1, 0.2, 0.3]), np.array(end, float)
    mesh = between(start, end, 0.01)
    direction = (end - start) / np.linalg.norm(end - start)
    along = (mesh.vertices - start) @ direction
    assert along.min() == pytest.approx(-0.01)
    assert along.max() == pytest.approx(np.linalg.norm(end - start) + 0.01)


# ---------------------------------------------------------------------------------- kinematics


@pytest.fixture(params=range(6))
def robot(request, tmp_path):
    return random_robot(tmp_path, request.param, 5)[0]


def test_bodies_are_where_forward_kinematics_has_their_links(robot):
    q = np.random.default_rng(1).uniform(-1, 1, robot.nq)
    at = body_poses(robot, q)
    for name, (body, frame) in robot.frames.items():
        found = at[body] @ frame
        expected = robot.poses(q, [name])[0]
        np.testing.assert_allclose(found.R, expected[:3, :3], atol=1e-12)
        np.testing.assert_allclose(found.r, expected[:3, 3], atol=1e-12)


def test_capsules_go_from_joint_to_joint(robot):
    """A body's lines begin at its own joint and reach the axis point of each joint it carries."""
    q = np.random.default_rng(2).uniform(-1, 1, robot.nq)
    at = body_poses(robot, q)
    for j, i in enumerate(robot.parent):
        ends = [at[i].point(end) for _, end in links(robot, i)]
        starts = [at[i].point(start) for start, _ in links(robot, i)]
        own = at[i].r if i != BASE else np.zeros(3)
        assert min(np.linalg.norm(x - own) for x in starts) < 1e-12
        if robot.joints[j].letter == "R":
            assert min(np.linalg.norm(x - at[j].r) for x in ends) < 1e-12
        else:
            (rail,) = (x for x in rails(robot, i) if _on(at[j].r, *map(at[i].point, x)))
            assert np.linalg.norm(rail[1] - rail[0]) == pytest.approx(6)  # the limits are ±3


def _on(point, start, end):
    """Whether a point is on a line between two others."""
    both = np.linalg.norm(point - start) + np.linalg.norm(point - end)
    return both == pytest.approx(np.linalg.norm(end - start))


def test_the_last_capsule_reaches_the_tool():
    panda = armlet.load("panda")
    body, at = panda.frame()
    assert any(np.allclose(end, at.r) for _, end in links(panda, body))


def test_an_arm_is_nowhere_longer_than_its_reach(arms):
    for arm in arms.values():
        for q in np.random.default_rng(3).uniform(-1, 1, (POINTS, arm.nv)):
            posture = [
                np.clip(x, *joint_range(arm, arm.joints[j])) if arm.joints[j].letter == "P" else x
                for j, x in enumerate(q)
            ]
            tips = [pose.r for pose in body_poses(arm, posture)]
            assert max(map(np.linalg.norm, tips)) <= reach(arm) * (1 + 1e-9)


# ---------------------------------------------------------------------------------- bodies


def test_the_alarm_is_no_colour_of_a_joint():
    assert ALARM not in COLOURS


def test_an_ellipsoid_of_uniform_density_has_the_inertia_of_its_body(arms):
    for arm in arms.values():
        for i in range(arm.nv):
            if arm.m[i] > 0:
                com, squares, axes = principal(arm, i)
                m, (a, b, c) = arm.m[i], squares
                about_com = axes @ np.diag([b + c, a + c, a + b]) @ axes.T * m / 5
                about_frame = about_com + np.asarray(point_inertia(m, com), float)
                np.testing.assert_allclose(about_frame, arm.J[i].astype(float), atol=1e-9)
                assert np.linalg.det(axes) == pytest.approx(1)


def test_the_drawn_ellipsoid_has_these_half_axes(arms):
    panda = arms["panda"]
    drawn = {shape.body: shape for shape in scene(panda).inertia}
    com, squares, axes = principal(panda, 3)
    along = (drawn[3].mesh.vertices - com) @ axes
    np.testing.assert_allclose(np.abs(along).max(axis=0), np.sqrt(squares), rtol=0.01)


def test_a_body_that_cannot_exist_is_drawn_in_a_colour_of_its_own(arms):
    phi = arms["panda"].phi.copy()
    phi[4, 0] *= 20
    drawn = {x.body: x.colour for x in scene(arms["panda"].with_inertia(phi)).inertia}
    assert [body for body, colour in drawn.items() if colour == ALARM] == [4]


def test_a_payload_is_drawn_where_its_centre_of_mass_is_and_as_large_as_it_weighs(arms):
    panda = arms["panda"]
    ball = payload(panda, 2.0, [0, 0.1, 0.2])
    body, at = panda.frame()
    middle = (ball.mesh.vertices.min(axis=0) + ball.mesh.vertices.max(axis=0)) / 2
    np.testing.assert_allclose(middle, at.point(np.array([0, 0.1, 0.2])), atol=1e-3)
    assert ball.body == body
    assert volume(ball.mesh) * 2700 == pytest.approx(2.0, rel=0.02)


def test_up_is_against_gravity(arms):
    assert np.allclose(scene(arms["panda"].with_gravity([9.81, 0, 0])).up, [-1, 0, 0])
    assert np.allclose(scene(arms["panda"].with_gravity([0, 0, 0])).up, [0, 0, 1])


# ---------------------------------------------------------------------------------- numbers


def test_live_numbers_are_those_of_the_robot_with_its_payload(arms):
    panda = arms["panda"]
    live = LiveDynamics(panda)
    q, qd, qdd = np.random.default_rng(4).normal(size=(3, 7))
    live.carry(1.5, [0.01, 0.02, 0.1])
    loaded = panda.with_payload(1.5, [0.01, 0.02, 0.1])
    found = live(q, qd, qdd)
    np.testing.assert_allclose(found.tau, loaded.inverse_dynamics(q, qd, qdd), atol=1e-9)
    np.testing.assert_allclose(found[1:], loaded.energy(q, qd), atol=1e-9)
    live.carry(0.0, [0, 0, 0])
    np.testing.assert_allclose(live(q).tau, panda.gravity_torque(q), atol=1e-9)


def test_a_full_bar_is_the_limit_of_the_drive(arms):
    panda = arms["panda"]
    assert LiveDynamics(panda).scale().tolist() == [87, 87, 87, 87, 12, 12, 12]
    tau = np.array([87, -43.5, 0, 200, 0, 0, 0])
    full, half, none, over, *_ = bars(panda, tau, LiveDynamics(panda).scale())
    assert (full.left, full.width) == (50, 50)
    assert (half.left, half.width) == (25, 25)
    assert none.width == 0
    assert (over.width, over.colour) == (50, ALARM)
    assert half.text == "-43.50 / 87 Nm"


def test_without_a_limit_a_full_bar_is_the_largest_gravity_torque(arms):
    arm = arms["planar2r"]
    assert all(math.isinf(joint.limits.effort) for joint in arm.joints)
    largest = np.abs(arm.gravity_torque(np.zeros(2)))
    assert np.all(LiveDynamics(arm).scale() <= largest + 1e-9)
    assert np.all(LiveDynamics(arm).scale() > 0.9 * largest)


def test_a_name_is_not_markup(arms):
    joints = tuple(j._replace(name="<script>") for j in arms["panda"].joints)
    robot = replace(arms["panda"], joints=joints)
    drawn = bars(robot, np.zeros(7), np.ones(7))
    assert "<script>" not in panel(robot, "title", drawn, "energy")


# ---------------------------------------------------------------------------------- errors


def test_without_viser_the_line_says_what_to_install(tmp_path):
    script = "import sys; sys.modules['viser'] = None\nimport armlet\narmlet.view({})"
    result = subprocess.run(
        [sys.executable, "-c", script.format("armlet.load('panda')")],
        capture_output=True,
        text=True,
    )
    assert 'pip install "armlet[view]"' in result.stderr.splitlines()[-1]


def test_armlet_does_not_import_viser():
    script = "import sys, armlet; print([x for x in ('viser', 'trimesh') if x in sys.modules])"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert result.stdout == "[]\n"


def test_what_does_not_fit_is_refused_before_anything_is_shown(arms):
    panda, puma = arms["panda"], arms["puma560"]
    run = armlet.simulate(puma, np.zeros(6), np.zeros(6), duration=0.1, dt=0.05)
    with pytest.raises(
        armlet.DataError, match=r"the run moves joints joint1, .* expected those of"
    ):
        armlet.view(panda, run)
    with pytest.raises(armlet.DataError, match="the ghost 'puma560' has joints RRRRRR: expected"):
        armlet.view(panda, ghost=puma)
    with pytest.raises(armlet.DataError, match="q has shape"):
        armlet.view(panda, q=[0, 1])
    with pytest.raises(armlet.ModelError, match=r"expected a robot, from armlet.load"):
        armlet.view("panda")
    with pytest.raises(armlet.ModelError, match="a view needs numbers"):
        scene(armlet.general_arm("RR"))
    with pytest.raises(armlet.ArmletError, match="is no folder"):
        armlet.view(panda, html="/nowhere/page.html")
