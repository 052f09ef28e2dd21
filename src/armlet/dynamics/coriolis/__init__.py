"""Coriolis matrices: one file per source."""

from armlet.dynamics.coriolis import balafoutis_patel, christoffel, saha

FUNCTIONS = (balafoutis_patel.balafoutis_patel_71, christoffel.christoffel, saha.saha)
