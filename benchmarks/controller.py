"""A controller on the Panda, and the terms that it needs, beside Pinocchio and NumPy.

python benchmarks/controller.py     microseconds per call from Python, all timed in turns
"""

import tempfile
from pathlib import Path

import numpy as np
import pinocchio as pin
from turns import Timed, time_in_turns

import armlet
from armlet import math as am

ROUNDS = 15
TERMS = ["inertia_matrix", "bias", "forward_kinematics", "jacobian"]
robot = armlet.load("panda").without_drives()


@armlet.function(robot, target=3, limit=robot.nv)
def controller(q, qd, target, limit):
    H, b = robot.inertia_matrix(q), robot.bias(q, qd)
    X, Jq = robot.forward_kinematics(q), robot.jacobian(q)[3:]
    return control(H, b, X[:3, 3], Jq, qd, target, limit, am.solve)


def control(H, b, x, Jq, qd, target, limit, solve):
    """Torques that accelerate the tool towards a target, within limits."""
    a = 400 * (target - x) - 40 * Jq @ qd
    force = solve(Jq @ solve(H, Jq.T), a)
    return np.clip(Jq.T @ force + b, -limit, limit)


class Pinocchio:
    """The same with Pinocchio's terms, from the robot's own URDF."""

    def __init__(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "arm.urdf"
            robot.to_urdf(path)
            self.model = pin.buildModelFromUrdf(str(path))
        self.data = self.model.createData()
        self.frame = self.model.getFrameId(robot.tool)

    def terms(self, q, qd):
        pin.computeAllTerms(self.model, self.data, q, qd)
        pin.updateFramePlacements(self.model, self.data)

    def controller(self, q, qd, target, limit):
        self.terms(q, qd)
        axes = pin.LOCAL_WORLD_ALIGNED
        Jq = pin.getFrameJacobian(self.model, self.data, self.frame, axes)[:3]
        x = self.data.oMf[self.frame].translation
        return control(self.data.M, self.data.nle, x, Jq, qd, target, limit, np.linalg.solve)


def apart(q, qd):
    """The terms by four calls."""
    robot.inertia_matrix(q), robot.bias(q, qd), robot.forward_kinematics(q), robot.jacobian(q)


def main():
    rng = np.random.default_rng(0)
    q, qd = rng.uniform(-1, 1, (2, robot.nv))
    given = q, qd, np.array([0.3, 0.2, 0.5]), np.full(robot.nv, 87.0)
    peer = Pinocchio()
    error = np.abs(controller(*given) - peer.controller(*given)).max()
    calls = {
        "terms in one call": (armlet.compile(robot, TERMS), given[:2]),
        "terms in four calls": (apart, given[:2]),
        "computeAllTerms and frames": (peer.terms, given[:2]),
        "controller": (controller, given),
        "controller with Pinocchio and NumPy": (peer.controller, given),
    }
    timed = {name: Timed(call, args) for name, (call, args) in calls.items()}
    found = time_in_turns(timed, ROUNDS)
    for name, spread in found.items():
        print(f"{name:36} {1e6 * spread.median:8.3f} µs")
    one, four, all_terms, ours, theirs = (spread.median for spread in found.values())
    print(f"one call by four calls {one / four:.2f}, by computeAllTerms {one / all_terms:.2f}")
    print(f"controller by Pinocchio's {ours / theirs:.3f}, largest difference {error:.1e}")


if __name__ == "__main__":
    main()
