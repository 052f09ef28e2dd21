"""Every quantity of an arm's dynamics, by every formulation known for it.

A formulation is a function under the decorator `formulation`, in a file for its source, which is
imported here or in its folder. `FORMULATIONS` is the table of all, which tests, counts and the
command line iterate on.
"""

from armlet.dynamics import (
    bias,
    coriolis,
    energy,
    forward,
    inertia,
    inverse,
    kinematics,
    linear,
    passive,
    regressor,
)
from armlet.dynamics.formulation import FORMULATIONS, Formulation, formulation
from armlet.dynamics.quantities import QUANTITIES, Quantity

__all__ = ["FORMULATIONS", "QUANTITIES", "Formulation", "Quantity", "formulation"]

for _entries in FORMULATIONS.values():
    # First those that the search may take, which takes the first of those with equal counts.
    _order = sorted(_entries.values(), key=lambda x: (not x.contends, not x.walks_twists))
    _entries.clear()
    _entries.update((x.name, x) for x in _order)
