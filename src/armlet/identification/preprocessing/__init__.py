"""Preprocessing of logs: resampled, filtered, differentiated and decimated samples."""

from armlet.identification.preprocessing.preprocessing import (
    Preprocessing,
    Samples,
    preprocess,
    preprocess_all,
)

__all__ = ["Preprocessing", "Samples", "preprocess", "preprocess_all"]
