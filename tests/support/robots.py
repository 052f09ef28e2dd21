"""Random robots for tests, as URDF text or DH tables, and random states."""

from dataclasses import replace

import numpy as np

import armlet
from armlet.robot import DHRow, Drive, Frame, Pose

WRITERS = {"urdf": armlet.Robot.to_urdf, "toml": armlet.Robot.to_toml}
QUARTERS = np.pi / 2 * np.arange(-1, 3)
TENSOR = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
MIMIC = f"""
<robot name="gripper">
  <link name="base"/>
  <link name="left"><inertial><mass value="1"/>{TENSOR}</inertial></link>
  <link name="right"><inertial><mass value="1"/>{TENSOR}</inertial></link>
  <joint name="open" type="prismatic">
    <parent link="base"/><child link="left"/><axis xyz="0 1 0"/><limit lower="0" upper="0.04"/>
  </joint>
  <joint name="follow" type="prismatic">
    <parent link="base"/><child link="right"/><axis xyz="0 -1 0"/><limit lower="0" upper="0.04"/>
    <mimic joint="open"/>
  </joint>
</robot>"""


def random_urdf(seed, joints, drives=False, special=None, disturbance=0.0):
    """The URDF text of a random tree of mixed joints with fixed links and branches.

    `special` is the share of joint axes along coordinate axes and of rotations by quarter turns;
    `disturbance` is the standard deviation of noise on the joint axes.
    """
    rng = np.random.default_rng(seed)
    lines = [f'<robot name="random{seed}">', '<link name="base"/>']
    movers = ["base"]
    branching = rng.choice([0.0, 0.3])
    special = rng.choice([0.0, 0.5, 1.0]) if special is None else special
    for i in range(joints):
        parent = movers[-1] if rng.random() >= branching else str(rng.choice(movers))
        if rng.random() < 0.3:
            lines += fixed_link(rng, f"plate{i}", parent, special)
            parent = f"plate{i}"
        name = f"link{i}"
        kind = rng.choice(["revolute", "revolute", "prismatic", "continuous"])
        lines += [
            link(rng, name),
            f'<joint name="joint{i}" type="{kind}">',
            f'<parent link="{parent}"/><child link="{name}"/>',
            origin(rng, special),
            f'<axis xyz="{numbers(disturbed(rng, axis(rng, special), disturbance))}"/>',
            '<limit lower="-3" upper="3" velocity="2" effort="50"/>',
            '<dynamics damping="0.3" friction="0.2"/>' if drives else "",
            "</joint>",
        ]
        if drives:
            lines.append(
                f'<transmission name="t{i}"><joint name="joint{i}"/><actuator name="a{i}">'
                f"<mechanicalReduction>10</mechanicalReduction>"
                f'<rotor_inertia value="{rng.uniform(0.001, 0.01)!r}"/></actuator></transmission>'
            )
        movers.append(name)
    lines += fixed_link(rng, "tool", movers[-1], special)
    return "\n".join([*lines, "</robot>"])


def numbers(values):
    return " ".join(repr(float(x)) for x in values)


def angles(rng, special):
    return rng.choice(QUARTERS, 3) if rng.random() < special else rng.uniform(-3, 3, 3)


def axis(rng, special):
    if rng.random() < special:
        return np.eye(3)[rng.integers(3)] * rng.choice([-1, 1])
    return rng.normal(size=3)


def disturbed(rng, values, sigma):
    return values + rng.normal(scale=sigma, size=np.shape(values)) if sigma else values


def origin(rng, special):
    xyz = rng.uniform(-0.5, 0.5, 3)
    if rng.random() < special:
        xyz *= rng.integers(0, 2, 3)
    return f'<origin xyz="{numbers(xyz)}" rpy="{numbers(angles(rng, special))}"/>'


def link(rng, name):
    """A link with the inertia of random point masses."""
    mass, com, I = random_body(rng)
    entries = zip(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), I[np.triu_indices(3)], strict=True)
    tensor = " ".join(f'{key}="{float(value)!r}"' for key, value in entries)
    return (
        f'<link name="{name}"><inertial><origin xyz="{numbers(com)}" '
        f'rpy="{numbers(rng.uniform(-3, 3, 3))}"/><mass value="{float(mass)!r}"/>'
        f"<inertia {tensor}/></inertial></link>"
    )


def fixed_link(rng, name, parent, special):
    body = link(rng, name) if rng.random() < 0.5 else f'<link name="{name}"/>'
    return [
        body,
        f'<joint name="{name}_mount" type="fixed"><parent link="{parent}"/>'
        f'<child link="{name}"/>{origin(rng, special)}</joint>',
    ]


def random_robot(folder, seed, joints, **options):
    """Load a random URDF with its frame "tool" as the tool; return the robot and the path."""
    path = folder / f"random{seed}.urdf"
    path.write_text(random_urdf(seed, joints, **options))
    return armlet.load(path).with_tool("tool"), path


def states(robot, count=3, seed=0):
    """Random q, qd, qdd, each (count, n)."""
    return np.random.default_rng(seed).uniform(-2, 2, (3, count, robot.nv))


def value(robot, quantity, *arrays, frame=None):
    """Evaluate the first formulation for the robot's joints, without search or compiler."""
    wrench = quantity == "inverse_dynamics" and len(arrays) == 4
    types = set(robot._joint_letters)
    first = next(name for name, x in armlet.formulations(quantity).items() if types <= {*x.letters})
    program = armlet.trace(robot, quantity, first, wrench=wrench, frame=frame)
    return program.function(np)(*arrays)


def with_scalars(robot, convert):
    """Convert every constant of a robot by a function, for example to numbers of fifty digits.

    Rotations of frames become the identity, since their floats have only sixteen digits.
    """

    def array(x):
        return np.array([convert(y) for y in x.flat], dtype=object).reshape(x.shape)

    return replace(
        robot,
        dh=tuple(DHRow(*map(convert, row)) for row in robot.dh),
        drives=tuple(Drive(*map(convert, drive)) for drive in robot.drives),
        m=tuple(map(convert, robot.m)),
        c=tuple(map(array, robot.c)),
        J=tuple(map(array, robot.J)),
        g=array(robot.g),
        frames={
            name: Frame(body, Pose(np.eye(3, dtype=int), array(at.r)))
            for name, (body, at) in robot.frames.items()
        },
    )


def deviation(found, expected):
    """The largest difference between two arrays, relative to the largest expected entry."""
    expected = np.asarray(expected, dtype=float)
    found = np.asarray(found, dtype=float)
    assert found.shape == expected.shape
    return np.abs(found - expected).max() / max(1e-3, np.abs(expected).max())


LARGEST = {"n": 13, "n^2": 13, "n^2 (iterative)": 5, "n^3": 9, "n^4": 4}
"""Growth of a formulation's operations -> largest number of joints of its test robots."""


def random_arm(seed, n, kinds="RP", special=None, disturbance=0.0):
    """A random serial arm with drives; `disturbance` is the deviation of noise on its angles."""
    rng = np.random.default_rng(seed)
    patterns = ["".join(rng.choice(list("RRP"), n)), "R" * n, "P" * min(n, 3) + "R" * n, "P" * n]
    letters = patterns[seed % 4][:n] if kinds == "RP" else kinds * n
    special = (0.0, 0.5, 1.0)[seed % 3] if special is None else special

    def length():
        return 0.0 if rng.random() < special / 2 else rng.uniform(-0.5, 0.5)

    def angle():
        angle = rng.choice(QUARTERS) if rng.random() < special else rng.uniform(-3, 3)
        return disturbed(rng, angle, disturbance)

    rows = [(angle(), length(), length(), angle()) for _ in range(n)]
    arm = armlet.Robot.from_dh(
        rows,
        convention="modified",
        joints=letters,
        inertia=[random_body(rng) for _ in range(n)],
        name=f"arm{seed}",
    )
    along = ((0, 0, -9.81), (-9.81, 0, 0), rng.normal(size=3) * 5)[seed % 3]
    drives = tuple(Drive(*rng.uniform(0, 1, 4).tolist()) for _ in range(n))
    return replace(arm, g=np.array([float(x) for x in along], dtype=object), drives=drives)


def random_body(rng):
    """Mass, centre of mass, and inertia about the centre of mass, of six random point masses."""
    points, masses = rng.normal(scale=0.1, size=(6, 3)), rng.uniform(0.1, 1, 6)
    com = masses @ points / masses.sum()
    r = points - com
    I = sum(m * (x @ x * np.eye(3) - np.outer(x, x)) for m, x in zip(masses, r, strict=True))
    return masses.sum(), com, I


def suited(formulation, folder, seed, largest=13):
    """A random robot for which a formulation holds: a serial arm or, where allowed, a tree."""
    n = 1 + seed % min(largest, LARGEST[formulation.growth])
    if formulation.topology == "tree" and seed % 2:
        return random_robot(folder, seed, n + 1, drives=True)[0]
    return random_arm(seed, n, formulation.joints)


FACTORS = (1.0, -1.0, 2.0, -0.5, 0.7, -1.3)


def coupled_urdf(seed, joints, order=None, **options):
    """Return a random URDF, and joint -> (leader, factor, offset) of the joints that mimic others.

    `order` lists joint names: a leader comes before its followers and mimics no other joint. By
    default, the names are in random order, and a leader may itself mimic another joint.
    """
    text, rng = random_urdf(seed, joints, **options), np.random.default_rng(seed + 1)
    chains = order is None
    order = [f"joint{k}" for k in rng.permutation(joints)] if chains else order
    leaders, mimics = order[:1], {}
    for name in order[1:]:
        if rng.random() < 0.5:
            leader, factor = str(rng.choice(leaders)), float(rng.choice(FACTORS))
            offset = float(rng.choice([0.0, rng.uniform(-1, 1)]))
            mimics[name] = leader, factor, offset
            start = text.index("<limit", text.index(f'<joint name="{name}"'))
            mimic = f'<mimic joint="{leader}" multiplier="{factor!r}" offset="{offset!r}"/>'
            text = text[:start] + mimic + text[start:]
        if chains or name not in mimics:
            leaders.append(name)
    return text, mimics
