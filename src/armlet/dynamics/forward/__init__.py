"""Forward dynamics: one file per source."""

from armlet.dynamics.forward import (
    angeles_ma,
    composite,
    featherstone,
    rodriguez_kreutz,
    saha,
    walker_orin,
)

__all__ = ["angeles_ma", "composite", "featherstone", "rodriguez_kreutz", "saha", "walker_orin"]
