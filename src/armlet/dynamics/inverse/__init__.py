"""Inverse dynamics: a function a formulation, the cheapest first."""

from armlet.dynamics.formulation import Formulation, table
from armlet.dynamics.inverse.angeles_ma_rojas import angeles_ma_rojas
from armlet.dynamics.inverse.balafoutis_patel import balafoutis_patel_56, balafoutis_patel_57
from armlet.dynamics.inverse.featherstone import featherstone
from armlet.dynamics.inverse.lagrange import hollerbach_3x3, hollerbach_4x4, uicker_kahn
from armlet.dynamics.inverse.luh_walker_paul import luh_walker_paul
from armlet.dynamics.inverse.newton_euler import newton_euler
from armlet.dynamics.inverse.rodriguez import rodriguez
from armlet.dynamics.inverse.saha import saha
from armlet.dynamics.inverse.vukobratovic import vukobratovic

# fmt: off
FORMULATIONS = table(
    Formulation("newton_euler", newton_euler,
                "Balafoutis and Patel 1991, Algorithm 5.7, on trees", "n"),
    Formulation("balafoutis_patel_57", balafoutis_patel_57,
                "Balafoutis and Patel 1991, Algorithm 5.7, (5.3.44)-(5.3.46)", "n"),
    Formulation("balafoutis_patel_56", balafoutis_patel_56,
                "Balafoutis and Patel 1991, Algorithm 5.6, (5.3.7)-(5.3.8)", "n", minimal=False),
    Formulation("angeles_ma_rojas", angeles_ma_rojas,
                "Angeles, Ma and Rojas 1989; Balafoutis and Patel 1991, (5.2.36)-(5.2.37)", "n",
                minimal=False),
    Formulation("luh_walker_paul", luh_walker_paul,
                "Luh, Walker and Paul 1980; Balafoutis and Patel 1991, Algorithm 5.3", "n",
                minimal=False),
    Formulation("saha", saha, "Saha 1999, (32)", "n", minimal=False),
    Formulation("featherstone", featherstone,
                "Featherstone 1987; Balafoutis and Patel 1991, Algorithm 5.4", "n"),
    Formulation("rodriguez", rodriguez,
                "Rodriguez 1987; Balafoutis and Patel 1991, Algorithm 5.5", "n"),
    Formulation("vukobratovic", vukobratovic,
                "Vukobratović, Li and Kirćanski 1985; Balafoutis and Patel 1991, (5.2.17)-(5.2.20)",
                "n^3", joints="R", topology="serial"),
    Formulation("hollerbach_3x3", hollerbach_3x3,
                "Hollerbach 1980; Balafoutis and Patel 1991, Algorithm 5.2", "n"),
    Formulation("hollerbach_4x4", hollerbach_4x4,
                "Hollerbach 1980; Balafoutis and Patel 1991, Algorithm 5.1", "n"),
    Formulation("uicker_kahn", uicker_kahn,
                "Uicker 1965, Kahn 1969; Balafoutis and Patel 1991, (5.2.7)", "n^4",
                topology="serial"),
)
# fmt: on
