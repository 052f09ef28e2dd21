"""A scene drawn with viser."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from armlet.robot import HERE, Pose
from armlet.view.scene import Part, Scene, camera
from armlet.view.surfaces import z_along

FADED = 0.3
"""Opacity of shapes while what is inside them is shown."""
LAYERS = ("shapes", "frames", "com", "inertia")


def placed(at: Pose) -> dict[str, Any]:
    """A pose as viser takes it: position and quaternion, scalar first."""
    from scipy.spatial.transform import Rotation  # slow to import, for all who view nothing

    x, y, z, w = Rotation.from_matrix(np.asarray(at.R, float)).as_quat()
    return {"wxyz": (w, x, y, z), "position": tuple(np.asarray(at.r, float))}


def rgb(colour: str) -> tuple[int, int, int]:
    """The three channels of a colour such as #0072b2."""
    red, green, blue = bytes.fromhex(colour[1:])
    return red, green, blue


def stage(server: Any, scene: Scene) -> None:
    """Set up ground, direction of gravity and camera for a robot."""
    server.scene.set_up_direction(tuple(scene.up))
    cell = 10.0 ** np.floor(np.log10(scene.reach)) / 2
    width = 2 * cell * np.ceil(1.5 * scene.reach / cell)
    server.scene.add_grid(
        "/ground", width=width, height=width, cell_size=cell / 2.5, section_size=2 * cell,
        cell_color=(226, 230, 235), section_color=(198, 205, 214), shadow_opacity=0.15,
        fade_distance=10 * scene.reach, **placed(Pose(z_along(scene.up), np.zeros(3))),
    )  # fmt: skip
    position, target = camera(scene)
    server.initial_camera.position = tuple(position)
    server.initial_camera.look_at = tuple(target)
    server.initial_camera.fov = np.deg2rad(45)


class Drawing:
    """A robot on a server of viser's.

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
            server.scene.add_frame(f"/{name}/{i}", show_axes=False, **placed(at))
            for i, at in enumerate(poses)
        ]
        self.layers: dict[str, list[Any]] = {layer: [] for layer in LAYERS}
        for layer in ("shapes", "com", "inertia"):
            for k, part in enumerate(getattr(scene, layer)):
                self.layers[layer].append(self.add(f"{layer}{k}", part, layer))
        for k, (body, at) in enumerate(scene.frames.values()):
            self.layers["frames"].append(
                server.scene.add_frame(
                    self._path(body, f"frame{k}"), axes_length=0.12 * scene.reach,
                    axes_radius=0.005 * scene.reach, visible=False, **placed(at),
                )
            )  # fmt: skip

    def _path(self, body: int, part: str) -> str:
        return f"/{self.name}/{body % len(self.bodies)}/{part}"

    def add(self, name: str, part: Part, layer: str = "shapes") -> Any:
        """Draw one more part."""
        opacity = FADED if self.ghost else 0.6 if layer == "inertia" else None
        return self.server.scene.add_mesh_simple(
            self._path(part.body, name), part.surface.vertices, part.surface.faces,
            color=rgb(self.ghost or part.colour), opacity=opacity, visible=layer == "shapes",
            cast_shadow=not self.ghost and layer == "shapes", **placed(HERE),
        )  # fmt: skip

    def move(self, poses: Sequence[Pose]) -> None:
        """Move the bodies to these poses."""
        for handle, at in zip(self.bodies, poses, strict=True):
            for name, value in placed(at).items():
                setattr(handle, name, value)

    def show(self, layer: str, visible: bool) -> None:
        """Show or hide a layer."""
        for handle in self.layers[layer]:
            handle.visible = visible

    def fade(self, faded: bool) -> None:
        """Make the shapes translucent, so that what is inside them can be seen, or opaque again."""
        for handle in self.layers["shapes"]:
            handle.opacity = FADED if faded or self.ghost else None
