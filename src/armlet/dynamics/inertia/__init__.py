"""The inertia matrix: one file per source."""

from armlet.dynamics.inertia import (
    angeles_ma,
    balafoutis_patel,
    composite_bodies,
    inverse,
    lin,
    lin_fang,
    lin_fang_minimal,
    renaud,
    rodriguez_kreutz,
    saha,
    walker_orin,
)
