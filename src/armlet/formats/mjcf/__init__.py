"""MJCF, MuJoCo's format: reading."""
