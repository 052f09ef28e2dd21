"""Where an inverse does not exist: joints that move no inertia, and singular postures."""

import warnings

import numpy as np
import pytest
from support.cases import cases
from support.robots import random_robot, states

import armlet
from armlet.dynamics.singular import joint_without_inertia

ROD = (1.0, (0.1, 0, 0), (0.1, 0, 0, 0.1, 0, 0.1))
ON_AXIS = (1.0, (0, 0, 0.2), np.zeros(6))
CROSSED = [(0, 0, 0, 0), (np.pi / 2, 0.3, 0, 0), (np.pi / 2, 0, 0, 0)]
INVERTED = [name for name, q in armlet.QUANTITIES.items() if q.inverts == "inertia_matrix"]


def arm(*bodies, rows=CROSSED):
    return armlet.Robot.from_dh(rows[: len(bodies)], convention="modified", inertia=bodies)


@pytest.mark.parametrize("quantity", INVERTED)
@pytest.mark.parametrize(
    ("robot", "joint"),
    [
        (arm(ROD, ON_AXIS), "joint2"),
        (arm(ROD, ROD, ON_AXIS), "joint3"),
        (arm(ON_AXIS), "joint1"),
        (arm(ROD, (1.0, (0, 0, 0), np.zeros(6)), (1.0, (0, 0, 0), np.zeros(6))), "joint3"),
    ],
)
def test_a_joint_that_moves_no_inertia_is_named(robot, joint, quantity):
    method = getattr(robot, quantity)
    state = np.zeros((3, robot.nv))
    with pytest.raises(armlet.ModelError, match=f"joint '{joint}' .* can move without moving any"):
        method(*state[: len(armlet.QUANTITIES[quantity].arguments)])
    for name in armlet.formulations(quantity):
        with pytest.raises(armlet.ModelError, match=f"joint '{joint}'"):
            armlet.trace(robot, quantity, name)
    robot.inverse_dynamics(*state)


def test_a_rotor_makes_up_for_it(tmp_path):
    path = tmp_path / "arm.toml"
    arm(ROD, ON_AXIS).to_toml(path)
    path.write_text(path.read_text() + "drive = { rotor_inertia = 0.01 }\n")
    robot = armlet.load(path)
    np.testing.assert_allclose(robot.forward_dynamics([0, 0], [0, 0], [0, 1])[1], 100)


def test_every_other_robot_can_be_inverted(arms, tmp_path):
    robots = [*arms.values(), *(random_robot(tmp_path, seed, 1 + seed)[0] for seed in range(20))]
    assert [joint_without_inertia(robot) for robot in robots] == [None] * len(robots)


SMALL_AND_COAXIAL = """
<robot name="small"><link name="base"/>
<joint name="turn" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/>
<limit lower="-3" upper="3" effort="1" velocity="1"/></joint>
<link name="a"/>
<joint name="slide" type="prismatic"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
<link name="b"><inertial><origin xyz="1e-7 0 1e-6"/><mass value="1"/>
<inertia ixx="1e-14" ixy="0" ixz="0" iyy="1e-14" iyz="0" izz="1e-14"/></inertial></link></robot>
"""


def test_a_small_body_that_slides_has_inertia(tmp_path):
    """A metre away, its inertia about the axis is lost in the rounding of the rest."""
    path = tmp_path / "small.urdf"
    path.write_text(SMALL_AND_COAXIAL)
    robot = armlet.load(path)
    assert joint_without_inertia(robot) is None
    np.testing.assert_allclose(
        robot.forward_dynamics(np.zeros(2), np.zeros(2), [2e-14, 0.0]), [1, -9.81], rtol=1e-9
    )


@pytest.mark.parametrize("quantity", cases(["cartesian_model"], long=["cartesian_linearization"]))
def test_singular_postures_give_nan_and_a_warning_that_counts_them(arms, quantity):
    robot = arms["puma560"]
    state = states(robot, count=5)[: len(armlet.QUANTITIES[quantity].arguments)]
    method = getattr(robot, quantity)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        regular = method(*state)
    state[0][3] = 0
    with pytest.warns(armlet.DataWarning, match=r"1 of 5 postures are singular.* index \(3,\)"):
        results = method(*state)
    for result, expected in zip(results, regular, strict=True):
        assert np.isnan(result[3]).all()
        np.testing.assert_array_equal(np.delete(result, 3, 0), np.delete(expected, 3, 0))
    with pytest.warns(armlet.DataWarning, match="q is singular: frame 'flange'"):
        assert all(np.isnan(result).all() for result in method(*(x[3] for x in state)))
