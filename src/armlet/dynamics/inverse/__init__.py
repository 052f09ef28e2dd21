"""Inverse dynamics: one file per source."""

from armlet.dynamics.inverse import (
    angeles_ma_rojas,
    balafoutis_patel,
    featherstone,
    lagrange,
    luh_walker_paul,
    newton_euler,
    rodriguez,
    saha,
    vukobratovic,
)
