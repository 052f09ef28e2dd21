"""Poses and Jacobians of frames."""

from armlet.dynamics.formulation import Formulation, table
from armlet.dynamics.kinematics.frames import forward_kinematics, jacobian

POSES = table(Formulation("two_axes", forward_kinematics, "by definition", "n"))
JACOBIANS = table(Formulation("geometric", jacobian, "by definition", "n"))
