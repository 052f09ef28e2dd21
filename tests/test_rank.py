"""Minimal parameters by rank, where no formula reaches."""

import numpy as np
import pytest
from support.robots import deviation, states

import armlet
from armlet.minimal import rank


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
