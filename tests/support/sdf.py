"""Write robots as SDF in the styles of several versions, and compare robots."""

import numpy as np
from scipy.spatial.transform import Rotation

from armlet.description import describe
from armlet.dynamics import FORMULATIONS
from armlet.robot import IDENTITY_POSE, Pose
from armlet.robot.pose import rpy_of

INERTIAL = (
    "<inertial><mass>2</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>"
)
AXIS = "<axis><xyz>0 0 1</xyz></axis>"
STYLES = ("1.4", "1.6", "1.7", "1.11")


def sdf_of(robot, style):
    """The robot as SDF of version `style`, with the features of this version.

    1.4 has axes in the model's frame. 1.6 declares that its axes are in the model's frame. 1.7 has
    poses relative to parents, and axes in rotated joint frames. 1.11 has quaternions, poses
    relative to joints, and axes expressed in other links.
    """
    whole = describe(robot)
    at = {robot.base_link: IDENTITY_POSE}
    for joint in whole.joints:
        at[joint.child] = at[joint.parent] @ joint.pose
    joint_to = {joint.child: joint for joint in whole.joints}
    lines = [f'<sdf version="{style}"><model name="{robot.name}">']
    for link in whole.links:
        joint = joint_to.get(link.name)
        lines += [f'<link name="{link.name}">', *_placed(link, joint, at, style), *_inertial(link)]
        lines.append("</link>")
    for joint in whole.joints:
        lines += _joint(joint, at, style)
    return "\n".join([*lines, "</model></sdf>"])


TURN = Pose(Rotation.from_euler("xyz", [0.3, -0.7, 1.1]).as_matrix(), np.zeros(3))


def _numbers(values):
    return " ".join(repr(float(x)) for x in values)


def _pose(pose, style="", relative_to=""):
    to = f' relative_to="{relative_to}"' if relative_to else ""
    if style == "1.11":
        quaternion = Rotation.from_matrix(pose.R).as_quat()
        numbers = _numbers([*pose.r, *quaternion])
        return f'<pose rotation_format="quat_xyzw"{to}>{numbers}</pose>'
    return f"<pose{to}>{_numbers([*pose.r, *rpy_of(pose.R)])}</pose>"


def _placed(link, joint, at, style):
    if joint is None:
        return []
    if style == "1.7":
        return [_pose(joint.pose, style, joint.parent)]
    if style == "1.11":  # the joint is placed in its parent link, the link in its joint
        return [_pose(Pose(np.eye(3), -joint.point), style, joint.name)]
    return [_pose(at[link.name])]


def _inertial(link):
    tensor = "".join(
        f"<i{a}{b}>{link.inertia['xyz'.index(a), 'xyz'.index(b)]!r}</i{a}{b}>"
        for a, b in ("xx", "xy", "xz", "yy", "yz", "zz")
    )
    tensor = tensor.replace("np.float64(", "").replace(")", "")
    pose = _pose(Pose(np.eye(3), link.com))
    return [f"<inertial>{pose}<mass>{link.mass!r}</mass><inertia>{tensor}</inertia></inertial>"]


def _joint(joint, at, style):
    axis, options, inside = joint.axis, "", ""
    there = Pose(np.eye(3), joint.point)
    where = _pose(there)
    if style in ("1.4", "1.6"):
        axis = at[joint.child].R @ axis
    if style == "1.6":
        inside = "<use_parent_model_frame>true</use_parent_model_frame>"
    if style == "1.7":
        axis, where = TURN.R.T @ axis, _pose(there @ TURN)
    if style == "1.11":
        axis = (at[joint.parent].R.T @ at[joint.child].R) @ axis
        options, where = (
            f' expressed_in="{joint.parent}"',
            _pose(joint.pose @ there, style, joint.parent),
        )
    lower, upper, velocity, effort = joint.limits
    names = {"lower": lower, "upper": upper, "effort": effort, "velocity": velocity}
    limit = "".join(f"<{k}>{float(x)!r}</{k}>" for k, x in names.items() if np.isfinite(x))
    rotor = float(joint.drive.rotor_inertia)
    motion = (
        f"<axis><xyz{options}>{_numbers(axis)}</xyz>{inside}<limit>{limit}</limit><dynamics>"
        f"<damping>{float(joint.drive.viscous)!r}</damping>"
        f"<friction>{float(joint.drive.coulomb)!r}</friction></dynamics></axis>"
        f"<drake:rotor_inertia>{rotor / 4!r}</drake:rotor_inertia>"
        "<drake:gear_ratio>2</drake:gear_ratio>"
    )
    return [
        f'<joint name="{joint.name}" type="{joint.kind}"><parent>{joint.parent}</parent>'
        f"<child>{joint.child}</child>{where}{'' if joint.kind == 'fixed' else motion}</joint>"
    ]


def assert_same(robot, other, tolerance=1e-10):
    """Assert that two robots have the same joints, drives, frames and inverse dynamics.

    Friction offsets are not compared, since SDF cannot describe them.
    """
    assert robot.joint_names == other.joint_names
    assert [j.kind for j in robot.joints] == [j.kind for j in other.joints]
    assert [j.limits for j in robot.joints] == [j.limits for j in other.joints]
    assert set(robot.frames) <= set(other.frames)
    drives = [np.asarray(x.drives, float)[:, :3] for x in (robot, other)]
    np.testing.assert_allclose(*drives, rtol=tolerance, atol=tolerance)
    rng = np.random.default_rng(1)
    q, qd, qdd = rng.uniform(-1, 1, (3, robot.nv))
    newton_euler = FORMULATIONS["inverse_dynamics"]["newton_euler"].function
    torques = [np.asarray(newton_euler(x, q, qd, qdd), float) for x in (robot, other)]
    size = np.abs(torques[0]).max()
    np.testing.assert_allclose(*torques, rtol=0, atol=tolerance * max(1.0, size))
    rows = FORMULATIONS["forward_kinematics"]["rows"].function
    for frame in robot.frames:
        poses = [np.asarray(rows(x, q, frame=frame), float) for x in (robot, other)]
        np.testing.assert_allclose(*poses, rtol=0, atol=tolerance)
