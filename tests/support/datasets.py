"""Recorded logs of two arms, and robot files, in folders beside the checkout."""

from pathlib import Path

import pytest
import recorded_arms


def beside(name):
    """The folder shared/`name` beside the checkout, or None."""
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
