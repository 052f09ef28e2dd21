"""Two recorded arms, and files of many robots, which lie beside the checkout and not in it."""

from pathlib import Path

import numpy as np
import pytest

import armlet


def beside(name):
    """A folder beside the checkout, or None."""
    folders = [parent / "shared" / name for parent in Path(__file__).parents[2:4]]
    return next((folder for folder in folders if folder.is_dir()), None)


FOLDER, ROBOTS = beside("datasets"), beside("robots")
recorded = pytest.mark.skipif(FOLDER is None, reason="recorded logs are not beside the checkout")


def panda_log(robot):
    """A Panda on an exciting trajectory (Gaz et al. 2019): 20,544 rows with jittered time."""
    start = FOLDER / "franka_panda_gaz2019" / "exciting_traj_"
    parts = {"t": "time", "q": "positions", "qd": "velocity", "tau": "torques"}
    source = {key: f"{start}{name}.txt" for key, name in parts.items()}
    return armlet.Log.read(source, robot, name="panda")


def tx40():
    """A Staubli TX40 without drives, whose inertias mean nothing."""
    return armlet.load(FOLDER / "staubli_tx40_figaroh" / "tx40_mdh_modified.urdf").without_drives()


def tx40_log(robot):
    """Its log, of the motors: 45,000 rows at 5 kHz, joints 5 and 6 coupled."""
    folder = FOLDER / "staubli_tx40_figaroh"
    N = np.diag([32, 32, 45, -48, 45, 32.0])
    N[5, 4] = 32
    return armlet.Log.read(
        {"q": folder / "pos_read_data.csv", "tau": folder / "curr_data.csv"},
        robot, rate=5000, coupling=N, offsets={"joint_2": -np.pi / 2, "joint_3": np.pi / 2},
        name="tx40",
    )  # fmt: skip
