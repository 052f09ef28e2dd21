"""MJCF texts for tests: random ones, and one per rule of the format; a check against MuJoCo."""

from xml.etree import ElementTree

import mujoco
import numpy as np

from support.robots import value

TOLERANCE = 1e-10
BOX = '<geom type="box" size=".1 .2 .3" mass="2" pos=".1 .2 .3"/>'
INERTIAL = '<inertial pos="1 0 0" mass="1" diaginertia="1 2 2" euler="9 8 7"/>'
TURN = '<joint axis="3 2 1"/>'
TIP = f'<body name="tip" pos=".3 .2 .1"><joint name="tip" axis="1 2 3"/>{BOX}</body>'


def model(bodies, rest=""):
    return f"<mujoco>{rest}<worldbody>{bodies}</worldbody></mujoco>"


def assert_agrees(robot, text, seed=0, left_out=()):
    """Assert that a robot has MuJoCo's dynamics and poses of frames, at a random state.

    `text` is MJCF or a model of MuJoCo; `left_out` are names of frames that are not compared.
    """
    m = text if isinstance(text, mujoco.MjModel) else mujoco.MjModel.from_xml_string(text)
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    d = mujoco.MjData(m)
    state = np.random.default_rng(seed).normal(size=(3, robot.nv))
    joints = [m.joint(k).name or f"joint{k + 1}" for k in range(m.njnt)]
    joints = [joints.index(name) for name in robot.joint_names]
    index = m.jnt_dofadr[joints]
    d.qpos[m.jnt_qposadr[joints]], d.qvel[index], d.qacc[index] = q, qd, qdd = state
    mujoco.mj_inverse(m, d)
    H, bias = np.zeros((m.nv, m.nv)), np.zeros(m.nv)
    mujoco.mj_fullM(m, d, H)
    mujoco.mj_rne(m, d, 0, bias)
    for ours, theirs in (
        (value(robot, "inertia_matrix", q), H[np.ix_(index, index)]),
        (value(robot, "bias", q, qd), bias[index]),
        (value(robot, "inverse_dynamics", q, qd, qdd), d.qfrc_inverse[index]),
    ):
        assert np.linalg.norm(ours - theirs) <= TOLERANCE * max(np.linalg.norm(theirs), 1e-3)
    for kind in ("body", "site"):
        for k in range(getattr(m, f"n{kind}")):
            there = getattr(d, kind)(k)
            name = there.name or f"{kind}{k}"
            if name not in left_out:
                X = value(robot, "forward_kinematics", q, frame=name)
                np.testing.assert_allclose(X[:3, :3].ravel(), there.xmat, atol=TOLERANCE)
                np.testing.assert_allclose(X[:3, 3], there.xpos, atol=TOLERANCE)


# ------------------------------------------------------------------ random models


class Writer:
    """Write random MJCF texts: trees of bodies with random joints, inertias, syntax and classes."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.degrees = self.rng.random() < 0.5
        self.count = 0

    def some(self, n, scale=1.0):
        return " ".join(repr(float(x)) for x in scale * self.rng.normal(size=n))

    def above_zero(self, n, low, high):
        return " ".join(repr(float(x)) for x in self.rng.uniform(low, high, n))

    def maybe(self, *texts):
        return "" if self.rng.random() < 0.5 else str(self.rng.choice(texts))

    def orientation(self):
        angle = 60 if self.degrees else 1
        return self.maybe(
            f'quat="{self.some(4)}"',
            f'axisangle="{self.some(3)} {self.some(1, angle)}"',
            f'euler="{self.some(3, angle)}"',
            f'xyaxes="{self.some(6)}"',
            f'zaxis="{self.some(3)}"',
        )

    def place(self):
        return f'pos="{self.some(3, 0.3)}" {self.orientation()}'

    def framed(self, text):
        return self.maybe(f"<frame {self.place()} {self.childclass()}>{text}</frame>") or text

    def childclass(self):
        return self.maybe('childclass="light"', 'childclass="heavy"')

    def joint(self):
        kind = self.maybe('type="slide"', 'type="hinge"', f'class="light" axis="{self.some(3)}"')
        more = self.maybe(f'ref="{self.some(1)}"') + self.maybe(' armature="0.3"')
        pos, axis = self.maybe(f'pos="{self.some(3)}"'), self.maybe(f'axis="{self.some(3)}"')
        axis = "" if "axis" in kind else axis
        return self.framed(f'<joint name="joint_{self.next()}" {kind} {pos} {axis} {more}/>')

    def geom(self, group):
        ends = f'fromto="{self.some(6, 0.3)}"'
        where = self.maybe(ends) or self.place()
        shapes = ["capsule", "cylinder", "box", "ellipsoid"] + ["sphere"] * ("fromto" not in where)
        size = self.above_zero(3, 0.05, 0.3)
        weight = self.maybe(f'mass="{self.above_zero(1, 0.5, 3)}"', 'density="300"')
        shape = self.rng.choice(shapes)
        return self.framed(f'<geom type="{shape}" size="{size}" {weight} {where} group="{group}"/>')

    def inertia(self):
        E = np.cov(self.rng.normal(size=(3, 9)))
        I = np.trace(E) * np.eye(3) - E
        mass = self.above_zero(1, 0.5, 3)
        match self.rng.integers(3):
            case 0:
                six = I[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
                moments = (
                    f'pos="{self.some(3, 0.2)}" fullinertia="{" ".join(map(repr, six.tolist()))}"'
                )
            case 1:
                eigenvalues = np.linalg.eigvalsh(I).tolist()
                moments = f'{self.place()} diaginertia="{" ".join(map(repr, eigenvalues))}"'
            case _:
                groups = [0, *self.rng.integers(5, size=2)]
                return "".join(self.geom(group) for group in groups[: self.rng.integers(1, 4)])
        return self.framed(f'<inertial mass="{mass}" {moments}/>') + self.maybe(self.geom(0))

    def next(self):
        self.count += 1
        return self.count

    def body(self, depth, joints):
        name = f"body_{self.next()}"
        inside = [self.joint() for _ in range(joints)] + [self.inertia()]
        inside.append(self.maybe(f'<site name="site_{self.next()}" {self.place()}/>'))
        if depth:
            inside += (
                self.body(depth - 1, self.rng.choice([0, 1, 1, 2, 3]))
                for _ in range(self.rng.choice([1, 1, 2]))
            )
        text = "".join(inside)
        return self.framed(f'<body name="{name}" {self.place()} {self.childclass()}>{text}</body>')

    def text(self):
        angle = "degree" if self.degrees else "radian"
        eulerseq = "".join(self.rng.choice(list("xyzXYZ"), 3))
        groups = self.maybe('inertiagrouprange="0 2"')
        return model(
            self.body(depth=self.rng.integers(1, 4), joints=self.rng.integers(1, 4)),
            f"""<compiler angle="{angle}" eulerseq="{eulerseq}" {groups}/>
            <option gravity="{self.some(3, 5)}"/>
            <default>
              <joint armature="0.01" pos="{self.some(3, 0.1)}"/>
              <default class="light">
                <joint axis="{self.some(3)}" armature="0.2"/>
                <geom density="500" {self.orientation()}/>
                <default class="heavy"> <joint type="slide"/> <geom density="2000"/> </default>
              </default>
            </default>""",
        )


# ------------------------------------------------------------------ a model for each rule

RULES = {
    "angles are degrees": model(
        f'<body euler="10 20 30"><joint axis="3 2 1" ref="40"/>{BOX}</body>'
    ),
    "angles are radians": model(
        f'<body euler=".1 .2 .3"><joint axis="3 2 1" ref=".4"/>{BOX}</body>',
        '<compiler angle="radian"/>',
    ),
    "the last compiler section wins": model(
        f'<body euler="10 20 30">{TURN}{BOX}</body>',
        '<compiler angle="radian" eulerseq="zyx"/><compiler angle="degree"/>',
    ),
    "upper-case letters turn about fixed axes": model(
        f'<body euler="10 20 30">{TURN}{BOX}</body>', '<compiler eulerseq="zXy"/>'
    ),
    "zaxis may point down": model(f'<body zaxis="0 0 -2">{TURN}{BOX}</body>'),
    "ref shifts a slide": model(
        f'<body><joint type="slide" axis="1 0 1" ref=".3"/>{BOX}{TIP}</body>'
    ),
    "ref turns about the anchor": model(
        f'<body><joint axis="3 2 1" pos="1 2 3" ref="50"/>{BOX}{TIP}</body>'
    ),
    "joints of a body come in their order": model(
        '<body pos="1 0 0"><joint axis="0 1 0" pos="0 1 0"/><joint type="slide" axis="1 0 0"/>'
        f'<joint axis="1 1 0" ref="20"/>{BOX}{TIP}</body>'
    ),
    "a joint may follow the bodies it carries": model(f"<body>{TIP}{BOX}{TURN}</body>"),
    "bodies without joints are fixed": model(
        f'<body pos="1 2 3"><body euler="0 90 0">{TURN}{BOX}<body pos="1 0 0">{BOX}</body></body>'
        "</body>"
    ),
    "frames move and turn what they hold": model(
        f'<frame pos="1 2 3" euler="10 20 30"><body><frame pos="0 1 0" zaxis="1 1 0">{TURN}'
        f"{BOX}{INERTIAL}</frame></body></frame>"
    ),
    "the nearest childclass counts": model(
        f'<body childclass="a">{TURN}<frame childclass="b"><geom size=".1"/><body pos="1 0 0">'
        '<joint axis="0 1 0"/><geom size=".2"/></body></frame><geom size=".1" pos="1 0 0"/></body>',
        '<default><default class="a"><geom mass="1"/></default>'
        '<default class="b"><geom mass="2"/></default></default>',
    ),
    "the class of an element counts before childclass": model(
        '<body childclass="a"><joint class="main"/><geom class="b" size=".1"/></body>',
        '<default><joint axis="1 0 0" pos="1 2 3"/><default class="a"><joint axis="0 1 0"/>'
        '<geom mass="1"/><default class="b"><geom pos="0 1 2"/></default></default></default>',
    ),
    "nested classes start from all that is around them": model(
        f'<body>{TURN}<geom class="a" pos="1 0 0"/></body>',
        '<default><default class="a"><geom type="box"/></default><geom size=".1 .2 .3"/></default>',
    ),
    "a size keeps the last numbers of its class": model(
        f'<body>{TURN}<geom type="box" size=".5" pos="1 0 0"/></body>',
        '<default><geom size=".1 .2 .3"/></default>',
    ),
    "an orientation replaces that of the class": model(
        f'<body>{TURN}<geom type="box" size=".1 .2 .3" quat="1 0 0 1"/></body>',
        '<default><geom euler="10 20 30" pos="1 2 3"/></default>',
    ),
    "mass in a class counts before density": model(
        f'<body>{TURN}<geom size=".1" density="5"/></body>',
        '<default><geom mass="3" pos="1 2 3"/></default>',
    ),
    "inertial counts before geoms": model(f"<body>{TURN}{BOX}{INERTIAL}</body>"),
    "inertiafromgeom takes the geoms": model(
        f"<body>{TURN}{BOX}{INERTIAL}</body>", '<compiler inertiafromgeom="true"/>'
    ),
    "inertiafromgeom needs a geom that weighs": model(
        f'<body>{TURN}<geom size=".1" mass="0"/>{INERTIAL}</body>',
        '<compiler inertiafromgeom="true"/>',
    ),
    "geoms of other groups weigh nothing": model(
        f'<body>{TURN}{BOX}<geom size=".3" group="4"/></body>',
        '<compiler inertiagrouprange="0 3"/>',
    ),
    "planes weigh nothing": model(
        f'<body><geom type="plane" size="1 1 1"/><body>{TURN}{BOX}</body></body>'
    ),
    "boundmass and boundinertia hold for every body": model(
        f'<body>{TURN}{BOX}<frame pos="0 0 1"><body pos=".3 .2 .1" euler="10 20 30"/></frame>'
        '<body><inertial pos="1 2 3" mass=".1" fullinertia="1 2 2.5 .1 .2 .3"/></body></body>',
        '<compiler boundmass=".5" boundinertia="1.2"/>',
    ),
    "balanceinertia levels what no body can have": model(
        f'<body>{TURN}<inertial pos="1 0 0" mass="1" diaginertia="1 1 3"/></body>',
        '<compiler balanceinertia="true"/>',
    ),
    "actuators add their rotors through their gears": model(
        f'<body><joint name="j" axis="3 2 1" armature=".1"/>{BOX}</body>',
        '<actuator><motor joint="j" gear="-3"/><position class="a" jointinparent="j"/></actuator>'
        '<default><general armature=".2"/><default class="a"><motor gear="2"/></default></default>',
    ),
    "gravity is what the file says": model(
        f"<body>{TURN}{BOX}</body>", '<option gravity="1 2 3"/><option timestep="1"/>'
    ),
    "gravity may be off": model(
        f"<body>{TURN}{BOX}{TIP}</body>", '<option><flag gravity="disable"/></option>'
    ),
    "sites lie along fromto": model(
        f'<body>{TURN}{BOX}<site name="s" type="box" size=".1" fromto="0 1 0 2 2 2"/></body>'
    ),
    "inactive constraints do nothing": model(
        f'<body name="b"><joint name="j" axis="3 2 1"/>{BOX}</body>',
        '<equality><joint joint1="j" active="false"/><weld class="off" body1="b"/></equality>'
        '<default><default class="off"><equality active="false"/></default></default>',
    ),
    "sections may come in pieces": model(
        f"<body>{TURN}{BOX}</body></worldbody><worldbody>{TIP}",
        '<default><geom density="300"/></default><default><joint armature=".3"/></default>',
    ),
}

# ------------------------------------------------------------------ models without their meshes

IGNORED = ("asset", "contact", "sensor", "tendon", "keyframe", "visual", "deformable", "statistic")
"""Sections that do not affect the dynamics, or that name missing files."""


def without_meshes(root):
    """Remove from a model the geoms that need files, and all references to files."""
    for parent in list(root.iter()):
        weighs = any(child.tag == "inertial" for child in parent)
        for child in list(parent):
            needless = child.tag == "geom" and (weighs or "mesh" in child.attrib)
            on_tendon = parent.tag == "actuator" and not {"joint", "jointinparent"} & set(
                child.attrib
            )
            is_ignored = parent.tag in ("mujoco", "mujocoinclude") and child.tag in IGNORED
            if (needless and parent.tag != "default") or on_tendon or is_ignored:
                parent.remove(child)
        parent.attrib.pop("material", None)
        parent.attrib.pop("hfield", None)
    return root


def copied(path, folder):
    """Copy a model and all .xml files beside it without meshes; return the path of the copy."""
    for file in path.parent.rglob("*.xml"):
        copy = folder / file.relative_to(path.parent)
        copy.parent.mkdir(parents=True, exist_ok=True)
        tree = without_meshes(ElementTree.parse(file).getroot())
        copy.write_bytes(ElementTree.tostring(tree))
    return folder / path.name
