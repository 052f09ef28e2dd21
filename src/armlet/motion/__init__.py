"""Motion: simulation, and roll-outs of many motions at the same time."""

from armlet.motion.events import Event
from armlet.motion.methods import METHODS, Method
from armlet.motion.plan import Rollouts
from armlet.motion.rollout import rollout
from armlet.motion.simulation import MotionError, simulate
from armlet.motion.system import Friction, Stops
from armlet.motion.trajectory import Trajectory

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
