"""A Panda makes a fast move with a load that its model does not know.

python examples/track.py [--plot track.html]

The torques of the planned motion alone let the arm drift off. A time-varying linear-quadratic
regulator, from the linear models along the motion, keeps it on its path.
"""

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import armlet
from armlet.plotting import COLOURS, INK, graph_objects, panels, save

Vector = NDArray[np.float64]
START = np.array([-1.0, -0.6, 0.3, -2.3, 0.2, 1.4, 0.0])
END = np.array([0.7, 0.5, -0.2, -1.1, -0.3, 2.0, 1.0])
MOVE, STAY, DT = 1.25, 0.25, 1e-3
"""How long the move takes and how long the arm then stays, and the length of a step, in s."""
LOAD = 1.5
"""The mass of the load, in kg; it is 0.1 m before the flange."""


class Runs(NamedTuple):
    """The planned positions, and the motions with and without feedback."""

    plan: Vector
    tracked: armlet.Trajectory
    feedforward: armlet.Trajectory


def plan() -> tuple[Vector, Vector, Vector]:
    """Positions, velocities and accelerations of the move, a row for every step and for the end.

    The path is straight between the postures; its polynomial of fifth degree starts and ends at
    rest.
    """
    t = DT * np.arange(round((MOVE + STAY) / DT) + 1)
    s = np.minimum(t / MOVE, 1)[:, None]
    way = END - START
    return (
        START + way * (10 * s**3 - 15 * s**4 + 6 * s**5),
        way * (30 * s**2 - 60 * s**3 + 30 * s**4) / MOVE,
        way * (60 * s - 180 * s**2 + 120 * s**3) / MOVE**2,
    )


def simulate(load: float = LOAD) -> Runs:
    """The arm with its load, under the torques of the arm without."""
    robot = armlet.load("panda").without_drives()
    q, qd, qdd = plan()
    track = armlet.controllers.tracker(
        robot,
        q,
        qd,
        qdd,
        dt=DT,
        state_cost=np.repeat([0.005, 0.1], robot.nv) ** -2.0,
        torque_cost=(0.1 * robot.effort_limit) ** -2.0,
    )
    loaded = robot.with_payload(load, com=[0.0, 0.0, 0.1])

    def simulate_with(arguments: dict[str, Vector]) -> armlet.Trajectory:
        return armlet.simulate(
            loaded,
            START,
            torque=track.torque,
            arguments=arguments,
            duration=DT * (len(q) - 1),
            dt=DT,
            method="rk4",
        )

    alone = {**track.arguments, "gain": 0 * track.arguments["gain"]}
    return Runs(q, simulate_with(track.arguments), simulate_with(alone))


def distances(runs: Runs, run: armlet.Trajectory) -> Vector:
    """How far the hand is from where it is planned to be, in m."""
    robot = armlet.load("panda")
    hand, planned = (robot.forward_kinematics(q)[:, :3, 3] for q in (run.q, runs.plan))
    distance: Vector = np.sqrt(((hand - planned) ** 2).sum(axis=1))
    return distance


def page(runs: Runs, path: Path) -> None:
    """Write a page with figures: the path of the hand, its errors, positions and torques."""
    graphs = graph_objects()
    figure = panels(
        2,
        2,
        height=900,
        title=f"A fast move with an unknown load of {LOAD} kg",
        horizontal_spacing=0.08,
        vertical_spacing=0.12,
        specs=[[{"type": "scene"}, {}], [{}, {}]],
        subplot_titles=[
            "path of the hand (m)",
            "distance of the hand from the plan (mm)",
            "errors of the joints, regulator (mrad)",
            "torques, regulator (Nm)",
        ],
    )
    robot = armlet.load("panda")
    paths = {
        "plan": (runs.plan, INK, "dash"),
        "regulator": (runs.tracked.q, COLOURS[0], "solid"),
        "feed-forward alone": (runs.feedforward.q, COLOURS[3], "solid"),
    }
    for name, (q, colour, dash) in paths.items():
        x, y, z = robot.forward_kinematics(q[::5])[:, :3, 3].T
        line = {"color": colour, "dash": dash, "width": 5}
        figure.add_trace(graphs.Scatter3d(x=x, y=y, z=z, name=name, mode="lines", line=line), 1, 1)
    for run, colour in ((runs.tracked, COLOURS[0]), (runs.feedforward, COLOURS[3])):
        line, error = {"color": colour}, 1e3 * distances(runs, run)
        figure.add_trace(graphs.Scatter(x=run.t, y=error, showlegend=False, line=line), 1, 2)
    figure.update_yaxes(type="log", dtick=1, range=[-2, 3.3], row=1, col=2)
    run = runs.tracked
    for column, rows in ((1, 1e3 * (run.q - runs.plan)), (2, run.tau)):
        for i, joint in enumerate(run.joints):
            figure.add_trace(
                graphs.Scatter(
                    x=run.t,
                    y=rows[:, i],
                    name=joint,
                    legendgroup=joint,
                    showlegend=column == 1,
                    line={"color": COLOURS[i]},
                ),
                2,
                column,
            )
    figure.update_xaxes(title_text="time (s)", row=2)
    scene = {"aspectmode": "data", "camera": {"eye": {"x": 1.5, "y": -1.5, "z": 0.6}}}
    figure.update_layout(scene=scene)
    save(figure, path)


def main() -> None:
    parser = argparse.ArgumentParser(description="A Panda makes a fast move with a load.")
    parser.add_argument("--plot", type=Path, help="write a page with figures")
    chosen = parser.parse_args()
    runs = simulate()
    speed = np.abs(plan()[1]).max()
    print(f"a move of {MOVE} s, joints up to {speed:.1f} rad/s, a load of {LOAD} kg unknown:")
    for name, run in (("regulator", runs.tracked), ("feed-forward alone", runs.feedforward)):
        error = distances(runs, run)
        print(
            f"{name:19} {1e3 * error.max():7.1f} mm off at most, {1e3 * error[-1]:7.1f} at the end"
        )
    used = np.abs(runs.tracked.tau / armlet.load("panda").effort_limit).max()
    print(f"the regulator uses up to {used:.0%} of the largest torques")
    if chosen.plot:
        page(runs, chosen.plot)


if __name__ == "__main__":
    main()
