"""The same robots in Pinocchio and MuJoCo: 20 random trees, with `pytest -m long` 280 more.

30 random trees, and 270 more, have ball joints; as many have helical joints, which MuJoCo lacks.
"""

from functools import partial

import numpy as np
import pinocchio as pin
import pytest
from support.cases import cases
from support.peers import Mujoco, Pinocchio
from support.robots import deviation, random_robot, states, value
from support.trees import mjcf, pinocchio_model, random_tree

import armlet
from armlet.dynamics import definition

CHUNK = 10
REFUSED_BY_MUJOCO = {"puma560", "stanford"}
"""Published tensors that break the triangle inequality or, but for rounding, meet its bound."""


BASIC = (
    *("inverse_dynamics", "inertia_matrix", "bias", "gravity_torque", "friction_torque"),
    *("forward_kinematics", "jacobian", "energy"),
)
MOTIONS = (
    *("inverse_inertia_matrix", "centre_of_mass", "centre_of_mass_jacobian", "momentum"),
    *("frame_velocity", "frame_acceleration", "frame_acceleration_bias", "jacobian_rate"),
)
"""Quantities that are compared on one random tree of each chunk."""
DERIVATIVES = ("linearization", "forward_linearization")


def check(robot, engines, frame, quantities):
    """Compare quantities with each peer that has them, and with their definitions."""
    moved, qd, qdd = states(robot, count=2)
    given = {"q": robot.integrate(robot.neutral, moved), "qd": qd, "qdd": qdd, "tau": 5 * qdd}
    for quantity in quantities:
        of = armlet.QUANTITIES[quantity]
        state = [given[name] for name in of.arguments]
        by_frame = "frame" in of.options
        found = results(value(robot, quantity, *state, frame=by_frame and frame))
        asked = {type(engine).__name__: getattr(engine, quantity, None) for engine in engines}
        asked["definition"] = partial(getattr(definition, quantity), robot)
        for peer, ask in asked.items():
            if ask is not None:
                rows = zip(*state, strict=True)
                every = [results(ask(*row, frame) if by_frame else ask(*row)) for row in rows]
                limit = 1e-10
                if of.inverts:
                    limit *= max(map(np.linalg.cond, value(robot, "inertia_matrix", given["q"])))
                for x, expected in zip(found, zip(*every, strict=True), strict=True):
                    assert deviation(x, np.stack(expected)) < limit, (peer, quantity)


def engines_of(robot, urdf, peers=(Pinocchio, Mujoco)):
    return [peer(urdf, robot.joint_names, robot.gravity) for peer in peers]


def results(outputs):
    return outputs if isinstance(outputs, tuple) else (outputs,)


@pytest.mark.filterwarnings("ignore:.*like a robot on legs:armlet.ModelWarning")
@pytest.mark.parametrize("chunk", cases(range(2), long=range(2, 30)))
def test_random_trees_agree(tmp_path, chunk):
    for seed in range(1000 + chunk * CHUNK, 1000 + (chunk + 1) * CHUNK):
        robot, path = random_robot(tmp_path, seed, 2 + seed % 29)
        quantities = BASIC + MOTIONS if seed % CHUNK == 0 else BASIC
        check(robot, engines_of(robot, path.read_text()), "tool", quantities)


@pytest.mark.parametrize("seed", range(5))
def test_the_wrench_of_the_tool_agrees(tmp_path, seed):
    robot, path = random_robot(tmp_path, seed, 7)
    q, qd, qdd = states(robot)
    wrench = np.random.default_rng(seed).normal(size=(len(q), 6))
    engine = Pinocchio(path.read_text(), robot.joint_names, robot.gravity)
    held = [engine.wrench_torque(x, "tool", w) for x, w in zip(q, wrench, strict=True)]
    found = value(robot, "inverse_dynamics", q, qd, qdd, wrench)
    assert deviation(found, value(robot, "inverse_dynamics", q, qd, qdd) + held) < 1e-10


@pytest.mark.parametrize("name", armlet.catalogue())
def test_catalogue_arms_agree_through_their_urdf(arms, tmp_path, name):
    robot = arms[name].without_drives()
    robot.to_urdf(tmp_path / "arm.urdf")
    text = (tmp_path / "arm.urdf").read_text()
    peers = (Pinocchio,) if name in REFUSED_BY_MUJOCO else (Pinocchio, Mujoco)
    check(robot, engines_of(robot, text, peers), robot.tool, BASIC + MOTIONS)


@pytest.mark.parametrize("seed", range(20))
def test_a_file_that_went_through_armlet_means_the_same(tmp_path, seed):
    robot, path = random_robot(tmp_path, seed, 2 + seed)
    robot.to_urdf(tmp_path / "again.urdf")
    q, qd, qdd = states(robot)
    before, after = (
        Pinocchio(file.read_text(), robot.joint_names, robot.gravity)
        for file in (path, tmp_path / "again.urdf")
    )
    for state in zip(q, qd, qdd, strict=True):
        assert deviation(after.inverse_dynamics(*state), before.inverse_dynamics(*state)) < 1e-10


# ------------------------------------------------------------------ ball joints


@pytest.mark.parametrize("chunk", cases(range(10), long=range(10, 100)))
def test_random_trees_with_ball_joints_agree(chunk):
    for seed in range(3 * chunk, 3 * (chunk + 1)):
        tree = random_tree(seed, 2 + seed % 11)
        model = pinocchio_model(*tree)
        robot = armlet.from_pinocchio(model)
        assert "ball" in {joint.kind for joint in robot.joints}
        names, gravity = robot.joint_names, robot.gravity
        engines = Pinocchio(model, names, gravity), Mujoco(mjcf(*tree), names, gravity)
        derivatives = DERIVATIVES if robot.nb <= 6 or chunk >= 10 else ()  # these take long
        check(robot, engines, "tool", (*BASIC, *MOTIONS, "forward_dynamics", *derivatives))
        check_displacements(robot, model)
        check_regressor(robot, engines[0])
        q = robot.random_configuration(seed, 2)
        expected = [engines[1].site_pose(x, "tool") for x in q]
        assert deviation(value(robot, "forward_kinematics", q, frame="tool"), expected) < 1e-10


@pytest.mark.parametrize("chunk", cases(range(10), long=range(10, 100)))
def test_random_trees_with_helical_joints_agree(chunk):
    for seed in range(3 * chunk, 3 * (chunk + 1)):
        tree = random_tree(seed, 2 + seed % 11, ("revolute", "prismatic", "ball", "helical"))
        model = pinocchio_model(*tree)
        robot = armlet.from_pinocchio(model)
        pitches = [body.pitch for body in tree[0]]
        np.testing.assert_allclose([x.pitch for x in robot.joints], pitches, rtol=1e-14)
        engine = Pinocchio(model, robot.joint_names, robot.gravity)
        derivatives = DERIVATIVES if robot.nb <= 6 or chunk >= 10 else ()  # these take long
        check(robot, [engine], "tool", (*BASIC, *MOTIONS, "forward_dynamics", *derivatives))
        check_displacements(robot, model)
        check_regressor(robot, engine)


def check_displacements(robot, model):
    """Integration, and differences, of which Pinocchio's quaternions may have the other sign."""
    rng = np.random.default_rng(0)
    q0, q1 = robot.random_configuration(rng, (2, 20))
    v = rng.uniform(-1.5, 1.5, (20, robot.nv))
    then = robot.integrate(q0, v)
    for q, other, step, reached in zip(q0, q1, v, then, strict=True):
        expected = pin.integrate(model, q, step)
        assert np.abs(pin.difference(model, expected, reached)).max() < 1e-12
        assert deviation(robot.difference(q, other), pin.difference(model, q, other)) < 1e-10


def check_regressor(robot, engine):
    """The regressor, column by column, and its product with the parameters."""
    q, qd, qdd = states(robot, count=2)
    q = robot.integrate(robot.neutral, q)
    program = armlet.trace(robot, "regressor", "unit_bodies", parameters="standard")
    Y = program.function(np)(q, qd, qdd)
    expected = np.array([engine.regressor(*state) for state in zip(q, qd, qdd, strict=True)])
    found = [Y[..., 10 * i : 10 * i + 10] @ canonical(robot, i) for i in range(robot.nb)]
    assert deviation(np.concatenate(found, -1), expected) < 1e-10
    tau = value(robot, "inverse_dynamics", q, qd, qdd)
    assert deviation(Y @ robot.phi.ravel(), tau) < 1e-10


def canonical(robot, i):
    """The matrix from Pinocchio's parameters of body i, in its file's frame, to `robot.phi[i]`."""
    X, columns = np.eye(4), []
    X[:3] = np.column_stack([*robot.frames[robot.links[i]].pose])
    for m, x, y, z, Jxx, Jxy, Jyy, Jxz, Jyz, Jzz in np.eye(10):
        J = np.array([[Jxx, Jxy, Jxz], [Jxy, Jyy, Jyz], [Jxz, Jyz, Jzz]])
        pseudo = np.zeros((4, 4))  # ∫ (r, 1) (r, 1)ᵀ dm
        pseudo[:3, :3] = np.trace(J) / 2 * np.eye(3) - J
        pseudo[:3, 3] = pseudo[3, :3] = x, y, z
        pseudo[3, 3] = m
        moved = X @ pseudo @ X.T
        J = np.trace(moved[:3, :3]) * np.eye(3) - moved[:3, :3]
        columns.append([*J[np.triu_indices(3)], *moved[:3, 3], moved[3, 3]])
    return np.array(columns).T
