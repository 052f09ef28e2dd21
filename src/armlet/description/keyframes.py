"""Named values of the joints of a model, whatever its format."""

from armlet.errors import ModelError

Keyframes = dict[str, dict[str, float]]
"""For each keyframe the values of joints with one freedom; others are where the file draws them."""
MAX_VALUES = 1_000_000
"""The most values of all keyframes of a model."""


def check_values(keyframes: int, joints: int, where: str) -> None:
    """Refuse a number of keyframes that is too large for the joints of a model."""
    if keyframes * joints > MAX_VALUES:
        raise ModelError(
            f"{where}: {keyframes} keyframes of {joints} joints: expected {MAX_VALUES} values at "
            "most"
        )
