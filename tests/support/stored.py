"""Robot files beside the checkout, or in the folder named by the variable ARMLET_ROBOTS."""

import os
from pathlib import Path

import pytest

PLACES = [parent / "shared" / "robots" for parent in Path(__file__).parents[3:5]]
ROBOTS = Path(os.environ.get("ARMLET_ROBOTS") or next((x for x in PLACES if x.is_dir()), PLACES[0]))
"""The folder of the robot files, which need not exist."""
URDF = sorted(ROBOTS.rglob("*.urdf"))
stored = pytest.mark.skipif(not URDF, reason="robot files are not beside the checkout")
