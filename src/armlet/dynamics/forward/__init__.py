"""Forward-dynamics formulations, one file per source."""

from armlet.dynamics.forward import (
    angeles_ma,
    articulated,
    composite,
    rodriguez_kreutz,
    walker_orin,
)

FUNCTIONS = (
    composite.composite,
    articulated.featherstone,
    angeles_ma.angeles_ma,
    articulated.saha,
    rodriguez_kreutz.rodriguez_kreutz,
    walker_orin.walker_orin_cg,
)
