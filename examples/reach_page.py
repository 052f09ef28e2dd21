"""The Panda of reach_by_sampling.py as a page with figures: the arm, the ball, distances, torques.

python examples/reach_page.py [--plot reach.html]
"""

import argparse
from pathlib import Path

import numpy as np
from reach_by_sampling import BALL, GOAL, RADIUS, Reach, distances
from reach_by_sampling import main as reached

import armlet
from armlet.plotting import COLOURS, FAINT, SHADE, graph_objects, panels, save


def page(reach: Reach, path: Path) -> None:
    """Write a page with figures: the arm, the ball and the hand's path; distances; torques."""
    graphs = graph_objects()
    figure = panels(
        2,
        2,
        height=800,
        title="A Panda reaches around a ball by trying out plans",
        column_widths=[0.55, 0.45],
        vertical_spacing=0.12,
        horizontal_spacing=0.06,
        specs=[[{"type": "scene", "rowspan": 2}, {}], [None, {}]],
        subplot_titles=["the arm every 0.3 s (m)", "distances (m)", "torques (Nm)"],
    )
    run, robot = reach.run, armlet.load("panda")
    names = ["base", "link1", "link3", "link4", "link5", "link6", "link7", "flange"]
    for k in range(0, len(run), 15):
        x, y, z = robot.poses(run.q[k], names)[:, :3, 3].T
        stick = graphs.Scatter3d(
            x=x,
            y=y,
            z=z,
            mode="lines",
            opacity=0.2 + 0.8 * k / len(run),
            line={"color": COLOURS[0], "width": 6},
            showlegend=False,
        )
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
        ("hand to goal", "arm to centre of ball"), distances(run), (COLOURS[2], FAINT), strict=True
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
    parser = argparse.ArgumentParser(description="Draw how a Panda reaches around a ball.")
    parser.add_argument("--plot", type=Path, default=Path("reach.html"), help="the page")
    page(reached(), parser.parse_args().plot)


if __name__ == "__main__":
    main()
