"""A Panda reaches around an obstacle by trying out plans: sampling-based control.

python examples/reach_by_sampling.py [--plot reach.html]

Fifty times a second, 512 plans of 0.4 s are rolled out, and the arm follows their mean,
weighted by their costs (model predictive path integrals). There is a ball in the way of the hand;
nothing but the cost says so.
"""

import argparse
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import armlet
from armlet.plotting import COLOURS, FAINT, SHADE, graph_objects, panels, save

Vector = NDArray[np.float64]
START = np.array([-0.8, 0.3, 0.0, -1.8, 0.0, 2.1, 0.8])
GOAL = np.array([0.35, 0.45, 0.45])
BALL, RADIUS = np.array([0.55, 0.0, 0.45]), 0.15
"""The centre and the radius of the ball, in m."""
KEPT_OFF = ("link5", "link6", "link7", "flange")
"""The frames that are kept out of the ball."""
DT, STEPS, DURATION = 0.02, 20, 3.0


class Reach(NamedTuple):
    """The motion, and how long a plan took on average, in s."""

    run: armlet.Trajectory
    planning: float


def cost(robot: armlet.Robot) -> armlet.Function:
    """Distance from the goal, velocities, and how deep the arm is in the ball."""

    @armlet.program(robot, goal=3, ball=3)
    def cost(q: Vector, qd: Vector, goal: Vector, ball: Vector) -> float:
        origins = robot.poses(q, KEPT_OFF)[:, :3, 3]
        distance = np.sqrt(((origins[-1] - goal) ** 2).sum() + 1e-4)
        depth = np.maximum(RADIUS + 0.03 - np.sqrt(((origins - ball) ** 2).sum(axis=1)), 0)
        total: float = 10 * distance + 0.1 * (qd**2).sum() + 1e3 * depth.sum()
        return total

    return cost


def planned(robot: armlet.Robot) -> armlet.Function:
    """The torques of a plan, which has the accelerations of the joints, and some damping."""

    @armlet.program(robot, plan=robot.n)
    def planned(q: Vector, qd: Vector, plan: Vector) -> Vector:
        return robot.inverse_dynamics(q, qd, plan - 2 * qd)

    return planned


def simulate(samples: int = 512, seed: int = 0, duration: float = DURATION) -> Reach:
    """The motion of the arm, which has the friction that the plans know nothing of."""
    robot = armlet.load("panda")
    efforts = np.array([joint.limits.effort for joint in robot.joints])
    sampler = armlet.controllers.Sampler(
        robot, cost(robot), torque=planned(robot), dt=DT, steps=STEPS, samples=samples, noise=4.0,
        temperature=0.3, correlation=0.9, seed=seed,
    )  # fmt: skip
    times: list[float] = []

    def torque(t: float, q: Vector, qd: Vector) -> Vector:
        begun = time.perf_counter()
        tau = sampler(q, qd, goal=GOAL, ball=BALL)
        times.append(time.perf_counter() - begun)
        return np.clip(tau, -efforts, efforts)

    run = armlet.simulate(
        robot, START, torque=torque, duration=duration, dt=DT, method="linearly_implicit_euler"
    )
    return Reach(run, float(np.median(times)))


def distances(run: armlet.Trajectory) -> tuple[Vector, Vector]:
    """How far the hand is from the goal, and the arm from the centre of the ball, in m."""
    origins = armlet.load("panda").poses(run.q, KEPT_OFF)[..., :3, 3]
    to_goal = np.sqrt(((origins[:, -1] - GOAL) ** 2).sum(axis=-1))
    to_ball = np.sqrt(((origins - BALL) ** 2).sum(axis=-1)).min(axis=1)
    return to_goal, to_ball


def page(reach: Reach, path: Path) -> None:
    """Write a page with figures: the arm, the ball and the hand's path; distances; torques."""
    graphs = graph_objects()
    figure = panels(
        2, 2, height=800, title="A Panda reaches around a ball by trying out plans",
        column_widths=[0.55, 0.45], vertical_spacing=0.12, horizontal_spacing=0.06,
        specs=[[{"type": "scene", "rowspan": 2}, {}], [None, {}]],
        subplot_titles=["the arm every 0.3 s (m)", "distances (m)", "torques (Nm)"],
    )  # fmt: skip
    run, robot = reach.run, armlet.load("panda")
    names = ["base", "link1", "link3", "link4", "link5", "link6", "link7", "flange"]
    for k in range(0, len(run), 15):
        x, y, z = robot.poses(run.q[k], names)[:, :3, 3].T
        stick = graphs.Scatter3d(
            x=x, y=y, z=z, mode="lines", opacity=0.2 + 0.8 * k / len(run),
            line={"color": COLOURS[0], "width": 6}, showlegend=False,
        )  # fmt: skip
        figure.add_trace(stick, 1, 1)
    x, y, z = robot.forward_kinematics(run.q)[:, :3, 3].T
    line = {"color": COLOURS[3], "width": 5}
    hand = graphs.Scatter3d(x=x, y=y, z=z, mode="lines", line=line, name="path of the hand")
    figure.add_trace(hand, 1, 1)
    around, up = np.meshgrid(np.linspace(0, 2 * np.pi, 40), np.linspace(0, np.pi, 20))
    ball = RADIUS * np.array([np.sin(up) * np.cos(around), np.sin(up) * np.sin(around), np.cos(up)])
    x, y, z = ball + BALL[:, None, None]
    grey = [[0, SHADE], [1, SHADE]]
    figure.add_trace(
        graphs.Surface(x=x, y=y, z=z, colorscale=grey, showscale=False, opacity=0.8), 1, 1
    )
    x, y, z = GOAL[:, None]
    marker = {"color": COLOURS[2], "size": 6, "symbol": "diamond"}
    figure.add_trace(
        graphs.Scatter3d(x=x, y=y, z=z, marker=marker, mode="markers", name="goal"), 1, 1
    )
    for name, values, colour in zip(
        ("hand to goal", "arm to centre of ball"),
        distances(run),
        (COLOURS[2], FAINT),
        strict=True,
    ):
        figure.add_trace(graphs.Scatter(x=run.t, y=values, name=name, line={"color": colour}), 1, 2)
    line, edge = {"color": FAINT, "dash": "dot"}, [RADIUS, RADIUS]
    surface = graphs.Scatter(
        x=run.t[[0, -1]], y=edge, name="radius of ball", line=line, mode="lines"
    )
    figure.add_trace(surface, 1, 2)
    for i, joint in enumerate(run.joints):
        line = {"color": COLOURS[i]}
        figure.add_trace(graphs.Scatter(x=run.t, y=run.tau[:, i], name=joint, line=line), 2, 2)
    figure.update_xaxes(title_text="time (s)", row=2, col=2)
    scene = {"aspectmode": "data", "camera": {"eye": {"x": 1.9, "y": -0.7, "z": 0.7}}}
    figure.update_layout(scene=scene)
    save(figure, path)


def main() -> None:
    parser = argparse.ArgumentParser(description="A Panda reaches around a ball by sampling.")
    parser.add_argument("--plot", type=Path, help="write a page with figures")
    parser.add_argument("--seed", type=int, default=0, help="of the plans")
    chosen = parser.parse_args()
    reach = simulate(seed=chosen.seed)
    to_goal, to_ball = distances(reach.run)
    print(f"hand {1e3 * to_goal[0]:.0f} mm from the goal at first, {1e3 * to_goal[-1]:.0f} at last")
    print(f"arm at least {1e3 * (to_ball.min() - RADIUS):.0f} mm off the ball")
    print(f"512 plans of {STEPS} steps in {1e3 * reach.planning:.1f} ms")
    if chosen.plot:
        page(reach, chosen.plot)


if __name__ == "__main__":
    main()
