"""Controllers as user functions (`armlet.function`) for simulation and C code, and a `Sampler`.

The controllers do not compensate friction. Except in `tracker`, gains are constants of the compiled
program. To pass gains as arguments, write a user function. To limit torques, call the controller in
a user function.
"""

from armlet.controllers.feedback import computed_torque, impedance, pd_with_gravity
from armlet.controllers.lqr import Regulator, Tracker, regulator, tracker
from armlet.controllers.mppi import Sampler

__all__ = [
    "Regulator",
    "Sampler",
    "Tracker",
    "computed_torque",
    "impedance",
    "pd_with_gravity",
    "regulator",
    "tracker",
]
