"""Motion: simulation, and roll-outs of many motions at the same time."""

from armlet.simulation.events import Event
from armlet.simulation.integrators import METHODS, Method
from armlet.simulation.plan import Rollouts
from armlet.simulation.rollout import rollout
from armlet.simulation.simulate import MotionError, simulate
from armlet.simulation.system import Friction, Stops
from armlet.simulation.trajectory import Trajectory

__all__ = [
    "METHODS",
    "Event",
    "Friction",
    "Method",
    "MotionError",
    "Rollouts",
    "Stops",
    "Trajectory",
    "rollout",
    "simulate",
]
