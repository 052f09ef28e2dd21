"""Preprocessing of logs: resampled, filtered, differentiated and decimated samples."""
