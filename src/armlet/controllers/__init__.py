"""Controllers to start from: each gives an `armlet.function`, which simulations and C compile.

Torques are those of a model without friction. Gains are numbers that the program contains; where
they shall be arguments, or torques shall be limited, call the controller in a user function.
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
