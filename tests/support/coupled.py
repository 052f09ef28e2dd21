"""Robots with coupled joints, and their models in Pinocchio."""

import numpy as np

import armlet
from armlet.dynamics import QUANTITIES
from support.peers import Pinocchio
from support.robots import deviation, states, value

GRIPPER = """<robot name="gripper">
  <link name="base"/>
  <link name="left"><inertial><mass value="0.1"/>
    <inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="right"><inertial><mass value="0.2"/>
    <inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="follow" type="prismatic"><mimic joint="open"/>
    <parent link="base"/><child link="right"/><axis xyz="0 -1 0"/>
    <limit lower="0" upper="0.03" velocity="0.2" effort="10"/></joint>
  <joint name="open" type="prismatic">
    <parent link="base"/><child link="left"/><axis xyz="0 1 0"/>
    <limit lower="-0.01" upper="0.04" velocity="0.5" effort="20"/></joint>
</robot>"""


def loaded(folder, text, **options):
    path = folder / ("robot.xml" if text.lstrip().startswith("<mujoco") else "robot.urdf")
    path.write_text(text)
    return armlet.load(path, **options)


def by_hand(robot, mimics):
    """K and b in q_joints = K q + b, by following each mimic joint to a joint that mimics none."""
    K, b = np.zeros((robot.nb, robot.nv)), np.zeros(robot.nb)
    for i, joint in enumerate(robot.joints):
        name, factor, offset = joint.name, 1.0, 0.0
        while name in mimics:
            leader, times, plus = mimics[name]
            name, factor, offset = leader, factor * times, factor * plus + offset
        K[i, robot.joint_names.index(name)], b[i] = factor, offset
    return K, b


class Mimicking(Pinocchio):
    """Pinocchio with its own mimic joints.

    The inertia matrix is computed by rnea at unit accelerations, since crba of Pinocchio 4.1
    contradicts rnea on some trees with mimic joints.
    """

    def __init__(self, *given):
        super().__init__(*given, mimic=True)

    def inertia_matrix(self, q):
        rest = np.zeros(len(q))
        rows = [self.inverse_dynamics(q, rest, unit) for unit in np.eye(len(q))]
        return np.array(rows) - self.inverse_dynamics(q, rest, rest)


def compare_with_pinocchio(robot, text, frame):
    """Compare the quantities that Pinocchio can compute for models with mimic joints."""
    engine = Mimicking(text, robot.joint_names, robot.gravity)
    assert engine.model.nv == robot.nv
    q, qd, qdd = states(robot, 2)
    given = {
        "inverse_dynamics": (q, qd, qdd),
        "inertia_matrix": (q,),
        "bias": (q, qd),
        "gravity_torque": (q,),
        "forward_kinematics": (q,),
        "jacobian": (q,),
        "centre_of_mass": (q,),
    }
    for quantity, state in given.items():
        named = [frame] if "frame" in QUANTITIES[quantity].options else []
        found = value(robot, quantity, *state, frame=named[0] if named else None)
        for k, one in enumerate(zip(*state, strict=True)):
            expected = getattr(engine, quantity)(*one, *named)
            assert deviation(found[k], expected) < 1e-10, quantity
