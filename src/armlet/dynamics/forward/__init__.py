"""Forward dynamics: one file per source."""

from armlet.dynamics.forward import (
    angeles_ma,
    articulated,
    composite,
    rodriguez_kreutz,
    walker_orin,
)
