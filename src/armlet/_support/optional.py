"""Import optional packages; the error for a missing package contains the pip command."""

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
"""Package -> argument of `pip install`, where this is not the name of the package."""


def require(module: str) -> Any:
    """Import and return a module of an optional package, or raise an error with the pip command."""
    try:
        return import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        raise ArmletError(
            f"{name} is needed for that, and cannot be imported: {error}; "
            f'pip install "{EXTRAS.get(name, name)}"'
        ) from None
