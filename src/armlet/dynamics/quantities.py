"""The quantities that can be computed for a robot."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Quantity:
    """A quantity of a robot: what it depends on and which options it takes."""

    about: str
    arguments: tuple[str, ...]
    """The state arguments of the quantity, in order: some of q, qd, qdd and tau."""
    reads: tuple[str, ...] = ("geometry", "inertia", "gravity", "drive")
    """The groups of constants that the quantity depends on."""
    minimal: bool = False
    """Whether the quantity stays the same when inertial parameters are lumped."""
    options: tuple[str, ...] = ()
    """Names of optional arguments: the wrench of the tool, a frame, a formulation to use, …"""
    inverts: str = ""
    """The name of the matrix that is inverted and may be singular; empty if there is none."""
    results: tuple[str, ...] = ()
    """The names of the results, if the quantity has several."""


QUANTITIES = {
    "inverse_dynamics": Quantity(
        "Joint torques for given accelerations qdd: H(q) qdd + b(q, qd).",
        ("q", "qd", "qdd"), minimal=True, options=("wrench",),
    ),
    "inertia_matrix": Quantity(
        "The joint-space inertia matrix H(q), with rotor inertias on its diagonal.",
        ("q",), ("geometry", "inertia", "drive"), minimal=True,
    ),
    "inverse_inertia_matrix": Quantity(
        "The inverse of the joint-space inertia matrix, which includes rotor inertias.",
        ("q",), ("geometry", "inertia", "drive"), minimal=True, options=("inertia_matrix",),
        inverts="inertia_matrix",
    ),
    "bias": Quantity(
        "Coriolis, centrifugal and gravity torques b(q, qd).",
        ("q", "qd"), ("geometry", "inertia", "gravity"), minimal=True,
    ),
    "gravity_torque": Quantity(
        "Gravity torques g(q): the torques that hold the arm still.",
        ("q",), ("geometry", "inertia", "gravity"), minimal=True,
    ),
    "coriolis_matrix": Quantity(
        "Coriolis matrix C(q, qd): bias = C qd + gravity_torque; dH/dt - 2 C is skew-symmetric.",
        ("q", "qd"), ("geometry", "inertia"), minimal=True,
    ),
    "forward_dynamics": Quantity(
        "Joint accelerations under torques tau: H(q)^-1 (tau - b(q, qd)).",
        ("q", "qd", "tau"), minimal=True, options=("inertia_matrix", "bias"),
        inverts="inertia_matrix",
    ),
    "linearization": Quantity(
        "Derivatives of the torques with respect to qdd (H), qd (V) and q (P).",
        ("q", "qd", "qdd"), minimal=True, options=("inverse_dynamics",),
        results=("by_qdd", "by_qd", "by_q"),
    ),
    "forward_linearization": Quantity(
        "Derivatives of the joint accelerations with respect to q, qd and the torques tau.",
        ("q", "qd", "tau"), minimal=True, options=("forward_dynamics", "linearization"),
        inverts="inertia_matrix", results=("by_q", "by_qd", "by_tau"),
    ),
    "state_space": Quantity(
        "Linearised state space A, B: dx/dt = A x + B dtau with x = (dq, dqd).",
        ("q", "qd", "tau"), minimal=True, options=("forward_dynamics", "linearization"),
        inverts="inertia_matrix", results=("A", "B"),
    ),
    "cartesian_model": Quantity(
        "Operational-space model D, C, G: wrench D a + C + G for acceleration a of a frame.",
        ("q", "qd"), minimal=True, options=("frame", "inertia_matrix", "bias"),
        inverts="jacobian", results=("D", "C", "G"),
    ),
    "cartesian_linearization": Quantity(
        "Torque derivatives with respect to a frame's acceleration, velocity and displacement.",
        ("q", "qd", "qdd"), minimal=True, options=("frame", "linearization"),
        inverts="jacobian", results=("by_acceleration", "by_velocity", "by_motion"),
    ),
    "friction_torque": Quantity(
        "Friction torques of the drives: viscous, Coulomb and constant.", ("qd",), ("drive",)
    ),
    "passive_torque": Quantity(
        "Additional motor torques for friction and springs, minus compensated gravity torques.",
        ("q", "qd"), ("geometry", "gravity", "drive"), minimal=True,
    ),
    "forward_kinematics": Quantity(
        "The pose of a frame (by default the tool) in the base: a 4x4 homogeneous matrix.",
        ("q",), ("geometry",), options=("frame",),
    ),
    "jacobian": Quantity(
        "The geometric Jacobian of a frame (by default the tool): angular rows first, base axes.",
        ("q",), ("geometry",), options=("frame",),
    ),
    "poses": Quantity(
        "The poses of all frames, or of the named frames, in the base: 4x4 homogeneous matrices.",
        ("q",), ("geometry",), options=("frames",),
    ),
    "frame_velocity": Quantity(
        "The velocity of a frame (by default the tool): angular part first, in base axes.",
        ("q", "qd"), ("geometry",), options=("frame",),
    ),
    "frame_acceleration": Quantity(
        "The acceleration of a frame (by default the tool): angular part first, in base axes.",
        ("q", "qd", "qdd"), ("geometry",), options=("frame",),
    ),
    "frame_acceleration_bias": Quantity(
        "The acceleration of a frame while no joint accelerates: its Jacobian's rate times qd.",
        ("q", "qd"), ("geometry",), options=("frame",),
    ),
    "jacobian_rate": Quantity(
        "The time derivative of the Jacobian of a frame (by default the tool): angular rows first.",
        ("q", "qd"), ("geometry",), options=("frame",),
    ),
    "centre_of_mass": Quantity(
        "The centre of mass of all moving bodies, in base axes.", ("q",), ("geometry", "inertia"),
    ),
    "centre_of_mass_jacobian": Quantity(
        "The Jacobian of the centre of mass, in base axes: its product with qd is the velocity.",
        ("q",), ("geometry", "inertia"),
    ),
    "momentum": Quantity(
        "Angular momentum about the base's origin and linear momentum of all bodies, in base axes.",
        ("q", "qd"), ("geometry", "inertia"),
    ),
    "energy": Quantity(
        "Kinetic and potential energy.", ("q", "qd"), results=("kinetic", "potential")
    ),
    "regressor": Quantity(
        "The regressor Y(q, qd, qdd): torques are Y phi with minimal or all parameters phi.",
        ("q", "qd", "qdd"), ("geometry", "gravity"),
        options=("parameters", "rotors", "friction"),
    ),
    "gravity_regressor": Quantity(
        "Gravity regressor Y(q): gravity torques are Y phi with minimal or all parameters phi.",
        ("q",), ("geometry", "gravity"), options=("parameters",),
    ),
    "energy_regressor": Quantity(
        "The energy regressor Y(q, qd): kinetic and potential energy are Y phi, up to a constant.",
        ("q", "qd"), ("geometry", "gravity"), options=("parameters", "rotors"),
    ),
}  # fmt: skip

PASSIVE = ("friction_torque", "passive_torque")
"""The quantities of passive forces; the other quantities do not include these forces."""
