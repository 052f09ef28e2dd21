"""Bias and gravity torques: a function a formulation."""

from armlet.dynamics.bias.lin import lin, with_inertia
from armlet.dynamics.bias.newton_euler import bias, gravity_torque
from armlet.dynamics.formulation import Formulation, table

SOURCE = "Balafoutis and Patel 1991, Algorithm 5.7, on trees, without acceleration"

# fmt: off
BIAS = table(
    Formulation("newton_euler", bias, SOURCE, "n"),
    Formulation("lin", lin, "Lin 1991, (54)-(58), (66) and (67), on trees", "n^2", minimal=False,
                given={"inertia matrix": with_inertia}),
)
# fmt: on
GRAVITY = table(Formulation("newton_euler", gravity_torque, SOURCE, "n"))
