"""Forward dynamics: a function a formulation, the cheapest first."""

from armlet.dynamics.formulation import Formulation, table
from armlet.dynamics.forward.angeles_ma import angeles_ma
from armlet.dynamics.forward.composite import composite, from_inertia_matrix
from armlet.dynamics.forward.featherstone import featherstone
from armlet.dynamics.forward.rodriguez_kreutz import rodriguez_kreutz
from armlet.dynamics.forward.saha import from_factors, saha
from armlet.dynamics.forward.walker_orin import walker_orin_cg

FORMULATIONS = table(
    Formulation(
        "composite",
        composite,
        "Balafoutis and Patel 1991, section 6.2",
        "n^3",
        given={"bias": from_inertia_matrix},
    ),
    Formulation(
        "featherstone",
        featherstone,
        "Featherstone 1983, articulated bodies",
        "n",
        given={"bias": from_factors},
    ),
    Formulation(
        "saha",
        saha,
        "Saha 1999, (33) to (37), on trees",
        "n",
        given={"bias": from_factors},
    ),
    Formulation(
        "angeles_ma",
        angeles_ma,
        "Angeles and Ma 1988; Balafoutis and Patel 1991, (6.2.15) to (6.2.17), on trees",
        "n^3",
        minimal=False,
    ),
    Formulation(
        "rodriguez_kreutz",
        rodriguez_kreutz,
        "Rodriguez and Kreutz 1988; Balafoutis and Patel 1991, (6.2.19), on trees",
        "n",
    ),
    Formulation(
        "walker_orin_cg",
        walker_orin_cg,
        "Walker and Orin 1982, fourth method",
        "n^2 (iterative)",
    ),
)
