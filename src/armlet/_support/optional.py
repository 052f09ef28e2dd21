"""Imports of optional packages; the error for a missing package says what to install."""

from importlib import import_module
from typing import Any

from armlet.errors import ArmletError

EXTRAS = {
    "cvxpy": "armlet[consistent]",
    "distributed": "armlet[dask]",
    "kaleido": "armlet[plot]",
    "mujoco": "armlet[mjcf]",
    "plotly": "armlet[plot]",
    "pyarrow": "armlet[parquet]",
    "rosbags": "armlet[ros]",
    "trimesh": "armlet[view]",
}
"""What pip must install for these packages; for others, the package itself."""


def require(module: str) -> Any:
    """Import a module of an optional package, or say what to install."""
    try:
        return import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        raise ArmletError(
            f"{name} is needed for that, and cannot be imported: {error}; "
            f'pip install "{EXTRAS.get(name, name)}"'
        ) from None
