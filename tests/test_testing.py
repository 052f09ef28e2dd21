"""check_formulation passes what is right and says what is wrong with what is not."""

from dataclasses import replace

import numpy as np
import pytest

import armlet
from armlet.algebra import cross
from armlet.dynamics import FORMULATIONS, definition
from armlet.dynamics.recursions import centres
from armlet.robot import with_base
from armlet.testing import LAWS, check_formulation

CHECKED = [
    (quantity, name)
    for quantity, entries in FORMULATIONS.items()
    for name in entries
    if quantity in LAWS or hasattr(definition, quantity)
]


@pytest.mark.parametrize(("quantity", "name"), CHECKED)
def test_every_formulation_of_the_library_passes(quantity, name):
    check_formulation(FORMULATIONS[quantity][name], seeds=1)


@pytest.fixture
def register():
    """The decorator, for formulations that are taken out of the table again."""
    added = []

    def register(quantity, function, **declared):
        name = declared.get("name", function.__name__)
        added.append((quantity, name))
        return armlet.formulation(quantity, source="a test", growth="n", **declared)(function)

    yield register
    for quantity, name in added:
        FORMULATIONS[quantity].pop(name, None)


def composites(robot, X):
    """A mass, first moment and inertia of each body and of all it carries."""
    m, c, J = map(with_base, (robot.m, robot.c, robot.J))
    for i, p in robot.tips_to_base():
        dm, dc, dJ = X[i].body(m[i], c[i], J[i])
        m[p], c[p], J[p] = m[p] + dm, c[p] + dc, J[p] + dJ
    return m, c, J


def weight(robot, q, moment=None):
    """Gravity torques by composite bodies: right, if nothing is replaced."""
    X = robot.displacements(q)
    m, c, _ = composites(robot, X)
    g = [0 * robot.g] * robot.nb + [robot.g]
    tau = []
    for i, p in robot.base_to_tips():
        g[i] = X[i].inverse().vector(g[p])
        w, v = robot.unit_twists[i]
        at = c[i] if moment is None else moment(robot, i, c[i])
        tau.append(-w @ cross(at, g[i]) - m[i] * (v @ g[i]))
    return tau


def roots_left_out(robot, q):
    return [
        0 if p == -1 else t
        for t, (_, p) in zip(weight(robot, q), robot.base_to_tips(), strict=True)
    ]


def no_place_for_the_base(robot, q):
    """The sums of the roots are added to the last body, which is at -1."""
    X = robot.displacements(q)
    m, c = list(robot.m), list(robot.c)
    for i, p in robot.tips_to_base():
        c[p] = c[p] + X[i].vector(c[i]) + m[i] * X[i].origin()
        m[p] = m[p] + m[i]
    g, tau = [0 * robot.g] * robot.nb + [robot.g], []
    for i, p in robot.base_to_tips():
        g[i] = X[i].inverse().vector(g[p])
        w, v = robot.unit_twists[i]
        tau.append(-w @ cross(c[i], g[i]) - m[i] * (v @ g[i]))
    return tau


def centre_of_mass(robot, q):
    """Divides by the mass of every body, so that a massless one is not a number."""
    return weight(robot, q, lambda robot, i, c: c + 0 * robot.c[i] / robot.m[i])


def turns_only(robot, q):
    return [t * axis.rotates for t, axis in zip(weight(robot, q), robot.unit_twists, strict=True)]


def next_body(robot, q):
    """Takes the body before for the parent."""
    return weight(replace(robot, parent=tuple(range(-1, robot.nb - 1))), q)


def on_floats(robot, q):
    return weight(robot, [float(x) for x in q])


def central(robot, q):
    """Right for bodies that have a centre of mass."""
    com = centres(robot)
    return weight(robot, q, lambda robot, i, c: c - robot.c[i] + robot.m[i] * com[i])


WRONG = {
    roots_left_out: "Only joints on the base are wrong",
    no_place_for_the_base: "they need a place for the base",
    centre_of_mass: "divides by the mass of a body",
    turns_only: 'declare joints="R"',
    next_body: 'declare topology="serial"',
    on_floats: "Traced scalars support only",
}


@pytest.mark.parametrize("function", WRONG, ids=lambda function: function.__name__)
def test_a_wrong_formulation_is_reported_with_what_it_usually_means(register, function):
    register("gravity_torque", function)
    with pytest.raises(AssertionError, match=WRONG[function]):
        check_formulation(FORMULATIONS["gravity_torque"][function.__name__])


def test_what_is_right_passes_and_may_be_given_as_a_function(register):
    check_formulation(register("gravity_torque", weight))


def test_lumped_inertias_need_formulations_that_take_them(register):
    """A centre of mass does not exist of a lumped body, unless minimal=False says so."""
    register("gravity_torque", central, name="whole", minimal=False)
    check_formulation(FORMULATIONS["gravity_torque"]["whole"])
    register("gravity_torque", central, name="lumped")
    with pytest.raises(AssertionError, match="declare minimal=False"):
        check_formulation(FORMULATIONS["gravity_torque"]["lumped"])


def test_rotors_are_added_once_and_by_the_decorator(register):
    def inertia(robot, q):
        return definition.inertia_matrix(robot, q)

    check_formulation(register("inertia_matrix", inertia))

    def forgotten(robot, q):
        return definition.inertia_matrix(robot.without_drives(), q)

    check_formulation(register("inertia_matrix", forgotten))
    register("inertia_matrix", forgotten, name="own", own_rotors=True)
    with pytest.raises(AssertionError, match=r"rotor inertia[\s\S]*own_rotors=True"):
        check_formulation(FORMULATIONS["inertia_matrix"]["own"])


def test_a_wrench_that_is_taken_is_used(register):
    def newton_euler(robot, q, qd, qdd, wrench=None):
        return FORMULATIONS["inverse_dynamics"]["newton_euler"].function(robot, q, qd, qdd, wrench)

    check_formulation(register("inverse_dynamics", newton_euler, name="exerted"))

    def without(robot, q, qd, qdd, wrench=None):
        return newton_euler(robot, q, qd, qdd)

    register("inverse_dynamics", without)
    with pytest.raises(AssertionError, match=r"wrench on its tool[\s\S]*must not take it"):
        check_formulation(FORMULATIONS["inverse_dynamics"]["without"])


def test_what_is_not_registered_cannot_be_checked():
    with pytest.raises(armlet.ArmletError, match="'weight' is not registered"):
        check_formulation(weight)
    with pytest.raises(armlet.ArmletError, match="cartesian_model has no law"):
        check_formulation(FORMULATIONS["cartesian_model"]["geometric"])


def test_a_name_is_taken_once_but_may_be_registered_again_from_its_place(register):
    register("gravity_torque", weight)
    register("gravity_torque", weight)
    with pytest.raises(armlet.ArmletError, match="already: choose another name"):
        register("gravity_torque", roots_left_out, name="weight")
    with pytest.raises(armlet.ArmletError, match="quantity is 'torque'"):
        armlet.formulation("torque", source="", growth="n")


def test_a_formulation_from_outside_is_traced_counted_and_compiled(register):
    register("gravity_torque", weight)
    robot = armlet.load("puma560")
    assert list(armlet.formulations("gravity_torque")) == ["newton_euler", "weight"]
    program = armlet.trace(robot, "gravity_torque", "weight")
    assert program.count().total > 0
    q = np.linspace(-1, 1, 6)
    kernel = armlet.compile(robot, "gravity_torque", "weight")
    np.testing.assert_allclose(kernel(q), robot.gravity_torque(q), atol=1e-10)


@pytest.mark.parametrize("joints", ["B", "RB"])
def test_a_formulation_of_ones_own_may_hold_for_ball_joints(joints):
    newton_euler = armlet.formulations("gravity_torque")["newton_euler"].function
    name = f"for_{joints}"

    @armlet.formulation("gravity_torque", source="a test", joints=joints, name=name)
    def gravity(robot, q):
        return newton_euler(robot, q)

    try:
        check_formulation(gravity, seeds=1)
    finally:
        armlet.formulations("gravity_torque").pop(name)
