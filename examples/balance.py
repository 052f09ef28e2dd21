"""A Panda balances upright for a minute: a linear-quadratic regulator against noise.

python examples/balance.py [--plot balance.html]

The arm stands with its centre of mass above the shoulder and the hand up, where gravity pulls every
deviation away. The regulator comes from the linear model about that posture. Torques are disturbed
and measurements are noisy; the same disturbances make the arm fall when only the torques of the
posture are held.
"""

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import armlet
from armlet.plotting import COLOURS, graph_objects, panels, save

Vector = NDArray[np.float64]
DT, DURATION = 1e-3, 60.0
PUSHED = 0.02
"""The standard deviation of disturbing torques, as a fraction of the largest torques."""
HELD = 10
"""For how many steps a disturbance stays the same."""
MEASURED = (1e-3, 1e-2)
"""Standard deviations of measured positions (rad) and velocities (rad/s)."""


class Runs(NamedTuple):
    """The arm with and without the regulator."""

    posture: Vector
    balanced: armlet.Trajectory
    falling: armlet.Trajectory


def upright(robot: armlet.Robot) -> Vector:
    """The posture with the hand up in which gravity has no torque about the shoulder."""
    posture = np.array([0.0, 0.0, 0.0, -0.1, 0.0, 3.0, 0.8])
    low, high = -0.5, 0.5
    for _ in range(50):
        posture[1] = (low + high) / 2
        if robot.gravity_torque(posture)[1] > 0:
            low = posture[1]
        else:
            high = posture[1]
    return posture


def noise(robot: armlet.Robot, steps: int, seed: int = 0) -> dict[str, Vector]:
    """Disturbing torques and errors of the measurements for every step."""
    random = np.random.default_rng(seed)
    n = robot.nv
    pushes = random.normal(size=(-(-steps // HELD), n)) * PUSHED * robot.effort_limit
    return {
        "push": pushes.repeat(HELD, axis=0)[:steps],
        "error": random.normal(size=(steps, 2 * n)) * np.repeat(MEASURED, n),
    }


def regulator(robot: armlet.Robot, posture: Vector) -> armlet.controllers.Regulator:
    """Deviations of 0.05 rad and 0.5 rad/s weigh as much as a tenth of the largest torques."""
    n = robot.nv
    return armlet.controllers.regulator(
        robot,
        posture,
        state_cost=np.repeat([0.05, 0.5], n) ** -2.0,
        torque_cost=(0.1 * robot.effort_limit) ** -2.0,
        dt=DT,
    )


def simulate(duration: float = DURATION, seed: int = 0) -> Runs:
    """Both motions under the same disturbances; the fall is followed for two seconds."""
    robot = armlet.load("panda").without_drives()
    n, posture, most = robot.nv, upright(robot), robot.effort_limit
    balance = regulator(robot, posture).torque

    @armlet.function(robot, push=n, error=2 * n)
    def balancing(q: Vector, qd: Vector, push: Vector, error: Vector) -> Vector:
        return np.clip(balance(q + error[:n], qd + error[n:]), -most, most) + push

    steps = round(duration / DT)
    given = noise(robot, steps, seed)
    balanced = armlet.simulate(
        robot,
        posture,
        torque=balancing,
        arguments=given,
        duration=duration,
        dt=DT,
        method="semi_implicit_euler",
    )
    fall = 2000
    falling = armlet.simulate(
        robot,
        posture,
        torque=robot.gravity_torque(posture) + given["push"][:fall],
        duration=fall * DT,
        dt=DT,
        method="semi_implicit_euler",
    )
    return Runs(posture, balanced, falling)


def heights(run: armlet.Trajectory) -> Vector:
    """The height of the hand over time, in m."""
    return armlet.load("panda").forward_kinematics(run.q)[:, 2, 3]


def page(runs: Runs, path: Path) -> None:
    """Write a page with figures: both arms as sticks, the hand's height, deviations, torques."""
    graphs = graph_objects()
    figure = panels(
        3,
        2,
        height=900,
        title="A Panda upright for a minute",
        column_widths=[0.4, 0.6],
        horizontal_spacing=0.09,
        vertical_spacing=0.1,
        specs=[[{"rowspan": 3}, {}], [None, {}], [None, {}]],
        subplot_titles=[
            "the fall without control, every 0.1 s (m)",
            "height of the hand, the first 2 s (m)",
            "deviations of the balanced joints (mrad)",
            "torques less those of the posture (Nm)",
        ],
    )
    robot = armlet.load("panda")
    for k in range(0, 801, 100):
        x, z = sticks(robot, runs.falling.q[k])
        stick = graphs.Scatter(
            x=x,
            y=z,
            opacity=0.2 + 0.6 * k / 800,
            line={"color": COLOURS[3], "width": 3},
            marker={"size": 4},
            showlegend=False,
        )
        figure.add_trace(stick, 1, 1)
    x, z = sticks(robot, runs.balanced.q[-1])
    line = {"color": COLOURS[0], "width": 5}
    figure.add_trace(graphs.Scatter(x=x, y=z, line=line, showlegend=False), 1, 1)
    figure.update_xaxes(scaleanchor="y", range=[-0.5, 0.5], row=1, col=1)
    figure.update_yaxes(range=[-0.4, 1.4], row=1, col=1)
    figure.update_xaxes(range=[0, 2], row=1, col=2)
    for name, run, colour in (
        ("regulator", runs.balanced[:2001:5], COLOURS[0]),
        ("posture's torques held", runs.falling[::5], COLOURS[3]),
    ):
        line = {"color": colour}
        figure.add_trace(graphs.Scatter(x=run.t, y=heights(run), name=name, line=line), 1, 2)
    run = runs.balanced[::40]
    hold = robot.gravity_torque(runs.posture)
    for row, rows in ((2, 1e3 * (run.q - runs.posture)), (3, run.tau - hold)):
        for i, joint in enumerate(run.joints):
            line = {"color": COLOURS[i], "width": 1}
            figure.add_trace(
                graphs.Scatter(
                    x=run.t,
                    y=rows[:, i],
                    name=joint,
                    legendgroup=joint,
                    showlegend=row == 2,
                    line=line,
                ),
                row,
                2,
            )
    figure.update_xaxes(title_text="time (s)", row=3, col=2)
    save(figure, path)


def sticks(robot: armlet.Robot, q: Vector) -> tuple[Vector, Vector]:
    """x and z of the joints and the hand: the arm as lines, seen from its side."""
    names = ["base", "link1", "link3", "link4", "link5", "link6", "link7", "flange"]
    origins = robot.poses(q, names)[:, :3, 3]
    return origins[:, 0], origins[:, 2]


def main() -> None:
    parser = argparse.ArgumentParser(description="A Panda balances upright for a minute.")
    parser.add_argument("--plot", type=Path, help="write a page with figures")
    parser.add_argument("--seed", type=int, default=0, help="of the noise")
    chosen = parser.parse_args()
    runs = simulate(seed=chosen.seed)
    deviation = np.abs(runs.balanced.q - runs.posture).max()
    height, fall = heights(runs.balanced), heights(runs.falling)
    print(f"balanced: {runs.balanced.t[-1]:.0f} s, joints within {1e3 * deviation:.0f} mrad,")
    print(f"          hand at {height.min():.3f} to {height.max():.3f} m")
    below = runs.falling.t[fall < height[0] / 2]
    print(f"without:  hand below half its height after {below[0]:.2f} s")
    if chosen.plot:
        page(runs, chosen.plot)


if __name__ == "__main__":
    main()
