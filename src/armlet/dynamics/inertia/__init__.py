"""The inertia matrix: one file per source, each function registered beside it."""

from armlet.dynamics.inertia import (
    angeles_ma,
    balafoutis_patel,
    composite_bodies,
    inverse,
    kawasaki,
    lin,
    lin_fang,
    lin_fang_minimal,
    renaud,
    rodriguez_kreutz,
    saha,
    unit_columns,
    walker_orin,
)

__all__ = [
    "angeles_ma",
    "balafoutis_patel",
    "composite_bodies",
    "inverse",
    "kawasaki",
    "lin",
    "lin_fang",
    "lin_fang_minimal",
    "renaud",
    "rodriguez_kreutz",
    "saha",
    "unit_columns",
    "walker_orin",
]
