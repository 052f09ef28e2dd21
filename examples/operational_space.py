"""A Panda's hand follows a circle: a controller in the space of the hand, as one program.

python examples/operational_space.py

The controller is an ordinary function of arrays that calls the robot's methods. It is traced once;
then it is counted, compiled into the simulation, and printed as C.
"""

import numpy as np
from numpy.typing import NDArray

import armlet

Array = NDArray[np.float64]
CENTRE, RADIUS, RATE = np.array([0.45, 0.0, 0.5]), 0.1, 2.0
"""The circle in m, in the plane x = 0.45, and how fast it is run through in rad/s."""
START = np.array([0.0, -0.5, 0.0, -2.2, 0.0, 1.7, 0.8])
robot = armlet.load("panda").without_drives()


def circle(t: Array) -> tuple[Array, Array, Array]:
    """Where the hand is to be at a time, its velocity and its acceleration."""
    x, y, z = CENTRE
    c, s = RADIUS * np.cos(RATE * t), RADIUS * np.sin(RATE * t)
    place = np.array([x + 0 * t, y + c, z + s])
    return place, RATE * np.array([0 * t, -s, c]), -(RATE**2) * np.array([0 * t, c, s])


@armlet.function(robot)
def follow(q: Array, qd: Array, t: Array) -> Array:
    Jq = robot.jacobian(q)[3:]
    inertia = robot.inverse_inertia_matrix(q)
    mobility = Jq @ inertia @ Jq.T  # of the hand: acceleration per force
    at = robot.forward_kinematics(q)[:3, 3]
    place, velocity, acceleration = circle(t)
    drift = robot.frame_acceleration_bias(q, qd)[3:]  # what the hand accelerates by anyway
    wanted = acceleration - drift + 400 * (place - at) + 40 * (velocity - Jq @ qd)
    force = armlet.math.solve(mobility, wanted)
    return robot.bias(q, qd) + Jq.T @ force - 2 * qd


def main() -> None:
    run = armlet.simulate(
        robot, START, torque=follow, duration=6.0, dt=1e-3, method="semi_implicit_euler"
    )
    hand = robot.forward_kinematics(run.q)[:, :3, 3]
    error = np.linalg.norm(hand - circle(run.t)[0].T, axis=1)
    print(f"{follow.count()} for a step of the controller")
    print(f"after 2 s the hand is within {1e3 * error[run.t > 2].max():.1f} mm of the circle")
    print(f"{len(follow.source('c').splitlines())} lines of C")


if __name__ == "__main__":
    main()
