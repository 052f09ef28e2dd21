"""From a log to a URDF: masses, rotors and friction of an arm are found from its motion.

python examples/identify_from_log.py      (pip install cvxpy clarabel, for the URDF)

The log is simulated, so that the truth is known: a PUMA 560 with friction, noisy torques, and a
gripper that its model does not have. Of a real arm, the log is `armlet.Log.read("run.csv", model)`.
"""

import numpy as np
from numpy.typing import NDArray

import armlet

Array = NDArray[np.float64]
DURATION, DT = 10.0, 1e-3
STIFFNESS = np.array([8000, 8000, 4000, 400, 400, 400])
"""Of the controllers of the joints, in Nm/rad; their damping, in Nm s/rad, is a tenth of it."""
NOISE = np.array([1, 1, 1, 0.1, 0.1, 0.1])
"""The standard deviation of the measured torques, in Nm."""


def planned_motion(n: int, waves: int = 8, seed: int = 8) -> list[Array]:
    """Positions, velocities and accelerations: random waves that move all joints, from rest."""
    k = np.arange(1, waves + 1)
    size = 0.5 * np.random.default_rng(seed).normal(size=(waves, n)) / k[:, None]
    w, t = 2 * np.pi / DURATION * k, np.arange(0, DURATION, DT)[:, None]
    return [(1 - np.cos(w * t)) @ size, w * np.sin(w * t) @ size, w**2 * np.cos(w * t) @ size]


def record(arm: armlet.Robot, model: armlet.Robot) -> armlet.Log:
    """The log of an arm under the torques of its model and the feedback of each joint."""

    @armlet.function(arm, target=arm.nq, speed=arm.nv, feedforward=arm.nv)
    def follow(q: Array, qd: Array, target: Array, speed: Array, feedforward: Array) -> Array:
        return feedforward + STIFFNESS * (target - q) + 0.1 * STIFFNESS * (speed - qd)

    q, qd, qdd = planned_motion(arm.nv)
    plan = {"target": q, "speed": qd, "feedforward": model.inverse_dynamics(q, qd, qdd)}
    euler = "semi_implicit_euler"
    run = armlet.simulate(
        arm, q[0], torque=follow, arguments=plan, duration=DURATION, dt=DT, method=euler
    )
    noise = NOISE * np.random.default_rng(0).normal(size=run.tau.shape)
    return armlet.Log(run.t, run.q, run.tau + noise, joints=run.joints)


def main() -> None:
    model = armlet.load("puma560")
    arm = model.with_payload(2.0, com=(0, 0.02, 0.1), inertia=(8e-3, 0, 0, 8e-3, 0, 4e-3))
    torques = armlet.TorqueModel(rotors=True, friction=armlet.Friction())
    found = armlet.identify(model, record(arm, model), model=torques, validation=0.3)
    error = found.fits["validation, least squares"].whole
    true = armlet.minimal_parameters(arm, rotors=True, friction=True).values
    near = np.abs(found.values - true) < 3 * found.deviations
    print(f"torques of the last 3 s, which were not used, are met to {error:.2f} %")
    print(f"{near.sum()} of {len(near)} parameters are within 3 deviations of the truth")
    if found.is_consistent:
        found.to_urdf("identified.urdf")
        x = np.random.default_rng(1).uniform(-1, 1, (3, 1000, 6))
        tau, *others = (r.inverse_dynamics(*x) for r in (arm, model, found.robot))
        before, after = (np.linalg.norm(other - tau) / np.linalg.norm(tau) for other in others)
        print(f"identified.urdf: torques are {after:.1%} off, those of the model {before:.0%}")


if __name__ == "__main__":
    main()
