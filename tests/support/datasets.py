"""Two recorded arms, and files of many robots, which lie beside the checkout and not in it."""

from pathlib import Path

import pytest
import recorded_arms


def beside(name):
    """A folder beside the checkout, or None."""
    folders = [parent / "shared" / name for parent in Path(__file__).parents[3:5]]
    return next((folder for folder in folders if folder.is_dir()), None)


FOLDER, ROBOTS = beside("datasets"), beside("robots")
recorded = pytest.mark.skipif(FOLDER is None, reason="recorded logs are not beside the checkout")


def panda_log():
    return recorded_arms.panda_log(FOLDER)


def tx40():
    return recorded_arms.tx40(FOLDER)


def tx40_log():
    return recorded_arms.tx40_log(FOLDER)
