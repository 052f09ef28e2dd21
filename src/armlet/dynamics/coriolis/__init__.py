"""Coriolis matrices: one file per source."""

from armlet.dynamics.coriolis import balafoutis_patel, christoffel, saha

__all__ = ["balafoutis_patel", "christoffel", "saha"]
