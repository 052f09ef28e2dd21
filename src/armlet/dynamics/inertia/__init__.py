"""The inertia matrix: a function a formulation, the cheapest first."""

from armlet.dynamics.formulation import Formulation, table
from armlet.dynamics.inertia.angeles_ma import angeles_ma
from armlet.dynamics.inertia.balafoutis_patel import balafoutis_patel_62
from armlet.dynamics.inertia.composite_bodies import composite_bodies
from armlet.dynamics.inertia.kawasaki import kawasaki
from armlet.dynamics.inertia.lin import lin
from armlet.dynamics.inertia.lin_fang import (
    lin_fang_1,
    lin_fang_2,
    lin_fang_3,
    lin_fang_4,
    lin_fang_5,
    whole,
)
from armlet.dynamics.inertia.lin_fang_minimal import lin_fang_1_minimal, lin_fang_2_minimal
from armlet.dynamics.inertia.renaud import renaud
from armlet.dynamics.inertia.rodriguez_kreutz import rodriguez_kreutz
from armlet.dynamics.inertia.saha import saha
from armlet.dynamics.inertia.unit_columns import unit_columns
from armlet.dynamics.inertia.walker_orin import walker_orin

FORMULATIONS = table(
    Formulation("composite_bodies", composite_bodies, "Walker and Orin 1982, third method", "n^2"),
    Formulation(
        "lin_fang_1_minimal",
        lin_fang_1_minimal,
        "Lin and Fang 1999, Table VII with Formulation 1, (7)-(11) and (29)-(31), on trees",
        "n^2",
    ),
    Formulation(
        "balafoutis_patel_62",
        balafoutis_patel_62,
        "Balafoutis and Patel 1991, Algorithm 6.2, corrected for sliding joints, on trees",
        "n^2",
    ),
    Formulation(
        "walker_orin",
        walker_orin,
        "Walker and Orin 1982, third method; Balafoutis and Patel 1991, Algorithm 6.1, on trees",
        "n^2",
        minimal=False,
    ),
    Formulation("saha", saha, "Saha 1999, (23) and (24), on trees", "n^2", minimal=False),
    Formulation(
        "angeles_ma",
        angeles_ma,
        "Angeles and Ma 1988; Balafoutis and Patel 1991, (6.2.10) to (6.2.15), on trees",
        "n^3",
        minimal=False,
    ),
    Formulation(
        "unit_columns",
        unit_columns,
        "Walker and Orin 1982, methods 1 and 2; Balafoutis and Patel 1991, (6.2.4), on trees",
        "n^2",
    ),
    Formulation(
        "rodriguez_kreutz",
        rodriguez_kreutz,
        "Rodriguez and Kreutz 1988; Balafoutis and Patel 1991, (6.2.18), on trees",
        "n^3",
    ),
    Formulation(
        "lin_fang_1",
        whole(lin_fang_1),
        "Lin and Fang 1999, Formulation 1, (7)-(11), on trees; Lilly and Orin 1991",
        "n^2",
        given={"composite bodies": lin_fang_1},
    ),
    Formulation(
        "lin_fang_2",
        whole(lin_fang_2),
        "Lin and Fang 1999, Formulation 2, (20), on trees",
        "n^2",
        given={"composite bodies": lin_fang_2},
    ),
    Formulation(
        "lin_fang_3",
        whole(lin_fang_3),
        "Lin and Fang 1999, Formulation 3, (21), on trees; Renaud 1984",
        "n^2",
        given={"composite bodies": lin_fang_3},
    ),
    Formulation(
        "lin_fang_4",
        whole(lin_fang_4),
        "Lin and Fang 1999, Formulation 4, Table IV; Fijany and Bejczy 1990",
        "n^2",
        topology="serial",
        given={"composite bodies": lin_fang_4},
    ),
    Formulation(
        "lin_fang_5",
        whole(lin_fang_5),
        "Lin and Fang 1999, Formulation 5, Table V and (B1)-(B11)",
        "n^2",
        topology="serial",
        given={"composite bodies": lin_fang_5},
    ),
    Formulation(
        "lin_fang_2_minimal",
        lin_fang_2_minimal,
        "Lin and Fang 1999, Table VII with Formulation 2, (20) and (32), on trees",
        "n^2",
    ),
    Formulation(
        "kawasaki",
        kawasaki,
        "Kawasaki, Murata and Kanzaki 1996, as in Lin and Fang 1999, (B1)-(B11), on trees",
        "n^2",
    ),
    Formulation("renaud", renaud, "Renaud 1984; Lin 1991, (A5)-(A9), Fig. A1, on trees", "n^2"),
    Formulation("lin", lin, "Lin 1991, (12), (24)-(30), (62)-(65), on trees", "n^2", minimal=False),
)
