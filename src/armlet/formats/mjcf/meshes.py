"""The meshes of an MJCF file: how they look, and the solids that give bodies their inertia."""

from dataclasses import dataclass
from pathlib import Path, PurePath

import numpy as np

from armlet._support.lazy import cached_property
from armlet.description.description import Mesh
from armlet.errors import ModelError, quoted
from armlet.formats.files import MAX_MESH_BYTES, Folders
from armlet.formats.mjcf.mesh import (
    MeshError,
    Solid,
    Triangles,
    checked_mesh,
    hull,
    principal,
    read_mesh,
    solid,
)
from armlet.formats.mjcf.settings import Compiler, Defaults, called, choice, direction, section
from armlet.formats.xml import Element
from armlet.robot import Pose
from armlet.robot.pose import rotation_of_quaternion
from armlet.scalar import Matrix, Vector

KINDS = ("legacy", "convex", "exact", "shell")
"""How a mesh is made a solid; the first is MuJoCo's default."""
NOT_READ = ("builtin", "plugin")
CURE = 'add the file, give the body an <inertial>, or the geom mass="0"'


class MissingMesh(ModelError):
    """A mesh whose inertia is needed and that cannot be read; `name` is that of the mesh."""

    def __init__(self, message: str, name: str) -> None:
        super().__init__(message)
        self.name = name


@dataclass
class MeshAsset:
    """A <mesh> of an MJCF file; its file is read when a body needs its inertia."""

    element: Element
    """Its attributes, those of its class included."""
    file: str
    """The file as it is to be found from the folder of the model, or an empty string."""
    kind: str
    folder: Path
    folders: Folders

    @cached_property
    def reference(self) -> Pose:
        """The frame in the file's coordinates that becomes the mesh's own."""
        quat = self.element.numbers("refquat", 4, (1.0, 0.0, 0.0, 0.0))
        R = rotation_of_quaternion(*direction(quat, self.element, "refquat"))
        return Pose(R, self.element.numbers("refpos", 3, (0.0, 0.0, 0.0)))

    @cached_property
    def scale(self) -> Vector:
        return self.element.numbers("scale", 3, (1.0, 1.0, 1.0))

    @property
    def shown(self) -> Mesh | None:
        """The mesh as it is drawn, if it is in a file."""
        scale = tuple(self.scale.tolist())
        return Mesh(self.file, self.reference.inverse(), scale) if self.file else None

    @cached_property
    def triangles(self) -> Triangles:
        """The mesh in its own frame, faces outwards."""
        vertices, faces = self._read()
        if self.kind == "convex":
            faces = hull(vertices, int(self.element.number("maxhullvert", -1.0)))
        R, r = self.reference
        vertices = (vertices - r) @ R * self.scale
        return Triangles(vertices, faces if self.scale.prod() > 0 else faces[:, ::-1])

    @cached_property
    def solid(self) -> Solid:
        """The solid that it bounds, exactly."""
        return solid(self.triangles, self.kind)

    @cached_property
    def principal(self) -> tuple[Vector, Matrix]:
        """The moments of the solid and the axes that MuJoCo gives it."""
        return principal(self.solid.tensor)

    def _read(self) -> Triangles:
        for key in NOT_READ:
            if key in self.element.attributes or self.element.first(key):
                raise MeshError(f"is made by a {key}, which armlet does not read")
        if self.file:
            return read_mesh(self._bytes(), PurePath(self.file).suffix)
        vertices = self.element.numbers("vertex", None, ())
        faces = self.element.numbers("face", None, ())
        if len(vertices) % 3 or len(faces) % 3 or np.any(faces != np.round(faces)):
            raise MeshError("has vertices or faces that do not come in threes")
        return checked_mesh(vertices.reshape(-1, 3), faces.reshape(-1, 3).astype(int))

    def _bytes(self) -> bytes:
        subject = called(self.element)
        path = self.folders.find(self.file, [self.folder], subject)
        if path is None:
            raise MeshError(f"is in the file {quoted(self.file)}, which does not exist")
        return self.folders.read(path, "mesh", MAX_MESH_BYTES, subject)


def mesh_assets(
    root: Element, compiler: Compiler, defaults: Defaults, folder: Path, folders: Folders
) -> dict[str, MeshAsset]:
    """The meshes of a file by name."""
    assets = {}
    for element in section(root, "asset").all("mesh"):
        asset = defaults.fill(element, "mesh")
        path = PurePath(asset.get("file"))
        file = ""
        if asset.get("file"):
            file = str(PurePath(compiler.meshdir, path.name if compiler.strippath else path))
        default = "exact" if compiler.exactmeshinertia else KINDS[0]
        name = asset.get("name") or path.stem
        assets[name] = MeshAsset(
            asset, file, choice(asset, "inertia", KINDS, default), folder, folders
        )
    return assets


def mesh_solid(asset: MeshAsset | None, name: str, subject: str) -> Solid:
    """The solid of a mesh in MuJoCo's principal axes; errors name the geom that needs it."""
    if asset is None:
        raise ModelError(
            f"{subject} has the mesh {quoted(name)}, which does not exist: expected the name of a "
            "<mesh> in <asset>"
        )
    try:
        moments, axes = asset.principal
        return asset.solid._replace(tensor=axes * moments @ axes.T)
    except MeshError as error:
        raise MissingMesh(
            f"{subject} has the mesh {quoted(name)}, which {error}: its inertia is needed; {CURE}",
            name,
        ) from None


def fitted(asset: MeshAsset, shape: str, boxed: bool) -> tuple[Pose, Vector]:
    """The pose and the lengths of a simple shape in place of a mesh, as MuJoCo fits it.

    `boxed` is compiler's fitaabb: the box around the vertices counts, not that of equal inertia.
    """
    volume, com, _ = asset.solid
    moments, axes = asset.principal
    half = np.sqrt(np.maximum(6 * (moments.sum() - 2 * moments) / volume, 0)) / 2
    centre = np.zeros(3)
    if boxed:
        vertices = (asset.triangles.vertices - com) @ axes
        centre = (vertices.min(axis=0) + vertices.max(axis=0)) / 2
        half = (vertices.max(axis=0) - vertices.min(axis=0)) / 2
    at = Pose(axes, com + axes @ centre)
    across = half[:2].max() if boxed else half[:2].mean()
    match shape:
        case "sphere":
            return at, np.array([half.max() if boxed else half.mean()])
        case "cylinder":
            return at, np.array([across, half[2]])
        case "capsule":
            ends = across if boxed else across / 2
            return at, np.array([across, max(0.0, half[2] - ends)])
        case _:
            return at, half
