"""A robot drawn on a viser server, live or recorded as a page that needs no server."""

import html
import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armlet.api import Robot
from armlet.robot import IDENTITY_POSE, Pose
from armlet.simulation import Trajectory
from armlet.view.panel import Bar, LiveDynamics, Numbers, bars, energies, panel
from armlet.view.scene import Scene, body_poses, camera, scene
from armlet.view.server import quiet, viser_server
from armlet.view.shapes import Shape, file_shapes, z_along

GHOST = "#56b4e9"
RATE = 30.0
"""Pictures per second while a run plays."""
MAX_PICTURES = 3000
"""A longer run has fewer pictures per second."""
Array = NDArray[np.float64]
FADED = 0.3
"""Opacity of shapes while what is inside them is shown."""
LAYERS = ("shapes", "frames", "com", "inertia")


def pose_options(at: Pose) -> dict[str, Any]:
    """A pose as viser takes it: position and quaternion, scalar first."""
    from scipy.spatial.transform import Rotation  # slow to import, for all who view nothing

    x, y, z, w = Rotation.from_matrix(np.asarray(at.R, float)).as_quat()
    return {"wxyz": (w, x, y, z), "position": tuple(np.asarray(at.r, float))}


def rgb(colour: str) -> tuple[int, int, int]:
    """The three channels of a colour such as #0072b2."""
    red, green, blue = bytes.fromhex(colour[1:])
    return red, green, blue


def set_up(server: Any, scene: Scene) -> None:
    """Draw the ground, and set the direction of gravity and the camera for a robot."""
    server.scene.set_up_direction(tuple(scene.up))
    cell = 10.0 ** np.floor(np.log10(scene.reach)) / 2
    width = 2 * cell * np.ceil(1.5 * scene.reach / cell)
    server.scene.add_grid(
        "/ground",
        width=width,
        height=width,
        cell_size=cell / 2.5,
        section_size=2 * cell,
        cell_color=(226, 230, 235),
        section_color=(198, 205, 214),
        shadow_opacity=0.15,
        fade_distance=10 * scene.reach,
        **pose_options(Pose(z_along(scene.up), np.zeros(3))),
    )
    position, target = camera(scene)
    server.initial_camera.position = tuple(position)
    server.initial_camera.look_at = tuple(target)
    server.initial_camera.fov = np.deg2rad(45)


class Drawing:
    """A robot drawn on a viser server.

    Parameters
    ----------
    server : viser.ViserServer
    name : str
        Of the node under which all of it is.
    scene : Scene
    poses : sequence of Pose
        Of the bodies, the base last; see `body_poses`.
    ghost : str, optional
        Draw all of it in this one colour and translucent.
    """

    def __init__(
        self, server: Any, name: str, scene: Scene, poses: Sequence[Pose], ghost: str | None = None
    ) -> None:
        self.name, self.server, self.ghost = name, server, ghost
        self.bodies = [
            server.scene.add_frame(f"/{name}/{i}", show_axes=False, **pose_options(at))
            for i, at in enumerate(poses)
        ]
        self.layers: dict[str, list[Any]] = {layer: [] for layer in LAYERS}
        for layer in ("shapes", "com", "inertia"):
            for k, shape in enumerate(getattr(scene, layer)):
                self.layers[layer].append(self.add(f"{layer}{k}", shape, layer))
        for k, (body, at) in enumerate(scene.frames.values()):
            self.layers["frames"].append(
                server.scene.add_frame(
                    self._path(body, f"frame{k}"),
                    axes_length=0.12 * scene.reach,
                    axes_radius=0.005 * scene.reach,
                    visible=False,
                    **pose_options(at),
                )
            )

    def _path(self, body: int, name: str) -> str:
        return f"/{self.name}/{body % len(self.bodies)}/{name}"

    def add(self, name: str, shape: Shape, layer: str = "shapes") -> Any:
        """Draw one more shape."""
        opacity = FADED if self.ghost else 0.6 if layer == "inertia" else None
        return self.server.scene.add_mesh_simple(
            self._path(shape.body, name),
            shape.mesh.vertices,
            shape.mesh.faces,
            color=rgb(self.ghost or shape.colour),
            opacity=opacity,
            visible=layer == "shapes",
            cast_shadow=not self.ghost and layer == "shapes",
            **pose_options(IDENTITY_POSE),
        )

    def move(self, poses: Sequence[Pose]) -> None:
        """Move the bodies to these poses."""
        for handle, at in zip(self.bodies, poses, strict=True):
            for name, value in pose_options(at).items():
                setattr(handle, name, value)

    def show(self, layer: str, visible: bool) -> None:
        """Show or hide a layer."""
        for handle in self.layers[layer]:
            handle.visible = visible

    def fade(self, faded: bool) -> None:
        """Make the shapes translucent, so that what is inside them can be seen, or opaque again."""
        for handle in self.layers["shapes"]:
            handle.opacity = FADED if faded or self.ghost else None


class Stage:
    """A robot and, beside it, a ghost on a viser server, with their dynamics."""

    def __init__(
        self,
        server: Any,
        robot: Robot,
        ghost: Robot | None,
        q: Array,
        folders: Sequence[str | Path],
    ) -> None:
        self.server, self.robot = server, robot
        self.scene = scene(robot, *file_shapes(robot, folders))
        set_up(server, self.scene)
        self.dynamics = LiveDynamics(robot)
        self.scale = self.dynamics.scale()
        self.robots = [(robot, Drawing(server, "robot", self.scene, body_poses(robot, q)))]
        self.ghost_dynamics: LiveDynamics | None = None
        if ghost is not None:
            other = scene(ghost, *file_shapes(ghost, folders))
            drawn = Drawing(server, "ghost", other, body_poses(ghost, q), ghost=GHOST)
            drawn.show("shapes", not same_shape(robot, ghost))
            self.robots.append((ghost, drawn))
            self.ghost_dynamics = LiveDynamics(ghost)

    def move(self, q: Array) -> None:
        """Move the robot and its ghost."""
        with self.server.atomic():
            for robot, drawing in self.robots:
                drawing.move(body_poses(robot, q))


def same_shape(robot: Robot, other: Robot) -> bool:
    """Whether two robots look the same: one drawn over the other would only flicker."""
    q = np.zeros(robot.nq)
    pairs = zip(body_poses(robot, q), body_poses(other, q), strict=True)
    return all(np.allclose(a.R, b.R) and np.allclose(a.r, b.r) for a, b in pairs)


# ---------------------------------------------------------------------------------- a page


def page(
    robot: Robot,
    trajectory: Trajectory | None,
    ghost: Robot | None,
    q: Array,
    folders: Sequence[str | Path] = (),
) -> str:
    """The text of a page that plays a run, or shows a posture."""
    server = viser_server()
    try:
        stage = Stage(server, robot, ghost, q, folders)
        span = 0.0 if trajectory is None else float(trajectory.t[-1] - trajectory.t[0])
        if trajectory is None or not span:
            posture = q if trajectory is None else trajectory.q[0]
            stage.move(posture)
            return _with_panel(server.scene.as_html(), stage, posture[None], trajectory, 1.0)
        pictures = int(np.clip(np.ceil(span * RATE), 1, MAX_PICTURES))
        step = span / pictures
        run = trajectory.at(np.linspace(trajectory.t[0], trajectory.t[-1], pictures + 1))
        stage.move(run.q[0])
        recorded = server.get_scene_serializer()
        for posture in run.q[1:]:
            recorded.insert_sleep(step)
            stage.move(posture)
        return _with_panel(recorded.as_html(), stage, run.q, run, step)
    finally:
        with quiet():
            server.stop()


def _with_panel(text: str, stage: Stage, q: Array, run: Trajectory | None, step: float) -> str:
    """The viser page with torques and energies at each time of the recording."""
    motion = () if run is None else (run.qd, run.qdd)
    numbers = stage.dynamics(q, *motion)
    ghost = None if stage.ghost_dynamics is None else stage.ghost_dynamics(q, *motion).tau
    rows = []
    for k in range(len(q)):
        state = Numbers(*(x[k] for x in numbers))
        other = None if ghost is None else ghost[k]
        rows.append((bars(stage.robot, state.tau, stage.scale, other), energies(state)))
    title = "Torques that hold the arm" if run is None else "Torques of the run"
    data = {"step": step, "rows": [{"bars": [*map(_entries, x)], "below": y} for x, y in rows]}
    name = html.escape(stage.robot.name)
    overlay = Template(files("armlet.view").joinpath("overlay.html").read_text(encoding="utf-8"))
    fields = {
        "name": name,
        "panel": panel(stage.robot, title, *rows[0]),
        "data": json.dumps(data, separators=(",", ":")).replace("</", "<\\/"),
    }
    text = text.replace("<title>Viser</title>", f"<title>{name}</title>")
    end = text.rindex("</body>")
    return text[:end] + overlay.substitute(fields) + text[end:]


def _entries(bar: Bar) -> list[float | str | None]:
    """The numbers and texts of a bar that overlay.html reads."""
    mark = None if bar.mark is None else round(bar.mark, 2)
    return [round(bar.left, 2), round(bar.width, 2), bar.colour, bar.text, mark]
