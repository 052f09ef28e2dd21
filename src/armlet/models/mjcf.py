"""MJCF in."""

from pathlib import Path

from armlet.robot import Description


def read_mjcf(path: Path) -> Description:
    """The description in an MJCF file."""
    raise NotImplementedError
