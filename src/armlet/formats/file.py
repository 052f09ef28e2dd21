"""Reading model files of bounded size."""

from pathlib import Path

from armlet.errors import ModelError, shown

MAX_BYTES = 32 * 2**20


def contents(path: Path) -> bytes:
    """The bytes of a model file."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ModelError(
            f"{shown(path.name)}: the file cannot be read: {error.strerror}; expected one you may "
            "read"
        ) from None
    if len(data) > MAX_BYTES:
        raise ModelError(
            f"{shown(path.name)}: the file has more than {MAX_BYTES} bytes: expected the "
            "description of one robot, without its meshes"
        )
    return data
