"""Simulate one trajectory of an arm (`simulate`), or many roll-outs at once (`rollout`)."""

from armlet.simulation.events import Event
from armlet.simulation.forces import Friction, Plant, Stops
from armlet.simulation.integrators import INTEGRATORS, Integrator
from armlet.simulation.rollout import rollout
from armlet.simulation.simulate import Adaptive, MotionError, simulate
from armlet.simulation.step import Rollouts
from armlet.simulation.trajectory import Trajectory
