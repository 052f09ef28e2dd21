"""Linearised models: one file per source."""

from armlet.dynamics.linear import balafoutis_patel, by_graph, cartesian, forward
