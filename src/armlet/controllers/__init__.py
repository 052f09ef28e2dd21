"""Controllers: user functions (`armlet.function`) for simulations and C code, and a `Sampler`.

The model of a controller has no friction. Gains are constants of the compiled program. For gains
as arguments, write a user function; for limited torques, call the controller in a user function.
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
