"""Canonical frames of every geometry: constants of the arm's own size, and nothing lost."""

import re
import warnings

import numpy as np
import pytest
from support.peers import Pinocchio
from support.robots import deviation, link, numbers, random_robot, random_urdf, states, value

import armlet
from armlet.robot import BASE, JOINT_TYPES, Pose
from armlet.robot.frames import Mount, canonical
from armlet.robot.pose import pose, rpy_of

BAR = 1e-12
CALIBRATED = ("ur5e", "puma560", "panda", "scara")
SIGMAS = [10.0**-k for k in range(2, 10)]
LIMIT = '<limit lower="-3" upper="3" velocity="1" effort="1"/>'
ELBOW = (
    ("base", "link1", "0 0 0", "0 0 0", "0 0 1"),
    ("link1", "link2", "0 0.1 0.2", "{a} 0 0", "0 0 1"),
    ("link2", "link3", "0 0.4 0.1", "-{a} 0 0", "0 -1 0"),
)


def chain(*joints, name="chain"):
    """A URDF of revolute joints, given as (parent, child, xyz, rpy, axis), with random bodies."""
    rng = np.random.default_rng(0)
    lines = [f'<robot name="{name}"><link name="{joints[0][0]}"/>']
    for parent, child, xyz, rpy, axis in joints:
        lines += [
            link(rng, child),
            f'<joint name="to_{child}" type="revolute"><parent link="{parent}"/>'
            f'<child link="{child}"/><origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="{axis}"/>{LIMIT}'
            "</joint>",
        ]
    return "\n".join([*lines, "</robot>"])


def elbow(a):
    return chain(*(tuple(part.format(a=a) for part in joint) for joint in ELBOW))


def loaded(folder, text, **options):
    path = folder / "robot.urdf"
    path.write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", armlet.ModelWarning)  # of angles that look rounded
        return armlet.load(path, **options)


def off_pinocchio(robot, text, seed=0):
    """The largest deviation from Pinocchio over quantities and states."""
    peer = Pinocchio(text, robot.joint_names, robot.gravity)
    off = []
    for q, qd, qdd in zip(*states(robot, count=2, seed=seed), strict=True):
        for quantity, state in (
            ("inertia_matrix", (q,)),
            ("inverse_dynamics", (q, qd, qdd)),
            ("gravity_torque", (q,)),
        ):
            expected = getattr(peer, quantity)(*state)
            off.append(np.abs(value(robot, quantity, *state) - expected).max())
            off[-1] /= np.abs(expected).max()
    return max(off)


def longest(robot):
    return max(abs(x) for row in robot.dh for x in (row.b, row.a, row.d))


def reach(text):
    """The lengths of a URDF's joints, added up."""
    places = re.findall(r"<joint.*?<origin xyz=\"([^\"]*)\"", text, re.DOTALL)
    return sum(np.linalg.norm(np.array(place.split(), float)) for place in places)


@pytest.mark.parametrize(
    "a", ["1.57079633", "1.570796327", "1.5707963", "1.570796", "1.5708", "1.571", "1.57", "1.5"]
)
def test_an_elbow_with_a_rounded_angle_is_as_the_file_says(tmp_path, a):
    text = elbow(a)
    robot = loaded(tmp_path, text)
    assert off_pinocchio(robot, text) < BAR
    assert longest(robot) < reach(text)


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("name", CALIBRATED)
def test_a_calibrated_arm_is_as_the_file_says(tmp_path, arms, name, sigma):
    """Every joint's orientation is disturbed, as a kinematic calibration does."""
    arms[name].without_drives().to_urdf(tmp_path / "exact.urdf")
    exact = (tmp_path / "exact.urdf").read_text()
    for seed in range(3):
        rng = np.random.default_rng(seed)

        def disturbed(found, rng=rng):
            rpy = np.array(found[2].split(), float) + rng.normal(scale=sigma, size=3)
            return f'{found[1]}{numbers(rpy)}"'

        text = re.sub(r'(<joint.*?rpy=")([^"]*)"', disturbed, exact, flags=re.DOTALL)
        robot = loaded(tmp_path, text)
        assert off_pinocchio(robot, text) < BAR
        assert longest(robot) < 3 * reach(text)


@pytest.mark.parametrize("exponent", range(1, 13))
def test_nearly_parallel_axes_keep_offsets_of_the_size_of_the_arm(tmp_path, exponent):
    for seed in range(4):
        text = random_urdf(seed, 5, special=1.0, disturbance=10.0**-exponent)
        robot = loaded(tmp_path, text)
        assert off_pinocchio(robot, text, seed) < 1e-11
        assert longest(robot) < 3 * reach(text)


def test_the_model_is_continuous_through_parallelism(tmp_path):
    """Parallel axes are where the elbow is at a = π/2."""
    exact = loaded(tmp_path, elbow(repr(np.pi / 2)))
    q = states(exact)[0]
    H = value(exact, "inertia_matrix", q)
    for k in range(2, 12):
        near = loaded(tmp_path, elbow(repr(np.pi / 2 + 10.0**-k)))
        assert near.dh[2].beta != 0
        assert deviation(value(near, "inertia_matrix", q), H) < 3 * 10.0**-k
    assert all(row.beta == 0 for row in exact.dh)


@pytest.mark.parametrize("written", ["1.5707963268", "1.57079632679", "1.570796326795"])
def test_a_quarter_turn_written_to_ten_decimals_is_one(tmp_path, written):
    assert loaded(tmp_path, elbow(written)).dh == loaded(tmp_path, elbow(repr(np.pi / 2))).dh


@pytest.mark.parametrize("far", [5e3, 5e6, 1e9])
def test_a_base_far_from_the_origin_erases_nothing(tmp_path, far):
    """A link of 4 mm on a base in map coordinates, and the same on a distant branch."""
    short = ("link2", "link3", "0.004 0 0", "0 0 0", "0 0 1")
    near = chain(*ELBOW[:2], short).replace("{a}", "0")
    robot = loaded(tmp_path, near.replace('xyz="0 0 0"', f'xyz="{far} 0 0"'))
    assert robot.dh == loaded(tmp_path, near).dh
    assert 0.004 in [row.a for row in robot.dh]
    branch = ("link1", "branch", f"{far} 0 0", "0 0 0", "0 0 1")
    tip = ("branch", "tip", "0.004 0 0", "0 0 0", "0 1 0")
    robot = loaded(tmp_path, chain(*ELBOW[:2], short, branch, tip).replace("{a}", "0"))
    assert [robot.dh[i].a for i in (2, 4)] == [0.004, 0.004]


@pytest.mark.parametrize("size", [1e-6, 1e-3, 1e3])
def test_the_zeros_of_a_robot_do_not_depend_on_its_size(tmp_path, size):
    robot, path = random_robot(tmp_path, 5, 8, special=1.0)
    scaled = re.sub(
        r'xyz="([^"]*)" rpy',
        lambda found: f'xyz="{numbers(size * np.array(found[1].split(), float))}" rpy',
        path.read_text(),
    )
    other = loaded(tmp_path, scaled)
    for row, scaled_row in zip(robot.dh, other.dh, strict=True):
        for key in ("b", "a", "d"):
            assert (getattr(row, key) == 0) == (getattr(scaled_row, key) == 0)
    assert len(armlet.minimal_parameters(other)) == len(armlet.minimal_parameters(robot))


def test_roll_pitch_and_yaw_hold_every_rotation_to_the_last_digits():
    """Also where the pitch is nearly a quarter turn, and roll and yaw hardly differ."""
    rng = np.random.default_rng(0)
    for k in range(1000):
        near = np.pi / 2 - rng.choice([0, *10.0 ** -np.arange(1, 17)])
        R = pose(np.zeros(3), rng.uniform(-3, 3, 3) if k % 2 else (1.0, near, -2.0)).R
        assert np.abs(pose(np.zeros(3), rpy_of(R)).R - R).max() < 1e-15 * 4


def test_a_rounding_error_along_an_axis_is_no_direction():
    """Origins on one axis, some of them as far apart as rounding errors are: none points to x."""
    rng = np.random.default_rng(0)
    z, lengths = np.array([0.0, 0.0, 1.0]), [0.0, 1e-28, 1e-12, 1.0, 1e6]
    for _ in range(500):
        mounts = [
            Mount(
                parent,
                Pose(np.eye(3), rng.choice(lengths) * z),
                axis=z,
                point=rng.choice(lengths) * z,
                type=JOINT_TYPES["prismatic" if rng.integers(2) else "revolute"],
            )
            for parent in (BASE, 0, 1, 2)
        ]
        rows, poses = canonical(mounts, 1e-12)
        assert not any(row.a or row.alpha or row.beta for row in rows)
        assert all(np.isfinite(x.r).all() and np.isfinite(x.R).all() for x in poses)
