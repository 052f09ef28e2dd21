"""Forward dynamics: one file per source."""

from armlet.dynamics.forward import (
    angeles_ma,
    composite,
    featherstone,
    rodriguez_kreutz,
    saha,
    walker_orin,
)

FUNCTIONS = (
    composite.composite,
    featherstone.featherstone,
    angeles_ma.angeles_ma,
    saha.saha,
    rodriguez_kreutz.rodriguez_kreutz,
    walker_orin.walker_orin_cg,
)
