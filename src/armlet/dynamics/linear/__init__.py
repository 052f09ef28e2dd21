"""Linearised models: a function a formulation, the cheapest first."""

from armlet.dynamics.formulation import Formulation, table
from armlet.dynamics.linear.by_graph import forward_mode, reverse_mode

FORMULATIONS = table(
    Formulation("forward_mode", forward_mode, "forward differentiation", "n^2", traced=True),
    Formulation("reverse_mode", reverse_mode, "reverse differentiation", "n^2", traced=True),
)
