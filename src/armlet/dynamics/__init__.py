"""Every quantity of an arm's dynamics, by every formulation known for it.

`FORMULATIONS` is the table that tests, counts and the command line go through: adding an entry is
all it takes to have a formulation tested, counted and listed.
"""

from armlet.dynamics import bias, energy, forward, friction, inertia, inverse, kinematics, linear
from armlet.dynamics.formulation import Formulation, Quantity

QUANTITIES = {
    "inverse_dynamics": Quantity(
        "Torques that make the joints accelerate by qdd: M(q) qdd + b(q, qd).",
        ("q", "qd", "qdd"), minimal=True, options=("wrench",),
    ),
    "inertia_matrix": Quantity(
        "The joint-space inertia matrix M(q), rotor inertias on its diagonal.",
        ("q",), ("geometry", "inertia", "drive"), minimal=True,
    ),
    "bias": Quantity(
        "Coriolis, centrifugal and gravity torques b(q, qd).",
        ("q", "qd"), ("geometry", "inertia", "gravity"), minimal=True,
    ),
    "gravity_torque": Quantity(
        "Torques that hold the arm still against gravity, g(q).",
        ("q",), ("geometry", "inertia", "gravity"), minimal=True,
    ),
    "forward_dynamics": Quantity(
        "Accelerations of the joints under torques tau: M(q)^-1 (tau - b(q, qd)).",
        ("q", "qd", "tau"), minimal=True, options=("inertia_matrix", "bias"),
    ),
    "linearization": Quantity(
        "The slopes of the torques, a triple: by qdd (H), by qd (V) and by q (P).",
        ("q", "qd", "qdd"), minimal=True, options=("inverse_dynamics",),
    ),
    "friction_torque": Quantity(
        "Viscous, Coulomb and constant friction of the drives.", ("qd",), ("drive",)
    ),
    "forward_kinematics": Quantity(
        "The pose of a frame (by default the tool) in the base: a 4x4 homogeneous matrix.",
        ("q",), ("geometry",), options=("frame",),
    ),
    "jacobian": Quantity(
        "The geometric Jacobian of a frame (by default the tool): angular rows first, base axes.",
        ("q",), ("geometry",), options=("frame",),
    ),
    "energy": Quantity("Kinetic and potential energy, a pair.", ("q", "qd")),
}  # fmt: skip


FORMULATIONS: dict[str, dict[str, Formulation]] = {
    "inverse_dynamics": inverse.FORMULATIONS,
    "inertia_matrix": inertia.FORMULATIONS,
    "bias": bias.BIAS,
    "gravity_torque": bias.GRAVITY,
    "forward_dynamics": forward.FORMULATIONS,
    "linearization": linear.FORMULATIONS,
    "friction_torque": friction.FORMULATIONS,
    "forward_kinematics": kinematics.POSES,
    "jacobian": kinematics.JACOBIANS,
    "energy": energy.FORMULATIONS,
}

__all__ = ["FORMULATIONS", "QUANTITIES", "Formulation", "Quantity"]
