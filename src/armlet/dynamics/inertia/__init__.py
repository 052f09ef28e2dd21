"""Inertia-matrix formulations, one file per source."""

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

FUNCTIONS = (
    composite_bodies.composite_bodies,
    lin_fang_minimal.lin_fang_1_minimal,
    angeles_ma.angeles_ma,
    balafoutis_patel.balafoutis_patel_62,
    lin_fang.lin_fang_1,
    lin_fang.lin_fang_2,
    lin_fang.lin_fang_3,
    lin_fang.lin_fang_4,
    lin_fang.lin_fang_5,
    lin_fang.kawasaki,
    lin.lin,
    lin_fang_minimal.lin_fang_2_minimal,
    renaud.renaud,
    rodriguez_kreutz.rodriguez_kreutz,
    saha.saha,
    walker_orin.unit_columns,
    walker_orin.walker_orin,
    inverse.inverse_inertia_matrix,
)
