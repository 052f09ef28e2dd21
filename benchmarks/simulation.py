"""Simulated steps of a Panda, one core, beside MuJoCo's `rollout` module; all timed in one run.

python benchmarks/simulation.py     contacts, friction and limits are off in both
"""

import tempfile
import time
from pathlib import Path

import mujoco
import mujoco.rollout
import numpy as np

import armlet

ARMS, STEPS, DT, ROUNDS = 1000, 100, 1e-3, 7
BARS = {"semi_implicit_euler": 40, "rk4": 20}
"""armlet's steps per second over MuJoCo's, at least."""
SECOND = 1e-3
"""Seconds that a simulated second at 1 kHz takes from Python by RK4, at most."""
CONTROLLED = 2.0
"""The time of a roll-out under computed torques over that of a free one, at most."""
PEERS = {
    "semi_implicit_euler": mujoco.mjtIntegrator.mjINT_EULER,
    "rk4": mujoco.mjtIntegrator.mjINT_RK4,
}

robot = armlet.load("panda").without_drives()


@armlet.function(robot, target=robot.nq)
def computed_torque(q, qd, target):
    return robot.inverse_dynamics(q, qd, 100 * (target - q) - 20 * qd)


def model():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "arm.urdf"
        robot.to_urdf(path)
        found = mujoco.MjModel.from_xml_path(str(path))
    found.opt.timestep = DT
    disabled = mujoco.mjtDisableBit
    found.opt.disableflags |= disabled.mjDSBL_CONTACT | disabled.mjDSBL_LIMIT
    return found


def best(*calls, rounds=ROUNDS):
    """The least seconds of each call, all timed in turns."""
    found = [np.inf] * len(calls)
    for _ in range(rounds):
        for k, call in enumerate(calls):
            begun = time.perf_counter()
            call()
            found[k] = min(found[k], time.perf_counter() - begun)
    return found


def main():
    rng = np.random.default_rng(0)
    q = rng.uniform(-1, 1, (ARMS, robot.nq))
    peer = model()
    data = mujoco.MjData(peer)
    start = np.concatenate([np.zeros((ARMS, 1)), q, np.zeros_like(q)], axis=1)
    for method, bar in BARS.items():

        def ours(method=method):
            return armlet.rollout(robot, q, dt=DT, steps=STEPS, method=method, every=STEPS)

        def theirs():
            return mujoco.rollout.rollout(peer, data, start, nstep=STEPS)

        peer.opt.integrator = PEERS[method]
        end = theirs()[0][:, -1, 1 : 1 + robot.nv]
        error = np.abs(ours().q[-1] - end).max()
        mine, other = best(ours, theirs)
        print(
            f"{method:20} {1e9 * mine / ARMS / STEPS:8.1f} ns a step, MuJoCo "
            f"{1e9 * other / ARMS / STEPS:8.1f}: {other / mine:.0f} times (bar {bar}); "
            f"largest difference of q {error:.1e}"
        )

    def free():
        return armlet.rollout(robot, q, dt=DT, steps=STEPS, every=STEPS)

    def with_control():
        return armlet.rollout(
            robot,
            q,
            torque=computed_torque,
            arguments={"target": q[0]},
            dt=DT,
            steps=STEPS,
            every=STEPS,
        )

    free(), with_control()
    alone, both = best(free, with_control)
    print(f"under computed torques {both / alone:.2f} of the free roll-out (bar {CONTROLLED})")

    def second():
        return armlet.simulate(robot, q[0], duration=1.0, dt=DT, method="rk4")

    second()
    (taken,) = best(second, rounds=100 * ROUNDS)
    print(f"a simulated second at 1 kHz, RK4: {1e3 * taken:.2f} ms (bar {1e3 * SECOND:.0f})")


if __name__ == "__main__":
    main()
