"""Coriolis matrices: a function a formulation, the two that may be the cheapest first."""

from armlet.dynamics.coriolis.balafoutis_patel import balafoutis_patel_71
from armlet.dynamics.coriolis.christoffel import christoffel
from armlet.dynamics.coriolis.saha import saha
from armlet.dynamics.formulation import Formulation, table

# fmt: off
FORMULATIONS = table(
    Formulation("balafoutis_patel_71", balafoutis_patel_71,
                "half of V of Balafoutis and Patel 1991, Algorithm 7.1, on trees", "n^2"),
    Formulation("christoffel", christoffel, "Lin 1991, (32)-(34), (45) and (47), on trees", "n^3",
                minimal=False),
    Formulation("saha", saha, "Saha 1999, (28) and (29), corrected, on trees", "n^2",
                minimal=False),
)
# fmt: on
