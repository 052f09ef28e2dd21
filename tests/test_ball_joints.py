"""Robots with ball joints, alone and beside coupled joints: what is computed, shown and printed."""

from dataclasses import replace

import numpy as np
import pytest
from support.cases import cases
from support.robots import deviation

import armlet
from armlet.api import Robot
from armlet.dynamics import FORMULATIONS, QUANTITIES, definition
from armlet.robot import Coupling
from armlet.testing import random_robot

DEFINED = [x for x in QUANTITIES if hasattr(definition, x) and not x.startswith("cartesian")]
COUPLED = (Coupling(0), Coupling(1), Coupling(0, -2, 0.3), Coupling(3), Coupling(4), Coupling(5))
"""Of six joints, the third follows the first."""


def ball_robot(seed, n=4):
    """A random robot with drives, of which at least one joint is a ball joint."""
    letters = "".join(np.random.default_rng(seed).choice(list("RPB"), n - 1))
    return Robot.of(random_robot(seed, n, letters + "B", tree=seed % 2 == 1, drives=True))


def coupled_robot(seed):
    """A random robot in which a revolute joint follows another one, with two ball joints."""
    robot = random_robot(seed, 6, "RBRPBR", tree=seed % 2 == 1, drives=True)
    return Robot.of(replace(robot, couplings=COUPLED))


def state(robot, seed, *names):
    """Random values of q, qd, qdd or tau."""
    rng = np.random.default_rng(seed)
    draws = {x: rng.uniform(-2, 2, robot.nv) for x in ("qd", "qdd", "tau")}
    draws["q"] = robot.random_configuration(rng)
    return [draws[name] for name in names]


def flat(result):
    outputs = result if isinstance(result, tuple) else (result,)
    return np.concatenate([np.ravel(np.asarray(y, dtype=float)) for y in outputs])


# ------------------------------------------------------------------ programs


@pytest.mark.parametrize("make", [ball_robot, coupled_robot])
@pytest.mark.parametrize("seed", cases(range(3), long=range(3, 23)))
def test_programs_of_every_quantity_agree_with_the_definition(seed, make):
    robot = make(seed)
    for quantity in DEFINED:
        arguments = state(robot, seed, *QUANTITIES[quantity].arguments)
        exact = flat(getattr(definition, quantity)(robot, *arguments))
        limit = 1e-10
        if QUANTITIES[quantity].inverts:
            H = definition.inertia_matrix(robot, arguments[0]).astype(float)
            limit = 1e-13 * max(1e3, np.linalg.cond(H))
        names = [k for k, x in FORMULATIONS[quantity].items() if x.walks_twists]
        for name in names:
            if robot.couplings and not FORMULATIONS[quantity][name].coupled:
                continue
            if name == "walker_orin_cg":  # iterates
                continue
            for minimal in (False, True):
                program = armlet.trace(robot, quantity, name, minimal=minimal)
                assert deviation(flat(program.function(np)(*arguments)), exact) < limit, name


@pytest.mark.parametrize("make", [ball_robot, coupled_robot])
@pytest.mark.parametrize("seed", cases([0], long=range(1, 10)))
def test_the_cheapest_programs_agree_with_the_definition(seed, make):
    robot = make(seed)
    for quantity in ("inverse_dynamics", "inertia_matrix", "bias", "gravity_torque"):
        arguments = state(robot, seed, *QUANTITIES[quantity].arguments)
        exact = flat(getattr(definition, quantity)(robot, *arguments))
        for minimal in (False, True):
            found = armlet.cheapest(robot, quantity, minimal=minimal)
            assert deviation(flat(found.program.function(np)(*arguments)), exact) < 1e-10
