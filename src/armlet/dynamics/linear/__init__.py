"""Linearised models: a function a formulation, the cheapest first."""

from armlet.dynamics.formulation import Formulation, table
from armlet.dynamics.linear.balafoutis_patel import (
    balafoutis_patel_71,
    by_entries,
    by_recursion,
    closed_forms,
    with_torques,
)
from armlet.dynamics.linear.by_graph import forward_mode, reverse_mode
from armlet.dynamics.linear.cartesian import cartesian_linearization, cartesian_model
from armlet.dynamics.linear.forward import forward_linearization, state_space

FORMULATIONS = table(
    Formulation(
        "balafoutis_patel_71", balafoutis_patel_71,
        "Balafoutis and Patel 1991, Algorithm 7.1, on trees and with sliding joints", "n^2",
        given={"inverse dynamics": with_torques(by_recursion)},
    ),
    Formulation(
        "closed_forms", closed_forms,
        "Balafoutis and Patel 1991, (7.3.2)-(7.3.4), on trees and with sliding joints", "n^2",
        given={"inverse dynamics": with_torques(by_entries)},
    ),
    Formulation("reverse_mode", reverse_mode, "reverse differentiation", "n^2", traced=True),
    Formulation("forward_mode", forward_mode, "forward differentiation", "n^2", traced=True),
)  # fmt: skip
FORWARD = table(
    Formulation("implicit", forward_linearization, "by the slopes of the torques", "n^3"),
)
STATE_SPACE = table(
    Formulation("implicit", state_space, "Balafoutis and Patel 1991, (7.2.2)", "n^3"),
)
CARTESIAN = table(
    Formulation(
        "geometric", cartesian_model, "Balafoutis and Patel 1991, (7.4.4)", "n^3",
        topology="serial",
    ),
)  # fmt: skip
CARTESIAN_LINEAR = table(
    Formulation(
        "geometric", cartesian_linearization, "Balafoutis and Patel 1991, (7.4.15)-(7.4.17)",
        "n^3", topology="serial",
    ),
)  # fmt: skip
