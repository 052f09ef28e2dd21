"""Inverse dynamics: one file per source, each function registered beside it."""

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

__all__ = [
    "angeles_ma_rojas",
    "balafoutis_patel",
    "featherstone",
    "lagrange",
    "luh_walker_paul",
    "newton_euler",
    "rodriguez",
    "saha",
    "vukobratovic",
]
