"""Feedback controllers as `armlet.function`s, and `Sampler`, a model predictive controller.

The controllers do not compensate friction. Gains are constants of the compiled program, except
that the controller of `tracker` takes gains as an argument. To limit torques, write an
`armlet.function` that calls the controller and limits its result.
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
