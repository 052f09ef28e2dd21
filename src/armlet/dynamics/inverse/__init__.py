"""Inverse-dynamics formulations, one file per source."""

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

FUNCTIONS = (
    newton_euler.newton_euler,
    balafoutis_patel.balafoutis_patel_57,
    angeles_ma_rojas.angeles_ma_rojas,
    balafoutis_patel.balafoutis_patel_56,
    featherstone.featherstone,
    lagrange.uicker_kahn,
    lagrange.hollerbach_4x4,
    lagrange.hollerbach_3x3,
    luh_walker_paul.luh_walker_paul,
    rodriguez.rodriguez,
    saha.saha,
    vukobratovic.vukobratovic,
)
