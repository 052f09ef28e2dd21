"""Formulations of linearised models, one file per source."""

from armlet.dynamics.linear import balafoutis_patel, by_graph, cartesian, forward

FUNCTIONS = (
    balafoutis_patel.balafoutis_patel_71,
    balafoutis_patel.closed_forms,
    by_graph.forward_mode,
    by_graph.reverse_mode,
    forward.forward_linearization,
    forward.forward_mode,
    forward.state_space,
    forward.state_space_by_differentiation,
    cartesian.cartesian_model,
    cartesian.cartesian_linearization,
)
