"""A control loop at 1 kHz: how long one cycle takes, and how much of the millisecond is left.

python examples/control_loop.py

Each cycle needs the inertia matrix, the bias, the pose of the hand and its Jacobian. They are
one compiled function, and results are written to arrays that stay.
"""

import time

import numpy as np

import armlet

CYCLES = 2000


def main() -> None:
    robot = armlet.load("panda").without_drives()
    terms = armlet.compile(robot, ["inertia_matrix", "bias", "forward_kinematics", "jacobian"])
    q, qd = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.8]), np.zeros(7)
    target = np.array([0.45, 0.2, 0.5])
    H, b, X, Jq = np.empty((7, 7)), np.empty(7), np.empty((4, 4)), np.empty((6, 7))
    terms(q, qd, out=(H, b, X, Jq))  # the first call compiles
    spent = np.empty(CYCLES)
    for cycle in range(CYCLES):
        begun = time.perf_counter()
        terms(q, qd, out=(H, b, X, Jq))
        linear = Jq[3:]
        force = 100 * (target - X[:3, 3]) - 20 * linear @ qd
        tau = b + linear.T @ force - 2 * qd
        spent[cycle] = time.perf_counter() - begun
        qd = qd + 1e-3 * np.linalg.solve(H, tau - b)  # in place of the arm
        q = q + 1e-3 * qd
    distance = np.linalg.norm(robot.forward_kinematics(q)[:3, 3] - target)
    print(f"{CYCLES} cycles: {1e6 * np.median(spent):.1f} us in the median, ", end="")
    print(f"99.9 % within {1e6 * np.quantile(spent, 0.999):.0f} us of the 1,000 there are")
    print(f"the hand is {1e3 * distance:.0f} mm from where it is to go")


if __name__ == "__main__":
    main()
