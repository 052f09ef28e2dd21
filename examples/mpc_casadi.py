"""A planar arm swings up by model predictive control: CasADi's solver on armlet's dynamics.

python examples/mpc_casadi.py      (pip install casadi)

The forward dynamics are a `casadi.Function` of 29 operations; the rest is an ordinary problem for
Opti. Torques are limited to less than it takes to hold the arm out, so that it has to swing.
"""

import casadi as ca
import numpy as np
from numpy.typing import NDArray

import armlet

Array = NDArray[np.float64]
STEPS, DT, LIMIT = 60, 0.05, 6.0
"""Steps of the plan, their length in s, and the torque limit in Nm."""
robot = armlet.load("planar2r").without_drives()
UP = np.array([np.pi / 2, 0.0])


def plan() -> tuple[Array, Array]:
    """Positions and torques from hanging down to standing up, at rest at both ends."""
    dynamics = armlet.trace(robot, "forward_dynamics").function("casadi")
    problem = ca.Opti()
    q, qd = problem.variable(2, STEPS + 1), problem.variable(2, STEPS + 1)
    tau = problem.variable(2, STEPS)
    for k in range(STEPS):
        faster = qd[:, k] + DT * dynamics(q[:, k], qd[:, k], tau[:, k])
        problem.subject_to(qd[:, k + 1] == faster)
        problem.subject_to(q[:, k + 1] == q[:, k] + DT * faster)
    problem.subject_to(problem.bounded(-LIMIT, ca.vec(tau), LIMIT))
    for x, value in ((q[:, 0], -UP), (qd[:, 0], 0), (q[:, -1], UP), (qd[:, -1], 0)):
        problem.subject_to(x == value)
    problem.minimize(ca.sumsqr(tau) + 0.01 * ca.sumsqr(qd))
    problem.set_initial(q, np.linspace(-UP, UP, STEPS + 1).T)
    problem.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes"})
    found = problem.solve()
    return found.value(q).T, found.value(tau).T


def main() -> None:
    q, tau = plan()
    print(f"{armlet.trace(robot, 'forward_dynamics').count()} for the dynamics of a step")
    print(f"up in {STEPS * DT:g} s, with {np.abs(tau).max():.1f} Nm of {LIMIT:g} at most")
    run = armlet.rollout(robot, q[:1], torque=tau[:, None], dt=DT, steps=STEPS)
    print(f"armlet's roll-out ends {np.abs(run.q[-1, 0] - UP).max():.0e} rad from there")


if __name__ == "__main__":
    main()
