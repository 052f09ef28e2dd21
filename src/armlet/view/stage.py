"""Draw a robot on a viser server, live or recorded as a page that needs no server."""

import html
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armlet.api import Robot
from armlet.robot import IDENTITY_POSE, Pose
from armlet.simulation import Trajectory
from armlet.view.panel import Bar, LiveDynamics, bars, energies, panel
from armlet.view.scene import Scene, Shape, body_poses, camera, file_shapes, scene, z_along
from armlet.view.server import quiet, viser_server

GHOST = "#56b4e9"
RATE = 30.0
"""Number of pictures per second during the playback of a trajectory."""
MAX_PICTURES = 3000
"""Maximum number of pictures on a page; long trajectories have fewer pictures per second."""
Array = NDArray[np.float64]
FADED = 0.3
"""Opacity of ghosts, and of robot shapes while frames, centres of mass or ellipsoids are shown."""


def pose_options(at: Pose) -> dict[str, Any]:
    """Return a pose as arguments of viser: position, and quaternion with the scalar first."""
    from scipy.spatial.transform import Rotation  # slow to import

    x, y, z, w = Rotation.from_matrix(np.asarray(at.R, float)).as_quat()
    return {"wxyz": (w, x, y, z), "position": tuple(np.asarray(at.r, float))}


def set_up(server: Any, scene: Scene) -> None:
    """Draw the ground; set the up direction and the initial camera for a robot."""
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
    """A robot drawn on a viser server, with its dynamics; a ghost has one translucent colour."""

    def __init__(
        self,
        server: Any,
        robot: Robot,
        q: Array,
        folders: Sequence[str | Path],
        is_ghost: bool = False,
    ) -> None:
        self.server, self.robot, self.is_ghost = server, robot, is_ghost
        self.dynamics = LiveDynamics(robot)
        self.scene = scene(robot, *file_shapes(robot, folders))
        self.name = "ghost" if is_ghost else "robot"
        self.bodies = [
            server.scene.add_frame(f"/{self.name}/{i}", show_axes=False, **pose_options(at))
            for i, at in enumerate(body_poses(robot, q))
        ]
        self.layers: dict[str, list[Any]] = {
            layer: [
                self.add(f"{layer}{k}", shape, layer)
                for k, shape in enumerate(getattr(self.scene, layer))
            ]
            for layer in ("shapes", "com", "inertia")
        }
        self.layers["frames"] = [
            server.scene.add_frame(
                self._path(body, f"frame{k}"),
                axes_length=0.12 * self.scene.reach,
                axes_radius=0.005 * self.scene.reach,
                visible=False,
                **pose_options(at),
            )
            for k, (body, at) in enumerate(self.scene.frames.values())
        ]

    def _path(self, body: int, name: str) -> str:
        return f"/{self.name}/{body % len(self.bodies)}/{name}"

    def add(self, name: str, shape: Shape, layer: str = "shapes") -> Any:
        """Draw a shape on its body; return viser's handle of the drawn mesh."""
        opacity = FADED if self.is_ghost else 0.6 if layer == "inertia" else None
        colour = GHOST if self.is_ghost else shape.colour
        return self.server.scene.add_mesh_simple(
            self._path(shape.body, name),
            shape.mesh.vertices,
            shape.mesh.faces,
            color=tuple(bytes.fromhex(colour[1:])),
            opacity=opacity,
            visible=layer == "shapes",
            cast_shadow=not self.is_ghost and layer == "shapes",
            **pose_options(IDENTITY_POSE),
        )

    def move(self, q: Array) -> None:
        """Move the bodies to a posture."""
        for handle, at in zip(self.bodies, body_poses(self.robot, q), strict=True):
            for name, value in pose_options(at).items():
                setattr(handle, name, value)

    def show(self, layer: str, visible: bool) -> None:
        """Show or hide a layer: "shapes", "com", "inertia" or "frames"."""
        for handle in self.layers[layer]:
            handle.visible = visible


class Stage:
    """A robot and an optional ghost on a viser server, with their dynamics."""

    def __init__(
        self,
        server: Any,
        robot: Robot,
        ghost: Robot | None,
        q: Array,
        folders: Sequence[str | Path],
    ) -> None:
        self.server = server
        self.robot = Drawing(server, robot, q, folders)
        set_up(server, self.robot.scene)
        self.scale = self.robot.dynamics.scale()
        self.ghost = None if ghost is None else Drawing(server, ghost, q, folders, is_ghost=True)
        self.show({})

    def move(self, q: Array) -> None:
        """Move the robot and the ghost to a posture."""
        with self.server.atomic():
            for drawing in filter(None, (self.robot, self.ghost)):
                drawing.move(q)

    def show(self, layers: Mapping[str, bool], with_ghost: bool = True) -> None:
        """Show or hide layers and the ghost; while a layer is shown, the robot is translucent."""
        for layer, visible in layers.items():
            self.robot.show(layer, visible)
        for handle in self.robot.layers["shapes"]:
            handle.opacity = FADED if any(layers.values()) else None
        if self.ghost is not None:
            drawings = self.robot, self.ghost
            poses = (body_poses(x.robot, x.robot.neutral) for x in drawings)
            pairs = zip(*poses, strict=True)
            is_same = all(np.allclose(a.R, b.R) and np.allclose(a.r, b.r) for a, b in pairs)
            # a ghost with the poses of the robot would only flicker
            for layer, visible in {**layers, "shapes": not is_same}.items():
                self.ghost.show(layer, visible and with_ghost)

    def numbers(self, *state: Array) -> tuple[list[Bar], str]:
        """Return torque bars, and energies as text, for a posture q or a state (q, qd, qdd)."""
        numbers = self.robot.dynamics(*state)
        other = None if self.ghost is None else self.ghost.dynamics(*state).tau
        return bars(self.robot.robot, numbers.tau, self.scale, other), energies(numbers)


# ---------------------------------------------------------------------------------- a page


def page(
    robot: Robot,
    trajectory: Trajectory | None,
    ghost: Robot | None,
    q: Array,
    folders: Sequence[str | Path] = (),
) -> str:
    """Return the HTML of a page that plays a trajectory or, if there is none, shows posture `q`."""
    server = viser_server()
    try:
        stage = Stage(server, robot, ghost, q, folders)
        if trajectory is None:
            return _with_panel(server.scene.as_html(), stage, "Torques that hold the arm", [(q,)])
        span, run, step = float(trajectory.t[-1] - trajectory.t[0]), trajectory[:1], 1.0
        if span:
            pictures = int(np.clip(np.ceil(span * RATE), 1, MAX_PICTURES))
            run = trajectory.at(np.linspace(trajectory.t[0], trajectory.t[-1], pictures + 1))
            step = span / pictures
        stage.move(run.q[0])
        recorded = server.get_scene_serializer() if span else server.scene
        for posture in run.q[1:]:
            recorded.insert_sleep(step)
            stage.move(posture)
        states = [*zip(run.q, run.qd, run.qdd, strict=True)]
        return _with_panel(recorded.as_html(), stage, "Torques of the run", states, step)
    finally:
        with quiet():
            server.stop()


def _with_panel(
    text: str, stage: Stage, title: str, states: Sequence[tuple[Array, ...]], step: float = 1.0
) -> str:
    """Return the HTML page `text` with a panel of the torques and energies of each state."""
    rows = [stage.numbers(*state) for state in states]
    data = {"step": step, "rows": [{"bars": [*map(_entries, x)], "below": y} for x, y in rows]}
    robot = stage.robot.robot
    name = html.escape(robot.name)
    overlay = Template(files("armlet.view").joinpath("overlay.html").read_text(encoding="utf-8"))
    fields = {
        "name": name,
        "panel": panel(robot, title, *rows[0]),
        "data": json.dumps(data, separators=(",", ":")).replace("</", "<\\/"),
    }
    text = text.replace("<title>Viser</title>", f"<title>{name}</title>")
    end = text.rindex("</body>")
    return text[:end] + overlay.substitute(fields) + text[end:]


def _entries(bar: Bar) -> list[float | str | None]:
    """Return the numbers and texts of a bar in the order that overlay.html expects."""
    mark = None if bar.mark is None else round(bar.mark, 2)
    return [round(bar.left, 2), round(bar.width, 2), bar.colour, bar.text, mark]
