"""`armlet bench`; how fast kernels are is not asked here."""

import json

import numpy as np
import pytest
from support.commands import run

import armlet
from armlet.cli import timing


@pytest.fixture(scope="module")
def data():
    shown = run("bench", "planar2r", "--rounds", "1", "--json")
    assert shown.returncode == 0, shown.stderr
    return json.loads(shown.stdout)


def test_every_quantity_is_timed_beside_pinocchio(data):
    assert list(data["quantities"]) == list(timing.FUNCTIONS)
    assert data["left_out"] == []
    for times in data["quantities"].values():
        assert times["call"].keys() == {"armlet", "Pinocchio"}
        assert all(seconds > 0 for way in ("call", "batch") for seconds in times[way].values())
    assert data["quantities"]["inverse_dynamics"]["batch"].keys() == {"armlet", "Pinocchio"}


def test_pinocchio_computes_the_same():
    robot = armlet.load("panda").without_drives()
    peer, left_out = timing.pinocchio(robot)
    assert left_out == []
    for quantity in timing.FUNCTIONS.keys() - {"regressor"}:  # ours has minimal parameters
        state = tuple(x[0] for x in timing.random_states(robot, quantity, 1))
        function, *arguments = timing.pinocchio_call(peer, quantity, state)
        theirs, ours = function(*arguments), getattr(robot, quantity)(*state)
        if quantity == "linearization":
            theirs = theirs[::-1]  # its derivatives are by q, qd and qdd
        np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-10 * np.abs(ours).max())


def test_the_table_names_quantities_and_libraries():
    shown = run("bench", "planar2r", "--rounds", "1").stdout
    assert all(name in shown for name in ("inverse_dynamics", "Pinocchio, call", "armlet, batch"))
