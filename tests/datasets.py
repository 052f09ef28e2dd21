"""Two recorded arms, whose logs lie beside the checkout and not in it."""

from pathlib import Path

import pytest
import recorded_arms

FOLDERS = [parent / "shared" / "datasets" for parent in Path(__file__).parents[2:4]]
FOLDER = next((folder for folder in FOLDERS if folder.is_dir()), None)
recorded = pytest.mark.skipif(FOLDER is None, reason="recorded logs are not beside the checkout")


def panda_log():
    return recorded_arms.panda_log(FOLDER)


def tx40():
    return recorded_arms.tx40(FOLDER)


def tx40_log():
    return recorded_arms.tx40_log(FOLDER)
