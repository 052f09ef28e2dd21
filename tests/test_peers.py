"""The same robots in Pinocchio and MuJoCo: 20 random trees, with `pytest -m long` 280 more."""

from functools import partial

import numpy as np
import pytest
from support.cases import cases
from support.peers import Mujoco, Pinocchio
from support.robots import deviation, random_robot, states, value

import armlet
from armlet.dynamics import definition

CHUNK = 10
REFUSED_BY_MUJOCO = {"puma560", "stanford"}
"""Published tensors that break the triangle inequality or, but for rounding, meet its bound."""


MOTIONS = {
    "inverse_inertia_matrix",
    "centre_of_mass",
    "centre_of_mass_jacobian",
    "momentum",
    "frame_velocity",
    "frame_acceleration",
    "frame_acceleration_bias",
    "jacobian_rate",
}
"""Quantities that are compared on one random tree of each chunk."""


def check(robot, urdf, frame, peers, without=frozenset()):
    """Every quantity that a peer has, and all of them by definition."""
    q, qd, qdd = states(robot, count=2)
    frames = [frame] * len(q)
    arguments = {
        "inverse_dynamics": (q, qd, qdd),
        "inertia_matrix": (q,),
        "bias": (q, qd),
        "gravity_torque": (q,),
        "friction_torque": (qd,),
        "forward_kinematics": (q, frames),
        "jacobian": (q, frames),
        "energy": (q, qd),
        "inverse_inertia_matrix": (q,),
        "centre_of_mass": (q,),
        "centre_of_mass_jacobian": (q,),
        "momentum": (q, qd),
        "frame_velocity": (q, qd, frames),
        "frame_acceleration": (q, qd, qdd, frames),
        "frame_acceleration_bias": (q, qd, frames),
        "jacobian_rate": (q, qd, frames),
    }
    engines = [peer(urdf, robot.joint_names, robot.gravity) for peer in peers]
    for quantity, given in arguments.items():
        if quantity in without:
            continue
        by_frame = "frame" in armlet.QUANTITIES[quantity].options
        state = given[:-1] if by_frame else given
        found = value(robot, quantity, *state, frame=by_frame and frame)
        found = np.stack(found, -1) if isinstance(found, tuple) else found
        asked = {type(engine).__name__: getattr(engine, quantity, None) for engine in engines}
        asked["definition"] = partial(getattr(definition, quantity), robot)
        for peer, ask in asked.items():
            if ask is not None:
                expected = np.array([ask(*state) for state in zip(*given, strict=True)])
                limit = 1e-10
                if armlet.QUANTITIES[quantity].inverts:
                    limit *= max(map(np.linalg.cond, value(robot, "inertia_matrix", q)))
                assert deviation(found, expected) < limit, (peer, quantity)


@pytest.mark.filterwarnings("ignore:.*like a robot on legs:armlet.ModelWarning")
@pytest.mark.parametrize("chunk", cases(range(2), long=range(2, 30)))
def test_random_trees_agree(tmp_path, chunk):
    for seed in range(1000 + chunk * CHUNK, 1000 + (chunk + 1) * CHUNK):
        robot, path = random_robot(tmp_path, seed, 2 + seed % 29)
        without = set() if seed % CHUNK == 0 else MOTIONS
        check(robot, path.read_text(), "tool", (Pinocchio, Mujoco), without)


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
    check(robot, text, robot.tool, peers)


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
