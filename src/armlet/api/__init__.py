"""The public interface: robots and their quantities, programs, kernels and minimal parameters."""

from armlet.api.functions import Function, function
from armlet.api.programs import cheapest, compile, formulations, minimal_parameters, trace
from armlet.api.robot import Robot, from_mujoco, from_pinocchio, general_arm, load
