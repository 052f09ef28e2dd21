"""Runs of parallel axes: what goes straight to the body that a run starts on."""

from math import pi

import numpy as np
import pytest
from support.robots import deviation, random_body

import armlet
from armlet.dynamics import FORMULATIONS, definition
from armlet.dynamics.parallel_axes import parallel_axes

QUANTITIES = (
    "inverse_dynamics",
    "inertia_matrix",
    "bias",
    "gravity_torque",
    "linearization",
    "forward_dynamics",
    "coriolis_matrix",
    "regressor",
)


def elbow(alpha, letters="RRRRRR"):
    """An arm of six joints whose third axis is at an angle to the second."""
    rng = np.random.default_rng(0)
    rows = [
        (0, 0, 0, 0),
        (pi / 2, 0, 0, 0),
        (alpha, 0.4, 0.1, 0.3),
        (pi / 2, 0.05, 0.4, 0),
        (-pi / 2, 0, 0, 0),
        (pi / 2, 0, 0, 0),
    ]
    bodies = [random_body(rng) for _ in rows]
    return armlet.Robot.from_dh(rows, convention="modified", joints=letters, inertia=bodies)


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_an_axis_that_points_the_other_way_costs_no_more(quantity):
    first = next(iter(FORMULATIONS[quantity]))
    parallel, opposite = (
        armlet.trace(elbow(alpha), quantity, first, constants={"inertia": "symbolic"}).count()
        for alpha in (0, pi)
    )
    assert opposite == parallel


@pytest.mark.parametrize("letters", ["RRRRRR", "RRPRRR", "RPRRRR"])
@pytest.mark.parametrize("quantity", ["inverse_dynamics", "inertia_matrix", "linearization"])
def test_such_an_arm_moves_as_the_definition_has_it(quantity, letters):
    robot = elbow(pi, letters)
    q, qd, qdd = np.random.default_rng(1).uniform(-2, 2, (3, 6))
    state = (q, qd, qdd)[: len(armlet.QUANTITIES[quantity].arguments)]
    first = next(iter(FORMULATIONS[quantity]))
    expected = getattr(definition, quantity)(robot, *state)
    found = FORMULATIONS[quantity][first].function(robot, *state)
    for one, other in zip(np.atleast_3d(found), np.atleast_3d(expected), strict=True):
        assert deviation(one, other) < 1e-12


def test_a_run_goes_on_through_half_turns_and_ends_at_others():
    X = parallel_axes(elbow(pi), np.zeros(6))
    assert X.start == [0, 1, 1, 3, 4, 5]
    assert X.is_opposite == [False, False, True, False, False, False]
    assert parallel_axes(elbow(0.1), np.zeros(6)).start == [0, 1, 2, 3, 4, 5]


def test_without_runs_it_is_the_list_of_displacements():
    robot = elbow(0.1)
    q = np.linspace(-1, 1, 6)
    X = parallel_axes(robot, q)
    assert [X[i] for i in range(6)] == robot.displacements(q)
