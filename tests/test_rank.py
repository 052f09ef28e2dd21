"""Minimal parameters by rank, where no formula reaches."""

import numpy as np
import pytest
from support.robots import deviation, states, value

import armlet
from armlet.api import Robot
from armlet.minimal import MinimalParameters, closed_form, rank, standard_names
from armlet.testing import random_robot


def test_parameters_known_to_be_zero_make_the_set_smaller(arms):
    """The links of a PUMA without products of inertia, and with a centre of mass on an axis."""
    robot = arms["puma560"]
    zero = [f"{name}{i}" for name in ("Jxy", "Jxz", "Jyz", "cy") for i in range(1, 7)]
    every, fewer = (armlet.minimal_parameters(robot, kind="rank", zero=z) for z in ((), zero))
    gone = [fewer.standard.index(name) for name in zero]
    phi = np.random.default_rng(0).normal(size=len(fewer.standard))
    phi[gone] = 0
    state = states(robot, 40)
    Y = armlet.trace(robot, "regressor", "unit_bodies", parameters="standard").function()(*state)
    kept = np.delete(Y.reshape(-1, Y.shape[-1]), gone, axis=1)
    assert len(fewer) == rank(kept) < len(every)
    assert not fewer.Lam[:, gone].any()
    assert deviation(Y @ fewer.back @ fewer.Lam @ phi, Y @ phi) < 1e-12
    with pytest.raises(armlet.ArmletError, match="parameter is 'Jxy9'"):
        armlet.minimal_parameters(robot, zero=["Jxy9"])


ROBOTS = {"B": 1, "BR": 2, "RB": 2, "PB": 3, "BB": 2, "RBP": 5, "BRR": 6, "RRB": 4}
ROBOTS |= {"H": 1, "HR": 3, "PH": 4, "HH": 2, "BH": 3, "RRH": 5, "RHR": 3}
"""Letters of the joint types, repeated if necessary -> number of joints."""
OPTIONS = [
    {},
    {"rotors": True},
    {"friction": True},
    {"rotors": True, "friction": True},
]
SETS = [*OPTIONS, {"of": "gravity"}, {"kind": "rank"}, {"kind": "rank", "of": "gravity"}]


def without_closed_form(letters, tree=False):
    n = ROBOTS[letters]
    return Robot.of(random_robot(n, n, letters, tree=tree, drives=True))


def rows(robot, count, of="torques", seed=1, **options):
    """The regressor at random states, the rows of all states below each other, and the torques."""
    rng = np.random.default_rng(seed)
    q, (qd, qdd) = robot.random_configuration(rng, count), rng.normal(size=(2, count, robot.nv))
    state = (q,) if of == "gravity" else (q, qd, qdd)
    quantity = "gravity_regressor" if of == "gravity" else "regressor"
    Y = armlet.trace(robot, quantity, "unit_bodies", **options).function(np)(*state)
    if of == "gravity":
        tau = value(robot, "gravity_torque", q)
    else:
        drives = options["parameters"].standard[10 * robot.nb :]
        driven = robot if "rotor_inertia1" in drives else robot.without_drives()
        tau = value(driven, "inverse_dynamics", q, qd, qdd)
        tau = tau + (value(robot, "friction_torque", qd) if "viscous1" in drives else 0)
    return Y.reshape(-1, Y.shape[-1]), tau.ravel()


@pytest.mark.parametrize("options", SETS, ids=str)
@pytest.mark.parametrize("letters", ROBOTS)
def test_the_regressor_of_minimal_parameters_by_rank_has_full_rank(letters, options):
    for tree in {False, ROBOTS[letters] > 2}:
        robot = without_closed_form(letters, tree)
        found = armlet.minimal_parameters(robot, **options)
        of = found.of
        Y, tau = rows(robot, 10 * robot.nb + 20, of, parameters=found)
        singular = np.linalg.svd(Y / np.linalg.norm(Y, axis=0), compute_uv=False)
        assert singular[-1] > 1e-6 * singular[0]
        assert deviation(Y @ found.values, tau) < 1e-10
        names = standard_names(robot, options.get("rotors"), options.get("friction"))
        one = np.eye(len(names))
        standard = MinimalParameters(robot, "rank", names, names, one, one, of)
        every, _ = rows(robot, 10 * robot.nb + 20, of, seed=2, parameters=standard)
        assert len(found) == rank(every)
        assert found.kind == "rank"


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("letters", ROBOTS)
def test_a_robot_of_minimal_parameters_by_rank_has_their_torques(letters, options):
    robot = without_closed_form(letters)
    found = armlet.minimal_parameters(robot, **options)
    for x in (found.values, found.values * np.random.default_rng(0).uniform(0.5, 2, len(found))):
        other = found.robot(x)
        Y, _ = rows(robot, 5, parameters=found)
        _, tau = rows(other, 5, parameters=found)
        assert deviation(tau, Y @ x) < 1e-10


def test_minimal_parameters_of_ball_joints_are_the_same_set_by_every_way():
    robot = without_closed_form("RBP")
    a, b = (armlet.minimal_parameters(robot, kind=kind) for kind in ("lin", "rank"))
    assert a == b
    rest = np.zeros(robot.nv)
    assert robot.regressor(robot.neutral, rest, rest).shape == (robot.nv, len(a))


@pytest.mark.parametrize("letters", ["RBP", "RHR"])
@pytest.mark.parametrize("kind", ["lin", "khalil_gautier"])
def test_closed_forms_are_refused_where_there_are_ball_or_helical_joints(kind, letters):
    with pytest.raises(armlet.ModelError, match=f"has joints {letters[1]}: closed-form minimal "):
        closed_form(without_closed_form(letters), kind=kind)
