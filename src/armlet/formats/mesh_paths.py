"""Where the meshes that a model names are on this machine."""

from dataclasses import replace

from armlet.description import Description
from armlet.errors import ModelError
from armlet.formats.folders import Folders

MOST = 10_000
"""How many files are looked for."""


def with_mesh_paths(description: Description, folders: Folders) -> Description:
    """The description with the paths of the meshes that are found in the folders allowed.

    Dynamics do not need them: those that are missing or elsewhere have none.
    """
    names = {mesh.file: "" for link in description.links for mesh in link.meshes}
    for name in [*names][:MOST]:
        try:
            names[name] = str(folders.file(name, description.where))
        except ModelError:
            continue
    links = (
        replace(link, meshes=tuple(replace(mesh, path=names[mesh.file]) for mesh in link.meshes))
        for link in description.links
    )
    return replace(description, links=tuple(links)) if any(names.values()) else description
